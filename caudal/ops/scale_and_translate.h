// Resampling by a filter: pictures scaled and moved, with a kernel that is widened when they shrink so that nothing is
// lost (antialias). What tf.image.resize uses for lanczos3, lanczos5, gaussian and mitchellcubic, and for antialias.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct ScaleAndTranslateOptions {
  // lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or mitchellcubic.
  std::string kernel_type = "lanczos3";
  bool antialias = true;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `images`: real numbers [batch, height, width, channels]. `size`: int32 (height, width) of the result, float32.
// `scale` and `translation`: float32 (rows, columns); an input position p comes to p * scale + translation. Pixels
// whose place lies outside the input are 0. INVALID_ARGUMENT for shapes that do not meet, a scale that is not positive
// and an unknown kernel.
CAUDAL_API Output scale_and_translate(const Operand& images, const Operand& size, const Operand& scale,
                                      const Operand& translation, const ScaleAndTranslateOptions& options = {});

}  // namespace image

namespace raw_ops {

// Of original_image only the shape matters. float32.
CAUDAL_API Output scale_and_translate_grad(const Operand& grads, const Operand& original_image, const Operand& scale,
                                           const Operand& translation,
                                           const image::ScaleAndTranslateOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
