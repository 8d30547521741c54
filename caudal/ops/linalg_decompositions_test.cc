#include "caudal/ops/linalg_decompositions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/matrix_diag_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Sample;
using harness::Samples;

const std::vector<DType> kTypes = {float32, float64, complex64, complex128};

// Complex vectors are unique but for a phase, which differences would have to follow: only real ones are compared.
Check differences_of(DType t) { return t == float64 ? Check::kYes : Check::kNo; }

// Gradients of full matrices exist for some forms only: GradientsOfQr and GradientsOfSvd below try them all.
CAUDAL_OP_SAMPLES(Qr) {
  for (const DType t : {float16, float32, float64, complex64, complex128}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 2, 3}, Shape{1, 1}}) {
      for (const bool full : {false, true}) {
        samples.add({.inputs = {samples.random(t, shape)},
                     .attrs = {{"full_matrices", full}},
                     .gradient = full ? Check::kNo : differences_of(t),
                     .second_order = Check::kNo,
                     .tolerance = t == float16 ? 4e-3 : 0});
      }
    }
  }
  samples.add({.inputs = {samples.random(float64, {0, 3})}, .gradient = Check::kNo});
  samples.add(
      {.inputs = {samples.random(float64, {2, 3, 0})}, .attrs = {{"full_matrices", true}}, .gradient = Check::kNo});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

void svd_samples(Samples& samples, bool differentiable) {
  for (const DType t : kTypes) {
    const Check differences = differentiable ? differences_of(t) : Check::kNo;
    for (const Shape& shape : {Shape{3, 3}, Shape{4, 3}, Shape{2, 2, 3}, Shape{1, 1}}) {
      samples.add({.inputs = {samples.random(t, shape)}, .gradient = differences, .second_order = Check::kNo});
      samples.add({.inputs = {samples.random(t, shape)}, .attrs = {{"full_matrices", true}}, .gradient = Check::kNo});
      samples.add({.inputs = {samples.random(t, shape)},
                   .attrs = {{"compute_uv", false}},
                   .gradient = differences,
                   .second_order = Check::kNo});
    }
  }
  samples.add({.inputs = {samples.random(float64, {0, 3})}, .gradient = Check::kNo});
  samples.add(
      {.inputs = {samples.random(float64, {2, 3, 0})}, .attrs = {{"full_matrices", true}}, .gradient = Check::kNo});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Svd) { svd_samples(samples, true); }
CAUDAL_OP_SAMPLES(BatchSvd) { svd_samples(samples, false); }

void eigh_samples(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}, Shape{1, 1}}) {
      samples.add({.inputs = {samples.random(t, shape)}, .gradient = differences_of(t), .second_order = Check::kNo});
      samples.add({.inputs = {samples.random(t, shape)},
                   .attrs = {{"compute_v", false}},
                   .gradient = differences_of(t),
                   .second_order = Check::kNo});
    }
  }
  samples.add({.inputs = {samples.random(float64, {0, 0})}, .gradient = Check::kNo});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
  samples.error({Tensor::from<float>({2, 2}, {NAN, 1, 1, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SelfAdjointEigV2) { eigh_samples(samples, kTypes); }
CAUDAL_OP_SAMPLES(BatchSelfAdjointEigV2) {
  for (const DType t : {float32, float64}) {
    samples.add({.inputs = {samples.random(t, {2, 3, 3})}});
    samples.add({.inputs = {samples.random(t, {3, 3})}, .attrs = {{"compute_v", false}}});
  }
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
}

void packed_samples(Samples& samples) {
  for (const DType t : {float32, float64}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}, Shape{0, 0}}) {
      samples.add({.inputs = {samples.random(t, shape)}});
    }
  }
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SelfAdjointEig) { packed_samples(samples); }
CAUDAL_OP_SAMPLES(BatchSelfAdjointEig) { packed_samples(samples); }

CAUDAL_OP_SAMPLES(Eig) {
  for (const DType t : kTypes) {
    const DType out = t == float64 || t == complex128 ? complex128 : complex64;
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 2}, Shape{0, 0}}) {
      const AttrMap vectors{{"Tout", out}}, values{{"Tout", out}, {"compute_v", false}};
      samples.add({.inputs = {samples.random(t, shape)}, .attrs = vectors, .gradient = Check::kNo});
      samples.add({.inputs = {samples.random(t, shape)},
                   .attrs = values,
                   .gradient = t == complex128 ? Check::kYes : Check::kNo,
                   .second_order = Check::kNo});
    }
  }
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument, {{"Tout", complex64}});
}

class DecompositionTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  // The gradient of a real function against differences, element by element (both parts of complex ones).
  void check_gradient(const Tensor& at, const std::function<Output(const Output&)>& f) {
    const Output x = placeholder(at.dtype(), at.shape());
    const Output y = f(x);
    const Tensor gradient = Session().run(gradients({y}, {x})[0].dense(), {{x, at}});
    const bool is_complex = at.dtype() == complex128;
    const double h = 1e-6;
    for (std::int64_t i = 0; i < at.num_elements() * (is_complex ? 2 : 1); ++i) {
      double values[2];
      for (int side : {0, 1}) {
        Tensor moved = at.clone();
        reinterpret_cast<double*>(moved.raw())[i] += side == 0 ? h : -h;
        values[side] = Session().run(y, {{x, moved}}).item<double>();
      }
      const double slope = (values[0] - values[1]) / (2 * h), got = reinterpret_cast<const double*>(gradient.raw())[i];
      EXPECT_NEAR(slope, got, 2e-7 * std::max(1.0, std::abs(slope))) << at.describe() << " element " << i;
    }
  }
  // A real number that does not depend on phases of the columns of v.
  Output weighed(const Output& v, std::uint64_t seed) {
    const Tensor weights = harness::random_tensor(float64, {v.shape()[-1]}, seed);
    const Tensor left = harness::random_tensor(v.dtype(), {1, v.shape()[-2]}, seed + 1);
    const Output size = square_of(matmul(left, v));
    return reduce_sum(weights * size);
  }
  Output square_of(const Output& x) { return math_real(x * conj(x)); }
  static Output math_real(const Output& x) {
    return is_complex(x.dtype()) ? OpBuilder("Real", {}).input(x).attr("Tout", float64).build() : x;
  }
  static Output conj(const Output& x) { return is_complex(x.dtype()) ? OpBuilder("Conj", {}).input(x).build() : x; }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(DecompositionTest, FactorsMultiplyToTheMatrix) {
  for (const DType t : kTypes) {
    const double tolerance = t == float32 || t == complex64 ? 2e-4 : 1e-11;
    for (const Shape& shape : {Shape{5, 5}, Shape{2, 6, 4}, Shape{3, 30}, Shape{40, 33}}) {
      const Tensor a = harness::random_tensor(t, shape, 5);
      for (const bool full : {false, true}) {
        const auto [q, r] = linalg::qr(a, {.full_matrices = full});
        EXPECT_EQ(harness::difference(a, run(matmul(q, r)), tolerance), "") << a.describe();
        const auto [s, u, v] = linalg::svd(a, {.full_matrices = full});
        const Output used_u = linalg::diag(
            cast(s, t), {.num_rows = static_cast<int>(u.shape()[-1]), .num_cols = static_cast<int>(v.shape()[-1])});
        EXPECT_EQ(harness::difference(a, run(matmul(matmul(u, used_u), v, {.adjoint_b = true})), tolerance), "")
            << a.describe();
        EXPECT_EQ(harness::difference(run(s), run(linalg::singular_values(a)), tolerance), "");
      }
    }
    const Tensor square = harness::random_tensor(t, {2, 7, 7}, 6);
    const Tensor hermitian = run(add(square, linalg::adjoint(square)));
    const auto [e, v] = linalg::eigh(hermitian);
    EXPECT_EQ(
        harness::difference(hermitian, run(matmul(matmul(v, linalg::diag(e)), v, {.adjoint_b = true})), tolerance), "");
    EXPECT_EQ(harness::difference(run(e), run(linalg::eigvalsh(hermitian)), tolerance), "");
    const auto [w, x] = linalg::eig(square);
    EXPECT_EQ(harness::difference(run(matmul(cast(square, x.dtype()), x)), run(matmul(x, linalg::diag(w))), tolerance),
              "");
  }
}

// The signs of QR's factors are those of TensorFlow: tf.linalg.qr([[1., 2.], [3., 4.]])
TEST_F(DecompositionTest, SignsOfQr) {
  const auto [q, r] = linalg::qr(constant({{1.0, 2.0}, {3.0, 4.0}}));
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 2}, {-0.31622776F, -0.94868326F, -0.94868326F, 0.3162278F}),
                                run(q), 1e-6),
            "");
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 2}, {-3.1622777F, -4.4271884F, 0, -0.6324554F}), run(r), 1e-6),
            "");
}

TEST_F(DecompositionTest, GradientsOfQr) {
  for (const DType t : {float64, complex128}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}}) {
      check_gradient(harness::random_tensor(t, shape, 8), [&](const Output& x) {
        const auto [q, r] = linalg::qr(x);
        const Tensor a = harness::random_tensor(t, {q.shape()[0], q.shape()[1]}, 3);
        const Tensor b = harness::random_tensor(t, {r.shape()[0], r.shape()[1]}, 4);
        return reduce_sum(math_real(q * a)) + reduce_sum(math_real(r * b));
      });
    }
  }
}

TEST_F(DecompositionTest, GradientsOfSvd) {
  for (const DType t : {float64, complex128}) {
    for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}, Shape{3, 4}}) {
      for (const bool full : {false, true}) {
        if (full && std::abs(shape[0] - shape[1]) > 1) continue;
        check_gradient(harness::random_tensor(t, shape, 9), [&](const Output& x) {
          const auto [s, u, v] = linalg::svd(x, {.full_matrices = full});
          return reduce_sum(s * harness::random_tensor(float64, {s.shape()[0]}, 2)) + weighed(u, 3) + weighed(v, 5);
        });
      }
    }
  }
  // With the product of u and v, whose phases are one.
  check_gradient(harness::random_tensor(complex128, {3, 3}, 9), [&](const Output& x) {
    const auto [s, u, v] = linalg::svd(x);
    return reduce_sum(math_real(matmul(u, v, {.adjoint_b = true}) * harness::random_tensor(complex128, {3, 3}, 2)));
  });
}

TEST_F(DecompositionTest, GradientsOfEigenvectors) {
  const Tensor a = harness::random_tensor(complex128, {3, 3}, 9);
  check_gradient(a, [&](const Output& x) {
    const auto [e, v] = linalg::eigh(x + linalg::adjoint(x));
    return weighed(v, 3) + reduce_sum(math_real(e) * harness::random_tensor(float64, {3}, 2));
  });
  check_gradient(a, [&](const Output& x) {
    const auto [e, v] = linalg::eig(x);
    return weighed(v, 3) + reduce_sum(math_real(e) * harness::random_tensor(float64, {3}, 2));
  });
}

}  // namespace
}  // namespace caudal::inline v0
