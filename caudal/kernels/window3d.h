// Geometry of sliding windows in three dimensions (planes, rows, columns), shared by convolution and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "caudal/kernels/window.h"

namespace caudal::inline v0::kernels {

// An NDHWC input [batch, planes, rows, columns, channels] and the windows that slide over it.
struct Window3d {
  using Sizes = std::array<int64_t, 3>;

  int64_t batch = 0, channels = 0;
  Sizes in{}, window{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<PaddedAxis, 3> out{};

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }  // of one entry of the batch
  int64_t out_pixels() const { return out[0].out * out[1].out * out[2].out; }
  int64_t window_size() const { return window[0] * window[1] * window[2]; }
};

// The inputs that the (undilated) window of output place `at` sees along one axis: [begin, end).
struct WindowRange {
  int64_t begin, end;
  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};
inline WindowRange window_range(const Window3d& w, std::size_t axis, int64_t at) {
  const int64_t first = at * w.stride[axis] - w.out[axis].before;
  return {std::max<int64_t>(0, first), std::min(w.in[axis], first + w.window[axis])};
}

}  // namespace caudal::inline v0::kernels
