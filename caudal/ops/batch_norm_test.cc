#include "caudal/ops/batch_norm.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

// Inference fills all outputs; TensorFlow leaves the reserve spaces as they are.
void forward_samples(harness::Samples& samples, const std::vector<DType>& dtypes) {
  const harness::ValueRange positive = {.low = 0.5, .high = 2, .clear = 0};
  for (const DType t : dtypes) {
    for (const bool training : {true, false}) {
      for (const char* format : {"NHWC", "NCHW"}) {
        const std::int64_t channels = 3;
        const Shape shape = format == std::string("NHWC") ? Shape{2, 3, 2, channels} : Shape{2, channels, 3, 2};
        const auto vector = [&] { return samples.random(float32, {channels}, positive); };
        samples.add({.inputs = {samples.random(t, shape), vector(), vector(), vector(), vector()},
                     .attrs = {{"is_training", training}, {"data_format", format}, {"exponential_avg_factor", 0.3F}},
                     // Gradients flow from y only, in TensorFlow too.
                     .gradient = Check::kNo});
      }
    }
  }
  const Tensor two(std::vector<float>{1, 2});
  samples.error({samples.random(float32, {1, 2, 2, 3}), two, two, two, two}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 2}), two, two, two, two}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FusedBatchNorm) { forward_samples(samples, {float32}); }
CAUDAL_OP_SAMPLES(FusedBatchNormV2) { forward_samples(samples, {float16, bfloat16, float32}); }
CAUDAL_OP_SAMPLES(FusedBatchNormV3) {
  forward_samples(samples, {float16, bfloat16, float32});
  const Tensor ones = Tensor::from<float>({2}, {1, 1});
  samples.add({.inputs = {samples.random(float32, {1, 2, 1, 3, 2}), ones, ones, ones, ones},
               .attrs = {{"data_format", "NDHWC"}},
               .gradient = Check::kNo});
}

void grad_samples(harness::Samples& samples, const std::vector<DType>& dtypes, bool third) {
  const harness::ValueRange positive = {.low = 0.5, .high = 2, .clear = 0};
  for (const DType t : dtypes) {
    for (const bool training : {true, false}) {
      std::vector<harness::SampleInput> inputs = {samples.random(t, {2, 3, 2, 5}), samples.random(t, {2, 3, 2, 5})};
      for (int i = 0; i < 3; ++i) inputs.emplace_back(samples.random(float32, {5}, positive));
      if (third) inputs.emplace_back(Tensor(0.0F));
      samples.add({.inputs = inputs, .attrs = {{"is_training", training}}});
    }
  }
  std::vector<harness::SampleInput> bad = {samples.random(float32, {2, 3, 2, 5}),
                                           samples.random(float32, {2, 3, 3, 5})};
  for (int i = 0; i < 3; ++i) bad.emplace_back(samples.random(float32, {5}));
  if (third) bad.emplace_back(Tensor(0.0F));
  samples.error(bad, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FusedBatchNormGrad) { grad_samples(samples, {float32}, false); }
CAUDAL_OP_SAMPLES(FusedBatchNormGradV2) { grad_samples(samples, {float16, bfloat16, float32}, false); }
CAUDAL_OP_SAMPLES(FusedBatchNormGradV3) { grad_samples(samples, {float16, bfloat16, float32}, true); }

class BatchNorm : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
  const Output one_ = constant(Tensor::from<float>({1}, {1}));
  const Output zero_ = constant(Tensor::from<float>({1}, {0}));
};

TEST_F(BatchNorm, NormalisesByNAndStoresByNMinusOne) {
  const Output x = constant(Tensor::from<float>({4, 1, 1, 1}, {1, 2, 3, 4}));
  const auto batch = nn::fused_batch_norm(
      x, one_, zero_, {.mean = zero_, .variance = one_, .epsilon = 1e-3F, .exponential_avg_factor = 0.01F});
  const auto values = session_.run({batch.y, batch.variance, batch.mean});
  EXPECT_EQ(harness::difference(Tensor::from<float>({4, 1, 1, 1}, {-1.3411045F, -.4470348F, .4470348F, 1.3411045F}),
                                values[0], 1e-6),
            "");
  EXPECT_NEAR(values[1].item<float>(), 1.0066667F, 1e-6);
  EXPECT_NEAR(values[2].item<float>(), 0.025F, 1e-7);
  EXPECT_NEAR(session_.run(nn::fused_batch_norm(x, one_, zero_).variance).item<float>(), 1.6666667F, 1e-6);
}

TEST_F(BatchNorm, OneValueHasNoVariance) {
  const Output x = constant(Tensor::from<float>({1, 1, 1, 1}, {7}));
  const auto batch =
      nn::fused_batch_norm(x, one_, zero_, {.mean = zero_, .variance = one_, .exponential_avg_factor = 0.01F});
  EXPECT_NEAR(session_.run(batch.variance).item<float>(), .99F, 1e-6);
}

TEST_F(BatchNorm, InferenceTakesWhatIsGiven) {
  const Output x = constant(Tensor::from<float>({2, 1, 1, 1}, {1, 5}));
  const Output three = constant(Tensor::from<float>({1}, {3}));
  const auto fixed =
      nn::fused_batch_norm(x, three, one_, {.mean = three, .variance = three, .epsilon = 1, .is_training = false});
  EXPECT_EQ(session_.run(fixed.y).to_vector<float>(), (std::vector<float>{-2, 4}));
  EXPECT_EQ(session_.run(gradients({fixed.y}, {x})[0].dense()).to_vector<float>(), (std::vector<float>{1.5F, 1.5F}));
  EXPECT_THROW(nn::fused_batch_norm(x, one_, zero_, {.is_training = false}), Error);
  EXPECT_THROW(nn::fused_batch_norm(x, one_, zero_, {.exponential_avg_factor = .5F}), Error);
}

TEST_F(BatchNorm, BothLayoutsAgree) {
  const Tensor by_pixel = Tensor::from<float>({1, 1, 3, 2}, {1, -4, 2, 5, 6, 0});
  const Tensor by_channel = Tensor::from<float>({1, 2, 1, 3}, {1, 2, 6, -4, 5, 0});
  const Tensor scale(std::vector<float>{2, 3});
  const auto a = session_.run(nn::fused_batch_norm(by_pixel, scale, scale).y).to_vector<float>();
  const auto b =
      session_.run(nn::fused_batch_norm(by_channel, scale, scale, {.data_format = "NCHW"}).y).to_vector<float>();
  EXPECT_EQ((std::vector<float>{a[0], a[2], a[4], a[1], a[3], a[5]}), b);
}

}  // namespace
}  // namespace caudal::inline v0
