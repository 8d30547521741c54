#include "caudal/ops/bounding_box.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/random.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
// Inside, inverted, partly outside, wholly outside, far outside, no number.
const Tensor kBoxes =
    Tensor::from<float>({2, 3, 4}, {0.1F, 0.2F, 0.7F, 0.8F, 0.9F,   0.1F,   0.2F,  0.5F,  -0.4F, 0.5F, 0.6F, 1.8F,
                                    1.5F, 1.5F, 2,    2,    -1e30F, -1e30F, 1e30F, 1e30F, 0,     kNan, 1,    1});

void draw_samples(harness::Samples& samples, bool colored) {
  for (const DType type : {float32, float16}) {
    for (const std::int64_t depth : {1, 3, 4}) {
      std::vector<harness::SampleInput> inputs = {samples.random(type, {2, 9, 7, depth}), kBoxes};
      if (colored) inputs.emplace_back(samples.random(float32, {2, 4}));
      samples.add({.inputs = inputs});
      if (colored) inputs.back() = Tensor(float32, {0, 4});
      if (colored) samples.add({.inputs = inputs});
    }
  }
  const auto error = [&](const Shape& images, const Shape& boxes, const Shape& colors = {2, 4}) {
    std::vector<harness::SampleInput> inputs = {samples.random(float32, images), samples.random(float32, boxes)};
    if (colored) inputs.emplace_back(samples.random(float32, colors));
    samples.error(inputs, Code::kInvalidArgument);
  };
  error({9, 7, 3}, {2, 3, 4});
  error({2, 9, 7, 2}, {2, 3, 4});
  error({2, 9, 7, 3}, {1, 3, 4});
  error({2, 9, 7, 3}, {2, 3, 5});
  if (colored) error({2, 9, 7, 3}, {2, 3, 4}, {2, 2});
  if (colored) error({2, 9, 7, 3}, {2, 3, 4}, {4});
}

CAUDAL_OP_SAMPLES(DrawBoundingBoxes) { draw_samples(samples, false); }
CAUDAL_OP_SAMPLES(DrawBoundingBoxesV2) { draw_samples(samples, true); }

const Tensor kObjects = Tensor::from<float>({1, 2, 4}, {0.1F, 0.2F, 0.7F, 0.8F, 0.0F, 0.0F, 0.3F, 0.2F});

// Of the size as T, with what else the version takes.
std::vector<harness::SampleInput> sample_inputs(DType type, int version, const Tensor& boxes, float covered = 0.3F) {
  std::vector<harness::SampleInput> inputs = {harness::tensor_of(type, {3}, {100, 120, 3}), boxes};
  if (version >= 2) inputs.emplace_back(Tensor(covered));
  if (version >= 3) inputs.emplace_back(Tensor(std::vector<int>{3, 5}));
  return inputs;
}

void sample_samples(harness::Samples& samples, int version) {
  AttrMap seeds;
  if (version < 3) seeds = {{"seed", 7}, {"seed2", 8}};
  for (const DType type : {int32, int64, int16, uint8, int8}) {
    samples.add({.inputs = sample_inputs(type, version, kObjects), .attrs = seeds});
  }
  AttrMap whole = seeds;
  whole["use_image_if_no_bounding_boxes"] = true;
  samples.add({.inputs = sample_inputs(int32, version, Tensor(float32, {1, 0, 4})), .attrs = whole});
  AttrMap strict = seeds;
  strict["max_attempts"] = 3;
  strict["area_range"] = std::vector<float>{0.001F, 0.002F};
  samples.add({.inputs = sample_inputs(int32, version, kObjects), .attrs = strict});
  const auto error = [&](const Tensor& boxes, const AttrMap& attrs, float covered = 0.3F) {
    samples.error(sample_inputs(int32, version, boxes, covered), Code::kInvalidArgument, attrs);
  };
  error(Tensor(float32, {1, 0, 4}), seeds);
  error(Tensor::from<float>({1, 1, 4}, {0, 0, 1.5F, 1}), seeds);
  error(Tensor::from<float>({1, 1, 4}, {0, 0, kNan, 1}), seeds);
  error(samples.random(float32, {1, 4}), seeds);
  for (const char* name : {"aspect_ratio_range", "area_range"}) {
    for (const auto& bad : {std::vector<float>{0.5F}, {-1.0F, 1.0F}}) {
      AttrMap attrs = seeds;
      attrs[name] = bad;
      error(kObjects, attrs);
    }
  }
  AttrMap none = seeds;
  none["max_attempts"] = 0;
  error(kObjects, none);
  if (version >= 2) error(kObjects, seeds, -1.0F);
}

CAUDAL_OP_SAMPLES(SampleDistortedBoundingBox) { sample_samples(samples, 1); }
CAUDAL_OP_SAMPLES(SampleDistortedBoundingBoxV2) { sample_samples(samples, 2); }
CAUDAL_OP_SAMPLES(StatelessSampleDistortedBoundingBox) { sample_samples(samples, 3); }

CAUDAL_OP_SAMPLES(RandomCrop) {
  const AttrMap seeds = {{"seed", 7}, {"seed2", 8}};
  const auto size = [](std::int64_t height, std::int64_t width) {
    return Tensor(std::vector<std::int64_t>{height, width});
  };
  for (const DType type : {uint8, int8, int16, int32, int64, float32, float64}) {
    samples.add({.inputs = {samples.random(type, {6, 5, 3}), size(4, 2)}, .attrs = seeds});
  }
  for (const auto& [height, width] : {std::pair{6, 5}, {0, 2}, {6, 1}}) {
    samples.add({.inputs = {samples.random(float32, {6, 5, 3}), size(height, width)}, .attrs = seeds});
  }
  samples.error({samples.random(float32, {6, 5, 3}), size(7, 2)}, Code::kFailedPrecondition, seeds);
  samples.error({samples.random(float32, {6, 5, 3}), size(-2, 2)}, Code::kInvalidArgument, seeds);
  samples.error({samples.random(float32, {6, 5}), size(2, 2)}, Code::kInvalidArgument, seeds);
}

TEST(BoundingBox, DrawsAFrame) {
  Graph graph;
  const GraphScope scope(graph);
  const Output picture = constant(Tensor::zeros(float32, {1, 3, 3, 1}));
  const Output framed = image::draw_bounding_boxes(picture, constant(Tensor::from<float>({1, 1, 4}, {0, 0, 1, 1})),
                                                   {.colors = constant(Tensor::from<float>({1, 1}, {0.5F}))});
  Session session;
  EXPECT_TRUE(identical(session.run(framed),
                        Tensor::from<float>({1, 3, 3, 1}, {0.5F, 0.5F, 0.5F, 0.5F, 0, 0.5F, 0.5F, 0.5F, 0.5F})));
}

}  // namespace
}  // namespace caudal::inline v0
