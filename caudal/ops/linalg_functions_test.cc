#include "caudal/ops/linalg_functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/linalg_solve.h"
#include "caudal/ops/linalg_transpose.h"
#include "caudal/ops/matmul.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

class LinalgFunctions : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  void expect(const Tensor& want, const Output& got, double tolerance = 1e-6) {
    EXPECT_EQ(harness::difference(want, run(got), tolerance), "");
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(LinalgFunctions, Eye) {
  expect(Tensor::from<float>({2, 3}, {1, 0, 0, 0, 1, 0}), linalg::eye(2, {.num_columns = 3}));
  expect(Tensor::from<int>({2, 1, 1}, {1, 1}), linalg::eye(1, {.batch_shape = {2}, .dtype = int32}));
}

// tf.norm([[3., 4.], [-5., 12.]], ...)
TEST_F(LinalgFunctions, Norms) {
  const Output x = constant({{3.0, 4.0}, {-5.0, 12.0}});
  expect(Tensor(13.928389F), linalg::norm(x));
  expect(Tensor(std::vector<float>{5, 13}), linalg::norm(x, {.axis = {-1}}));
  expect(Tensor::from<float>({2, 1}, {7, 17}), linalg::norm(x, {.ord = "1", .axis = {1}, .keepdims = true}));
  expect(Tensor(std::vector<float>{5, 12}), linalg::norm(x, {.ord = "inf", .axis = {0}}));
  expect(Tensor(std::vector<float>{4.4979415F, 12.282643F}), linalg::norm(x, {.ord = "3", .axis = {1}}), 1e-5);
  expect(Tensor(16.0F), linalg::norm(x, {.ord = "1", .axis = {0, 1}}));
  expect(Tensor(17.0F), linalg::norm(x, {.ord = "inf", .axis = {0, 1}}));
  expect(Tensor(13.274122F), linalg::norm(x, {.ord = "2", .axis = {0, 1}}), 1e-5);
  EXPECT_EQ(run(linalg::norm(x, {.ord = "2", .axis = {0, 1}, .keepdims = true})).shape(), Shape({1, 1}));
  EXPECT_THROW(linalg::norm(x, {.ord = "3", .axis = {0, 1}}), Error);
  EXPECT_THROW(linalg::norm(x, {.ord = "many"}), Error);
}

TEST_F(LinalgFunctions, Products) {
  const Output a = constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  expect(Tensor(std::vector<float>{14, 32}), linalg::matvec(a, std::vector<float>{1, 2, 3}));
  expect(Tensor(std::vector<float>{9, 12, 15}), linalg::matvec(a, std::vector<float>{1, 2}, {.transpose_a = true}));
  const Tensor x = harness::random_tensor(float64, {2, 3, 4}), y = harness::random_tensor(float64, {4, 3, 2}, 4);
  expect(run(matmul(x, Tensor(y.reshape({4, 6})))).reshape({2, 3, 3, 2}), tensordot(x, y, 1), 1e-12);
  EXPECT_EQ(run(tensordot(x, y, {0, 2}, {2, 0})).shape(), Shape({3, 3}));
  EXPECT_THROW(tensordot(x, y, {0}, {2, 0}), Error);
}

TEST_F(LinalgFunctions, InversesOfAnyMatrix) {
  const Tensor a = harness::random_tensor(float64, {2, 5, 3}, 3);
  const Output inverse = linalg::pinv(a);
  expect(a, matmul(matmul(a, inverse), a), 1e-12);
  expect(run(inverse), matmul(matmul(inverse, a), inverse), 1e-12);
  expect(Tensor(std::vector<int>{3, 3}), linalg::matrix_rank(a));
  expect(Tensor(1), linalg::matrix_rank(Tensor::from<double>({2, 2}, {1, 2, 2, 4})));
}

TEST_F(LinalgFunctions, LuFactors) {
  for (const Shape& shape : {Shape{4, 4}, Shape{2, 4, 4}}) {
    const Tensor a = harness::random_tensor(float64, shape, 3), b = harness::random_tensor(float64, shape, 4);
    const auto [lu, p] = linalg::lu(a);
    expect(a, linalg::lu_reconstruct(lu, p), 1e-12);
    expect(run(linalg::solve(a, b)), linalg::lu_solve(lu, p, b), 1e-10);
    expect(run(linalg::inv(a)), linalg::lu_matrix_inverse(lu, p), 1e-10);
  }
}

}  // namespace
}  // namespace caudal::inline v0
