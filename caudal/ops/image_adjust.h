// Brightness, contrast, colour and type of pictures, and their random versions: augmentation as tf.image has it.
//
// Pictures are [..., height, width, channels] of any real type; integers stand for 0 .. 1 as 0 .. their greatest value.
// half and float32 are computed as they are, other types in float32 and converted back. Random functions draw by the op
// seed as TensorFlow does (caudal/ops/random.h): the same seed gives TensorFlow's numbers. INVALID_ARGUMENT for bounds
// that leave nothing to draw. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/image_geometry.h"

namespace caudal::inline v0::image {

struct ConvertImageDtypeOptions {
  bool saturate = false;  // values outside the new type's range become its limits, else they wrap around
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Another type for the same brightness: integers are scaled by their ranges, floats are taken as 0 .. 1.
CAUDAL_API Output convert_image_dtype(const Operand& image, DType dtype, const ConvertImageDtypeOptions& options = {});

CAUDAL_API Output adjust_brightness(const Operand& image, const Operand& delta, const OpOptions& options = {});
CAUDAL_API Output adjust_contrast(const Operand& images, const Operand& contrast_factor, const OpOptions& options = {});
// gain * image ^ gamma. INVALID_ARGUMENT for a negative gamma.
CAUDAL_API Output adjust_gamma(const Operand& image, float gamma = 1, float gain = 1, const OpOptions& options = {});
// Three channels. `delta` in full circles.
CAUDAL_API Output adjust_hue(const Operand& image, const Operand& delta, const OpOptions& options = {});
CAUDAL_API Output adjust_saturation(const Operand& image, const Operand& saturation_factor,
                                    const OpOptions& options = {});
// What JPEG of that quality (0 to 100, int32) leaves of one picture [height, width, 1 or 3].
CAUDAL_API Output adjust_jpeg_quality(const Operand& image, const Operand& jpeg_quality, const OpOptions& options = {});

CAUDAL_API Output random_brightness(const Operand& image, float max_delta, const RandomImageOptions& options = {});
CAUDAL_API Output random_contrast(const Operand& image, float lower, float upper,
                                  const RandomImageOptions& options = {});
CAUDAL_API Output random_hue(const Operand& image, float max_delta, const RandomImageOptions& options = {});
CAUDAL_API Output random_saturation(const Operand& image, float lower, float upper,
                                    const RandomImageOptions& options = {});
CAUDAL_API Output random_jpeg_quality(const Operand& image, std::int64_t min_jpeg_quality,
                                      std::int64_t max_jpeg_quality, const RandomImageOptions& options = {});
// The same with the numbers of `seed`, two integers of which the result is a function (caudal/ops/stateless_random.h).
CAUDAL_API Output stateless_random_brightness(const Operand& image, float max_delta, const Operand& seed,
                                              const OpOptions& options = {});
CAUDAL_API Output stateless_random_contrast(const Operand& image, float lower, float upper, const Operand& seed,
                                            const OpOptions& options = {});
CAUDAL_API Output stateless_random_hue(const Operand& image, float max_delta, const Operand& seed,
                                       const OpOptions& options = {});
CAUDAL_API Output stateless_random_saturation(const Operand& image, float lower, float upper, const Operand& seed,
                                              const OpOptions& options = {});
CAUDAL_API Output stateless_random_jpeg_quality(const Operand& image, std::int64_t min_jpeg_quality,
                                                std::int64_t max_jpeg_quality, const Operand& seed,
                                                const OpOptions& options = {});
// With normal noise of that deviation added (floating types).
CAUDAL_API Output gaussian_noise(const Operand& image, float stddev, const RandomImageOptions& options = {});

// (x - mean) / max(deviation, 1 / sqrt(pixels)) of each picture. float32.
CAUDAL_API Output per_image_standardization(const Operand& image, const OpOptions& options = {});

// 0.2989 R + 0.587 G + 0.114 B: [..., 3] to [..., 1].
CAUDAL_API Output rgb_to_grayscale(const Operand& images, const OpOptions& options = {});
// [..., 1] to [..., 3].
CAUDAL_API Output grayscale_to_rgb(const Operand& images, const OpOptions& options = {});
// Other colour spaces, of floating types [..., 3].
CAUDAL_API Output rgb_to_yiq(const Operand& images, const OpOptions& options = {});
CAUDAL_API Output yiq_to_rgb(const Operand& images, const OpOptions& options = {});
CAUDAL_API Output rgb_to_yuv(const Operand& images, const OpOptions& options = {});
CAUDAL_API Output yuv_to_rgb(const Operand& images, const OpOptions& options = {});

}  // namespace caudal::inline v0::image
