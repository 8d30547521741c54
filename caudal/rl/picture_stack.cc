#include "caudal/rl/picture_stack.h"

namespace caudal::inline v0::rl {
namespace {

// The usual depth as whole 32-bit pixels.
void interleave_four(const PictureStack& stack, std::size_t size, std::byte* out) {
  const std::uint8_t *a = stack.picture(0), *b = stack.picture(1), *c = stack.picture(2), *d = stack.picture(3);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t pixel = a[i] | std::uint32_t{b[i]} << 8 | std::uint32_t{c[i]} << 16 | std::uint32_t{d[i]} << 24;
    std::memcpy(out + 4 * i, &pixel, sizeof pixel);
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
