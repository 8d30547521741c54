// JPEG pictures, through libjpeg-turbo, with TensorFlow's options (DecodeJpeg, DecodeAndCropJpeg, EncodeJpeg): given
// the same library the pixels and bytes are TensorFlow's.
//
// Errors: DATA_LOSS for anything malformed or cut; RESOURCE_EXHAUSTED for pictures of more than 2^29 values;
// INVALID_ARGUMENT for options that no picture fits. Sizes are checked against the number of bytes before memory is
// taken. Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

CAUDAL_API bool is_jpeg(std::string_view bytes);

struct JpegCrop {
  std::int64_t y = 0, x = 0, height = 0, width = 0;
};
struct JpegDecodeOptions {
  int channels = 0;                    // 1 gray, 3 RGB, 0 as in the file (four inks become RGB)
  int ratio = 1;                       // the picture is made 1, 2, 4 or 8 times smaller
  bool fancy_upscaling = true;         // smooth colours where the file holds fewer of them
  bool try_recover_truncated = false;  // repeats the last good line where the file is cut
  float acceptable_fraction = 1;       // of the lines that a cut file must hold; the others are black
  bool accurate_dct = false;           // else the faster, less exact one
  std::optional<JpegCrop> crop = {};   // a window of the (scaled) picture
};
// uint8 [height, width, channels].
CAUDAL_API Tensor decode_jpeg(std::string_view bytes, const JpegDecodeOptions& options = {});

struct JpegShape {
  std::int64_t height = 0, width = 0, channels = 0;
};
// What the header says.
CAUDAL_API JpegShape jpeg_shape(std::string_view bytes);

struct JpegEncodeOptions {
  int quality = 95;  // 0 to 100
  bool progressive = false;
  bool optimize_size = false;       // takes longer
  bool chroma_downsampling = true;  // colours at half the resolution
  bool density_in_cm = false;       // unit of the densities, else inches
  int x_density = 300, y_density = 300;
  std::string xmp_metadata = {};
};
// `picture`: uint8 [height, width, 1 or 3], each side below 65,501.
CAUDAL_API std::string encode_jpeg(const Tensor& picture, const JpegEncodeOptions& options = {});

}  // namespace caudal::inline v0
