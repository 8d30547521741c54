// Bytes and text as numbers.
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct StringToNumberOptions {
  DType out_type = DType::kFloat;  // float32, float64, int32, int64, uint32 or uint64
  std::string name = {};
  std::source_location where = std::source_location::current();
};
namespace strings {
// Each string as a number, white space around it aside; fractions in C's notation ("1e3", "0x10", "inf"), those out of
// range as infinity or 0. Same shape. INVALID_ARGUMENT for what is no number of that type.
CAUDAL_API Output to_number(const Operand& input, const StringToNumberOptions& options = {});
}  // namespace strings

namespace io {

struct DecodeRawOptions {
  bool little_endian = true;
  Operand fixed_length = Tensor();  // bytes taken of each string; zeros stand for what is missing
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The bytes of each string as numbers of `out_type`: shape of the input + [bytes / size of the type]. INVALID_ARGUMENT
// for lengths that differ (unless fixed_length is given) or are no multiple of the type's size.
CAUDAL_API Output decode_raw(const Operand& input_bytes, DType out_type, const DecodeRawOptions& options = {});

struct DecodeCompressedOptions {
  std::string compression_type = {};  // "" (as it is), "ZLIB" or "GZIP"
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Each string inflated; of a stream that is cut what there is. DATA_LOSS for other bytes, RESOURCE_EXHAUSTED above 1
// GiB.
CAUDAL_API Output decode_compressed(const Operand& bytes, const DecodeCompressedOptions& options = {});

}  // namespace io
}  // namespace caudal::inline v0
