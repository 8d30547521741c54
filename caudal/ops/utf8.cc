#include "caudal/ops/utf8.h"

namespace caudal::inline v0 {

Utf8Character first_utf8_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {static_cast<std::int32_t>(first), false, 1};
  if (first < 0xc2 || first > 0xf4) return {};
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::int32_t code = static_cast<std::int32_t>(first & (0x7fU >> length));
  for (std::size_t i = 1; i < length; ++i) {
    // The second byte's limits leave out long forms, surrogates and what lies above U+10FFFF.
    unsigned low = 0x80, high = 0xbf;
    if (i == 1) {
      if (first == 0xe0) low = 0xa0;
      if (first == 0xed) high = 0x9f;
      if (first == 0xf0) low = 0x90;
      if (first == 0xf4) high = 0x8f;
    }
    if (i >= bytes.size() || byte(i) < low || byte(i) > high) return {.bytes = i};
    code = (code << 6) | static_cast<std::int32_t>(byte(i) & 0x3fU);
  }
  return {code, false, length};
}

void append_utf8(std::int32_t code, std::string* out) {
  const auto put = [&](std::int32_t byte) { *out += static_cast<char>(byte); };
  const auto rest = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    rest(6);
  } else {
    put(0xf0 | (code >> 18));
    rest(12);
    rest(6);
  }
  rest(0);
}

}  // namespace caudal::inline v0
