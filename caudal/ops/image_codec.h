// Pictures as files in memory.
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
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
  std::int64_t channels = 0;  // 0: as in the file
  DType dtype = DType::kUint8;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `contents`: string scalar. Result: `dtype` (uint8 or uint16) [height, width, channels]. Run time error:
// INVALID_ARGUMENT for bytes that are no PNG file, or damaged; RESOURCE_EXHAUSTED for more than 2^29 values.
CAUDAL_API Output decode_png(const Operand& contents, const DecodePngOptions& options = {});

}  // namespace caudal::inline v0::image
