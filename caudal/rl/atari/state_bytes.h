// Little-endian fields of a saved console, written and read in the same order.
//
// A reader never reads past its end: what is missing reads as 0 and makes ok() false, and so do values out of their
// range. Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace caudal::inline v0::rl::atari {

class StateWriter {
 public:
  explicit StateWriter(std::string* out) : out_(*out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void i64(std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8) u8(static_cast<std::uint8_t>(value >> shift));
  }
  void bytes(std::span<const std::uint8_t> values) {
    out_.append(reinterpret_cast<const char*>(values.data()), values.size());
  }

 private:
  std::string& out_;
};

class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}

  // Everything so far was there and in its range, and nothing is left.
  bool complete() const { return ok_ && bytes_.empty(); }
  bool ok() const { return ok_; }

  std::uint8_t u8() {
    if (bytes_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint8_t u8_below(int limit) {
    const std::uint8_t value = u8();
    if (value < limit) return value;
    ok_ = false;
    return 0;
  }
  bool flag() { return u8_below(2) != 0; }
  std::int64_t i64() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8) value |= static_cast<std::uint64_t>(u8()) << shift;
    return static_cast<std::int64_t>(value);
  }
  std::int64_t i64_between(std::int64_t low, std::int64_t high) {
    const std::int64_t value = i64();
    if (value >= low && value <= high) return value;
    ok_ = false;
    return low;
  }
  // A time that a console can have reached, far from where sums overflow.
  std::int64_t cycle() { return i64_between(-kLongest, kLongest); }
  // A number of bytes and so many bytes; empty if they are not there.
  std::string_view sized() {
    const auto size = static_cast<std::size_t>(i64_between(0, static_cast<std::int64_t>(bytes_.size())));
    if (size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  // What is left.
  std::string_view rest() const { return bytes_; }
  void bytes(std::span<std::uint8_t> values) {
    for (std::uint8_t& value : values) value = u8();
  }

 private:
  static constexpr std::int64_t kLongest = std::int64_t{1} << 60;
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace caudal::inline v0::rl::atari
