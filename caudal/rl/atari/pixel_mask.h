// Sets of the 160 pixels of a line, one bit each: what an object of the TIA covers. Collisions are intersections.
//
// Thread safety: values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace caudal::inline v0::rl::atari {

inline constexpr int kLinePixels = 160;

// Bit x % 64 of word x / 64 is pixel x; the bits from 160 on are 0.
struct PixelMask {
  std::uint64_t w[3] = {0, 0, 0};

  bool any() const { return (w[0] | w[1] | w[2]) != 0; }
  PixelMask& operator|=(const PixelMask& o) {
    for (int i = 0; i < 3; ++i) w[i] |= o.w[i];
    return *this;
  }
  PixelMask& operator&=(const PixelMask& o) {
    for (int i = 0; i < 3; ++i) w[i] &= o.w[i];
    return *this;
  }
  friend PixelMask operator|(PixelMask a, const PixelMask& b) { return a |= b; }
  friend PixelMask operator&(PixelMask a, const PixelMask& b) { return a &= b; }
  PixelMask without(const PixelMask& o) const {
    PixelMask out;
    for (int i = 0; i < 3; ++i) out.w[i] = w[i] & ~o.w[i];
    return out;
  }
  bool meets(const PixelMask& o) const { return ((w[0] & o.w[0]) | (w[1] & o.w[1]) | (w[2] & o.w[2])) != 0; }

  // Adds the low `width` bits (at most 32) from pixel x on, around the end of the line. REQUIRES: 0 <= x < 160.
  void place(std::uint64_t bits, int width, int x) {
    if (x + width > kLinePixels) {
      const int first = kLinePixels - x;
      w[0] |= bits >> first;
      bits &= (std::uint64_t{1} << first) - 1;
    }
    const int word = x >> 6, shift = x & 63;
    w[word] |= bits << shift;
    if (shift > 32 && word < 2) w[word + 1] |= bits >> (64 - shift);
  }
};

namespace internal {
consteval std::array<PixelMask, kLinePixels + 1> make_prefixes() {
  std::array<PixelMask, kLinePixels + 1> table{};
  for (int x = 0; x < kLinePixels; ++x) {
    table[x + 1] = table[x];
    table[x + 1].w[x / 64] |= std::uint64_t{1} << (x % 64);
  }
  return table;
}
inline constexpr auto kPrefixes = make_prefixes();
}  // namespace internal

// The pixels below x, 0 <= x <= 160.
inline const PixelMask& pixels_below(int x) { return internal::kPrefixes[static_cast<std::size_t>(x)]; }
// The pixels from begin to end - 1.
inline PixelMask pixels_between(int begin, int end) { return pixels_below(end).without(pixels_below(begin)); }

// Calls run(begin, end) for each run of neighbouring pixels within a word, from left to right.
template <class Run>
void for_each_run(const PixelMask& mask, Run run) {
  for (int word = 0; word < 3; ++word) {
    std::uint64_t left = mask.w[word];
    int base = word * 64;
    while (left != 0) {
      const int gap = std::countr_zero(left);
      left >>= gap;
      const int length = std::countr_one(left);
      run(base + gap, base + gap + length);
      if (length == 64) break;
      left >>= length;
      base += gap + length;
    }
  }
}

}  // namespace caudal::inline v0::rl::atari
