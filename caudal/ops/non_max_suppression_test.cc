#include "caudal/ops/non_max_suppression.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const harness::ValueRange kUnit = {.low = 0.01, .high = 0.99, .clear = 0};

Tensor number(DType type, double value) { return harness::tensor_of(type, {}, {value}); }

// Inputs of version 1 to 5 (and the first scores below the threshold).
std::vector<harness::SampleInput> selection_inputs(harness::Samples& samples, DType type, int version, int count,
                                                   int size, double iou = 0.4, double sigma = 0) {
  std::vector<harness::SampleInput> inputs = {samples.random(type, {count, 4}, kUnit),
                                              samples.random(type, {count}, kUnit), Tensor(size)};
  if (version >= 2) inputs.emplace_back(number(type, iou));
  if (version >= 3) inputs.emplace_back(number(type, 0.2));
  if (version >= 5) inputs.emplace_back(number(type, sigma));
  return inputs;
}

void selection_samples(harness::Samples& samples, int version) {
  const std::vector<DType> types = version == 1 ? std::vector{float32} : std::vector{float32, float16};
  for (const DType type : types) {
    for (const int count : {0, 1, 9, 60}) {
      for (const int size : {0, 3, 80}) {
        samples.add({.inputs = selection_inputs(samples, type, version, count, size), .shape_unknown = true});
        if (version >= 4) {
          samples.add({.inputs = selection_inputs(samples, type, version, count, size),
                       .attrs = {{"pad_to_max_output_size", true}}});
        }
        if (version >= 5) {
          samples.add(
              {.inputs = selection_inputs(samples, type, version, count, size, 0.4, 0.5), .shape_unknown = true});
        }
      }
    }
  }
  // Thresholds of another type than the scores.
  if (version >= 2 && version <= 4) {
    auto inputs = selection_inputs(samples, float16, version, 9, 5);
    for (std::size_t i = 3; i < inputs.size(); ++i) inputs[i] = number(float32, 0.3);
    samples.add({.inputs = inputs, .shape_unknown = true});
  }
  const auto error = [&](std::size_t input, const Tensor& value) {
    auto inputs = selection_inputs(samples, float32, version, 4, 2);
    inputs[input] = value;
    samples.error(inputs, Code::kInvalidArgument);
  };
  error(0, samples.random(float32, {4, 5}));
  error(0, samples.random(float32, {3, 4}));
  error(0, samples.random(float32, {4}));
  error(1, samples.random(float32, {4, 1}));
  error(2, Tensor(-1));
  error(2, Tensor(std::vector<int>{1}));
  if (version >= 2) error(3, Tensor(1.5F));
  if (version >= 5) error(5, Tensor(-1.0F));
}

CAUDAL_OP_SAMPLES(NonMaxSuppression) {
  selection_samples(samples, 1);
  samples.error(selection_inputs(samples, float32, 1, 4, 2), Code::kInvalidArgument, {{"iou_threshold", -0.1F}});
}
CAUDAL_OP_SAMPLES(NonMaxSuppressionV2) { selection_samples(samples, 2); }
CAUDAL_OP_SAMPLES(NonMaxSuppressionV3) { selection_samples(samples, 3); }
CAUDAL_OP_SAMPLES(NonMaxSuppressionV4) { selection_samples(samples, 4); }
CAUDAL_OP_SAMPLES(NonMaxSuppressionV5) { selection_samples(samples, 5); }

CAUDAL_OP_SAMPLES(NonMaxSuppressionWithOverlaps) {
  const auto inputs = [&](const Shape& overlaps, const Shape& scores, int size) {
    return std::vector<harness::SampleInput>{samples.random(float32, overlaps, kUnit),
                                             samples.random(float32, scores, kUnit), Tensor(size), Tensor(0.6F),
                                             Tensor(0.1F)};
  };
  for (const int count : {0, 1, 12}) {
    samples.add({.inputs = inputs({count, count}, {count}, 5), .shape_unknown = true});
  }
  samples.error(inputs({4, 3}, {4}, 2), Code::kInvalidArgument);
  samples.error(inputs({4, 4}, {3}, 2), Code::kInvalidArgument);
  samples.error(inputs({4, 4}, {4}, -2), Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(CombinedNonMaxSuppression) {
  const auto inputs = [&](const Shape& boxes, const Shape& scores, int per_class, int total, float iou = 0.5F) {
    return std::vector<harness::SampleInput>{samples.random(float32, boxes, {.low = -0.3, .high = 1.2, .clear = 0}),
                                             samples.random(float32, scores, kUnit),
                                             Tensor(per_class),
                                             Tensor(total),
                                             Tensor(iou),
                                             Tensor(0.2F)};
  };
  for (const bool pad : {false, true}) {
    for (const bool clip : {false, true}) {
      const AttrMap attrs = {{"pad_per_class", pad}, {"clip_boxes", clip}};
      samples.add({.inputs = inputs({2, 10, 1, 4}, {2, 10, 3}, 3, 7), .attrs = attrs});
      samples.add({.inputs = inputs({3, 10, 3, 4}, {3, 10, 3}, 2, 20), .attrs = attrs});
      samples.add({.inputs = inputs({1, 0, 1, 4}, {1, 0, 2}, 2, 3), .attrs = attrs});
      samples.add({.inputs = inputs({0, 4, 1, 4}, {0, 4, 2}, 2, 3), .attrs = attrs});
    }
  }
  const auto error = [&](const std::vector<harness::SampleInput>& bad) { samples.error(bad, Code::kInvalidArgument); };
  error(inputs({2, 10, 2, 4}, {2, 10, 3}, 3, 7));
  error(inputs({2, 10, 1, 4}, {2, 9, 3}, 3, 7));
  error(inputs({1, 10, 1, 4}, {2, 10, 3}, 3, 7));
  error(inputs({2, 10, 1, 5}, {2, 10, 3}, 3, 7));
  error(inputs({2, 10, 1, 4}, {2, 10, 3}, 0, 7));
  error(inputs({2, 10, 1, 4}, {2, 10, 3}, 3, 0));
  error(inputs({2, 10, 1, 4}, {2, 10, 3}, 3, 7, 1.5F));
}

TEST(NonMaxSuppression, TakesTheBestOfEachHeap) {
  Graph graph;
  const GraphScope scope(graph);
  const Output boxes =
      constant(Tensor::from<float>({4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 5, 1, 6, 1, 6.1F, 0, 5.1F}));
  const Output scores = constant(std::vector<float>{0.9F, 0.75F, 0.6F, 0.95F});
  Session session;
  EXPECT_TRUE(identical(session.run(image::non_max_suppression(boxes, scores, 3)), Tensor(std::vector<int>{3, 0})));
  const auto soft = image::non_max_suppression_with_scores(boxes, scores, 4, {.soft_nms_sigma = 0.5F});
  const auto result = session.run({soft.selected_indices, soft.selected_scores});
  EXPECT_TRUE(identical(result[0], Tensor(std::vector<int>{3, 0, 1, 2})));
  EXPECT_LT(result[1].data<float>()[2], 0.5F);
  const auto padded = image::non_max_suppression_padded(boxes, scores, 3, {.pad_to_max_output_size = true});
  EXPECT_TRUE(identical(session.run(padded.selected_indices), Tensor(std::vector<int>{3, 0, 0})));
  EXPECT_TRUE(identical(session.run(padded.valid_outputs), Tensor(2)));
}

}  // namespace
}  // namespace caudal::inline v0
