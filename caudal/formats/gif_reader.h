// Reading GIF pictures (CompuServe, "Graphics Interchange Format", version 89a), as TensorFlow's DecodeGif shows them.
//
// Frames lie over each other: where one is transparent, or does not reach, the one before shows through (black below
// the first). The canvas is as large as the largest frame, whatever the header says. Frames after a damaged one are
// left out. Errors: DATA_LOSS for anything malformed or cut before the end of the first frame; RESOURCE_EXHAUSTED for
// more than 2^29 values. Thread safety: functions of their arguments.
#pragma once

#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

CAUDAL_API bool is_gif(std::string_view bytes);

// uint8 [frames, height, width, 3]; only the first frame unless `all_frames`.
CAUDAL_API Tensor decode_gif(std::string_view bytes, bool all_frames = true);

}  // namespace caudal::inline v0
