// Little-endian numbers and varints (base 128, low group first) in byte strings, as tables, bundles and protobuf use
// them.
//
// Thread safety: functions of their arguments; a ByteReader is a value.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace caudal::inline v0 {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read and written in place");

template <class T>
  requires std::is_arithmetic_v<T>
void put_fixed(std::string* out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// REQUIRES: sizeof(T) readable bytes.
template <class T>
  requires std::is_arithmetic_v<T>
T get_fixed(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline void put_varint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

// Takes values off the front of a byte string. Every function returns false, and leaves the reader as it was, if the
// bytes do not suffice or are malformed.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  size_t size() const { return rest_.size(); }
  std::string_view rest() const { return rest_; }

  template <class T>
    requires std::is_arithmetic_v<T>
  bool fixed(T* value) {
    if (rest_.size() < sizeof(T)) return false;
    *value = get_fixed<T>(rest_.data());
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  bool varint(uint64_t* value) {
    uint64_t result = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      if (i == 9 && byte > 1) return false;  // beyond 64 bits
      result |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) {
        *value = result;
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }
  bool varint32(uint32_t* value) {
    ByteReader ahead = *this;
    uint64_t wide;
    if (!ahead.varint(&wide) || wide > UINT32_MAX) return false;
    *value = static_cast<uint32_t>(wide);
    *this = ahead;
    return true;
  }
  bool bytes(uint64_t size, std::string_view* out) {
    if (size > rest_.size()) return false;
    *out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  // A varint length and that many bytes.
  bool sized_bytes(std::string_view* out) {
    ByteReader ahead = *this;
    uint64_t size;
    if (!ahead.varint(&size) || !ahead.bytes(size, out)) return false;
    *this = ahead;
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace caudal::inline v0
