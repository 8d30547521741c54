#include "caudal/ops/image_patches.h"

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
using List = std::vector<std::int64_t>;

AttrMap image_attrs(const List& sizes, const List& strides, const List& rates, const char* padding) {
  return {{"ksizes", List{1, sizes[0], sizes[1], 1}},
          {"strides", List{1, strides[0], strides[1], 1}},
          {"rates", List{1, rates[0], rates[1], 1}},
          {"padding", padding}};
}

CAUDAL_OP_SAMPLES(ExtractImagePatches) {
  for (const char* padding : {"VALID", "SAME"}) {
    for (const DType type : {bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
                             uint64, complex64, complex128, boolean}) {
      samples.add(
          {.inputs = {samples.random(type, {2, 5, 4, 2})}, .attrs = image_attrs({2, 3}, {2, 1}, {1, 1}, padding)});
    }
    samples.add(
        {.inputs = {samples.random(float64, {1, 6, 7, 1})}, .attrs = image_attrs({2, 2}, {1, 2}, {2, 3}, padding)});
    samples.add(
        {.inputs = {samples.random(float64, {2, 3, 3, 2})}, .attrs = image_attrs({1, 1}, {2, 2}, {1, 1}, padding)});
    samples.add(
        {.inputs = {samples.random(float64, {0, 3, 3, 2})}, .attrs = image_attrs({2, 2}, {1, 1}, {1, 1}, padding)});
    samples.add(
        {.inputs = {samples.random(float32, {2, 40, 50, 3})}, .attrs = image_attrs({3, 3}, {1, 1}, {1, 1}, padding)});
  }
  const auto error = [&](const Shape& images, const AttrMap& attrs, Code code) {
    samples.error({samples.random(float32, images)}, code, attrs);
  };
  error({5, 5, 1}, image_attrs({2, 2}, {1, 1}, {1, 1}, "VALID"), Code::kInvalidArgument);
  error({1, 2, 2, 1}, image_attrs({5, 1}, {1, 1}, {1, 1}, "VALID"), Code::kInvalidArgument);
  AttrMap bad = image_attrs({2, 2}, {1, 1}, {1, 1}, "VALID");
  bad["ksizes"] = List{2, 2, 2, 1};
  error({2, 5, 5, 1}, bad, Code::kUnimplemented);
  bad["ksizes"] = List{1, 2, 2, 1, 1};
  error({2, 5, 5, 1}, bad, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ExtractVolumePatches) {
  for (const char* padding : {"VALID", "SAME"}) {
    const AttrMap attrs = {{"ksizes", List{1, 2, 1, 2, 1}}, {"strides", List{1, 1, 2, 1, 1}}, {"padding", padding}};
    for (const DType type :
         {bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
      samples.add({.inputs = {samples.random(type, {2, 3, 3, 4, 1})}, .attrs = attrs});
    }
  }
  samples.error({samples.random(float32, {2, 3, 3, 1})}, Code::kInvalidArgument,
                {{"ksizes", List{1, 1, 1, 1, 1}}, {"strides", List{1, 1, 1, 1, 1}}, {"padding", "SAME"}});
  samples.error({samples.random(float32, {1, 3, 3, 3, 2})}, Code::kUnimplemented,
                {{"ksizes", List{1, 1, 1, 1, 2}}, {"strides", List{1, 1, 1, 1, 1}}, {"padding", "SAME"}});
}

const Tensor kPlaces = Tensor::from<float>({3, 2}, {0.1F, -0.2F, 0.9F, 0.8F, -1.7F, -1.2F});

void glimpse_samples(harness::Samples& samples) {
  for (const bool centered : {true, false}) {
    for (const bool normalized : {true, false}) {
      AttrMap attrs = {{"centered", centered}, {"normalized", normalized}, {"uniform_noise", false}, {"noise", "zero"}};
      for (const auto& size : {std::vector<int>{3, 2}, {1, 1}, {9, 9}, {0, 2}}) {
        samples.add({.inputs = {samples.random(float32, {3, 5, 6, 2}), Tensor(size), kPlaces}, .attrs = attrs});
      }
      for (const char* noise : {"uniform", "gaussian"}) {
        attrs["noise"] = noise;
        samples.add({.inputs = {samples.random(float32, {3, 5, 6, 2}), Tensor(std::vector<int>{4, 5}), kPlaces},
                     .attrs = attrs,
                     .opaque_outputs = {0}});
      }
    }
  }
  const AttrMap zero = {{"uniform_noise", false}, {"noise", "zero"}};
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  samples.add({.inputs = {samples.random(float32, {2, 5, 6, 2}), Tensor(std::vector<int>{2, 2}),
                          Tensor::from<float>({2, 2}, {nan, inf, -1e30F, 1e30F})},
               .attrs = zero});
  const auto error = [&](const Shape& in, const Tensor& size, const Shape& places, const AttrMap& attrs) {
    samples.error({samples.random(float32, in), size, samples.random(float32, places)}, Code::kInvalidArgument, attrs);
  };
  const Tensor size(std::vector<int>{2, 2});
  error({5, 6, 2}, size, {3, 2}, zero);
  error({3, 5, 6, 2}, size, {2, 2}, zero);
  error({3, 5, 6, 2}, size, {3, 3}, zero);
  error({3, 5, 6, 2}, Tensor(2), {3, 2}, zero);
  error({3, 5, 6, 2}, Tensor(std::vector<int>{2, -5}), {3, 2}, zero);
  error({3, 5, 6, 2}, size, {3, 2}, {{"uniform_noise", true}, {"noise", "zero"}});
  error({3, 5, 6, 2}, size, {3, 2}, {{"uniform_noise", false}, {"noise", "pink"}});
}

CAUDAL_OP_SAMPLES(ExtractGlimpse) { glimpse_samples(samples); }
CAUDAL_OP_SAMPLES(ExtractGlimpseV2) { glimpse_samples(samples); }

TEST(ImagePatches, NoiseLiesInThePicturesRange) {
  Graph graph;
  const GraphScope scope(graph);
  const Output picture = constant(Tensor::from<float>({1, 1, 4, 1}, {2, 3, 4, 5}));
  const Output far = constant(Tensor::from<float>({1, 2}, {5, 5}));
  Session session;
  for (const char* noise : {"uniform", "gaussian"}) {
    const Tensor glimpse = session.run(image::extract_glimpse(picture, {20, 20}, far, {.noise = noise}));
    double sum = 0;
    for (const float value : glimpse.flat<float>()) {
      EXPECT_GE(value, 2);
      EXPECT_LE(value, 5);
      sum += value;
    }
    EXPECT_NEAR(sum / 400, 3.5, 0.5);
  }
}

}  // namespace
}  // namespace caudal::inline v0
