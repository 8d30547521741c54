// Reading of Snappy blocks (google/snappy, format_description.txt): some tables in the wild hold them.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// DATA_LOSS if the block is malformed; RESOURCE_EXHAUSTED if it would give more than `limit` bytes.
CAUDAL_API std::string snappy_uncompress(std::string_view block, uint64_t limit);

}  // namespace caudal::inline v0
