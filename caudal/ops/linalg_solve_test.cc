#include "caudal/ops/linalg_solve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Samples;

const std::vector<DType> kTypes = {float32, float64, complex64, complex128};

Tensor on_host(const std::function<Output()>& build) {
  Graph graph;
  const GraphScope scope(graph);
  return Session(graph).run(build());
}

// Matrices far from singular: random ones with a large diagonal.
Tensor regular(Samples& samples, DType dtype, const Shape& shape) {
  const Tensor noise = samples.random(dtype, shape, {-1, 1});
  const Tensor diagonal =
      samples.random(dtype, Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 1))), {3, 5});
  return on_host([&] { return linalg::set_diag(noise, diagonal); });
}

// Hermitian, positive definite.
Tensor positive(Samples& samples, DType dtype, const Shape& shape) {
  const Tensor root = regular(samples, dtype, shape);
  return on_host([&] { return matmul(root, root, {.adjoint_b = true}); });
}

void square_samples(Samples& samples, const std::vector<DType>& dtypes, double tolerance) {
  for (const DType t : dtypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 2, 2}}) {
      samples.add({.inputs = {regular(samples, t, shape)}, .tolerance = tolerance});
    }
  }
  // Beyond a block of the factorisation.
  samples.add({.inputs = {regular(samples, float64, {60, 60})}, .gradient = Check::kNo, .tolerance = 1e-10});
  samples.add({.inputs = {samples.random(float32, {0, 0})}});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

void inverse_samples(Samples& samples, const std::vector<DType>& dtypes) {
  square_samples(samples, dtypes, 0);
  samples.add({.inputs = {regular(samples, complex128, {3, 3})}, .attrs = {{"adjoint", true}}});
  samples.add({.inputs = {regular(samples, float64, {2, 3, 3})}, .attrs = {{"adjoint", true}}});
  samples.error({Tensor::from<float>({2, 2}, {1, 2, 2, 4})}, Code::kInvalidArgument, {}, "not invertible");
}
CAUDAL_OP_SAMPLES(MatrixInverse) {
  inverse_samples(samples, kTypes);
  samples.add({.inputs = {regular(samples, float16, {3, 3})}});
}
CAUDAL_OP_SAMPLES(BatchMatrixInverse) {
  square_samples(samples, {float32, float64}, 0);
  samples.error({Tensor::from<float>({2, 2}, {1, 2, 2, 4})}, Code::kInvalidArgument, {}, "not invertible");
}

void determinant_samples(Samples& samples) {
  for (const DType t : kTypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 2, 2}, Shape{0, 0}, Shape{0, 2, 2}}) {
      samples.add({.inputs = {regular(samples, t, shape)}, .second_order = Check::kNo});
    }
  }
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
  samples.complex_gradient_lacks_conjugates();
}
CAUDAL_OP_SAMPLES(MatrixDeterminant) { determinant_samples(samples); }
CAUDAL_OP_SAMPLES(BatchMatrixDeterminant) { determinant_samples(samples); }
CAUDAL_OP_SAMPLES(LogMatrixDeterminant) {
  determinant_samples(samples);
  samples.add({.inputs = {Tensor::from<float>({2, 2}, {1, 2, 2, 4})}, .expected = {Tensor(0.0F), Tensor(-INFINITY)}});
  samples.add(
      {.inputs = {Tensor::from<float>({2, 2}, {0, 2, 3, 0})}, .expected = {Tensor(-1.0F), Tensor(std::log(6.0F))}});
}

void solve_samples(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    for (const bool adjoint : {false, true}) {
      const AttrMap attrs{{"adjoint", adjoint}};
      samples.add({.inputs = {regular(samples, t, {3, 3}), samples.random(t, {3, 2})}, .attrs = attrs});
      samples.add({.inputs = {regular(samples, t, {2, 2, 2}), samples.random(t, {2, 2, 1})}, .attrs = attrs});
    }
  }
  samples.add({.inputs = {regular(samples, float64, {70, 70}), samples.random(float64, {70, 3})},
               .gradient = Check::kNo,
               .tolerance = 1e-10});
  samples.add({.inputs = {samples.random(float64, {0, 0}), samples.random(float64, {0, 3})}});
  samples.add({.inputs = {regular(samples, float64, {2, 2}), samples.random(float64, {2, 0})}});
  const Tensor square = samples.random(float32, {2, 2});
  samples.error({square, samples.random(float32, {3, 1})}, Code::kInvalidArgument);
  samples.error({square, samples.random(float32, {2, 2, 1})}, Code::kInvalidArgument);
  samples.error({square, samples.random(float32, {2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {2, 1})}, Code::kInvalidArgument);
  samples.error({Tensor::from<float>({2, 2}, {1, 2, 2, 4}), samples.random(float32, {2, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixSolve) { solve_samples(samples, kTypes); }
CAUDAL_OP_SAMPLES(BatchMatrixSolve) { solve_samples(samples, {float32, float64}); }

void triangular_samples(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    for (const bool lower : {false, true}) {
      for (const bool adjoint : {false, true}) {
        const AttrMap attrs{{"lower", lower}, {"adjoint", adjoint}};
        samples.add({.inputs = {regular(samples, t, {3, 3}), samples.random(t, {3, 2})}, .attrs = attrs});
        samples.add({.inputs = {regular(samples, t, {2, 1, 2, 2}), samples.random(t, {3, 2, 1})}, .attrs = attrs});
      }
    }
  }
  for (const bool adjoint : {false, true}) {
    samples.add({.inputs = {regular(samples, float64, {100, 100}), samples.random(float64, {100, 2})},
                 .attrs = {{"adjoint", adjoint}},
                 .gradient = Check::kNo,
                 .tolerance = 1e-10});
  }
  samples.add({.inputs = {samples.random(float64, {0, 0}), samples.random(float64, {0, 3})}});
  samples.error({samples.random(float32, {2, 2}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 2, 2}), samples.random(float32, {2, 2, 1})}, Code::kInvalidArgument);
  samples.error({Tensor::from<float>({2, 2}, {0, 2, 2, 4}), samples.random(float32, {2, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixTriangularSolve) { triangular_samples(samples, kTypes); }
CAUDAL_OP_SAMPLES(BatchMatrixTriangularSolve) { triangular_samples(samples, {float32, float64}); }

// The gradient is made symmetric, which differences of one element at a time do not see: CholeskyGradient below.
void cholesky_samples(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 2, 2}}) {
      samples.add({.inputs = {positive(samples, t, shape)}, .gradient = Check::kNo});
    }
    if (dtype_size(t) > dtype_size(float32) * (is_complex(t) ? 2 : 1)) {
      samples.add({.inputs = {positive(samples, t, {100, 100})}, .gradient = Check::kNo, .tolerance = 1e-9});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 0})}, .gradient = Check::kNo});
  samples.add({.inputs = {Tensor::from<float>({2, 2}, {1, 2, 2, 1})},
               .expected = {Tensor::from<float>({2, 2}, {NAN, 0, NAN, NAN})},
               .gradient = Check::kNo});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Cholesky) {
  cholesky_samples(samples, kTypes);
  // Diagonal matrices of one element, where both are the same.
  samples.add({.inputs = {samples.random(float64, {4, 1, 1}, {1, 5})}});
}
CAUDAL_OP_SAMPLES(BatchCholesky) { cholesky_samples(samples, {float32, float64}); }

void cholesky_grad_samples(Samples& samples) {
  for (const DType t : {float32, float64}) {
    samples.add({.inputs = {regular(samples, t, {3, 3}), samples.random(t, {3, 3})}});
    samples.add({.inputs = {regular(samples, t, {2, 2, 2}), samples.random(t, {2, 2, 2})}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 0}), samples.random(float32, {0, 0})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(CholeskyGrad) { cholesky_grad_samples(samples); }
CAUDAL_OP_SAMPLES(BatchCholeskyGrad) { cholesky_grad_samples(samples); }

CAUDAL_OP_SAMPLES(Lu) {
  for (const DType t : kTypes) {
    for (const DType index : {int32, int64}) {
      samples.add({.inputs = {regular(samples, t, {3, 3})}, .attrs = {{"output_idx_type", index}}});
    }
  }
  samples.add({.inputs = {samples.random(float64, {2, 5, 5})}});
  samples.add({.inputs = {samples.random(float64, {0, 0})}});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
  samples.error({Tensor::from<float>({2, 2}, {1, 2, 2, 4})}, Code::kInvalidArgument);
}

class LinalgTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(LinalgTest, FactorsMultiplyToTheMatrix) {
  for (const DType t : kTypes) {
    const double tolerance = t == float32 || t == complex64 ? 2e-4 : 1e-12;
    for (const int n : {1, 7, 48, 49, 130}) {
      const Tensor a = harness::random_tensor(t, {n, n}, 5);
      const auto [lu, p] = linalg::lu(a);
      const Output lower = linalg::set_diag(linalg::band_part(lu, -1, 0), ones_like(linalg::diag_part(lu)));
      const Output product = matmul(lower, linalg::band_part(lu, 0, -1));
      EXPECT_EQ(harness::difference(run(gather(a, p)), run(product), tolerance), "") << t << ' ' << n;

      const Tensor square = run(matmul(a, a, {.adjoint_b = true}) + n * linalg::diag(ones_like(linalg::diag_part(a))));
      const Output l = linalg::cholesky(square);
      EXPECT_EQ(harness::difference(square, run(matmul(l, l, {.adjoint_b = true})), tolerance), "") << t << ' ' << n;
    }
  }
}

// With S symmetric, d f(A + t S) / dt is sum(S * gradient).
TEST_F(LinalgTest, CholeskyGradient) {
  const Tensor root = harness::random_tensor(float64, {4, 4}), direction = harness::random_tensor(float64, {4, 4}, 3),
               weights = harness::random_tensor(float64, {4, 4}, 7);
  const Tensor s = run(add(direction, linalg::matrix_transpose(direction)));
  const Tensor a =
      run(matmul(root, root, {.transpose_b = true}) + 20 * linalg::diag(Tensor(std::vector<double>(4, 1.0))));
  const auto f = [&](const Output& x) { return linalg::cholesky(x) * weights; };
  const Output x = constant(a);
  const Tensor gradient = run(gradients({f(x)}, {x})[0].dense());
  const double h = 1e-6;
  const Tensor up = run(f(a + h * Output(constant(s)))), down = run(f(a - h * Output(constant(s))));
  double slope = 0, product = 0;
  for (int i = 0; i < 16; ++i) {
    slope += (up.data<double>()[i] - down.data<double>()[i]) / (2 * h);
    product += gradient.data<double>()[i] * s.data<double>()[i];
  }
  EXPECT_NEAR(slope, product, 1e-6 * std::abs(slope));
  // The op of TensorFlow 1 gives the same.
  const Output lower = linalg::cholesky(x);
  EXPECT_EQ(harness::difference(gradient, run(raw_ops::cholesky_grad(lower, weights)), 1e-12), "");
}

TEST_F(LinalgTest, LogDetAndCholeskySolve) {
  const Output a = constant(Tensor::from<double>({2, 2}, {4, 1, 1, 3})),
               b = constant(Tensor::from<double>({2, 1}, {1, 2}));
  EXPECT_NEAR(run(linalg::logdet(a)).item<double>(), std::log(11.0), 1e-14);
  EXPECT_EQ(harness::difference(run(linalg::solve(a, b)), run(linalg::cholesky_solve(linalg::cholesky(a), b)), 1e-14),
            "");
}

// tf.GradientTape's: that of the determinant is not conjugated.
TEST_F(LinalgTest, GradientsOfComplexDeterminants) {
  using C = std::complex<double>;
  const Output x = constant(Tensor::from<C>({2, 2}, {C(1, 1), C(2, 0), C(0.5, 0), C(3, -1)}));
  EXPECT_EQ(harness::difference(
                Tensor::from<C>({2, 2}, {C(3, 41) / 13.0, C(-2.5, -6) / 13.0, C(-10, -24) / 13.0, C(17, 7) / 13.0}),
                run(gradients({linalg::det(x)}, {x})[0].dense()), 1e-12),
            "");
  EXPECT_EQ(harness::difference(
                Tensor::from<C>({2, 2}, {C(7, 9) / 13.0, C(-1.5, -1) / 13.0, C(-6, -4) / 13.0, C(5, -1) / 13.0}),
                run(gradients({linalg::slogdet(x).log_abs_determinant}, {x})[0].dense()), 1e-12),
            "");
}

TEST_F(LinalgTest, TransposesOfUnknownRank) {
  const Output x = placeholder(complex64);
  using C = std::complex<float>;
  const Tensor value = Tensor::from<C>({1, 1, 2}, {C(1, 2), C(3, 4)});
  EXPECT_TRUE(
      identical(Session().run(linalg::adjoint(x), {{x, value}}), Tensor::from<C>({1, 2, 1}, {C(1, -2), C(3, -4)})));
  EXPECT_TRUE(identical(Session().run(linalg::matrix_transpose(x), {{x, value}}),
                        Tensor::from<C>({1, 2, 1}, {C(1, 2), C(3, 4)})));
}

}  // namespace
}  // namespace caudal::inline v0
