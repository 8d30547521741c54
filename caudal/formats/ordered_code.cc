#include "caudal/formats/ordered_code.h"

#include <bit>

namespace caudal::inline v0 {
namespace {

// 0x00 and 0xff introduce pairs: 00 01 ends a string, 00 ff stands for 00, ff 00 for ff.
constexpr char kZero = '\x00', kOnes = '\xff', kEnd = '\x01';

// A signed number of n bytes starts with n bits equal to the inverse of its sign, then the sign. Flipping all bits for
// a negative number leaves one case: a header of n ones and a zero, then 7n - 1 bits of the number itself.
int signed_length(uint64_t magnitude) {
  const int bits = std::bit_width(magnitude);  // without sign
  int length = 1;
  while (7 * length - 1 < bits) ++length;
  return length;  // at most 10
}

}  // namespace

void ordered_put_string(std::string* out, std::string_view value) {
  for (const char c : value) {
    *out += c;
    if (c == kZero) *out += kOnes;
    if (c == kOnes) *out += kZero;
  }
  *out += kZero;
  *out += kEnd;
}

bool ordered_get_string(ByteReader* in, std::string* value) {
  ByteReader ahead = *in;
  std::string out;
  char c, next;
  while (ahead.fixed(&c)) {
    if (c != kZero && c != kOnes) {
      out += c;
      continue;
    }
    if (!ahead.fixed(&next)) return false;
    if (c == kZero && next == kEnd) {
      *value = std::move(out);
      *in = ahead;
      return true;
    }
    if (next != (c == kZero ? kOnes : kZero)) return false;
    out += c;
  }
  return false;
}

void ordered_put_uint64(std::string* out, uint64_t value) {
  const int length = (std::bit_width(value) + 7) / 8;
  *out += static_cast<char>(length);
  for (int i = length - 1; i >= 0; --i) *out += static_cast<char>(value >> (8 * i));
}

bool ordered_get_uint64(ByteReader* in, uint64_t* value) {
  ByteReader ahead = *in;
  uint8_t length;
  std::string_view bytes;
  if (!ahead.fixed(&length) || length > 8 || !ahead.bytes(length, &bytes)) return false;
  *value = 0;
  for (const char c : bytes) *value = (*value << 8) | static_cast<unsigned char>(c);
  *in = ahead;
  return true;
}

void ordered_put_int64(std::string* out, int64_t value) {
  const uint64_t flip = value < 0 ? ~uint64_t{0} : 0;
  const uint64_t magnitude = static_cast<uint64_t>(value) ^ flip;
  const int length = signed_length(magnitude);
  // Ten bytes, big-endian, the header included: bit (8 * length - 1 - k) is one for k < length.
  for (int i = length - 1; i >= 0; --i) {
    const int low = 8 * i;  // number of the byte's lowest bit
    auto byte = static_cast<uint8_t>(low < 64 ? magnitude >> low : 0);
    for (int bit = 0; bit < 8; ++bit)
      if (low + bit >= 7 * length) byte |= static_cast<uint8_t>(1u << bit);
    *out += static_cast<char>(byte ^ static_cast<uint8_t>(flip));
  }
}

bool ordered_get_int64(ByteReader* in, int64_t* value) {
  if (in->empty()) return false;
  const std::string_view bytes = in->rest();
  const uint8_t flip = (static_cast<unsigned char>(bytes[0]) & 0x80) != 0 ? 0 : 0xff;
  int length = 0;
  for (const char c : bytes.substr(0, 2)) {
    const auto byte = static_cast<uint8_t>(static_cast<unsigned char>(c) ^ flip);
    length += std::countl_one(byte);
    if (byte != 0xff) break;
  }
  if (length > 10 || static_cast<size_t>(length) > bytes.size()) return false;
  uint64_t magnitude = 0;
  for (int i = length - 1; i >= 0; --i) {
    const int low = 8 * i;
    uint64_t byte = static_cast<uint8_t>(static_cast<unsigned char>(bytes[length - 1 - i]) ^ flip);
    const int own_bits = 7 * length - low;  // bits of this byte that belong to the number
    if (own_bits < 8) byte &= own_bits <= 0 ? 0 : (uint64_t{1} << own_bits) - 1;
    if (byte == 0) continue;
    if (low >= 64) return false;
    magnitude |= byte << low;
  }
  if (magnitude >> 63 != 0 || signed_length(magnitude) != length) return false;
  *value = static_cast<int64_t>(flip != 0 ? ~magnitude : magnitude);
  std::string_view used;
  return in->bytes(static_cast<uint64_t>(length), &used);
}

}  // namespace caudal::inline v0
