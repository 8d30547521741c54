// Sizes or strides of dimensions, outermost first.
#pragma once

#include <cstdint>
#include <span>

namespace caudal::inline v0::kernels {

using Dims = std::span<const int64_t>;

inline int64_t element_count(Dims dims) {
  int64_t n = 1;
  for (const int64_t size : dims) n *= size;
  return n;
}

}  // namespace caudal::inline v0::kernels
