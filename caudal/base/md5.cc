#include "caudal/base/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kBlock = 64;
using State = std::array<std::uint32_t, 4>;

// RFC 1321, 3.4: the constants are the integer parts of 2^32 |sin(i)|.
std::array<std::uint32_t, 64> make_sines() {
  std::array<std::uint32_t, 64> table{};
  for (std::size_t i = 0; i < 64; ++i) {
    table[i] = static_cast<std::uint32_t>(std::floor(4294967296.0 * std::fabs(std::sin(static_cast<double>(i + 1)))));
  }
  return table;
}

void add_block(State& state, const char* block) {
  static const std::array<std::uint32_t, 64> sines = make_sines();
  static constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::array<std::uint32_t, 16> words;
  std::memcpy(words.data(), block, kBlock);
  auto [a, b, c, d] = state;
  for (unsigned i = 0; i < 64; ++i) {
    std::uint32_t mixed;
    unsigned word;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = (5 * i + 1) % 16;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = (3 * i + 5) % 16;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * i % 16;
    }
    const std::uint32_t sum = a + mixed + sines[i] + words[word];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::string md5_hex(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little, "words are read in place");
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) add_block(state, bytes.data() + at);
  // A one bit, zeros, and the length in bits fill up the last blocks.
  std::string tail(bytes.substr(at));
  tail += static_cast<char>(0x80);
  while (tail.size() % kBlock != kBlock - 8) tail += '\0';
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (int shift = 0; shift < 64; shift += 8) tail += static_cast<char>(bits >> shift);
  for (at = 0; at < tail.size(); at += kBlock) add_block(state, tail.data() + at);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint32_t word : state) {
    for (int shift = 0; shift < 32; shift += 8) {
      out += kDigits[word >> (shift + 4) & 15];
      out += kDigits[word >> shift & 15];
    }
  }
  return out;
}

}  // namespace caudal::inline v0
