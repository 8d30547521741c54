#include "caudal/ops/roll_ops.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const std::vector<DType> kAllTypes = {float16, bfloat16, float32, float64, int8,    int16,     int32,      int64,
                                      uint8,   uint16,   uint32,  uint64,  boolean, complex64, complex128, string};
using Ints = std::vector<int>;
using Longs = std::vector<std::int64_t>;

CAUDAL_OP_SAMPLES(Roll) {
  for (const DType t : kAllTypes) {
    samples.add({.inputs = {samples.random(t, {5}), Tensor(2), Tensor(0)}});
    samples.add({.inputs = {samples.random(t, {3, 4, 2}), Tensor(Ints{-1, 3, 9}), Tensor(Longs{0, 1, -3})}});
  }
  samples.add({.inputs = {samples.random(float64, {4, 37}), Tensor(Longs{-100, 7}), Tensor(Ints{1, 0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(Ints{}), Tensor(Ints{})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::int64_t{1}), Tensor(std::int64_t{0})}});
  samples.error({samples.random(float32, {}), Tensor(1), Tensor(0)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), Tensor(1), Tensor(1)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), Tensor(Ints{1, 2}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), Tensor::zeros(int32, {1, 1}), Tensor(0)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ReverseSequence) {
  for (const DType t : kAllTypes) {
    samples.add({.inputs = {samples.random(t, {3, 5, 2}), Tensor(Longs{0, 5, 3})}, .attrs = {{"seq_dim", 1}}});
    samples.add(
        {.inputs = {samples.random(t, {4, 1, 2}), Tensor(Ints{3, 1})}, .attrs = {{"seq_dim", 0}, {"batch_dim", 2}}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(Longs{})}, .attrs = {{"seq_dim", 1}}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, 4})}, Code::kInvalidArgument, {{"seq_dim", 1}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, -1})}, Code::kInvalidArgument, {{"seq_dim", 1}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, 2, 3})}, Code::kInvalidArgument, {{"seq_dim", 1}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, 2})}, Code::kInvalidArgument, {{"seq_dim", 0}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, 2})}, Code::kInvalidArgument, {{"seq_dim", 2}});
  samples.error({samples.random(float32, {2, 3}), Tensor(Longs{1, 2})}, Code::kInvalidArgument, {{"seq_dim", -1}});
}

class RollOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(RollOps, ShiftsOfOneAxisAddUp) {
  const Output x = constant(Tensor::from<int>({5}, {0, 1, 2, 3, 4}));
  EXPECT_EQ(session_.run(roll(x, {1, 1}, {0, 0})).to_vector<int>(), (Ints{3, 4, 0, 1, 2}));
  EXPECT_EQ(session_.run(roll(x, -6, -1)).to_vector<int>(), (Ints{1, 2, 3, 4, 0}));
}

TEST_F(RollOps, ReverseSequenceAlongRows) {
  const Output x = constant(Tensor::from<int>({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(session_.run(reverse_sequence(x, {2, 3}, {.seq_axis = 0, .batch_axis = 1})).to_vector<int>(),
            (Ints{3, 6, 1, 4, 5, 2}));
}

}  // namespace
}  // namespace caudal::inline v0
