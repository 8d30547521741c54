#include "caudal/kernels/window.h"

#include <algorithm>

namespace caudal::inline v0::kernels {

PaddedAxis same_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation) {
  const int64_t out = (n + stride - 1) / stride, extent = (window - 1) * dilation + 1;
  const int64_t padding = std::max<int64_t>(0, (out - 1) * stride + extent - n);
  return {out, padding / 2, padding - padding / 2};
}

PaddedAxis valid_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation) {
  return explicit_padding(n, window, stride, dilation, 0, 0);
}

PaddedAxis explicit_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation, int64_t before,
                            int64_t after) {
  const int64_t room = n + before + after - ((window - 1) * dilation + 1);
  return {room < 0 ? 0 : room / stride + 1, before, after};
}

}  // namespace caudal::inline v0::kernels
