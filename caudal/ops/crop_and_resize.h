// Boxes cut out of pictures and brought to one size (Mask R-CNN's and detection models' crops).
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct CropAndResizeOptions {
  std::string method = "bilinear";  // or "nearest"
  float extrapolation_value = 0;    // of what lies outside the picture
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `image`: real numbers [batch, height, width, depth]. `boxes`: float32 [n, 4] of (y1, x1, y2, x2) where 0 and 1 are
// the centres of the first and last pixels; y1 > y2 turns the crop upside down. `box_indices`: int32 [n], the picture
// of each. `crop_size`: int32 (height, width). Result: float32 [n, height, width, depth]. Run time errors: OUT_OF_RANGE
// for an index that is none of the batch, INVALID_ARGUMENT for shapes that do not meet and boxes that are not finite.
CAUDAL_API Output crop_and_resize(const Operand& image, const Operand& boxes, const Operand& box_indices,
                                  const Operand& crop_size, const CropAndResizeOptions& options = {});

}  // namespace image

namespace raw_ops {

struct CropAndResizeGradImageOptions {
  DType T = DType::kFloat;
  std::string method = "bilinear";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The gradient towards the pictures: `T` (half, float, double) of shape `image_size` (int32 vector of four).
CAUDAL_API Output crop_and_resize_grad_image(const Operand& grads, const Operand& boxes, const Operand& box_ind,
                                             const Operand& image_size,
                                             const CropAndResizeGradImageOptions& options = {});
// The gradient towards the boxes, of the bilinear method.
CAUDAL_API Output crop_and_resize_grad_boxes(const Operand& grads, const Operand& image, const Operand& boxes,
                                             const Operand& box_ind, const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
