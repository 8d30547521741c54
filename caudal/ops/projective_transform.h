// Pictures seen through a projective map: rotations, shifts, shears, zooms.
//
// A transform is float32 [8] or [batch, 8]: (a0, a1, a2, b0, b1, b2, c0, c1). The output pixel (x, y) shows the input
// at
// ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1. Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::image {

struct ProjectiveTransformOptions {
  std::string interpolation = "NEAREST";  // or "BILINEAR"
  std::string fill_mode = "CONSTANT";     // of places outside: "REFLECT", "WRAP", "NEAREST", or fill_value
  Operand fill_value = 0.0F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `images`: uint8, int32, int64 or floating [batch, height, width, channels]; `output_shape`: int32 (height, width).
// Errors: INVALID_ARGUMENT for shapes that do not meet and unknown modes. The gradient is, as TensorFlow's, the inverse
// transform of the gradient: approximate where the map changes sizes.
CAUDAL_API Output projective_transform(const Operand& images, const Operand& transforms, const Operand& output_shape,
                                       const ProjectiveTransformOptions& options = {});

}  // namespace caudal::inline v0::image
