// Pictures as files in memory.
//
// Decoders tell the format by the first bytes: decode_jpeg, decode_png and decode_gif read all of JPEG, PNG and GIF,
// decode_image BMP, too. Run time errors: INVALID_ARGUMENT for bytes that are no picture, or damaged;
// RESOURCE_EXHAUSTED for more than 2^29 values. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::image {

struct EncodePngOptions {
  std::int64_t compression = -1;  // 0 to 9; -1 for the default
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `image`: uint8 or uint16 [..., height, width, channels] with 1 (gray), 2 (and alpha), 3 (RGB) or 4 (RGBA) channels.
// Result: string [...]. Run time error: INVALID_ARGUMENT for other channels or an empty picture.
CAUDAL_API Output encode_png(const Operand& image, const EncodePngOptions& options = {});

struct DecodePngOptions {
  std::int64_t channels = 0;  // 1, 3, 4 or 0: as in the file
  DType dtype = DType::kUint8;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `contents`: string scalar. Result: `dtype` (uint8 or uint16) [height, width, channels].
CAUDAL_API Output decode_png(const Operand& contents, const DecodePngOptions& options = {});

struct DecodeJpegOptions {
  std::int64_t channels = 0;           // 1, 3 or 0: as in the file
  std::int64_t ratio = 1;              // the picture is made 1, 2, 4 or 8 times smaller
  bool fancy_upscaling = true;         // smooth colours where the file holds fewer of them
  bool try_recover_truncated = false;  // repeats the last line where the file is cut
  float acceptable_fraction = 1;       // of the lines that a cut file must hold
  std::string dct_method = {};         // "INTEGER_FAST" (default) or "INTEGER_ACCURATE"
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Result: uint8 [height, width, channels].
CAUDAL_API Output decode_jpeg(const Operand& contents, const DecodeJpegOptions& options = {});
// Only a window of it, `crop_window`: int32 (y, x, height, width). JPEG alone.
CAUDAL_API Output decode_and_crop_jpeg(const Operand& contents, const Operand& crop_window,
                                       const DecodeJpegOptions& options = {});

struct ExtractJpegShapeOptions {
  DType output_type = DType::kInt32;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// (height, width, channels) without decoding.
CAUDAL_API Output extract_jpeg_shape(const Operand& contents, const ExtractJpegShapeOptions& options = {});

struct EncodeJpegOptions {
  std::string format = {};  // "grayscale", "rgb", or by the channels
  std::int64_t quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  std::string density_unit = "in";  // or "cm"
  std::int64_t x_density = 300, y_density = 300;
  std::string xmp_metadata = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `image`: uint8 [height, width, 1 or 3]. Result: string scalar.
CAUDAL_API Output encode_jpeg(const Operand& image, const EncodeJpegOptions& options = {});
// With the quality (0 to 100) as an int32 scalar.
CAUDAL_API Output encode_jpeg_variable_quality(const Operand& images, const Operand& quality,
                                               const OpOptions& options = {});

// Result: uint8 [frames, height, width, 3].
CAUDAL_API Output decode_gif(const Operand& contents, const OpOptions& options = {});

struct DecodeBmpOptions {
  std::int64_t channels = 0;  // 3, 4 or 0: as in the file
  std::string name = {};
  std::source_location where = std::source_location::current();
};
CAUDAL_API Output decode_bmp(const Operand& contents, const DecodeBmpOptions& options = {});

struct DecodeImageOptions {
  std::int64_t channels = 0;    // 0, 1, 3 or 4, as far as the format has them
  DType dtype = DType::kUint8;  // or uint16 (times 256, PNG: times 257), or float32 in [0, 1]
  std::string name = {};
  bool expand_animations = true;  // a GIF has four dimensions, its frames first; else the first frame
  std::source_location where = std::source_location::current();
};
// The rank is only known if expand_animations is false.
CAUDAL_API Output decode_image(const Operand& contents, const DecodeImageOptions& options = {});

}  // namespace caudal::inline v0::image
