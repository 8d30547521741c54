#include "caudal/base/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

#include "caudal/base/cpu.h"

namespace caudal::inline v0 {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// Tables for eight bytes at a time ("slicing by eight").
constexpr std::array<std::array<uint32_t, 256>, 8> make_byte_tables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}
constexpr auto kBytes = make_byte_tables();

// Linear maps on checksum states, as images of the 32 unit vectors.
using Matrix = std::array<uint32_t, 32>;

constexpr uint32_t apply(const Matrix& matrix, uint32_t vector) {
  uint32_t out = 0;
  for (int i = 0; i < 32; ++i)
    if (((vector >> i) & 1) != 0) out ^= matrix[i];
  return out;
}

// How the state changes over `zeros` zero bytes (a power of two), as a table per byte of the state.
constexpr std::array<std::array<uint32_t, 256>, 4> make_shift(size_t zeros) {
  Matrix shift{};
  for (int i = 0; i < 32; ++i) shift[i] = (uint32_t{1} << i >> 8) ^ kBytes[0][(uint32_t{1} << i) & 0xff];
  for (size_t length = 1; length < zeros; length *= 2) {
    Matrix twice{};
    for (int i = 0; i < 32; ++i) twice[i] = apply(shift, shift[i]);
    shift = twice;
  }
  std::array<std::array<uint32_t, 256>, 4> tables{};
  for (int k = 0; k < 4; ++k)
    for (uint32_t byte = 0; byte < 256; ++byte) tables[k][byte] = apply(shift, byte << (8 * k));
  return tables;
}

constexpr size_t kLongStream = 4096, kShortStream = 256;
constexpr auto kLongShift = make_shift(kLongStream);
constexpr auto kShortShift = make_shift(kShortStream);

uint32_t shift_state(const std::array<std::array<uint32_t, 256>, 4>& tables, uint32_t state) {
  return tables[0][state & 0xff] ^ tables[1][(state >> 8) & 0xff] ^ tables[2][(state >> 16) & 0xff] ^
         tables[3][state >> 24];
}

uint64_t load64(const unsigned char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// The instruction takes three cycles but one can start every cycle: three streams side by side, joined at the end.
template <size_t kStream>
__attribute__((target("sse4.2"))) uint32_t three_streams(uint32_t state, const unsigned char*& at, size_t& size,
                                                         const std::array<std::array<uint32_t, 256>, 4>& shift) {
  while (size >= 3 * kStream) {
    uint64_t a = state, b = 0, c = 0;
    for (size_t i = 0; i < kStream; i += 8) {
      a = _mm_crc32_u64(a, load64(at + i));
      b = _mm_crc32_u64(b, load64(at + kStream + i));
      c = _mm_crc32_u64(c, load64(at + 2 * kStream + i));
    }
    state = shift_state(shift, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
    state = shift_state(shift, state) ^ static_cast<uint32_t>(c);
    at += 3 * kStream;
    size -= 3 * kStream;
  }
  return state;
}

__attribute__((target("sse4.2"))) uint32_t extend_sse42(uint32_t crc, const void* data, size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t state = three_streams<kLongStream>(~crc, at, size, kLongShift);
  state = three_streams<kShortStream>(state, at, size, kShortShift);
  uint64_t wide = state;
  for (; size >= 8; size -= 8, at += 8) wide = _mm_crc32_u64(wide, load64(at));
  state = static_cast<uint32_t>(wide);
  for (; size > 0; --size) state = _mm_crc32_u8(state, *at++);
  return ~state;
}

}  // namespace

uint32_t internal::crc32c_extend_portable(uint32_t crc, const void* data, size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t state = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t word = load64(at) ^ state;
    state = 0;
    for (int k = 0; k < 8; ++k) state ^= kBytes[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size) state = (state >> 8) ^ kBytes[0][(state ^ *at++) & 0xff];
  return ~state;
}

uint32_t crc32c_extend(uint32_t crc, const void* data, size_t size) {
  static const auto extend = cpu_features().sse42 ? extend_sse42 : internal::crc32c_extend_portable;
  return extend(crc, data, size);
}

}  // namespace caudal::inline v0
