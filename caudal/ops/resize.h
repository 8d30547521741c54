// Pictures of another size: the four resampling ops that TensorFlow's models use, and their gradients.
//
// Pictures are [batch, height, width, channels] with at least one pixel and one channel; `size` is an int32 vector
// (new height, new width), both positive. With `align_corners` the centres of the corner pixels stay where they are;
// with `half_pixel_centers` pixels are squares whose centres lie at .5 (what tf.image.resize of TensorFlow 2 asks for);
// with neither, pixel i of the output looks at i * scale. Both together are INVALID_ARGUMENT. Sums are made in float32.
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct ResizeOptions {
  bool align_corners = false;
  bool half_pixel_centers = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// Real types; the result is float32. Linear between the four neighbours.
CAUDAL_API Output resize_bilinear(const Operand& images, const Operand& size, const ResizeOptions& options = {});
// Cubic convolution over 4 x 4 pixels: a = -0.75, or with half_pixel_centers Keys' a = -0.5 whose weights outside the
// picture are left out.
CAUDAL_API Output resize_bicubic(const Operand& images, const Operand& size, const ResizeOptions& options = {});
// The nearest pixel; the result has the type of `images`.
CAUDAL_API Output resize_nearest_neighbor(const Operand& images, const Operand& size,
                                          const ResizeOptions& options = {});

struct ResizeAreaOptions {
  bool align_corners = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The mean over the area that an output pixel covers.
CAUDAL_API Output resize_area(const Operand& images, const Operand& size, const ResizeAreaOptions& options = {});

}  // namespace image

namespace raw_ops {

// grads: of the resized pictures; original_image: only its shape and type matter, the result has both.
CAUDAL_API Output resize_bilinear_grad(const Operand& grads, const Operand& original_image,
                                       const image::ResizeOptions& options = {});
CAUDAL_API Output resize_bicubic_grad(const Operand& grads, const Operand& original_image,
                                      const image::ResizeOptions& options = {});
// size: of the original pictures.
CAUDAL_API Output resize_nearest_neighbor_grad(const Operand& grads, const Operand& size,
                                               const image::ResizeOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
