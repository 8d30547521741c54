// MD5 (RFC 1321): fingerprints of cartridges, and seeds made of texts. Not for anything that must withstand an
// attacker.
//
// Thread safety: a function of its argument.
#pragma once

#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// 32 hexadecimal digits in lower case.
CAUDAL_API std::string md5_hex(std::string_view bytes);

}  // namespace caudal::inline v0
