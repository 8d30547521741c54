#include "caudal/ops/linalg_banded.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/linalg_solve.h"
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

// Row `main` of the bands, the main diagonal, is made large.
Tensor bands(Samples& samples, DType dtype, const Shape& shape, int main) {
  Tensor noise = samples.random(dtype, shape, {-1, 1});
  const Tensor large = samples.random(dtype, shape, {3, 5});
  const std::int64_t n = shape[-1], rows = shape[-2], size = n * static_cast<std::int64_t>(dtype_size(dtype));
  for (std::int64_t r = main; r < noise.num_elements() / n; r += rows) {
    std::copy_n(large.raw() + r * size, size, noise.raw() + r * size);
  }
  return noise;
}

CAUDAL_OP_SAMPLES(TridiagonalSolve) {
  for (const DType t : kTypes) {
    for (const bool pivoting : {false, true}) {
      const AttrMap attrs{{"partial_pivoting", pivoting}};
      samples.add({.inputs = {bands(samples, t, {3, 4}, 1), samples.random(t, {4, 2})}, .attrs = attrs});
      samples.add({.inputs = {bands(samples, t, {2, 3, 1}, 1), samples.random(t, {2, 1, 2})}, .attrs = attrs});
    }
  }
  samples.add({.inputs = {samples.random(float64, {3, 9}), samples.random(float64, {9, 2})}, .gradient = Check::kNo});
  samples.add({.inputs = {samples.random(float64, {3, 0}), samples.random(float64, {0, 2})}, .gradient = Check::kNo});
  samples.complex_gradient_lacks_conjugates();
  samples.error({samples.random(float32, {2, 4}), samples.random(float32, {4, 1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 4}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
  samples.error({Tensor::zeros(float32, {3, 2}), samples.random(float32, {2, 1})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(TridiagonalMatMul) {
  for (const DType t : kTypes) {
    for (const Shape& batch : {Shape{}, Shape{2}}) {
      for (const int n : {1, 2, 4}) {
        const Shape diagonal = batch.append(1).append(n);
        samples.add({.inputs = {samples.random(t, diagonal), samples.random(t, diagonal), samples.random(t, diagonal),
                                samples.random(t, batch.append(n).append(2))}});
      }
    }
  }
  const Tensor d = samples.random(float32, {1, 4});
  samples.error({d, d, d, samples.random(float32, {3, 2})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(BandedTriangularSolve) {
  for (const DType t : kTypes) {
    for (const bool lower : {false, true}) {
      for (const bool adjoint : {false, true}) {
        const AttrMap attrs{{"lower", lower}, {"adjoint", adjoint}};
        samples.add({.inputs = {bands(samples, t, {2, 4}, lower ? 0 : 1), samples.random(t, {4, 2})}, .attrs = attrs});
        samples.add(
            {.inputs = {bands(samples, t, {3, 3}, lower ? 0 : 2), samples.random(t, {2, 3, 1})}, .attrs = attrs});
        samples.add({.inputs = {bands(samples, t, {2, 1, 3}, 0), samples.random(t, {2, 3, 1})}, .attrs = attrs});
      }
    }
  }
  samples.error({samples.random(float32, {2, 4}), samples.random(float32, {3, 1})}, Code::kInvalidArgument);
  samples.error({Tensor::zeros(float32, {1, 2}), samples.random(float32, {2, 1})}, Code::kInvalidArgument);
}

class BandedTest : public testing::Test {
 protected:
  void expect(const Tensor& want, const Output& got) {
    EXPECT_EQ(harness::difference(want, Session().run(got), 1e-11), "");
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(BandedTest, AgreesWithFullMatrices) {
  const Tensor diagonals = harness::random_tensor(float64, {2, 3, 6}),
               rhs = harness::random_tensor(float64, {2, 6, 2}, 3);
  const Output full = linalg::diag(diagonals, {.k = {-1, 1}, .num_rows = 6, .num_cols = 6, .align = "LEFT_RIGHT"});
  expect(Session().run(matmul(full, rhs)), linalg::tridiagonal_matmul(diagonals, rhs));
  expect(Session().run(linalg::solve(full, rhs)), linalg::tridiagonal_solve(diagonals, rhs));
  const Output lower = linalg::diag(diagonals, {.k = {-2, 0}, .num_rows = 6, .num_cols = 6, .align = "LEFT_RIGHT"});
  expect(Session().run(linalg::triangular_solve(lower, rhs)), linalg::banded_triangular_solve(diagonals, rhs));
}

}  // namespace
}  // namespace caudal::inline v0
