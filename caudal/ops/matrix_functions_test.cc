#include "caudal/ops/matrix_functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
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

// a a^H + 5: positive eigenvalues.
Tensor positive(const Tensor& a) {
  Graph graph;
  const GraphScope scope(graph);
  const Output product = matmul(a, a, {.adjoint_b = true});
  return Session(graph).run(linalg::set_diag(product, linalg::diag_part(product) + 5));
}

void square_samples(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    samples.add({.inputs = {positive(samples.random(t, {3, 3}, {-1, 1}))}, .second_order = Check::kNo});
    samples.add({.inputs = {positive(samples.random(t, {2, 2, 2}, {-1, 1}))}, .second_order = Check::kNo});
  }
  samples.add({.inputs = {samples.random(dtypes.back(), {0, 0})}, .gradient = Check::kNo});
  samples.error({samples.random(dtypes.back(), {2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixExponential) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3, 3}, {-1, 1})}});
    samples.add({.inputs = {samples.random(t, {4, 4}, {-1, 1})}});
  }
  samples.add({.inputs = {samples.random(float64, {3, 3}, {-9, 9})}, .tolerance = 1e-9});
  samples.add({.inputs = {Tensor::from<double>({2, 2}, {0, -M_PI, M_PI, 0})},
               .expected = {Tensor::from<double>({2, 2}, {-1, 0, 0, -1})}});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixLogarithm) { square_samples(samples, {complex64, complex128}); }
CAUDAL_OP_SAMPLES(MatrixSquareRoot) {
  square_samples(samples, kTypes);
  samples.add({.inputs = {Tensor::from<double>({1, 1}, {-4})},
               .expected = {Tensor::from<double>({1, 1}, {NAN})},
               .gradient = Check::kNo});
}

TEST(MatrixFunctionsTest, AreInverses) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor a = positive(harness::random_tensor(complex128, {2, 5, 5}, 4, {-1, 1}));
  const Output x = constant(a);
  EXPECT_EQ(harness::difference(a, Session().run(linalg::expm(linalg::logm(x))), 1e-11), "");
  const Output root = linalg::sqrtm(x);
  EXPECT_EQ(harness::difference(a, Session().run(matmul(root, root)), 1e-12), "");
}

}  // namespace
}  // namespace caudal::inline v0
