#include "caudal/ops/block_ops.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};
const std::vector<DType> kAllTypes = {float16, bfloat16, float32, float64, int8,    int16,     int32,      int64,
                                      uint8,   uint16,   uint32,  uint64,  boolean, complex64, complex128, string};

Tensor edges(std::initializer_list<int> values) {
  return Tensor::from<int>({static_cast<std::int64_t>(values.size()) / 2, 2}, values);
}
Tensor sizes(std::vector<int> values) { return Tensor(values); }

CAUDAL_OP_SAMPLES(SpaceToBatchND) {
  for (const DType t : kReals) {
    samples.add({.inputs = {samples.random(t, {1, 5, 3, 2}), sizes({2, 3}), edges({1, 2, 3, 0})}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 4}), sizes({2}), edges({0, 0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(std::vector<int>{}), Tensor::zeros(int32, {0, 2})}});
  samples.add({.inputs = {samples.random(float32, {0, 4, 1}), sizes({2}), edges({0, 0})}});
  samples.add({.inputs = {samples.random(float32, {3, 0}), sizes({2}), edges({3, 1})}});
  samples.add({.inputs = {samples.random(float32, {1, 2, 1, 3}), Tensor(std::vector<std::int64_t>{4, 1}),
                          Tensor::from<std::int64_t>({2, 2}, {6, 0, 0, 2})}});
  samples.error({samples.random(float32, {1, 3, 1}), sizes({2}), edges({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 4, 1}), sizes({0}), edges({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 4, 1}), sizes({2}), edges({-1, 1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4}), sizes({2}), edges({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 4}), sizes({2}), edges({0, 0, 0, 0})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(BatchToSpaceND) {
  for (const DType t : kReals) {
    samples.add({.inputs = {samples.random(t, {6, 2, 2, 2}), sizes({2, 3}), edges({1, 0, 2, 1})}});
  }
  samples.add({.inputs = {samples.random(float64, {4, 3}), sizes({2}), edges({0, 0})}});
  samples.add({.inputs = {samples.random(float64, {4, 2, 5}), sizes({2}), edges({3, 1})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(std::vector<int>{}), Tensor::zeros(int32, {0, 2})}});
  samples.add({.inputs = {samples.random(float32, {8, 1, 1, 3}), Tensor(std::vector<std::int64_t>{4, 2}),
                          Tensor::from<std::int64_t>({2, 2}, {2, 0, 0, 1})}});
  samples.error({samples.random(float32, {3, 2, 1}), sizes({2}), edges({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4, 2, 1}), sizes({2}), edges({3, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4, 2, 1}), sizes({2}), edges({-1, 0})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SpaceToBatch) {
  for (const DType t : kReals) {
    samples.add({.inputs = {samples.random(t, {2, 3, 4, 2}), edges({1, 0, 0, 2})}, .attrs = {{"block_size", 2}}});
  }
  samples.error({samples.random(float32, {1, 3, 4, 1}), edges({0, 0, 0, 0})}, Code::kInvalidArgument,
                {{"block_size", 2}});
  samples.error({samples.random(float32, {1, 4, 4}), edges({0, 0, 0, 0})}, Code::kInvalidArgument, {{"block_size", 2}});
}

CAUDAL_OP_SAMPLES(BatchToSpace) {
  for (const DType t : kReals) {
    samples.add({.inputs = {samples.random(t, {8, 2, 3, 1}), edges({1, 0, 0, 2})}, .attrs = {{"block_size", 2}}});
  }
  samples.error({samples.random(float32, {6, 3, 4, 1}), edges({0, 0, 0, 0})}, Code::kInvalidArgument,
                {{"block_size", 2}});
}

CAUDAL_OP_SAMPLES(SpaceToDepth) {
  for (const DType t : kAllTypes) {
    samples.add({.inputs = {samples.random(t, {1, 4, 6, 3})}, .attrs = {{"block_size", 2}}});
  }
  samples.add({.inputs = {samples.random(DType::kQint8, {1, 3, 3, 2})}, .attrs = {{"block_size", 3}}});
  samples.add({.inputs = {samples.random(float32, {0, 4, 4, 1})}, .attrs = {{"block_size", 4}}});
  samples.error({samples.random(float32, {1, 3, 4, 1})}, Code::kInvalidArgument, {{"block_size", 2}});
  samples.error({samples.random(float32, {4, 4, 1})}, Code::kInvalidArgument, {{"block_size", 2}});
  samples.error({samples.random(float32, {1, 1, 4, 4})}, Code::kUnimplemented,
                {{"block_size", 2}, {"data_format", "NCHW"}});
}

CAUDAL_OP_SAMPLES(DepthToSpace) {
  for (const DType t : kAllTypes) {
    samples.add({.inputs = {samples.random(t, {2, 2, 3, 8})}, .attrs = {{"block_size", 2}}});
  }
  samples.add({.inputs = {samples.random(float32, {1, 0, 4, 9})}, .attrs = {{"block_size", 3}}});
  samples.error({samples.random(float32, {1, 3, 4, 6})}, Code::kInvalidArgument, {{"block_size", 2}});
  samples.error({samples.random(float32, {4, 4, 4})}, Code::kInvalidArgument, {{"block_size", 2}});
}

class BlockOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(BlockOps, GoThereAndBack) {
  const Output x = constant(Tensor::from<int>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}));
  const Output batched = space_to_batch(x, {2, 2}, constant(edges({0, 0, 0, 1})));
  EXPECT_EQ(batched.shape(), PartialShape({4, 1, 2, 1}));
  EXPECT_EQ(session_.run(batched).to_vector<int>(), (std::vector<int>{1, 3, 2, 0, 4, 6, 5, 0}));
  const Output back = nn::batch_to_space(batched, {2, 2}, constant(edges({0, 0, 0, 1})));
  EXPECT_EQ(session_.run(back).to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST_F(BlockOps, ShapesAsFarAsTheyAreKnown) {
  const Output x = placeholder(float32, {-1, -1, 4, 3});
  EXPECT_EQ(space_to_batch(x, {2, 2}, constant(edges({0, 0, 0, 0}))).shape(), PartialShape({-1, -1, 2, 3}));
  EXPECT_EQ(nn::space_to_depth(x, 2).shape(), PartialShape({-1, -1, 2, 12}));
  const Output y = placeholder(float32, {-1, -1, 4, 12});
  EXPECT_EQ(nn::depth_to_space(y, 2).shape(), PartialShape({-1, -1, 8, 3}));
  EXPECT_EQ(nn::space_to_depth(placeholder(float32, {1, 3, 4, 4}), 2, {.data_format = "NCHW"}).shape(),
            PartialShape({1, 12, 2, 2}));
}

}  // namespace
}  // namespace caudal::inline v0
