#include "caudal/ops/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "caudal/core/node_state.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

// The values themselves are TensorFlow's: testdata/golden/ops/random.jsonl.
void float_samples(harness::Samples& samples) {
  for (const DType dtype : {float16, bfloat16, float32, float64}) {
    for (const std::vector<int>& shape : {std::vector<int>{}, {0, 3}, {7}, {2, 3, 4, 5}, {40, 101}}) {
      const AttrMap attrs = {{"dtype", dtype}, {"seed", 3}, {"seed2", 5}};
      samples.add({.inputs = {Tensor(shape)}, .attrs = attrs, .opaque_outputs = {0}});
    }
  }
  samples.add(
      {.inputs = {Tensor(std::vector<std::int64_t>{3, 2})}, .attrs = {{"dtype", float32}}, .opaque_outputs = {0}});
  samples.error({Tensor(std::vector<int>{2, -1})}, Code::kInvalidArgument, {{"dtype", float32}});
  samples.error({Tensor(3)}, Code::kInvalidArgument, {{"dtype", float32}});
}

CAUDAL_OP_SAMPLES(RandomUniform) { float_samples(samples); }
CAUDAL_OP_SAMPLES(RandomStandardNormal) { float_samples(samples); }
CAUDAL_OP_SAMPLES(TruncatedNormal) { float_samples(samples); }

CAUDAL_OP_SAMPLES(RandomUniformInt) {
  samples.add({.inputs = {Tensor(std::vector<int>{5, 3}), Tensor(-2), Tensor(7)}, .opaque_outputs = {0}});
  samples.add({.inputs = {Tensor(std::vector<int>{0}), Tensor(7), Tensor(7)}, .opaque_outputs = {0}});
  const Tensor low(std::int64_t{-5});
  const Tensor high(std::int64_t{1} << 40);
  samples.add({.inputs = {Tensor(std::vector<std::int64_t>{9}), low, high}, .opaque_outputs = {0}});
  samples.error({Tensor(std::vector<int>{2}), Tensor(3), Tensor(3)}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<int>{2}), Tensor(std::vector<int>{3}), Tensor(4)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(RandomShuffle) {
  for (const DType dtype : {float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
                            uint64, boolean, complex64, complex128, string}) {
    for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{1, 5}, Shape{9}, Shape{5, 3, 2}}) {
      samples.add({.inputs = {samples.random(dtype, shape)}, .opaque_outputs = {0}});
    }
  }
}

CAUDAL_OP_SAMPLES(Multinomial) {
  for (const DType dtype : {float16, bfloat16, float32, float64}) {
    samples.add({.inputs = {samples.random(dtype, {3, 4}), Tensor(5)}, .opaque_outputs = {0}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 4}), Tensor(5)},
               .attrs = {{"output_dtype", int32}},
               .opaque_outputs = {0}});
  samples.error({samples.random(float32, {4}), Tensor(5)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 0}), Tensor(5)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 4}), Tensor(-1)}, Code::kInvalidArgument);
}

class Random : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(Random, SeedsFollowTensorFlow) {
  EXPECT_EQ(get_seed(graph_, {}).seed, 0);
  EXPECT_EQ(get_seed(graph_, {}).seed2, 0);
  EXPECT_EQ(get_seed(graph_, 7).seed, 87654321);
  EXPECT_EQ(get_seed(graph_, 7).seed2, 7);
  set_random_seed(42);
  EXPECT_EQ(get_seed(graph_, 7).seed, 42);
  EXPECT_EQ(get_seed(graph_, {}).seed2, 0);
  EXPECT_EQ(get_seed(graph_, {}).seed2, 1);
  EXPECT_EQ(get_seed(graph_, -1).seed2, 2147483646);
  EXPECT_EQ(get_seed(graph_, 2147483648).seed2, 1);
  set_random_seed(0);
  EXPECT_EQ(get_seed(graph_, 0).seed, 0);
  EXPECT_EQ(get_seed(graph_, 0).seed2, 2147483647);
}

// tf.compat.v1: random_uniform([3], seed=1), twice; set_random_seed(42): random_normal([2], seed=1).
TEST_F(Random, OpSeedsGiveTensorFlowsNumbers) {
  Session session(graph_);
  const Output uniform = random_uniform({3}, {.seed = 1});
  EXPECT_EQ(session.run(uniform).to_vector<float>(), (std::vector<float>{0.2390373945F, 0.9203995466F, 0.0505124331F}));
  set_random_seed(42);
  const auto normal = session.run(random_normal({2}, {.seed = 1})).to_vector<float>();
  EXPECT_FLOAT_EQ(normal[0], -1.49994695F);
  EXPECT_FLOAT_EQ(normal[1], -1.24204946F);
}

TEST_F(Random, ExecutionsContinueTheStream) {
  const Output x = random_uniform({4}, {.seed = 1});
  Session first(graph_);
  Session second(graph_);
  const auto a = first.run(x).to_vector<float>();
  const auto b = first.run(x).to_vector<float>();
  EXPECT_NE(a, b);
  EXPECT_EQ(second.run(x).to_vector<float>(), a);
  EXPECT_EQ(second.run({x, x})[1].to_vector<float>(), b);  // one node runs once
}

TEST_F(Random, StatesAreSavedAndRestored) {
  const Output x = random_uniform({4}, {.seed = 1});
  Session first(graph_);
  first.run(x);
  const auto states = first.node_states().save();
  const auto next = first.run(x).to_vector<float>();
  Session second(graph_);
  second.node_states().restore(states);
  EXPECT_EQ(second.run(x).to_vector<float>(), next);
  auto broken = states;
  for (auto& [name, bytes] : broken) bytes.pop_back();
  EXPECT_THROW(second.node_states().restore(broken), Error);
}

// Every stretch of the stream is used once, whoever comes first.
TEST_F(Random, ConcurrentRunsShareTheStream) {
  const Output x = random_uniform({1}, {.dtype = float64, .seed = 1});
  std::set<double> alone;
  std::set<double> shared;
  Session first(graph_);
  for (int i = 0; i < 40; ++i) alone.insert(first.run(x).item<double>());
  Session second(graph_);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const double value = second.run(x).item<double>();
        std::lock_guard lock(mutex);
        shared.insert(value);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared, alone);
}

TEST_F(Random, ScalesAndRanges) {
  Session session(graph_);
  for (const float x :
       session.run(random_uniform({1000}, {.minval = -3, .maxval = -2, .seed = 1})).to_vector<float>()) {
    EXPECT_TRUE(x >= -3 && x < -2);
  }
  for (const int x : session.run(random_uniform({1000}, {.maxval = 3, .dtype = int32, .seed = 1})).to_vector<int>()) {
    EXPECT_TRUE(x >= 0 && x < 3);
  }
  const RandomNormalOptions options = {.mean = 5, .stddev = 2, .seed = 1, .name = "init"};
  const Output truncated = truncated_normal({1000}, options);
  EXPECT_EQ(truncated.name(), "init:0");
  const auto values = session.run(truncated).to_vector<float>();
  for (const float x : values) EXPECT_LE(std::abs(x - 5), 4.0001);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 1000, 5, 0.2);
  EXPECT_THROW(random_uniform({3}, {.dtype = int32}), Error);
}

TEST_F(Random, ShuffleKeepsRows) {
  Session session(graph_);
  std::vector<int> values(60);
  std::iota(values.begin(), values.end(), 0);
  const Tensor rows = Tensor::from<int>({20, 3}, values);
  const auto shuffled = session.run(random_shuffle(rows, {.seed = 3})).to_vector<int>();
  EXPECT_NE(shuffled, values);
  std::vector<int> firsts;
  for (std::size_t i = 0; i < 60; i += 3) {
    EXPECT_EQ(shuffled[i + 1], shuffled[i] + 1);
    EXPECT_EQ(shuffled[i + 2], shuffled[i] + 2);
    firsts.push_back(shuffled[i]);
  }
  std::ranges::sort(firsts);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(firsts[i], 3 * i);
}

TEST_F(Random, MultinomialIgnoresImpossibleClasses) {
  Session session(graph_);
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor logits = Tensor::from<float>({2, 3}, {-inf, 1, -inf, 0, -inf, 0});
  const auto drawn = session.run(multinomial(logits, 100, {.seed = 1})).to_vector<std::int64_t>();
  for (int j = 0; j < 100; ++j) EXPECT_EQ(drawn[j], 1);
  EXPECT_EQ(std::count(drawn.begin() + 100, drawn.end(), 1), 0);
  EXPECT_NEAR(std::count(drawn.begin() + 100, drawn.end(), 0), 50, 25);
}

}  // namespace
}  // namespace caudal::inline v0
