#include "caudal/ops/sliding_window.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// Position in data_format of dimension i of NHWC.
int place(bool channels_first, int i) {
  static constexpr std::array kFirst = {0, 2, 3, 1};
  return channels_first ? kFirst[static_cast<std::size_t>(i)] : i;
}

std::string_view dimension_name(int dimension) { return dimension == 1 ? "rows" : "columns"; }

}  // namespace

List per_dimension(const List& values, std::string_view data_format, std::string_view what) {
  if (values.size() == 4) return values;
  if (values.size() != 1 && values.size() != 2) {
    throw invalid_argument(what, " must hold 1, 2 or 4 numbers, not ", values.size());
  }
  if (data_format.starts_with("NC")) return {1, 1, values.front(), values.back()};
  return {1, values.front(), values.back(), 1};
}

SlidingWindow::Sizes SlidingWindow::sizes(const List& values, std::string_view what) const {
  if (values.size() != 4) throw invalid_argument(what, " must hold 4 numbers, not ", values.size());
  Sizes sizes;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t value = values[static_cast<std::size_t>(place(channels_first, i))];
    if (value < 1 || value > INT32_MAX) throw invalid_argument(what, " holds ", value, "; they must be positive");
    sizes[static_cast<std::size_t>(i)] = value;
  }
  return sizes;
}

SlidingWindow SlidingWindow::of(const NodeInfo& node) {
  SlidingWindow window;
  if (find_attr(node.attrs, "data_format") != nullptr) {
    const auto& format = node.attr<std::string>("data_format");
    window.channels_first = format != "NHWC";
    window.vector_channels = format == "NCHW_VECT_C";
  }
  if (find_attr(node.attrs, "strides") != nullptr) window.stride = window.sizes(node.attr<List>("strides"), "strides");
  if (find_attr(node.attrs, "ksize") != nullptr) window.size = window.sizes(node.attr<List>("ksize"), "ksize");
  if (find_attr(node.attrs, "dilations") != nullptr) {
    window.dilation = window.sizes(node.attr<List>("dilations"), "dilations");
  }
  const auto& padding = node.attr<std::string>("padding");
  window.mode = padding == "SAME" ? Mode::kSame : padding == "VALID" ? Mode::kValid : Mode::kExplicit;
  const List amounts =
      find_attr(node.attrs, "explicit_paddings") != nullptr ? node.attr<List>("explicit_paddings") : List();
  if (window.mode != Mode::kExplicit) {
    if (!amounts.empty()) throw invalid_argument("explicit_paddings are given, but padding is ", padding);
    return window;
  }
  if (amounts.size() != 8) throw invalid_argument("explicit_paddings must hold 8 numbers, not ", amounts.size());
  for (int i = 0; i < 4; ++i) {
    const auto at = static_cast<std::size_t>(2 * place(window.channels_first, i));
    const std::int64_t before = amounts[at], after = amounts[at + 1];
    if (std::min(before, after) < 0 || std::max(before, after) > INT32_MAX) {
      throw invalid_argument("explicit_paddings must not be negative");
    }
    if ((i == 0 || i == 3) && before + after != 0) {
      throw invalid_argument("explicit_paddings of the batch and of channels must be 0");
    }
    window.before[static_cast<std::size_t>(i)] = before;
    window.after[static_cast<std::size_t>(i)] = after;
  }
  return window;
}

PartialShape SlidingWindow::to_nhwc(const PartialShape& shape) const {
  if (!channels_first || !shape.has_rank()) return shape;
  return PartialShape({shape.dim(0), shape.dim(2), shape.dim(3), shape.dim(1)});
}

PartialShape SlidingWindow::from_nhwc(const PartialShape& shape) const {
  if (!channels_first || !shape.has_rank()) return shape;
  return PartialShape({shape.dim(0), shape.dim(3), shape.dim(1), shape.dim(2)});
}

kernels::PaddedAxis SlidingWindow::axis(int dimension, std::int64_t n, std::int64_t window) const {
  const auto d = static_cast<std::size_t>(dimension);
  if (n > INT32_MAX || window > INT32_MAX) {
    throw invalid_argument("an input of ", n, ' ', dimension_name(dimension), " with a window of ", window,
                           " is beyond 2^31 - 1");
  }
  if (mode == Mode::kSame) return kernels::same_padding(n, window, stride[d], dilation[d]);
  const auto axis = mode == Mode::kValid
                        ? kernels::valid_padding(n, window, stride[d], dilation[d])
                        : kernels::explicit_padding(n, window, stride[d], dilation[d], before[d], after[d]);
  if (axis.out < 1) {
    throw invalid_argument("the window of ", (window - 1) * dilation[d] + 1, ' ', dimension_name(dimension),
                           " is larger than the input of ", n + axis.before + axis.after)
        .hint("Pad (\"SAME\"), or use a smaller window or a larger input.");
  }
  return axis;
}

std::int64_t SlidingWindow::output_size(int dimension, std::int64_t n, std::int64_t window) const {
  // With SAME only stride and input count.
  if (n < 0 || (window < 0 && mode != Mode::kSame)) return PartialShape::kUnknown;
  return axis(dimension, n, std::max<std::int64_t>(window, 1)).out;
}

void SlidingWindow::check_cpu(bool depth) const {
  if (channels_first) {
    throw unimplemented("the CPU has no kernel for channels in front (", vector_channels ? "NCHW_VECT_C" : "NCHW", ")")
        .hint("Use data_format NHWC, and transpose the input if need be.");
  }
  if (stride[0] != 1 || dilation[0] != 1 || size[0] != 1) throw unimplemented("windows over the batch");
  if (dilation[3] != 1 || (!depth && (stride[3] != 1 || size[3] != 1))) {
    throw unimplemented("windows over the channels with this stride or dilation");
  }
}

kernels::Window2d SlidingWindow::over(const Shape& input, std::int64_t rows, std::int64_t columns) const {
  if (input.rank() != 4) throw invalid_argument("images must be [batch, rows, columns, channels], not ", input);
  kernels::Window2d w;
  w.batch = input[0];
  w.height = input[1];
  w.width = input[2];
  w.channels = input[3];
  w.window_height = rows;
  w.window_width = columns;
  w.stride_height = stride[1];
  w.stride_width = stride[2];
  w.dilation_height = dilation[1];
  w.dilation_width = dilation[2];
  w.rows = axis(1, input[1], rows);
  w.columns = axis(2, input[2], columns);
  return w;
}

void copy_attrs(const NodeInfo& node, std::initializer_list<std::string_view> names, OpBuilder& builder) {
  for (const std::string_view name : names) {
    if (const AttrValue* value = find_attr(node.attrs, name)) builder.attr(name, *value);
  }
}

std::int64_t group_count(std::int64_t channels, std::int64_t filter_channels, std::int64_t out_channels,
                         std::string_view place) {
  if (channels < 0 || filter_channels < 0) return 1;
  if (filter_channels == 0 || channels % filter_channels != 0) {
    throw invalid_argument("the input has ", channels, " channels, but the filter takes ", filter_channels)
        .hint(internal::concat("The ", place, " size of a filter is the number of input channels."));
  }
  const std::int64_t groups = channels / filter_channels;
  if (groups > 1 && out_channels >= 0 && out_channels % groups != 0) {
    throw invalid_argument("the filter makes ", out_channels, " channels, which ", groups, " groups cannot share");
  }
  return groups;
}

}  // namespace caudal::inline v0
