#include "caudal/ops/sliding_window3d.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// Position in data_format of dimension i of NDHWC.
std::size_t place(bool channels_first, int i) {
  static constexpr std::array<std::size_t, 5> kFirst = {0, 2, 3, 4, 1};
  return channels_first ? kFirst[static_cast<std::size_t>(i)] : static_cast<std::size_t>(i);
}

SlidingWindow3d::Sizes sizes(const NodeInfo& node, std::string_view name, bool channels_first) {
  SlidingWindow3d::Sizes sizes = {1, 1, 1, 1, 1};
  if (find_attr(node.attrs, name) == nullptr) return sizes;
  const auto& values = node.attr<List>(name);
  if (values.size() != 5) throw invalid_argument(name, " must hold 5 numbers, not ", values.size());
  for (int i = 0; i < 5; ++i) {
    const std::int64_t value = values[place(channels_first, i)];
    if (value < 1 || value > INT32_MAX) throw invalid_argument(name, " holds ", value, "; they must be positive");
    sizes[static_cast<std::size_t>(i)] = value;
  }
  return sizes;
}

}  // namespace

SlidingWindow3d SlidingWindow3d::of(const NodeInfo& node) {
  SlidingWindow3d window;
  if (find_attr(node.attrs, "data_format") != nullptr) {
    window.channels_first = node.attr<std::string>("data_format") != "NDHWC";
  }
  window.same = node.attr<std::string>("padding") == "SAME";
  window.size = sizes(node, "ksize", window.channels_first);
  window.stride = sizes(node, "strides", window.channels_first);
  window.dilation = sizes(node, "dilations", window.channels_first);
  return window;
}

PartialShape SlidingWindow3d::to_ndhwc(const PartialShape& shape) const {
  if (!channels_first || !shape.has_rank()) return shape;
  return PartialShape({shape.dim(0), shape.dim(2), shape.dim(3), shape.dim(4), shape.dim(1)});
}

PartialShape SlidingWindow3d::from_ndhwc(const PartialShape& shape) const {
  if (!channels_first || !shape.has_rank()) return shape;
  return PartialShape({shape.dim(0), shape.dim(4), shape.dim(1), shape.dim(2), shape.dim(3)});
}

kernels::PaddedAxis SlidingWindow3d::axis(int dimension, std::int64_t n, std::int64_t window) const {
  const auto d = static_cast<std::size_t>(dimension);
  if (n > INT32_MAX || window > INT32_MAX) {
    throw invalid_argument("an input of ", n, " with a window of ", window, " is beyond 2^31 - 1");
  }
  if (same) return kernels::same_padding(n, window, stride[d], dilation[d]);
  const auto axis = kernels::valid_padding(n, window, stride[d], dilation[d]);
  if (axis.out < 1) {
    static constexpr const char* kNames[] = {"", "planes", "rows", "columns"};
    throw invalid_argument("the window of ", (window - 1) * dilation[d] + 1, ' ', kNames[dimension],
                           " is larger than the input of ", n)
        .hint("Pad (\"SAME\"), or use a smaller window or a larger input.");
  }
  return axis;
}

std::int64_t SlidingWindow3d::output_size(int dimension, std::int64_t n, std::int64_t window) const {
  if (n < 0 || (window < 0 && !same)) return PartialShape::kUnknown;
  return axis(dimension, n, std::max<std::int64_t>(window, 1)).out;
}

void SlidingWindow3d::check_cpu() const {
  if (channels_first) {
    throw unimplemented("the CPU has no kernel for channels in front (NCDHW)")
        .hint("Use data_format NDHWC, and transpose the input if need be.");
  }
  for (const std::size_t d : {std::size_t{0}, std::size_t{4}}) {
    if (stride[d] != 1 || dilation[d] != 1 || size[d] != 1) {
      throw unimplemented("windows, strides or dilations over the ", d == 0 ? "batch" : "channels");
    }
  }
}

kernels::Window3d SlidingWindow3d::over(const Shape& input, const kernels::Window3d::Sizes& window) const {
  if (input.rank() != 5)
    throw invalid_argument("volumes must be [batch, planes, rows, columns, channels], not ", input);
  kernels::Window3d w;
  w.batch = input[0];
  w.channels = input[4];
  w.window = window;
  for (std::size_t d = 0; d < 3; ++d) {
    const int dimension = static_cast<int>(d) + 1;
    w.in[d] = input[dimension];
    w.stride[d] = stride[d + 1];
    w.dilation[d] = dilation[d + 1];
    w.out[d] = axis(dimension, input[dimension], window[d]);
  }
  return w;
}

List per_dimension3d(const List& values, std::string_view data_format, std::string_view what) {
  if (values.size() == 5) return values;
  if (values.size() != 1 && values.size() != 3) {
    throw invalid_argument(what, " must hold 1, 3 or 5 numbers, not ", values.size());
  }
  List all = {1, values.front(), values.size() == 3 ? values[1] : values.front(), values.back(), 1};
  if (data_format.starts_with("NC")) std::rotate(all.begin() + 1, all.begin() + 4, all.end());
  return all;
}

}  // namespace caudal::inline v0
