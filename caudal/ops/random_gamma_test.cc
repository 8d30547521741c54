#include "caudal/ops/random_gamma.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using Ints = std::vector<int>;
using Floats = std::vector<float>;

const std::vector<DType> kTypes = {float16, float32, float64};
const Tensor kSeed(Ints{3, 4});

Tensor alphas(DType t, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(i % 3 == 1 ? 1 : 0.4 + static_cast<double>(i));
  return harness::tensor_of(t, shape, values);
}

// The values themselves are TensorFlow's: testdata/golden/ops/random.jsonl and the tests below.
CAUDAL_OP_SAMPLES(RandomGamma) {
  samples.covered_by("RandomGamma.GradientAsTensorFlow");
  for (const DType t : kTypes) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 2}, Shape{0}}) {
      samples.add({.inputs = {Tensor(Ints{5, 2}), alphas(t, shape)},
                   .attrs = {{"seed", 3}, {"seed2", 5}},
                   .gradient = Check::kNo,
                   .opaque_outputs = {0}});
    }
  }
  samples.add({.inputs = {Tensor(Ints{}), alphas(float16, {3})}, .gradient = Check::kNo, .opaque_outputs = {0}});
  samples.error({Tensor(Ints{-1}), alphas(float32, {3})}, Code::kInvalidArgument);
  samples.error({Tensor(3), alphas(float32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(StatelessRandomGammaV2) {
  samples.covered_by("RandomGamma.GradientAsTensorFlow");
  for (const DType t : kTypes) {
    samples.add({.inputs = {Tensor(Ints{4, 3}), kSeed, alphas(t, {3})}, .gradient = Check::kNo});
    samples.add({.inputs = {Tensor(std::vector<std::int64_t>{300}), kSeed, alphas(t, {})}, .gradient = Check::kNo});
    samples.add({.inputs = {Tensor(Ints{0, 3}), kSeed, alphas(t, {3})}, .gradient = Check::kNo});
  }
  samples.error({Tensor(Ints{4, 2}), kSeed, alphas(float32, {3})}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{4}), kSeed, alphas(float32, {2, 4})}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{3}), Tensor(Ints{1}), alphas(float32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(StatelessRandomGammaV3) {
  samples.covered_by("RandomGamma.GradientAsTensorFlow");
  const Tensor key = Tensor::from<std::uint64_t>({1}, {3}), counter = Tensor::from<std::uint64_t>({2}, {1, 2});
  for (const DType t : kTypes) {
    samples.add({.inputs = {Tensor(Ints{4, 3}), key, counter, Tensor(3), alphas(t, {3})}, .gradient = Check::kNo});
  }
  samples.error({Tensor(Ints{4, 2}), key, counter, Tensor(3), alphas(float32, {3})}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{3}), key, counter, Tensor(2), alphas(float32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(RandomGammaGrad) {
  const harness::ValueRange positive = {.low = 0.2, .high = 20};
  for (const DType t : {float32, float64}) {
    samples.add({.inputs = {samples.random(t, {7}, positive), samples.random(t, {7}, positive)}});
    samples.add({.inputs = {samples.random(t, {2, 1}, positive), samples.random(t, {3}, positive)}});
    samples.add({.inputs = {samples.random(t, {}, positive), samples.random(t, {0, 3}, positive)}});
  }
  samples.error({samples.random(float32, {2}, positive), samples.random(float32, {3}, positive)},
                Code::kInvalidArgument);
}

class RandomGamma : public testing::Test {
 protected:
  void expect_values(const Output& output, const Floats& wanted, double tolerance) {
    const auto got = session_.run(output).to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i])));
  }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

// tf.random.stateless_gamma([4], [1, 2], alpha=[1.5, .5, 1., 30.], beta=2.)
TEST_F(RandomGamma, StatelessAsTensorFlow) {
  expect_values(random::stateless_gamma({4}, {1, 2}, constant({1.5F, 0.5F, 1.0F, 30.0F}), {.beta = 2.0F}),
                {1.0816880465F, 0.3141177296F, 1.1243675947F, 15.9131851196F}, 1e-6);
}

// d(sum of samples) / d(alpha) of [2, 3] samples; tf.raw_ops.RandomGammaGrad.
TEST_F(RandomGamma, GradientAsTensorFlow) {
  const Output alpha = constant({0.5F, 2.0F, 9.0F});
  const Output stateless = random::stateless_gamma({2, 3}, {1, 2}, alpha);
  expect_values(gradients({stateless}, {alpha})[0].dense(), {1.8916621208F, 2.5318222046F, 2.0465831757F}, 1e-4);
  const Output slopes = raw_ops::random_gamma_grad(constant({0.1F, 0.5F, 1.0F, 3.0F, 20.0F, 200.0F}),
                                                   constant({0.01F, 2.0F, 0.5F, 3.5F, 25.0F, 180.0F}));
  expect_values(slopes, {0.422793448F, 2.511890173F, 0.80697906F, 1.140708923F, 1.125050306F, 0.949033141F}, 1e-4);

  // Samples of one alpha add up; the stateful op has them in front.
  const Output samples = random_gamma({5, 2}, alpha, {.seed = 1});
  EXPECT_EQ(samples.shape(), PartialShape({5, 2, 3}));
  const Output slope = gradients({samples}, {alpha})[0].dense();
  const auto got = session_.run(slope).to_vector<float>();
  ASSERT_EQ(got.size(), 3U);
  for (const float value : got) EXPECT_GT(value, 5);
}

TEST_F(RandomGamma, BetaBroadcasts) {
  const Output x = random_gamma({3}, constant({1.0F, 2.0F}), {.beta = constant(Tensor::from<float>({2, 1}, {1, 3}))});
  EXPECT_EQ(x.shape(), PartialShape({3, 2, 2}));
  for (const float value : session_.run(x).to_vector<float>()) EXPECT_GT(value, 0);
}

}  // namespace
}  // namespace caudal::inline v0
