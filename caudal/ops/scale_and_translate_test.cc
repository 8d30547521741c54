#include "caudal/ops/scale_and_translate.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

const std::vector<const char*> kKernels = {"lanczos1", "lanczos3", "lanczos5",  "gaussian",
                                           "box",      "triangle", "keyscubic", "MitchellCubic"};

Tensor pair(float rows, float columns) { return Tensor(std::vector<float>{rows, columns}); }
Tensor size(int rows, int columns) { return Tensor(std::vector<int>{rows, columns}); }

CAUDAL_OP_SAMPLES(ScaleAndTranslate) {
  for (const char* kernel : kKernels) {
    for (const bool antialias : {true, false}) {
      const AttrMap attrs = {{"kernel_type", kernel}, {"antialias", antialias}};
      samples.add({.inputs = {samples.random(float32, {1, 4, 5, 2}), size(3, 2), pair(0.7F, 0.41F), pair(0.2F, -0.6F)},
                   .attrs = attrs,
                   .gradient = Check::kYes,
                   .second_order = Check::kNo,
                   .undifferentiated_inputs = {2, 3}});
      samples.add({.inputs = {samples.random(float32, {2, 4, 3, 1}), size(9, 8), pair(2, 2.5F), pair(-3, 20)},
                   .attrs = attrs,
                   .gradient = Check::kNo});
    }
  }
  for (const DType type : {int8, uint8, int16, uint16, int32, int64, bfloat16, float16, float32, float64}) {
    samples.add({.inputs = {samples.random(type, {1, 4, 5, 2}), size(3, 2), pair(0.7F, 0.41F), pair(0.2F, -0.6F)},
                 .gradient = Check::kNo});
  }
  samples.add({.inputs = {samples.random(float32, {0, 4, 5, 2}), size(3, 2), pair(1, 1), pair(0, 0)}});
  // A scale so small that the whole picture is under the kernel, and places that are no number.
  samples.add({.inputs = {samples.random(float32, {1, 4, 5, 2}), size(2, 2), pair(1e-30F, 0.1F), pair(0, 0)},
               .gradient = Check::kNo});
  samples.add({.inputs = {samples.random(float32, {1, 4, 5, 2}), size(2, 2), pair(1, 1),
                          pair(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity())},
               .gradient = Check::kNo});
  const auto error = [&](const Shape& images, const Tensor& to, const Tensor& scale, const Tensor& translation,
                         const AttrMap& attrs = {}) {
    samples.error({samples.random(float32, images), to, scale, translation}, Code::kInvalidArgument, attrs);
  };
  error({4, 5, 2}, size(2, 2), pair(1, 1), pair(0, 0));
  error({1, 4, 5, 0}, size(2, 2), pair(1, 1), pair(0, 0));
  error({1, 4, 5, 2}, size(2, 0), pair(1, 1), pair(0, 0));
  error({1, 4, 5, 2}, size(2, 2), pair(1, 0), pair(0, 0));
  error({1, 4, 5, 2}, size(2, 2), Tensor(1.0F), pair(0, 0));
  error({1, 4, 5, 2}, size(2, 2), pair(1, 1), pair(0, 0), {{"kernel_type", "hat"}});
}

CAUDAL_OP_SAMPLES(ScaleAndTranslateGrad) {
  for (const char* kernel : kKernels) {
    for (const bool antialias : {true, false}) {
      samples.add({.inputs = {samples.random(float32, {1, 3, 2, 2}), samples.random(float32, {1, 4, 5, 2}),
                              pair(0.7F, 0.41F), pair(0.2F, -0.6F)},
                   .attrs = {{"kernel_type", kernel}, {"antialias", antialias}}});
    }
  }
  samples.error({samples.random(float32, {3, 2, 2}), samples.random(float32, {1, 4, 5, 2}), pair(1, 1), pair(0, 0)},
                Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 3, 2, 2}), samples.random(float32, {1, 4, 5, 1}), pair(1, 1), pair(0, 0)},
                Code::kInvalidArgument);
}

TEST(ScaleAndTranslate, KeepsAConstantPicture) {
  Graph graph;
  const GraphScope scope(graph);
  const Output pictures = constant(Tensor::from<float>({1, 1, 4, 1}, {2, 2, 2, 2}));
  const Output small =
      image::scale_and_translate(pictures, {1, 2}, std::vector<float>{1, 0.5F}, std::vector<float>{0, 0});
  Session session;
  const Tensor result = session.run(small);
  for (const float value : result.flat<float>()) EXPECT_NEAR(value, 2, 1e-6);
}

}  // namespace
}  // namespace caudal::inline v0
