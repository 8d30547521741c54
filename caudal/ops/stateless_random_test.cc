#include "caudal/ops/stateless_random.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Ints = std::vector<int>;
using Longs = std::vector<std::int64_t>;

// The values themselves are TensorFlow's: testdata/golden/ops/random.jsonl.
const std::vector<Tensor> kShapes = {Tensor(Ints{}), Tensor(Ints{0, 3}), Tensor(Ints{7}), Tensor(Longs{2, 3, 4, 5}),
                                     Tensor(Ints{40, 101})};
const std::vector<Tensor> kSeeds = {Tensor(Ints{-3, 5}), Tensor(Longs{1, std::int64_t{1} << 40})};

std::vector<harness::SampleInput> key_inputs(const Tensor& first) {
  return {first, Tensor::from<std::uint64_t>({1}, {3}), Tensor::from<std::uint64_t>({2}, {~std::uint64_t{1}, 2}),
          Tensor(1)};
}

void seed_errors(harness::Samples& samples, std::vector<harness::SampleInput> inputs, int seed) {
  inputs[static_cast<std::size_t>(seed)] = Tensor(Ints{1, 2, 3});
  samples.error(inputs, Code::kInvalidArgument);
  inputs[static_cast<std::size_t>(seed)] = Tensor(1);
  samples.error(inputs, Code::kInvalidArgument);
}

void key_errors(harness::Samples& samples, const std::vector<harness::SampleInput>& good) {
  const auto bad = [&](std::size_t i, Tensor value) {
    auto inputs = good;
    inputs[i] = std::move(value);
    samples.error(inputs, Code::kInvalidArgument);
  };
  bad(1, Tensor::from<std::uint64_t>({2}, {3, 4}));
  bad(2, Tensor::from<std::uint64_t>({1}, {3}));
  bad(2, Tensor::scalar<std::uint64_t>(3));
  bad(3, Tensor(2));
  bad(3, Tensor(Ints{1}));
}

void seeded_samples(harness::Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    for (const Tensor& shape : kShapes) {
      for (const Tensor& seed : kSeeds) samples.add({.inputs = {shape, seed}, .attrs = {{"dtype", t}}});
    }
  }
  samples.error({Tensor(Ints{2, -1}), kSeeds[0]}, Code::kInvalidArgument);
  seed_errors(samples, {Tensor(Ints{2}), kSeeds[0]}, 1);
}

void keyed_samples(harness::Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    for (const Tensor& shape : kShapes) samples.add({.inputs = key_inputs(shape), .attrs = {{"dtype", t}}});
  }
  key_errors(samples, key_inputs(Tensor(Ints{2})));
}

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
const std::vector<DType> kIntegers = {int32, int64, uint32, uint64};

CAUDAL_OP_SAMPLES(StatelessRandomUniform) { seeded_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessRandomNormal) { seeded_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessTruncatedNormal) { seeded_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessRandomUniformFullInt) { seeded_samples(samples, kIntegers); }
CAUDAL_OP_SAMPLES(StatelessRandomUniformV2) { keyed_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessRandomNormalV2) { keyed_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessTruncatedNormalV2) { keyed_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatelessRandomUniformFullIntV2) { keyed_samples(samples, kIntegers); }

CAUDAL_OP_SAMPLES(StatelessRandomUniformInt) {
  for (const Tensor& shape : kShapes) {
    samples.add({.inputs = {shape, kSeeds[0], Tensor(-2), Tensor(7)}});
    samples.add({.inputs = {shape, kSeeds[1], Tensor(std::int64_t{-5}), Tensor(std::int64_t{1} << 40)}});
  }
  samples.add({.inputs = {Tensor(Ints{0}), kSeeds[0], Tensor(7), Tensor(7)}});
  samples.error({Tensor(Ints{2}), kSeeds[0], Tensor(3), Tensor(3)}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{2}), kSeeds[0], Tensor(Ints{3}), Tensor(4)}, Code::kInvalidArgument);
  seed_errors(samples, {Tensor(Ints{2}), kSeeds[0], Tensor(3), Tensor(4)}, 1);
}

CAUDAL_OP_SAMPLES(StatelessRandomUniformIntV2) {
  const auto with_bounds = [](const Tensor& shape, Tensor low, Tensor high) {
    auto inputs = key_inputs(shape);
    inputs.emplace_back(std::move(low));
    inputs.emplace_back(std::move(high));
    return inputs;
  };
  for (const Tensor& shape : kShapes) {
    samples.add({.inputs = with_bounds(shape, Tensor(-2), Tensor(7))});
    samples.add({.inputs = with_bounds(shape, Tensor(std::int64_t{-5}), Tensor(std::int64_t{1} << 40))});
  }
  samples.error(with_bounds(Tensor(Ints{2}), Tensor(3), Tensor(2)), Code::kInvalidArgument);
  key_errors(samples, with_bounds(Tensor(Ints{2}), Tensor(3), Tensor(4)));
}

CAUDAL_OP_SAMPLES(StatelessMultinomial) {
  for (const DType t : kFloats) {
    for (const DType out : {int32, int64}) {
      samples.add({.inputs = {samples.random(t, {3, 4}), Tensor(5), kSeeds[1]}, .attrs = {{"output_dtype", out}}});
    }
  }
  samples.add({.inputs = {samples.random(float32, {2, 4}), Tensor(0), kSeeds[0]}});
  samples.error({samples.random(float32, {4}), Tensor(5), kSeeds[0]}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 0}), Tensor(5), kSeeds[0]}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 4}), Tensor(-1), kSeeds[0]}, Code::kInvalidArgument);
  seed_errors(samples, {samples.random(float32, {3, 4}), Tensor(5), kSeeds[0]}, 2);
}

CAUDAL_OP_SAMPLES(StatelessShuffle) {
  for (const DType dtype : {float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
                            uint64, boolean, complex64, complex128, string}) {
    for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{1, 5}, Shape{9}, Shape{5, 3, 2}}) {
      samples.add({.inputs = key_inputs(samples.random(dtype, shape))});
    }
  }
  key_errors(samples, key_inputs(samples.random(float32, {3})));
}

CAUDAL_OP_SAMPLES(StatelessRandomGetKeyCounter) {
  for (const Tensor& seed : kSeeds) samples.add({.inputs = {seed}});
  seed_errors(samples, {kSeeds[0]}, 0);
}
CAUDAL_OP_SAMPLES(StatelessRandomGetKeyCounterAlg) {
  for (const Tensor& seed : kSeeds) samples.add({.inputs = {seed}});
  seed_errors(samples, {kSeeds[0]}, 0);
}
CAUDAL_OP_SAMPLES(StatelessRandomGetAlg) { samples.add({.expected = {Tensor(1)}}); }

class StatelessRandom : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

// tf.random.stateless_uniform([3], [1, 2]), .stateless_normal([2], [1, 2]), with int bounds, and all integers.
TEST_F(StatelessRandom, GivesTensorFlowsNumbers) {
  EXPECT_EQ(session_.run(random::stateless_uniform({3}, {1, 2})).to_vector<float>(),
            (std::vector<float>{0.8440604F, 0.19204533F, 0.9962232F}));
  const Output ints = random::stateless_uniform({6}, {1, 2}, {.minval = -10, .maxval = 100, .dtype = int32});
  EXPECT_EQ(session_.run(ints).to_vector<int>(), (Ints{60, 39, 24, 29, -3, 15}));
  const Output shuffled = random::experimental::stateless_shuffle(constant({1, 2, 3, 4, 5}), {1, 2});
  EXPECT_EQ(session_.run(shuffled).to_vector<int>(), (Ints{1, 3, 2, 5, 4}));
  const Output drawn = random::stateless_categorical(Tensor::from<float>({1, 3}, {0, 1, 2}), 5, {1, 2});
  EXPECT_EQ(session_.run(drawn).to_vector<std::int64_t>(), (Longs{2, 2, 1, 2, 2}));
}

TEST_F(StatelessRandom, SeedsOfASeedDiffer) {
  const Output seeds = random::split({1, 2}, 3);
  EXPECT_EQ(seeds.shape(), PartialShape({3, 2}));
  auto values = session_.run(seeds).to_vector<int>();
  std::ranges::sort(values);
  EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
  const auto folded = session_.run(random::fold_in({1, 2}, 7)).to_vector<int>();
  ASSERT_EQ(folded.size(), 2U);
  EXPECT_EQ(folded[1], 7);
}

TEST_F(StatelessRandom, TruncatedStaysInside) {
  const auto values = session_.run(random::stateless_truncated_normal({1000}, {3, 4}, {.mean = 1.0F, .stddev = 2.0F}))
                          .to_vector<float>();
  const auto [least, greatest] = std::ranges::minmax(values);
  EXPECT_GT(least, -3);
  EXPECT_LT(greatest, 5);
}

TEST_F(StatelessRandom, IntegersNeedBothBounds) {
  EXPECT_THROW(random::stateless_uniform({3}, {1, 2}, {.dtype = int32}), Error);
}

}  // namespace
}  // namespace caudal::inline v0
