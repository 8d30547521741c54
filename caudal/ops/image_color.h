// Colours: RGB and HSV, and the three adjustments that TensorFlow has ops for.
//
// Pictures are [..., 3]; hue, saturation and value are numbers from 0 to 1. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

// Floating types. The hue of gray is 0. The gradient at ties (two colours equally strong) is TensorFlow's: red counts
// as the strongest first, blue as the weakest.
CAUDAL_API Output rgb_to_hsv(const Operand& images, const OpOptions& options = {});
CAUDAL_API Output hsv_to_rgb(const Operand& images, const OpOptions& options = {});

}  // namespace image

// float32 only; image::adjust_contrast, adjust_hue and adjust_saturation take any type. Pictures of at least three
// dimensions, [..., height, width, channels].
namespace raw_ops {

// (x - mean) * contrast_factor + mean, where the mean is of each channel of each picture.
CAUDAL_API Output adjust_contrast_v2(const Operand& images, const Operand& contrast_factor,
                                     const OpOptions& options = {});
// Turns the hue by `delta` of a full circle. Three channels.
CAUDAL_API Output adjust_hue(const Operand& images, const Operand& delta, const OpOptions& options = {});
// Multiplies the saturation by `scale` and cuts it to [0, 1]. Three channels.
CAUDAL_API Output adjust_saturation(const Operand& images, const Operand& scale, const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
