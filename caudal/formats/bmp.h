// Windows bitmaps, uncompressed with 8 (gray), 24 or 32 bits a pixel: what TensorFlow's DecodeBmp reads.
//
// Errors: DATA_LOSS for anything malformed; RESOURCE_EXHAUSTED for pictures of 2^28 pixels and more; INVALID_ARGUMENT
// for other channels. Thread safety: functions of their arguments.
#pragma once

#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

CAUDAL_API bool is_bmp(std::string_view bytes);

// uint8 [height, width, channels]. channels: 0 as in the file, 3 RGB, 4 RGBA. Gray is repeated, a missing alpha opaque.
// Palettes are not looked at, as TensorFlow's are not: 8 bits are gray.
CAUDAL_API Tensor decode_bmp(std::string_view bytes, int channels = 0);

}  // namespace caudal::inline v0
