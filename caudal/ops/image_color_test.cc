#include "caudal/ops/image_color.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
const harness::ValueRange kColors = {.low = 0.01, .high = 0.99, .clear = 0};
const float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
// Gray, black, ties of two, negative, beyond 1, not finite.
const Tensor kOddColors =
    Tensor::from<float>({1, 10, 3}, {0.5F, 0.5F, 0.5F, 0, 0, 0, 1, 1, 0,    0.2F, 0.7F, 0.7F, -1,        0.5F, 0.2F,
                                     3,    2,    1,    0, 0, 1, 1, 0, kNan, 1,    0,    0,    kInfinity, 0,    1});
const Tensor kFiniteColors = kOddColors.reshape({10, 3}).rows(0, 7);

void color_samples(harness::Samples& samples) {
  for (const DType type : kFloats) {
    // TensorFlow's gradient is no derivative where colours tie; the random ones do not.
    samples.add(
        {.inputs = {samples.random(type, {2, 3, 3}, kColors)}, .second_order = Check::kNo, .gradient_tolerance = 1e-4});
  }
  for (const Shape& shape : {Shape{3}, Shape{0, 3}, Shape{60, 70, 3}}) {
    samples.add({.inputs = {samples.random(float32, shape, kColors)}, .second_order = Check::kNo});
  }
  samples.add({.inputs = {kFiniteColors}, .gradient = Check::kNo});
  samples.error({Tensor(1.0F)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(RGBToHSV) { color_samples(samples); }
CAUDAL_OP_SAMPLES(HSVToRGB) { color_samples(samples); }

void adjust_samples(harness::Samples& samples, bool any_channels) {
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{1, 1, 3}, Shape{2, 3, 5, 4, 3}, Shape{0, 4, 3}, Shape{60, 70, 3}}) {
    for (const float amount : {0.3F, -0.6F, 1.7F}) {
      samples.add({.inputs = {samples.random(float32, shape, kColors), Tensor(amount)}});
    }
  }
  for (const float amount : {0.3F, 1e30F, kNan, kInfinity}) samples.add({.inputs = {kOddColors, Tensor(amount)}});
  if (any_channels) {
    samples.add({.inputs = {samples.random(float32, {2, 5, 4, 2}), Tensor(0.5F)}});
  } else {
    samples.error({samples.random(float32, {2, 5, 4, 2}), Tensor(0.5F)}, Code::kInvalidArgument);
  }
  samples.error({samples.random(float32, {5, 3}), Tensor(0.5F)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 5, 3}), Tensor(std::vector<float>{0.5F})}, Code::kInvalidArgument);
  samples.error({samples.random(float16, {1, 5, 3}), Tensor(0.5F)}, Code::kUnimplemented);
}

CAUDAL_OP_SAMPLES(AdjustContrastv2) { adjust_samples(samples, true); }
CAUDAL_OP_SAMPLES(AdjustHue) { adjust_samples(samples, false); }
CAUDAL_OP_SAMPLES(AdjustSaturation) { adjust_samples(samples, false); }

TEST(ImageColor, ConvertsThereAndBack) {
  Graph graph;
  const GraphScope scope(graph);
  const Output colors = constant(Tensor::from<double>({3, 3}, {0.25, 0.5, 0.75, 0.9, 0.1, 0.4, 0.2, 0.2, 0.2}));
  Session session;
  const auto result = session.run({image::hsv_to_rgb(image::rgb_to_hsv(colors)), colors});
  for (int i = 0; i < 9; ++i) {
    EXPECT_NEAR(result[0].data<double>()[i], result[1].data<double>()[i], 1e-12);
  }
}

// Values from TensorFlow 2.21.
TEST(ImageColor, GradientAtTiesIsTensorFlows) {
  Graph graph;
  const GraphScope scope(graph);
  const Output colors = constant(Tensor::from<float>({2, 3}, {0.5F, 0.5F, 0.5F, 0.25F, 0.75F, 0.75F}));
  const Output gradient = gradients({image::rgb_to_hsv(colors)}, {colors})[0].dense();
  Session session;
  const Tensor result = session.run(gradient);
  const std::vector<float> expected = {3, 0, -2, -1.3333334F, 1.1111112F, 0.33333334F};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(result.data<float>()[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace caudal::inline v0
