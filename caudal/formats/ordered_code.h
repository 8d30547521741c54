// OrderedCode: an encoding of strings and integers whose bytewise order is the order of the values. The keys of slices
// of partitioned variables in checkpoints are written in it.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {

CAUDAL_API void ordered_put_string(std::string* out, std::string_view value);
CAUDAL_API void ordered_put_uint64(std::string* out, uint64_t value);
CAUDAL_API void ordered_put_int64(std::string* out, int64_t value);

// Take a value off the front; false if the bytes are no such value.
CAUDAL_API bool ordered_get_string(ByteReader* in, std::string* value);
CAUDAL_API bool ordered_get_uint64(ByteReader* in, uint64_t* value);
CAUDAL_API bool ordered_get_int64(ByteReader* in, int64_t* value);

}  // namespace caudal::inline v0
