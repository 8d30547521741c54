// Inside of the convolutions: where windows read in a padded image, and bands of its rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "caudal/kernels/scratch.h"
#include "caudal/kernels/window.h"

namespace caudal::inline v0::kernels {

// Where the windows of an image read, in the coordinates of the padded image.
struct Geometry {
  explicit Geometry(const Window2d& w)
      : height((w.rows.out - 1) * w.stride_height + (w.window_height - 1) * w.dilation_height + 1),
        width((w.columns.out - 1) * w.stride_width + (w.window_width - 1) * w.dilation_width + 1),
        direct(w.rows.before == 0 && w.columns.before == 0 && height <= w.height && width <= w.width),
        row_stride((direct ? w.width : width) * w.channels) {}

  int64_t height, width;
  bool direct;         // nothing outside the image is read: no padded copy is needed
  int64_t row_stride;  // elements between rows of the (padded) image
};

// The padded image from the first row that output row `first` reads to the last that `last` - 1 reads, rows
// g.row_stride elements apart: the image itself, or a copy in the thread's scratch (ScratchSlot::kSlab) with `spare`
// elements behind it that may be read.
template <class T>
const T* padded_band(const Window2d& w, const Geometry& g, const T* in, int64_t image, int64_t first, int64_t last,
                     int64_t spare = 0) {
  const T* pixels = in + image * w.height * w.width * w.channels;
  const bool readable = spare == 0 || image + 1 < w.batch;  // the next image lies behind
  if (g.direct && readable) return pixels + first * w.stride_height * g.row_stride;
  const int64_t rows = (last - 1 - first) * w.stride_height + (w.window_height - 1) * w.dilation_height + 1;
  T* copy = thread_scratch_of<T>(ScratchSlot::kSlab, static_cast<std::size_t>(rows * g.row_stride + spare));
  const int64_t width = g.row_stride / w.channels;
  const int64_t left = std::min(w.columns.before, width) * w.channels;
  const int64_t middle = std::min(w.width, std::max<int64_t>(0, width - w.columns.before)) * w.channels;
  for (int64_t r = 0; r < rows; ++r) {
    T* target = copy + r * g.row_stride;
    const int64_t row = first * w.stride_height + r - w.rows.before;
    if (row < 0 || row >= w.height) {
      std::fill(target, target + g.row_stride, T{0});
    } else {
      std::fill(target, target + left, T{0});
      std::copy_n(pixels + row * w.width * w.channels, middle, target + left);
      std::fill(target + left + middle, target + g.row_stride, T{0});
    }
  }
  std::fill(copy + rows * g.row_stride, copy + rows * g.row_stride + spare, T{0});
  return copy;
}

// The inner part of a padded image, as a whole one; what no window reads is zero.
template <class T>
void crop_padding(const Window2d& w, const Geometry& g, const T* padded, T* image) {
  const int64_t row_size = w.width * w.channels;
  const int64_t columns = std::clamp<int64_t>(g.width - w.columns.before, 0, w.width) * w.channels;
  for (int64_t row = 0; row < w.height; ++row) {
    T* target = image + row * row_size;
    const int64_t source = row + w.rows.before;
    const int64_t copied = source < g.height ? columns : 0;
    std::copy_n(padded + source * g.row_stride + w.columns.before * w.channels, copied, target);
    std::fill(target + copied, target + row_size, T{0});
  }
}

}  // namespace caudal::inline v0::kernels
