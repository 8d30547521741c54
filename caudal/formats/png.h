// PNG pictures, through libpng, with TensorFlow's conversions of channels and depths (DecodePng, EncodePng).
//
// Errors: DATA_LOSS for anything malformed or cut; RESOURCE_EXHAUSTED for pictures of more than 2^29 values. Sizes are
// checked against the number of bytes before memory is taken. Thread safety: functions of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

CAUDAL_API bool is_png(std::string_view bytes);

// uint8 or uint16 [height, width, channels]. channels: 0 as in the file (palettes give RGB or RGBA), 1 gray, 2 gray and
// alpha, 3 RGB, 4 RGBA. 16 bits become 8 by their high byte, 8 become 16 by times 257.
// Colours become gray by 0.299 R + 0.587 G + 0.114 B; an alpha that the file lacks is opaque (TensorFlow's is not for
// files of less than 8 bits, which is a fault of it). INVALID_ARGUMENT for other channels and types.
CAUDAL_API Tensor decode_png(std::string_view bytes, int channels = 0, DType dtype = uint8);

// `picture`: uint8 or uint16 [height, width, 1 to 4]. compression: 0 to 9, or -1 for the default.
// INVALID_ARGUMENT for other tensors.
CAUDAL_API std::string encode_png(const Tensor& picture, int compression = -1);

}  // namespace caudal::inline v0
