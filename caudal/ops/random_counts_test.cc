#include "caudal/ops/random_counts.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Ints = std::vector<int>;

const std::vector<DType> kTypes = {float16, float32, float64, int32, int64};
const Tensor kSeed(Ints{3, 4});
const std::vector<double> kRates = {0.5, 3, 9, 10, 40, 700};

// The values themselves are TensorFlow's: testdata/golden/ops/random.jsonl and the tests below.
CAUDAL_OP_SAMPLES(RandomPoissonV2) {
  for (const DType rate : kTypes) {
    for (const DType out : kTypes) {
      samples.add({.inputs = {Tensor(Ints{4}), harness::tensor_of(rate, {2, 3}, kRates)},
                   .attrs = {{"dtype", out}, {"seed", 3}, {"seed2", 5}},
                   .opaque_outputs = {0}});
    }
  }
  samples.add({.inputs = {Tensor(Ints{0}), Tensor(2.0)}, .opaque_outputs = {0}});
  samples.error({Tensor(Ints{-1}), Tensor(2.0)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(RandomPoisson) {
  for (const DType t : {float16, float32, float64}) {
    samples.add({.inputs = {Tensor(Ints{4}), harness::tensor_of(t, {6}, kRates)}, .opaque_outputs = {0}});
  }
  samples.error({Tensor(2), Tensor(2.0)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(StatelessRandomPoisson) {
  for (const DType rate : kTypes) {
    for (const DType out : kTypes) {
      samples.add(
          {.inputs = {Tensor(Ints{4, 6}), kSeed, harness::tensor_of(rate, {6}, kRates)}, .attrs = {{"dtype", out}}});
    }
  }
  samples.add({.inputs = {Tensor(Ints{2, 0}), kSeed, Tensor(1.0)}, .attrs = {{"dtype", int32}}});
  samples.error({Tensor(Ints{5}), kSeed, harness::tensor_of(float32, {6}, kRates)}, Code::kInvalidArgument,
                {{"dtype", int32}});
  samples.error({Tensor(Ints{6}), Tensor(3), harness::tensor_of(float32, {6}, kRates)}, Code::kInvalidArgument,
                {{"dtype", int32}});
}

CAUDAL_OP_SAMPLES(StatelessRandomBinomial) {
  const std::vector<double> counts = {0, 7, 40, 1000}, probs = {0, 0.25, 0.5, 0.75, 1};
  for (const DType t : {float16, float32, float64}) {
    for (const DType out : kTypes) {
      samples.add({.inputs = {Tensor(Ints{3, 4, 5}), kSeed, harness::tensor_of(t, {4, 1}, counts),
                              harness::tensor_of(t, {5}, probs)},
                   .attrs = {{"dtype", out}}});
    }
  }
  samples.add({.inputs = {Tensor(std::vector<std::int64_t>{0, 2}), kSeed, Tensor(3.0), Tensor(0.5)}});
  samples.error({Tensor(Ints{3}), kSeed, harness::tensor_of(float64, {4}, counts), Tensor(0.5)},
                Code::kInvalidArgument);
  samples.error(
      {Tensor(Ints{5}), kSeed, harness::tensor_of(float64, {4}, counts), harness::tensor_of(float64, {5}, probs)},
      Code::kInvalidArgument);
  samples.error({Tensor(Ints{1}), kSeed, Tensor(3), Tensor(1)}, Code::kUnimplemented);
}

class RandomCounts : public testing::Test {
 protected:
  Ints run(const Output& output) { return session_.run(output).to_vector<int>(); }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

// tf.random.stateless_poisson([6], [1, 2], ..), stateless_binomial([2, 4], [1, 2], ..)
TEST_F(RandomCounts, GiveTensorFlowsNumbers) {
  EXPECT_EQ(run(random::stateless_poisson({6}, {1, 2}, constant({0.5F, 20.0F, 3.0F, 100.0F, 9.5F, 10.5F}))),
            (Ints{3, 23, 4, 112, 11, 13}));
  EXPECT_EQ(run(random::stateless_binomial({2, 4}, {1, 2}, constant({10.0F, 100.0F, 50.0F, 1000.0F}),
                                           constant({0.3F, 0.8F, 0.05F, 0.5F}))),
            (Ints{5, 74, 4, 501, 5, 70, 2, 498}));
}

TEST_F(RandomCounts, PoissonAtTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Output rates = constant({0.0F, infinity});
  const auto values = session_.run(random::stateless_poisson({2}, {1, 2}, rates, {.dtype = float32}));
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{0, infinity}));
  const Output too_large = random::stateless_poisson({1}, {1, 2}, constant({1e30F}), {.dtype = int32});
  EXPECT_THROW(session_.run(too_large), Error);
  EXPECT_EQ(random_poisson_v2({3}, constant({1.0F, 2.0F})).shape(), PartialShape({3, 2}));
}

}  // namespace
}  // namespace caudal::inline v0
