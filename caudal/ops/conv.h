// Two-dimensional convolution (strictly: correlation) of images with filters, and its gradients.
//
//   Output y = nn::conv2d(X, filters, {.strides = {1, 2, 2, 1}, .padding = "SAME"});
//
// Images [batch, rows, columns, channels] (NHWC; NCHW only where a device has kernels for it), filters [rows, columns,
// channels / groups, out_channels]. Strides and dilations: one number, two (rows, columns) or four (one for each
// dimension). Types: half, bfloat16, float32, float64; int32 but for the gradient of filters.
// Errors: INVALID_ARGUMENT where shapes do not fit or a window is larger than its image, when the node is made as far
// as shapes are known then. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0::nn {

struct Conv2dOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  Padding padding = "VALID";
  std::string data_format = "NHWC";
  std::vector<std::int64_t> dilations = {1, 1, 1, 1};
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// out[b, y, x, o] = sum over i, j, c of input[b, y * stride + i * dilation, x * stride + j * dilation, c] *
// filter[i, j, c, o], the input being padded with zeros. Input channels that are a multiple of the filter's make
// groups.
CAUDAL_API Output conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options = {});

struct Conv2dTransposeOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  Padding padding = "SAME";
  std::string data_format = "NHWC";
  std::string name = {};
  std::vector<std::int64_t> dilations = {1, 1, 1, 1};
  std::source_location where = std::source_location::current();
};
// The gradient of conv2d with respect to its input, as a layer that enlarges images: `output_shape` (int32 vector of 4)
// is the input's shape of that convolution, filter [rows, columns, out_channels, in_channels].
CAUDAL_API Output conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                                   const Conv2dTransposeOptions& options = {});

struct DepthwiseConv2dOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  Padding padding = "VALID";
  std::vector<std::int64_t> rate = {1, 1};  // dilations of rows and columns
  std::string name = {};
  std::string data_format = "NHWC";
  std::source_location where = std::source_location::current();
};
// Every channel by itself: filter [rows, columns, channels, multiplier]; output channel c * multiplier + m comes from
// input channel c.
CAUDAL_API Output depthwise_conv2d(const Operand& input, const Operand& filter,
                                   const DepthwiseConv2dOptions& options = {});
// A depthwise convolution, then a 1x1 convolution with pointwise_filter [1, 1, channels * multiplier, out_channels].
CAUDAL_API Output separable_conv2d(const Operand& input, const Operand& depthwise_filter,
                                   const Operand& pointwise_filter, const DepthwiseConv2dOptions& options = {});

}  // namespace caudal::inline v0::nn
