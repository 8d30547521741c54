// Strings one by one: lengths, pieces, letter case, base 64.
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

enum class StringUnit { kByte, kUtf8Char };

namespace strings {

struct StringUnitOptions {
  StringUnit unit = StringUnit::kByte;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// int32, same shape. Characters are counted by their first bytes, whether the text is well-formed or not.
CAUDAL_API Output length(const Operand& input, const StringUnitOptions& options = {});

// `len` units from `pos` on, which counts from the end if it is negative; what is missing is left out. pos and len:
// int32 or int64 of one shape, broadcast against the input's. INVALID_ARGUMENT, at run time, for a position outside the
// string.
CAUDAL_API Output substr(const Operand& input, const Operand& pos, const Operand& len,
                         const StringUnitOptions& options = {});

struct EncodingOptions {
  std::string encoding = {};  // "": letters of ASCII alone change; "utf-8": all, by the module unicode
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Same shape. UNIMPLEMENTED for "utf-8" without the module.
CAUDAL_API Output lower(const Operand& input, const EncodingOptions& options = {});
CAUDAL_API Output upper(const Operand& input, const EncodingOptions& options = {});

// Without the white space of ASCII at both ends.
CAUDAL_API Output strip(const Operand& input, const OpOptions& options = {});

}  // namespace strings

namespace io {

struct EncodeBase64Options {
  bool pad = false;  // fill up with '=' to a multiple of four
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Base 64 for addresses (RFC 4648, '-' and '_'). Decoding takes padded and unpadded text; INVALID_ARGUMENT for others.
CAUDAL_API Output encode_base64(const Operand& input, const EncodeBase64Options& options = {});
CAUDAL_API Output decode_base64(const Operand& input, const OpOptions& options = {});

}  // namespace io
}  // namespace caudal::inline v0
