#include "caudal/ops/projective_transform.h"

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

const float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
const Tensor kTurn = Tensor::from<float>({1, 8}, {0.8F, -0.6F, 1.3F, 0.6F, 0.8F, -0.4F, 0.01F, 0.02F});
const Tensor kTwo = Tensor::from<float>({2, 8}, {1, 0, 7, 0, 1, -9, 0, 0, 2, 0, -3, 0, -2, 20, 0, 0});
// Places infinitely far and no places at all.
const Tensor kOdd = Tensor::from<float>({2, 8}, {1, 0, 0, 0, 1, 0, -1, 0, kNan, 0, 0, 0, kInfinity, 1e30F, 0, 0});

void transform_samples(harness::Samples& samples, bool filled) {
  const auto inputs = [&](const Tensor& images, const Tensor& transforms, const Tensor& size) {
    std::vector<harness::SampleInput> out = {images, transforms, size};
    if (filled) out.emplace_back(Tensor(3.0F));
    return out;
  };
  const Tensor size(std::vector<int>{4, 7});
  for (const char* interpolation : {"NEAREST", "BILINEAR"}) {
    for (const char* fill : {"CONSTANT", "REFLECT", "WRAP", "NEAREST"}) {
      const AttrMap attrs = {{"interpolation", interpolation}, {"fill_mode", fill}};
      for (const Tensor& transforms : {kTurn, kTwo, kOdd}) {
        samples.add({.inputs = inputs(samples.random(float32, {2, 5, 6, 3}), transforms, size),
                     .attrs = attrs,
                     .gradient = Check::kNo});
      }
      samples.add({.inputs = inputs(samples.random(float32, {2, 1, 1, 3}), kTwo, size),
                   .attrs = attrs,
                   .gradient = Check::kNo});
    }
  }
  const AttrMap plain = {{"interpolation", "BILINEAR"}};
  for (const DType type : {uint8, int32, int64, float16, bfloat16, float32, float64}) {
    samples.add(
        {.inputs = inputs(samples.random(type, {2, 5, 6, 3}), kTurn, size), .attrs = plain, .gradient = Check::kNo});
  }
  // A shift, of which the inverse transform is the exact gradient.
  samples.add({.inputs = inputs(samples.random(float64, {1, 4, 3, 2}),
                                Tensor::from<float>({1, 8}, {1, 0, 1, 0, 1, -2, 0, 0}), Tensor(std::vector<int>{4, 3})),
               .attrs = {{"interpolation", "NEAREST"}},
               .gradient = Check::kYes,
               .undifferentiated_inputs = filled ? std::vector<int>{1, 3} : std::vector<int>{1}});
  samples.add({.inputs = inputs(samples.random(float32, {0, 5, 6, 3}), kTurn, size), .attrs = plain});
  const auto error = [&](const Shape& images, const Shape& transforms, const std::vector<int>& to,
                         const AttrMap& attrs = {{"interpolation", "NEAREST"}}) {
    samples.error(inputs(samples.random(float32, images), samples.random(float32, transforms), Tensor(to)),
                  Code::kInvalidArgument, attrs);
  };
  error({5, 6, 3}, {1, 8}, {2, 2});
  error({2, 5, 6, 3}, {3, 8}, {2, 2});
  error({2, 5, 6, 3}, {1, 9}, {2, 2});
  error({2, 5, 6, 3}, {1, 8}, {2, 0});
  error({2, 5, 6, 3}, {1, 8}, {2, 2}, {{"interpolation", "CUBIC"}});
  error({2, 5, 6, 3}, {1, 8}, {2, 2}, {{"interpolation", "NEAREST"}, {"fill_mode", "PINK"}});
}

CAUDAL_OP_SAMPLES(ImageProjectiveTransformV2) { transform_samples(samples, false); }
CAUDAL_OP_SAMPLES(ImageProjectiveTransformV3) { transform_samples(samples, true); }

TEST(ProjectiveTransform, Shifts) {
  Graph graph;
  const GraphScope scope(graph);
  const Output picture = constant(Tensor::from<std::uint8_t>({1, 1, 3, 1}, {1, 2, 3}));
  const Output shifted =
      image::projective_transform(picture, std::vector<float>{1, 0, -1, 0, 1, 0, 0, 0}, {1, 4}, {.fill_value = 9.0F});
  Session session;
  EXPECT_TRUE(identical(session.run(shifted), Tensor::from<std::uint8_t>({1, 1, 4, 1}, {9, 1, 2, 3})));
}

}  // namespace
}  // namespace caudal::inline v0
