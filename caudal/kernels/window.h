// Geometry of sliding windows in two dimensions, shared by convolution and pooling.
#pragma once

#include <algorithm>
#include <cstdint>

namespace caudal::inline v0::kernels {

// One axis: output size and the padding on both sides.
struct PaddedAxis {
  int64_t out = 0, before = 0, after = 0;
  bool operator==(const PaddedAxis&) const = default;
};

// TensorFlow's SAME: out = ceil(n / stride); the odd element of the padding comes last, and there is none where the
// stride already fits. REQUIRES: all positive (n may be 0).
PaddedAxis same_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation = 1);
// VALID: only windows that fit; a window larger than the input gives 0.
PaddedAxis valid_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation = 1);
// Given padding; 0 if the window does not fit.
PaddedAxis explicit_padding(int64_t n, int64_t window, int64_t stride, int64_t dilation, int64_t before, int64_t after);

// An NHWC input [batch, height, width, channels] and the windows that slide over it.
struct Window2d {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t window_height = 1, window_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;
  PaddedAxis rows, columns;  // of the output

  int64_t out_height() const { return rows.out; }
  int64_t out_width() const { return columns.out; }
  int64_t in_pixels() const { return batch * height * width; }
  int64_t out_pixels() const { return batch * rows.out * columns.out; }
};

// The part of the (undilated) window of output pixel (y, x) that lies inside the image.
struct WindowBox {
  int64_t top, bottom, left, right;
  int64_t count() const { return std::max<int64_t>(0, bottom - top) * std::max<int64_t>(0, right - left); }
};

inline WindowBox window_box(const Window2d& w, int64_t y, int64_t x) {
  const int64_t top = y * w.stride_height - w.rows.before, left = x * w.stride_width - w.columns.before;
  return {std::max<int64_t>(0, top), std::min(w.height, top + w.window_height), std::max<int64_t>(0, left),
          std::min(w.width, left + w.window_width)};
}

}  // namespace caudal::inline v0::kernels
