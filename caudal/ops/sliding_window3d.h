// Geometry of ops that slide a window over volumes: convolution and pooling in three dimensions.
//
// Sizes here are in the order batch, planes, rows, columns, channels whatever the op's data_format. Thread safety:
// values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "caudal/core/node_info.h"
#include "caudal/kernels/window3d.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

struct SlidingWindow3d {
  using Sizes = std::array<std::int64_t, 5>;

  // From attributes strides, padding, data_format and, where the op has them, ksize and dilations. Throws
  // INVALID_ARGUMENT for sizes that no window has.
  static SlidingWindow3d of(const NodeInfo& node);

  // From and to the order of data_format.
  PartialShape to_ndhwc(const PartialShape& shape) const;
  PartialShape from_ndhwc(const PartialShape& shape) const;

  // Output size and padding along planes (1), rows (2) or columns (3) of `n`. Throws INVALID_ARGUMENT if the window is
  // larger than the padded input.
  kernels::PaddedAxis axis(int dimension, std::int64_t n, std::int64_t window) const;
  // The output size alone; -1 where a size is.
  std::int64_t output_size(int dimension, std::int64_t n, std::int64_t window) const;

  // Throws UNIMPLEMENTED where no CPU kernel can follow: NCDHW, and windows over the batch or the channels.
  void check_cpu() const;

  // For an NDHWC input and a window of planes x rows x columns.
  kernels::Window3d over(const Shape& input, const kernels::Window3d::Sizes& window) const;

  bool channels_first = false;
  bool same = false;
  Sizes size = {1, 1, 1, 1, 1}, stride = {1, 1, 1, 1, 1}, dilation = {1, 1, 1, 1, 1};
};

// One number per dimension of data_format from one (all three), three (planes, rows, columns) or five. Throws
// INVALID_ARGUMENT, naming them `what`, for another count.
std::vector<std::int64_t> per_dimension3d(const std::vector<std::int64_t>& values, std::string_view data_format,
                                          std::string_view what);

}  // namespace caudal::inline v0
