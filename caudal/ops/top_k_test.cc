#include "caudal/ops/top_k.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};
constexpr float kInf = std::numeric_limits<float>::infinity();

CAUDAL_OP_SAMPLES(TopKV2) {
  for (const DType dtype : kReals) {
    samples.add({.inputs = {samples.random(dtype, {3, 9}), Tensor(4)}});
    samples.add({.inputs = {samples.random(dtype, {5}), Tensor(1)}});
  }
  for (const DType index : {int16, int32, int64}) {
    samples.add({.inputs = {samples.random(float32, {2, 2, 40}), Tensor(40)}, .attrs = {{"index_type", index}}});
  }
  samples.add({.inputs = {samples.random(float32, {3, 5}), Tensor::scalar<std::int16_t>(2)},
               .attrs = {{"sorted", false}},
               .shape_unknown = true});
  samples.add({.inputs = {samples.random(float32, {3, 0}), Tensor(0)}, .gradient = harness::Check::kNo});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(2)}});
  samples.add({.inputs = {samples.random(float32, {400, 100}), Tensor(3)}});
  samples.error({samples.random(float32, {2, 3}), Tensor(4)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), Tensor(-1)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), Tensor(std::vector<int>{1})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(TopK) {
  for (const DType dtype : kReals) samples.add({.inputs = {samples.random(dtype, {3, 9})}, .attrs = {{"k", 4}}});
  samples.add({.inputs = {samples.random(int64, {5})}, .attrs = {{"k", 0}}});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument, {{"k", 4}});
  samples.error({samples.random(float32, {2, 3})}, Code::kInvalidArgument, {{"k", -1}});
}

CAUDAL_OP_SAMPLES(InTopK) {
  const Tensor targets(std::vector<std::int64_t>{0, 2});
  samples.add({.inputs = {samples.random(float32, {2, 3}), targets}, .attrs = {{"k", 1}}});
  samples.add({.inputs = {samples.random(float32, {4, 3}), Tensor(std::vector<int>{0, 2, 1, 7})}, .attrs = {{"k", 2}}});
  samples.error({samples.random(float32, {4, 3}), Tensor(std::vector<int>{0, 2})}, Code::kInvalidArgument, {{"k", 2}});
}

CAUDAL_OP_SAMPLES(InTopKV2) {
  samples.add({.inputs = {samples.random(float32, {4, 3}), Tensor(std::vector<int>{0, 2, 1, -1}), Tensor(2)}});
  const Tensor targets(std::vector<std::int64_t>{0, 2});
  samples.add({.inputs = {samples.random(float32, {2, 3}), targets, Tensor(std::int64_t{1})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::vector<int>{}), Tensor(1)}});
  samples.error({samples.random(float32, {3}), Tensor(std::vector<int>{0}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 3}), Tensor(std::vector<int>{0}), Tensor(std::vector<int>{1})},
                Code::kInvalidArgument);
}

class TopKTest : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(TopKTest, TiesGoToTheLowerIndexAndNanComesLast) {
  const Output x = constant(Tensor::from<float>({2, 6}, {1, 5, 3, 5, 0, 5, NAN, 2, kInf, -kInf, NAN, 2}));
  const auto top = nn::top_k(x, 4);
  EXPECT_EQ(session_.run(top.indices).to_vector<int>(), (std::vector<int>{1, 3, 5, 2, 2, 1, 5, 3}));
  EXPECT_EQ(session_.run(nn::top_k(x).indices).to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(session_.run(nn::top_k(x, 6).indices).to_vector<int>(),
            (std::vector<int>{1, 3, 5, 2, 0, 4, 2, 1, 5, 3, 0, 4}));
}

TEST_F(TopKTest, InTopKFollowsTensorFlow) {
  const Output x = constant(Tensor::from<float>({4, 3}, {1, 2, 3, 1, 2, NAN, kInf, 0, 1, 1, 1, 1}));
  const auto within = [&](std::vector<int> targets, int k) {
    return session_.run(nn::in_top_k(x, Tensor(targets), k)).to_vector<bool>();
  };
  EXPECT_EQ(within({2, 0, 5, 1}, 1), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(within({2, 0, 0, 1}, 2), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(within({2, 0, 0, 1}, 0), (std::vector<bool>{false, false, false, false}));
}

}  // namespace

}  // namespace caudal::inline v0
