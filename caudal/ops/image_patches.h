// Pieces of pictures: all windows of a grid as vectors, and glimpses at given places.
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

namespace image {

struct ExtractPatchesOptions {
  std::vector<std::int64_t> sizes = {1, 1, 1, 1};    // [1, rows, columns, 1]
  std::vector<std::int64_t> strides = {1, 1, 1, 1};  // between the centres of windows
  std::vector<std::int64_t> rates = {1, 1, 1, 1};    // between the pixels of a window
  std::string padding = "VALID";                     // or "SAME", zeros around
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `images`: numbers or bool [batch, rows, columns, depth]. Result: [batch, windows down, windows across,
// size rows * size columns * depth]. Errors: UNIMPLEMENTED for windows over batch or depth, OUT_OF_RANGE for numbers
// below 1.
CAUDAL_API Output extract_patches(const Operand& images, const ExtractPatchesOptions& options);

struct ExtractGlimpseOptions {
  bool centered = true;           // (0, 0) is the picture's middle, else its corner
  bool normalized = true;         // offsets are fractions of the sides (centered: from -1 to 1), else pixels
  std::string noise = "uniform";  // what fills a glimpse outside the picture: "uniform", "gaussian" or "zero"
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Windows of `size` (int32 height, width) at `offsets` (float32 [batch, 2] of y, x) of `input` (float32 [batch, height,
// width, channels]). The noise is drawn anew in every run.
CAUDAL_API Output extract_glimpse(const Operand& input, const Operand& size, const Operand& offsets,
                                  const ExtractGlimpseOptions& options = {});
// The same with TensorFlow's first reading of offsets that are not normalised: they are halved if `centered`, and name
// the middle of the glimpse.
CAUDAL_API Output extract_glimpse_v1(const Operand& input, const Operand& size, const Operand& offsets,
                                     const ExtractGlimpseOptions& options = {});

}  // namespace image

struct ExtractVolumePatchesOptions {
  std::vector<std::int64_t> ksizes = {1, 1, 1, 1, 1};  // [1, planes, rows, columns, 1]
  std::vector<std::int64_t> strides = {1, 1, 1, 1, 1};
  std::string padding = "VALID";
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// As image::extract_patches of [batch, planes, rows, columns, depth].
CAUDAL_API Output extract_volume_patches(const Operand& input, const ExtractVolumePatchesOptions& options);

}  // namespace caudal::inline v0
