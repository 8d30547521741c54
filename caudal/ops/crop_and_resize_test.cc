#include "caudal/ops/crop_and_resize.h"

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

const std::vector<DType> kPictureTypes = {uint8, uint16, int8, int16, int32, int64, float16, float32, float64};

// Inside, upside down, partly and wholly outside, one point.
const Tensor kBoxes = Tensor::from<float>({5, 4}, {0.11F, 0.23F, 0.77F, 0.91F, 0.83F, 0.6F, 0.12F, 0.04F, -0.3F, 0.2F,
                                                   0.8F,  1.7F,  1.5F,  1.5F,  2,     2,    0.4F,  0.3F,  0.4F,  0.3F});
const Tensor kIndices(std::vector<int>{0, 1, 1, 0, 1});
const Shape kPictures = {2, 5, 6, 3};

CAUDAL_OP_SAMPLES(CropAndResize) {
  for (const char* method : {"bilinear", "nearest"}) {
    for (const auto& size : {std::vector<int>{4, 3}, {1, 1}, {7, 9}}) {
      samples.add({.inputs = {samples.random(float32, kPictures), kBoxes, kIndices, Tensor(size)},
                   .attrs = {{"method", method}, {"extrapolation_value", 2.5F}},
                   .gradient = Check::kNo});
    }
  }
  samples.add(
      {.inputs = {samples.random(float32, {1, 4, 4, 1}), Tensor::from<float>({1, 4}, {0.12F, 0.21F, 0.83F, 0.7F}),
                  Tensor(std::vector<int>{0}), Tensor(std::vector<int>{2, 2})},
       .gradient = Check::kYes,
       .second_order = Check::kNo});
  for (const DType type : kPictureTypes) {
    samples.add({.inputs = {samples.random(type, kPictures), kBoxes, kIndices, Tensor(std::vector<int>{4, 3})},
                 .gradient = Check::kNo});
  }
  const Tensor none(float32, {0, 4});
  samples.add(
      {.inputs = {samples.random(float32, kPictures), none, Tensor(int32, {0}), Tensor(std::vector<int>{2, 2})}});
  const auto error = [&](const Shape& pictures, const Tensor& boxes, const Tensor& indices,
                         const std::vector<int>& size, Code code = Code::kInvalidArgument) {
    samples.error({samples.random(float32, pictures), boxes, indices, Tensor(size)}, code);
  };
  error({5, 6, 3}, kBoxes, kIndices, {2, 2});
  error({2, 0, 6, 3}, kBoxes, kIndices, {2, 2});
  error(kPictures, samples.random(float32, {5, 3}), kIndices, {2, 2});
  error(kPictures, kBoxes, Tensor(std::vector<int>{0, 1}), {2, 2});
  error(kPictures, kBoxes, kIndices, {0, 2});
  error(kPictures, kBoxes, Tensor(std::vector<int>{0, 1, 2, 0, 0}), {2, 2}, Code::kOutOfRange);
  error(kPictures, kBoxes, Tensor(std::vector<int>{0, -1, 1, 0, 0}), {2, 2}, Code::kOutOfRange);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    error(kPictures, Tensor::from<float>({1, 4}, {0, bad, 1, 1}), Tensor(std::vector<int>{0}), {2, 2});
  }
}

CAUDAL_OP_SAMPLES(CropAndResizeGradImage) {
  for (const char* method : {"bilinear", "nearest"}) {
    for (const DType type : {float32, float64, float16}) {
      for (const Shape& grads : {Shape{5, 4, 3, 3}, Shape{5, 1, 1, 3}}) {
        samples.add({.inputs = {samples.random(float32, grads), kBoxes, kIndices, Tensor(std::vector<int>{2, 5, 6, 3})},
                     .attrs = {{"method", method}, {"T", type}}});
      }
    }
  }
  const auto error = [&](const Shape& grads, const Tensor& indices, const std::vector<int>& size, Code code) {
    samples.error({samples.random(float32, grads), kBoxes, indices, Tensor(size)}, code, {{"T", float32}});
  };
  error({4, 4, 3, 3}, kIndices, {2, 5, 6, 3}, Code::kInvalidArgument);
  error({5, 4, 3, 3}, kIndices, {2, 5, 6, 4}, Code::kInvalidArgument);
  error({5, 4, 3, 3}, kIndices, {2, 5, 6}, Code::kInvalidArgument);
  error({5, 4, 3, 3}, kIndices, {2, -5, 6, 3}, Code::kInvalidArgument);
  error({5, 4, 3, 3}, kIndices, {1, 5, 6, 3}, Code::kOutOfRange);
}

CAUDAL_OP_SAMPLES(CropAndResizeGradBoxes) {
  for (const DType type : kPictureTypes) {
    for (const Shape& grads : {Shape{5, 4, 3, 3}, Shape{5, 1, 1, 3}}) {
      samples.add({.inputs = {samples.random(float32, grads), samples.random(type, kPictures), kBoxes, kIndices}});
    }
  }
  samples.error({samples.random(float32, {5, 4, 3, 2}), samples.random(float32, kPictures), kBoxes, kIndices},
                Code::kInvalidArgument);
  samples.error({samples.random(float32, {4, 4, 3, 3}), samples.random(float32, kPictures), kBoxes, kIndices},
                Code::kInvalidArgument);
  samples.error({samples.random(float32, {5, 4, 3, 3}), samples.random(float32, {1, 5, 6, 3}), kBoxes, kIndices},
                Code::kOutOfRange);
}

TEST(CropAndResize, TurnsAround) {
  Graph graph;
  const GraphScope scope(graph);
  const Output picture = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 2, 3, 4}));
  const Output crop = image::crop_and_resize(picture, constant(Tensor::from<float>({1, 4}, {1, 1, 0, 0})), {0}, {2, 2});
  Session session;
  EXPECT_TRUE(identical(session.run(crop), Tensor::from<float>({1, 2, 2, 1}, {4, 3, 2, 1})));
}

}  // namespace
}  // namespace caudal::inline v0
