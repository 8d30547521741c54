#include "caudal/ops/generator_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;
using Ints = std::vector<int>;
using Longs = std::vector<std::int64_t>;

const Tensor kState(Longs{5, 6, 7}), kPhilox(std::int64_t{1});
const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
const std::vector<DType> kIntegers = {int32, int64, uint32, uint64};

void filled_samples(Samples& samples, const std::vector<DType>& types,
                    const std::vector<harness::SampleInput>& bounds = {}) {
  const auto inputs = [&](const Tensor& state, const Tensor& algorithm, const Tensor& shape) {
    std::vector<harness::SampleInput> all = {Samples::resource_variable(state), algorithm, shape};
    all.insert(all.end(), bounds.begin(), bounds.end());
    return all;
  };
  for (const DType t : types) {
    const AttrMap attrs = bounds.empty() ? AttrMap{{"dtype", t}} : AttrMap{};
    for (const Tensor& shape : {Tensor(Ints{}), Tensor(Longs{3, 5}), Tensor(Ints{0})}) {
      samples.add({.inputs = inputs(kState, kPhilox, shape), .attrs = attrs});
    }
  }
  const AttrMap attrs = bounds.empty() ? AttrMap{{"dtype", types[0]}} : AttrMap{};
  samples.error(inputs(Tensor(Longs{1, 2}), kPhilox, Tensor(Ints{3})), Code::kInvalidArgument, attrs);
  samples.error(inputs(Tensor(Ints{1, 2, 3}), kPhilox, Tensor(Ints{3})), Code::kInvalidArgument, attrs);
  samples.error(inputs(kState, Tensor(std::int64_t{7}), Tensor(Ints{3})), Code::kInvalidArgument, attrs);
  samples.error(inputs(kState, Tensor(std::int64_t{2}), Tensor(Ints{3})), Code::kUnimplemented, attrs);
  samples.error(inputs(kState, Tensor(Longs{1}), Tensor(Ints{3})), Code::kInvalidArgument, attrs);
  samples.error(inputs(kState, kPhilox, Tensor(Ints{-3})), Code::kInvalidArgument, attrs);
}

CAUDAL_OP_SAMPLES(StatefulUniform) { filled_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatefulStandardNormalV2) { filled_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatefulTruncatedNormal) { filled_samples(samples, kFloats); }
CAUDAL_OP_SAMPLES(StatefulUniformFullInt) { filled_samples(samples, kIntegers); }
CAUDAL_OP_SAMPLES(StatefulUniformInt) {
  filled_samples(samples, {int32}, {Tensor(-3), Tensor(9)});
  filled_samples(samples, {int64}, {Tensor(std::int64_t{-3}), Tensor(std::int64_t{1} << 40)});
  samples.error({Samples::resource_variable(kState), kPhilox, Tensor(Ints{3}), Tensor(3), Tensor(3)},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StatefulStandardNormal) {
  const Tensor tagged(Longs{1, 5, 6, 7});
  for (const DType t : kFloats) {
    samples.add({.inputs = {Samples::resource_variable(tagged), Tensor(Ints{3, 5})}, .attrs = {{"dtype", t}}});
  }
  samples.error({Samples::resource_variable(kState), Tensor(Ints{3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StatefulRandomBinomial) {
  for (const DType t : {float16, float32, float64}) {
    for (const DType out : {float16, float32, float64, int32, int64}) {
      samples.add({.inputs = {Samples::resource_variable(kState), kPhilox, Tensor(Ints{4, 2}),
                              harness::tensor_of(t, {2}, {9, 100}), harness::tensor_of(t, {}, {0.25})},
                   .attrs = {{"dtype", out}}});
    }
  }
  samples.error(
      {Samples::resource_variable(kState), kPhilox, Tensor(Ints{4}), Tensor(std::vector<double>{9, 100}), Tensor(0.25)},
      Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(RngSkip) {
  samples.add({.inputs = {Samples::resource_variable(kState), kPhilox, Tensor(std::int64_t{10})},
               .expected = {Tensor(Longs{2565, 6, 7})}});
  samples.error({Samples::resource_variable(Tensor(Longs{1})), kPhilox, Tensor(std::int64_t{10})},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(RngReadAndSkip) {
  samples.add({.inputs = {Samples::resource_variable(kState), Tensor(3), Tensor::scalar<std::uint64_t>(10)},
               .expected = {kState, Tensor(Longs{2565, 6, 7})}});
  samples.error({Samples::resource_variable(kState), Tensor(2), Tensor::scalar<std::uint64_t>(10)},
                Code::kUnimplemented);
}
CAUDAL_OP_SAMPLES(NonDeterministicInts) {
  for (const DType t : kIntegers) {
    samples.add({.inputs = {Tensor(Longs{4, 2})}, .attrs = {{"dtype", t}}, .opaque_outputs = {0}});
  }
  samples.error({Tensor(Longs{-1})}, Code::kInvalidArgument);
}

class GeneratorTest : public testing::Test {
 protected:
  static void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6 * (1 + std::abs(wanted[i])));
  }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

// tf.random.Generator.from_seed(1234): normal([3]), uniform([3]), and so on, one after the other.
TEST_F(GeneratorTest, DrawsTensorFlowsNumbers) {
  const auto generator = random::Generator::from_seed(1234);
  const Output normal = generator.normal({3}), uniform = generator.uniform({3});
  const Output ints = generator.uniform({3}, {.maxval = 100, .dtype = int32});
  const Output bits = generator.uniform_full_int({2}, uint32), truncated = generator.truncated_normal({2});
  const Output counts = generator.binomial({3}, constant({10.0F, 100.0F, 1000.0F}), constant({0.5F, 0.3F, 0.7F}));
  session_.run(generator.state().initializer());
  expect_near(session_.run(normal).to_vector<float>(), {0.935660899F, 1.085430503F, -0.937883735F});
  expect_near(session_.run(uniform).to_vector<float>(), {0.310734153F, 0.368182302F, 0.961829543F});
  EXPECT_EQ(session_.run(ints).to_vector<int>(), (Ints{24, 79, 41}));
  EXPECT_EQ(session_.run(bits).to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{1030002572, 3443529094}));
  expect_near(session_.run(truncated).to_vector<float>(), {-0.789637029F, -0.625710368F});
  EXPECT_EQ(session_.run(counts).to_vector<int>(), (Ints{4, 33, 673}));
  EXPECT_EQ(session_.run(generator.state().value()).to_vector<std::int64_t>(), (Longs{158162, 0, 0}));
}

TEST_F(GeneratorTest, ContinuesFromAState) {
  const auto generator = random::Generator::from_state(kState);
  const Output uniform = generator.uniform({2});
  session_.run(generator.state().initializer());
  EXPECT_EQ(session_.run(uniform).to_vector<float>(), (std::vector<float>{0.212700844F, 0.869328976F}));
  EXPECT_EQ(session_.run(generator.state().value()).to_vector<std::int64_t>(), (Longs{517, 6, 7}));
}

TEST_F(GeneratorTest, NonDeterministicIntsDiffer) {
  const Output x = OpBuilder("NonDeterministicInts", {}).input(Tensor(Longs{8})).build();
  auto first = session_.run(x).to_vector<std::int64_t>();
  const auto second = session_.run(x).to_vector<std::int64_t>();
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 16U);
}

}  // namespace
}  // namespace caudal::inline v0
