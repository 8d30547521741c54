#include "caudal/ops/resize.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

const std::vector<DType> kPictureTypes = {int8,  uint8,   int16,   uint16,   int32,
                                          int64, float16, float32, bfloat16, float64};

struct Case {
  Shape in;
  int height, width;
};
// Larger, smaller, the same, one pixel, an empty batch, more than one thread's share.
const std::vector<Case> kCases = {{{1, 2, 2, 1}, 4, 4}, {{2, 5, 4, 3}, 3, 7},  {{1, 3, 3, 2}, 3, 3},
                                  {{1, 1, 1, 4}, 2, 3}, {{2, 6, 5, 1}, 1, 1},  {{0, 2, 3, 1}, 4, 5},
                                  {{1, 9, 8, 5}, 4, 3}, {{2, 8, 8, 3}, 60, 70}};

Tensor size_of(const Case& c) { return Tensor(std::vector<int>{c.height, c.width}); }

std::vector<AttrMap> grids() { return {{}, {{"align_corners", true}}, {{"half_pixel_centers", true}}}; }

void resize_errors(harness::Samples& samples, bool has_half_pixels) {
  const Tensor good = samples.random(float32, {1, 2, 2, 1}), size(std::vector<int>{2, 2});
  const auto error = [&](const Tensor& images, const Tensor& to, const AttrMap& attrs = {}) {
    samples.error({images, to}, Code::kInvalidArgument, attrs);
  };
  error(samples.random(float32, {2, 2, 1}), size);
  error(samples.random(float32, {1, 0, 2, 1}), size);
  error(samples.random(float32, {1, 2, 2, 0}), size);
  error(good, Tensor(std::vector<int>{0, 2}));
  error(good, Tensor(std::vector<int>{2, -3}));
  error(good, Tensor(std::vector<int>{2, 2, 2}));
  error(good, Tensor(2));
  if (has_half_pixels) error(good, size, {{"align_corners", true}, {"half_pixel_centers", true}});
}

void resize_samples(harness::Samples& samples, bool has_half_pixels, bool has_gradient) {
  for (const AttrMap& attrs : grids()) {
    if (!has_half_pixels && attrs.contains("half_pixel_centers")) continue;
    for (const Case& c : kCases) {
      // Results are float32: finite differences need inputs of that type.
      const bool small = has_gradient && c.in.num_elements() > 0 && c.in.num_elements() < 50;
      samples.add({.inputs = {samples.random(float32, c.in), size_of(c)},
                   .attrs = attrs,
                   .gradient = small ? Check::kYes : Check::kNo,
                   .second_order = Check::kNo});
    }
  }
  for (const DType type : kPictureTypes) {
    samples.add(
        {.inputs = {samples.random(type, {1, 3, 4, 3}), Tensor(std::vector<int>{5, 2})}, .gradient = Check::kNo});
  }
  resize_errors(samples, has_half_pixels);
}

CAUDAL_OP_SAMPLES(ResizeBilinear) { resize_samples(samples, true, true); }
CAUDAL_OP_SAMPLES(ResizeBicubic) { resize_samples(samples, true, true); }
CAUDAL_OP_SAMPLES(ResizeArea) { resize_samples(samples, false, false); }

CAUDAL_OP_SAMPLES(ResizeNearestNeighbor) {
  for (const AttrMap& attrs : grids()) {
    for (const Case& c : kCases) samples.add({.inputs = {samples.random(float64, c.in), size_of(c)}, .attrs = attrs});
  }
  for (const DType type : kPictureTypes) {
    samples.add({.inputs = {samples.random(type, {1, 3, 4, 3}), Tensor(std::vector<int>{5, 2})}});
  }
  resize_errors(samples, true);
}

void grad_samples(harness::Samples& samples, const std::vector<DType>& types) {
  for (const AttrMap& attrs : grids()) {
    for (const DType type : types) {
      for (const Case& c : kCases) {
        const Shape grads{c.in[0], c.height, c.width, c.in[3]};
        samples.add({.inputs = {samples.random(float32, grads), samples.random(type, c.in)}, .attrs = attrs});
      }
    }
  }
  const auto error = [&](const Shape& grads, const Shape& original, const AttrMap& attrs = {}) {
    samples.error({samples.random(float32, grads), samples.random(float32, original)}, Code::kInvalidArgument, attrs);
  };
  error({2, 2, 1}, {1, 2, 2, 1});
  error({1, 2, 2, 1}, {2, 2, 1});
  error({1, 0, 2, 1}, {1, 2, 2, 1});
  error({1, 2, 2, 1}, {1, 2, 0, 1});
  error({2, 2, 2, 1}, {1, 2, 2, 1});
  error({1, 2, 2, 1}, {1, 2, 2, 1}, {{"align_corners", true}, {"half_pixel_centers", true}});
}

CAUDAL_OP_SAMPLES(ResizeBilinearGrad) { grad_samples(samples, {float32, float64, float16, bfloat16}); }
CAUDAL_OP_SAMPLES(ResizeBicubicGrad) { grad_samples(samples, {float32, float64}); }

CAUDAL_OP_SAMPLES(ResizeNearestNeighborGrad) {
  for (const AttrMap& attrs : grids()) {
    for (const DType type : {float32, float64, float16, bfloat16, int8, uint8, int32}) {
      for (const Case& c : kCases) {
        const Shape grads{c.in[0], c.height, c.width, c.in[3]};
        samples.add({.inputs = {samples.random(type, grads),
                                Tensor(std::vector<int>{static_cast<int>(c.in[1]), static_cast<int>(c.in[2])})},
                     .attrs = attrs});
      }
    }
  }
  samples.error({samples.random(float32, {2, 2, 1}), Tensor(std::vector<int>{2, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1, 2, 2, 1}), Tensor(std::vector<int>{2, 0})}, Code::kInvalidArgument);
}

TEST(Resize, TellsTheStaticShape) {
  Graph graph;
  const GraphScope scope(graph);
  const Output pictures = placeholder(uint8, PartialShape{-1, -1, -1, 3});
  EXPECT_EQ(image::resize_bilinear(pictures, {7, 5}).shape(), (PartialShape{-1, 7, 5, 3}));
  EXPECT_EQ(image::resize_nearest_neighbor(pictures, {7, 5}).dtype(), uint8);
  EXPECT_EQ(image::resize_area(pictures, placeholder(int32)).shape(), (PartialShape{-1, -1, -1, 3}));
}

TEST(Resize, ShrinksByMeans) {
  Graph graph;
  const GraphScope scope(graph);
  const Output pictures = constant(Tensor::from<float>({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}));
  Session session;
  EXPECT_TRUE(
      identical(session.run(image::resize_area(pictures, {1, 2})), Tensor::from<float>({1, 1, 2, 1}, {3.5F, 5.5F})));
}

}  // namespace
}  // namespace caudal::inline v0
