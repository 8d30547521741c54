#include "caudal/ops/slicing.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/transpose_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kMovedTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(Slice) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {3, 4}), ints({1, 0}), ints({-1, 3})}});
  }
  samples.add({.inputs = {samples.random(float64, {}), ints({}), ints({})}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 2, 3}), longs({0, 1, 0, 1}), longs({2, 2, 1, -1})}});
  samples.add({.inputs = {samples.random(float32, {3, 0}), ints({1, 0}), ints({2, -1})}});
  samples.add({.inputs = {samples.random(float32, {300, 257}), ints({1, 3}), ints({298, 250})}});
  samples.error({samples.random(float32, {3}), ints({-1}), ints({1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), ints({0, 0}), ints({1, 1})}, Code::kInvalidArgument);
  samples.add({.inputs = {samples.random(float64, {3}), longs({3}), longs({0})}});
  samples.error({samples.random(float32, {3}), ints({2}), ints({2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StridedSlice) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {3, 4}), ints({-1, 0}), ints({0, 4}), ints({-1, 2})},
                 .attrs = {{"end_mask", 1}}});
  }
  const Tensor x = samples.random(float64, {2, 3, 4});
  samples.add({.inputs = {x, ints({-1, 0}), ints({0, 0}), ints({2, 1})},
               .attrs = {{"shrink_axis_mask", 1}, {"begin_mask", 2}, {"end_mask", 2}}});
  samples.add({.inputs = {x, ints({0, 0}), ints({0, 1}), ints({1, 1})},
               .attrs = {{"ellipsis_mask", 1}, {"shrink_axis_mask", 2}}});
  samples.add({.inputs = {x, ints({0, 0, 1}), ints({2, 0, 3}), ints({1, 1, 1})}, .attrs = {{"new_axis_mask", 2}}});
  samples.add({.inputs = {Tensor(std::vector<float>{1, 2, 3, 4}), ints({3}), ints({1}), ints({1})},
               .expected = {Tensor(DType::kFloat, Shape{0})}});
  samples.error({x, ints({2}), ints({3}), ints({1})}, Code::kInvalidArgument, {{"shrink_axis_mask", 1}});
  samples.error({x, ints({0}), ints({1}), ints({0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StridedSliceGrad) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {ints({3, 4}), ints({0, 1}), ints({3, 4}), ints({2, 2}), samples.random(t, {2, 2})}});
  }
  samples.add(
      {.inputs = {longs({2, 3, 4}), longs({-1, 0}), longs({0, 0}), longs({2, 1}), samples.random(float64, {3, 4})},
       .attrs = {{"shrink_axis_mask", 1}, {"begin_mask", 2}, {"end_mask", 2}}});
  samples.add({.inputs = {ints({5}), ints({4}), ints({0}), ints({-2}), samples.random(float64, {2})}});
  samples.error({ints({3}), ints({0}), ints({3}), ints({1}), samples.random(float32, {2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(TensorStridedSliceUpdate) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {5}), ints({1}), ints({5}), ints({2}), samples.random(t, {2})}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3}), longs({0, -1}), longs({0, 0}), longs({1, -1}),
                          samples.random(float64, {2, 3})},
               .attrs = {{"begin_mask", 3}, {"end_mask", 3}}});
  samples.error({samples.random(float32, {5}), ints({1}), ints({5}), ints({2}), samples.random(float32, {3})},
                Code::kInvalidArgument);
}

class SlicingTest : public testing::Test {
 protected:
  // 0, 1, 2, ... in the given shape.
  Output counted(const std::vector<int>& dims) {
    int n = 1;
    for (const int dim : dims) n *= dim;
    return reshape(range(n), Tensor(dims));
  }
  Tensor run(const Output& output) { return Session().run(output); }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(SlicingTest, LastElementShrinks) {
  const Output x = constant({1, 2, 3, 4});
  EXPECT_TRUE(identical(run(index(x, {-1})), Tensor(4)));
  const Output last = strided_slice(x, {-1}, {0}, {1}, {.shrink_axis_mask = 1});
  EXPECT_EQ(last.shape(), PartialShape::scalar());
  EXPECT_TRUE(identical(run(last), Tensor(4)));
}

TEST_F(SlicingTest, NegativeStrideReverses) {
  const Output x = constant({1, 2, 3, 4});
  EXPECT_TRUE(identical(run(index(x, {Slice{{}, {}, -1}})), Tensor(std::vector<int>{4, 3, 2, 1})));
  EXPECT_EQ(run(index(x, {Slice{3, 1}})).shape(), Shape{0});
}

TEST_F(SlicingTest, EllipsisAndNewAxis) {
  const Output x = counted({2, 3, 4});
  const Tensor first = run(index(x, {kEllipsis, 0}));
  EXPECT_EQ(first.shape(), (Shape{2, 3}));
  EXPECT_EQ(first.at<int>(1, 2), 20);
  EXPECT_EQ(index(x, {kAll, kNewAxis}).shape(), (PartialShape{2, 1, 3, 4}));
  EXPECT_EQ(index(x, {kEllipsis, kNewAxis}).shape(), (PartialShape{2, 3, 4, 1}));
  EXPECT_EQ(index(x, {0, kEllipsis, kNewAxis, Slice{1, 3}}).shape(), (PartialShape{3, 1, 2}));
}

TEST_F(SlicingTest, StrideIsIgnoredWhereOneElementIsTaken) {
  const Output x = constant({1, 2, 3, 4});
  EXPECT_TRUE(identical(run(strided_slice(x, {1}, {2}, {2}, {.shrink_axis_mask = 1})), Tensor(2)));
}

TEST_F(SlicingTest, TensorsMayIndex) {
  const Output x = counted({128, 8, 32});
  const Output row = placeholder(int32, PartialShape::scalar());
  const Tensor result = Session().run(index(x, {row}), {{row, Tensor(41)}});
  EXPECT_EQ(result.shape(), (Shape{8, 32}));
  EXPECT_EQ(result.at<int>(0, 0), 41 * 8 * 32);
  EXPECT_THROW(Session().run(index(x, {row}), {{row, Tensor(128)}}), Error);
}

TEST_F(SlicingTest, ErrorsAreFoundWhileBuilding) {
  const Output x = constant({1, 2, 3, 4});
  EXPECT_THROW(index(x, {4}), Error);
  EXPECT_THROW(index(x, {0, 0}), Error);
  EXPECT_THROW(index(x, {kEllipsis, kEllipsis}), Error);
}

TEST_F(SlicingTest, GradientGoesToTheSlice) {
  const Output x = constant({1.0, 2.0, 3.0, 4.0});
  const auto grads = gradients({index(x, {Slice{1, {}, 2}})}, {x});
  EXPECT_TRUE(identical(run(grads[0].dense()), Tensor(std::vector<float>{0, 1, 0, 1})));
}

TEST_F(SlicingTest, PadReflects) {
  const Output x = constant({1, 2, 3});
  const Output two = constant({{2, 2}});
  EXPECT_TRUE(identical(run(pad(x, two, {.mode = PadMode::kReflect})), Tensor(std::vector<int>{3, 2, 1, 2, 3, 2, 1})));
  EXPECT_TRUE(
      identical(run(pad(x, two, {.mode = PadMode::kSymmetric})), Tensor(std::vector<int>{2, 1, 1, 2, 3, 3, 2})));
  EXPECT_TRUE(identical(run(pad(x, two, {.constant_values = 9})), Tensor(std::vector<int>{9, 9, 1, 2, 3, 9, 9})));
}

TEST_F(SlicingTest, TransposeReversesDimensions) {
  const Tensor y = run(transpose(counted({2, 3, 4})));
  EXPECT_EQ(y.shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(y.at<int>(3, 1, 1), 19);
}

TEST_F(SlicingTest, GradientOfATransposeChecksThePermutation) {
  const Output x = placeholder(float32, {3});
  EXPECT_THROW(gradients({transpose(x, {5})}, {x}), Error);
  const Output y = counted({2, 3});
  EXPECT_EQ(run(transpose(y, {-1, 0})).at<int>(2, 1), 5);
}

TEST_F(SlicingTest, GatherKeepsItsGradientSparse) {
  const Output table = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const auto grads = gradients({gather(table, {2, 0, 2})}, {table});
  ASSERT_TRUE(grads[0].is_sparse());
  EXPECT_TRUE(identical(run(grads[0].slices().indices), Tensor(std::vector<int>{2, 0, 2})));
  EXPECT_TRUE(identical(run(grads[0].dense()), Tensor::from<float>({3, 2}, {1, 1, 0, 0, 2, 2})));
}

TEST_F(SlicingTest, EmbeddingPartitionsAgreeWithTheWhole) {
  const Output ids = constant({{0, 6}, {3, 4}});
  const Tensor whole = run(nn::embedding_lookup({counted({7, 2})}, ids));
  EXPECT_EQ(whole.shape(), (Shape{2, 2, 2}));
  // Rows 0, 3, 6 | 1, 4 | 2, 5 and 0 .. 2 | 3, 4 | 5, 6.
  const std::vector<Output> mod = {constant({{0, 1}, {6, 7}, {12, 13}}), constant({{2, 3}, {8, 9}}),
                                   constant({{4, 5}, {10, 11}})};
  const std::vector<Output> div = {constant({{0, 1}, {2, 3}, {4, 5}}), constant({{6, 7}, {8, 9}}),
                                   constant({{10, 11}, {12, 13}})};
  EXPECT_TRUE(identical(run(nn::embedding_lookup(mod, ids)), whole));
  EXPECT_TRUE(
      identical(run(nn::embedding_lookup(div, ids, {.partition_strategy = nn::PartitionStrategy::kDiv})), whole));
}

TEST_F(SlicingTest, JoiningAndSplittingAreInverse) {
  const Output x = counted({4, 6});
  EXPECT_TRUE(identical(run(concat(split(x, 3, 1), 1)), run(x)));
  EXPECT_TRUE(identical(run(concat(split(x, {1, -1}, 0), 0)), run(x)));
  EXPECT_TRUE(identical(run(stack(unstack(x, {.axis = 1}), 1)), run(x)));
  EXPECT_TRUE(identical(run(stack({size(x), 7})), Tensor(std::vector<int>{24, 7})));
}

TEST_F(SlicingTest, OneHotDefaultsToFloat) {
  EXPECT_TRUE(identical(run(one_hot({1, -1}, 2)), Tensor::from<float>({2, 2}, {0, 1, 0, 0})));
}

}  // namespace
}  // namespace caudal::inline v0
