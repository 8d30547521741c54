// Three-dimensional convolution (strictly: correlation) of volumes with filters, and its gradients.
//
//   Output y = nn::conv3d(X, filters, {.strides = {1, 1, 2, 2, 1}, .padding = "SAME"});
//
// Volumes [batch, planes, rows, columns, channels] (NDHWC; NCDHW only where a device has kernels for it), filters
// [planes, rows, columns, channels / groups, out_channels]. Strides and dilations: one number, three (planes, rows,
// columns) or five. Types: half, bfloat16, float32, float64. Padding: "SAME" or "VALID". Errors: INVALID_ARGUMENT where
// shapes do not fit or a window is larger than its volume. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct Conv3dOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1, 1};
  std::string padding = "VALID";
  std::string data_format = "NDHWC";
  std::vector<std::int64_t> dilations = {1, 1, 1, 1, 1};
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// out[b, z, y, x, o] = sum over k, i, j, c of input[b, z * stride + k * dilation, .., c] * filter[k, i, j, c, o], the
// input being padded with zeros.
CAUDAL_API Output conv3d(const Operand& input, const Operand& filter, const Conv3dOptions& options = {});

struct Conv3dTransposeOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1, 1};
  std::string padding = "SAME";
  std::string data_format = "NDHWC";
  std::vector<std::int64_t> dilations = {1, 1, 1, 1, 1};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The gradient of conv3d with respect to its input, as a layer that enlarges volumes: `output_shape` (vector of 5) is
// the input's shape of that convolution, filter [planes, rows, columns, out_channels, in_channels].
CAUDAL_API Output conv3d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                                   const Conv3dTransposeOptions& options = {});

}  // namespace caudal::inline v0::nn
