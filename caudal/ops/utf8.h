// UTF-8 (RFC 3629) by hand.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caudal::inline v0 {

inline bool is_utf8_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }
inline bool is_code_point(std::int32_t code) {
  return code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

struct Utf8Character {
  std::int32_t code = 0xfffd;
  bool malformed = true;
  std::size_t bytes = 1;
};

// The character at the front of `bytes`. Malformed bytes are taken as far as they could begin a character, as Unicode
// recommends (chapter 3.9, "maximal subpart"). REQUIRES: !bytes.empty().
Utf8Character first_utf8_character(std::string_view bytes);

// REQUIRES: is_code_point(code).
void append_utf8(std::int32_t code, std::string* out);

}  // namespace caudal::inline v0
