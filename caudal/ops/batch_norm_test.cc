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

// Inference fills all outputs, as does training with no values; TensorFlow leaves the reserve spaces as they are. The
// cases stand again as ".../more" without them.
const char* const kReserveSpaces = "TensorFlow's reserve spaces are memory never written to";

void forward_samples(harness::Samples& samples, const std::vector<DType>& dtypes) {
  samples.golden_exception(samples.op() + "/1", kReserveSpaces);
  const harness::ValueRange positive = {.low = 0.5, .high = 2, .clear = 0};
  for (const DType t : dtypes) {
    for (const bool training : {true, false}) {
      for (const char* format : {"NHWC", "NCHW"}) {
        const std::int64_t channels = 3;
        const Shape shape = format == std::string("NHWC") ? Shape{2, 3, 2, channels} : Shape{2, channels, 3, 2};
        const auto vector = [&] { return samples.random(float32, {channels}, positive); };
        samples.add({.inputs = {samples.random(t, shape), vector(), vector(), vector(), vector()},
                     .attrs = {{"is_training", training}, {"data_format", format}, {"exponential_avg_factor", 0.3F}},
                     // Gradients flow from y only, and not to given statistics, in TensorFlow too.
                     .undifferentiated_inputs = training ? std::vector<int>() : std::vector<int>{3, 4},
                     .undifferentiated_outputs = {1, 2, 3, 4, 5}});
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
  samples.golden_exception("FusedBatchNormV3/5", kReserveSpaces);
  const Tensor ones = Tensor::from<float>({2}, {1, 1});
  for (const char* format : {"NDHWC", "NCDHW"}) {
    const Shape shape = format == std::string("NDHWC") ? Shape{1, 2, 1, 3, 2} : Shape{1, 2, 2, 1, 3};
    samples.add({.inputs = {samples.random(float32, shape), ones, ones, ones, ones},
                 .attrs = {{"data_format", format}},
                 .undifferentiated_outputs = {1, 2, 3, 4, 5}});
  }
}

void grad_samples(harness::Samples& samples, const std::vector<DType>& dtypes, bool third) {
  const harness::ValueRange positive = {.low = 0.5, .high = 2, .clear = 0};
  for (const DType t : dtypes) {
    for (const bool training : {true, false}) {
      std::vector<harness::SampleInput> inputs = {samples.random(t, {2, 3, 2, 5}), samples.random(t, {2, 3, 2, 5})};
      for (int i = 0; i < 3; ++i) inputs.emplace_back(samples.random(float32, {5}, positive));
      if (third) inputs.emplace_back(Tensor(0.0F));
      // In training TensorFlow's gradient takes the statistics for those of x, which they are in a network and not
      // here (BatchNorm.SecondOrderIsTensorFlows; the samples of FusedBatchNorm).
      samples.add({.inputs = inputs,
                   .attrs = {{"is_training", training}},
                   .gradient = training ? Check::kNo : Check::kYes,
                   // The gradient's own gradient reaches the statistics, as it does in TensorFlow.
                   .second_order = Check::kNo,
                   .undifferentiated_inputs = {3, 4, 5}});
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

// Values by TensorFlow 2.21. Weights of a sum over n numbers: ((7k + 3) mod 11 - 5) / 4.
TEST_F(BatchNorm, SecondOrderIsTensorFlows) {
  const Output dy = constant(Tensor::from<float>({2, 2, 1, 2}, {.5, -1, 2, .25, -.75, 1, 1.5, -.5}));
  const Output x = constant(Tensor::from<float>({2, 2, 1, 2}, {1, -2, .5, 3, -1.5, .25, 2, -.75}));
  const Output scale = constant({1.5, -.5}), mean = constant({.5, .25}), variance = constant({2.0, 1.5});
  const Output weights = constant(Tensor::from<float>({2, 2, 1, 2}, {-.5, 1.25, .25, -.75, 1, 0, -1, .75}));
  const Output vector_weights = constant({-.5, 1.25});
  const std::vector<std::vector<float>> expected[] = {
      {{-1.1900655F, -1.4675822F, -.24122542F, 4.2640457F, 1.2251639F, 1.25F, -2.0526476F, -.0346753F},
       {-.17251639F, -.98821175F, -.69006556F, .24705294F, .25877458F, .98821175F, -.51754916F, -.49410588F},
       {-1.380131F, -1.4329071F}},
      {{-.879659F, -.19988234F, -.14309983F, 3.156507F, .23345566F, 1.40416F, -1.2106969F, .63921505F},
       {-.06602392F, -.21329448F, .07810432F, -.23732096F, .04426581F, .56412345F, -.05634624F, -.113508F},
       {.2870718F, -.21422172F}}};
  for (const bool training : {false, true}) {
    Node& node = OpBuilder("FusedBatchNormGradV3", {})
                     .input(dy)
                     .input(x)
                     .input(scale)
                     .input(mean)
                     .input(variance)
                     .input(std::vector<float>())
                     .attr("epsilon", .1F)
                     .attr("is_training", training)
                     .build_node();
    const auto grads = gradients({node.output(0), node.output(1), node.output(2)}, {dy, x, scale, mean, variance},
                                 {.grad_ys = {weights, vector_weights, vector_weights}});
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor got = session_.run(grads[i].dense());
      EXPECT_EQ(harness::difference(Tensor::from<float>(got.shape(), expected[training][i]), got, 2e-6), "")
          << training << ' ' << i;
    }
    EXPECT_TRUE(grads[3].is_none());
    EXPECT_TRUE(grads[4].is_none());
  }
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
