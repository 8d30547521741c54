#include "caudal/rl/picture_stack.h"

#include <emmintrin.h>

namespace caudal::inline v0::rl {
namespace {

// The usual depth, sixteen pixels at a time.
void interleave_four(const PictureStack& stack, std::size_t size, std::byte* out) {
  const std::uint8_t *a = stack.picture(0), *b = stack.picture(1), *c = stack.picture(2), *d = stack.picture(3);
  const auto load = [](const std::uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    const __m128i ab_low = _mm_unpacklo_epi8(load(a + i), load(b + i)),
                  cd_low = _mm_unpacklo_epi8(load(c + i), load(d + i));
    const __m128i ab_high = _mm_unpackhi_epi8(load(a + i), load(b + i)),
                  cd_high = _mm_unpackhi_epi8(load(c + i), load(d + i));
    auto* to = reinterpret_cast<__m128i*>(out + 4 * i);
    _mm_storeu_si128(to, _mm_unpacklo_epi16(ab_low, cd_low));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(ab_low, cd_low));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(ab_high, cd_high));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(ab_high, cd_high));
  }
  for (; i < size; ++i) {
    const std::uint8_t pixel[] = {a[i], b[i], c[i], d[i]};
    std::memcpy(out + 4 * i, pixel, sizeof pixel);
  }
}

}  // namespace

void PictureStack::write_interleaved(std::byte* out) const {
  if (depth_ == 4) return interleave_four(*this, size_, out);
  for (std::size_t k = 0; k < depth_; ++k) {
    const std::uint8_t* from = picture(k);
    for (std::size_t i = 0; i < size_; ++i) out[i * depth_ + k] = std::byte{from[i]};
  }
}

}  // namespace caudal::inline v0::rl
