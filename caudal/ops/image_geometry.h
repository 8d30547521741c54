// Pictures of other sizes and other ways round: what tf.image has for it, made of other ops.
//
// A picture is [height, width, channels], several are [batch, height, width, channels]; both are taken, and the rank
// must be known when the graph is made. Sizes need not be. INVALID_ARGUMENT for other ranks and sizes that cannot be,
// when the graph is made where they are known, else when it runs. Random functions draw by the op seed as TensorFlow
// does (caudal/ops/random.h): the same seed gives TensorFlow's numbers. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::image {

// ---- Sizes

enum class ResizeMethod {
  kBilinear,
  kNearestNeighbor,
  kBicubic,
  kArea,
  kLanczos3,
  kLanczos5,
  kGaussian,
  kMitchellCubic
};

struct ImageResizeOptions {
  ResizeMethod method = ResizeMethod::kBilinear;
  bool preserve_aspect_ratio = false;  // as large as fits into `size`
  bool antialias = false;              // for kBilinear, kBicubic and the filters: no flicker when pictures shrink
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// As tf.image.resize of TensorFlow 2. `size`: int32 (height, width). float32, but for kNearestNeighbor.
CAUDAL_API Output resize(const Operand& images, const Operand& size, const ImageResizeOptions& options = {});

struct ResizeWithPadOptions {
  ResizeMethod method = ResizeMethod::kBilinear;
  bool antialias = false;
  std::source_location where = std::source_location::current();
};
// As large as fits without distortion, in the middle of black.
CAUDAL_API Output resize_with_pad(const Operand& image, std::int64_t target_height, std::int64_t target_width,
                                  const ResizeWithPadOptions& options = {});
// Cuts and pads evenly around the middle; nothing is resampled.
CAUDAL_API Output resize_with_crop_or_pad(const Operand& image, std::int64_t target_height, std::int64_t target_width,
                                          const OpOptions& options = {});
// The middle of the picture, that fraction (0, 1] of each side.
CAUDAL_API Output central_crop(const Operand& image, double central_fraction, const OpOptions& options = {});
CAUDAL_API Output crop_to_bounding_box(const Operand& image, std::int64_t offset_height, std::int64_t offset_width,
                                       std::int64_t target_height, std::int64_t target_width,
                                       const OpOptions& options = {});
// Black around the picture, which begins at the offsets.
CAUDAL_API Output pad_to_bounding_box(const Operand& image, std::int64_t offset_height, std::int64_t offset_width,
                                      std::int64_t target_height, std::int64_t target_width,
                                      const OpOptions& options = {});

struct RandomImageOptions {
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// A block of `size` (int32, one for each dimension) at a random place of `value`, of any rank.
CAUDAL_API Output random_crop(const Operand& value, const Operand& size, const RandomImageOptions& options = {});

// The same with the numbers of `seed`, two integers of which the result is a function (caudal/ops/stateless_random.h).
CAUDAL_API Output stateless_random_crop(const Operand& value, const Operand& size, const Operand& seed,
                                        const OpOptions& options = {});

// ---- Ways round

CAUDAL_API Output flip_left_right(const Operand& image, const OpOptions& options = {});
CAUDAL_API Output flip_up_down(const Operand& image, const OpOptions& options = {});
// Rows become columns.
CAUDAL_API Output transpose(const Operand& image, const OpOptions& options = {});
// k quarter turns, counterclockwise.
CAUDAL_API Output rot90(const Operand& image, std::int64_t k = 1, const OpOptions& options = {});
// Flipped or not, with equal chances; each picture of a batch by itself (those are of number types).
CAUDAL_API Output random_flip_left_right(const Operand& image, const RandomImageOptions& options = {});
CAUDAL_API Output random_flip_up_down(const Operand& image, const RandomImageOptions& options = {});

CAUDAL_API Output stateless_random_flip_left_right(const Operand& image, const Operand& seed,
                                                   const OpOptions& options = {});
CAUDAL_API Output stateless_random_flip_up_down(const Operand& image, const Operand& seed,
                                                const OpOptions& options = {});

struct MoveOptions {
  std::string interpolation = "NEAREST";  // or "BILINEAR"
  std::string fill_mode = "CONSTANT";     // see projective_transform()
  Operand fill_value = 0.0F;
  std::source_location where = std::source_location::current();
};
// Turned about the middle, counterclockwise, by `angles` radians: one, or one for each picture of a batch.
CAUDAL_API Output rotate(const Operand& images, const Operand& angles, const MoveOptions& options = {});
// Moved right by dx and down by dy pixels: `translations` float32 (dx, dy) or [batch, 2].
CAUDAL_API Output translate(const Operand& images, const Operand& translations, const MoveOptions& options = {});

}  // namespace caudal::inline v0::image
