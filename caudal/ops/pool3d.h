// Pooling over three dimensions: the greatest or the mean of each window over volumes, and its gradients.
//
//   Output y = nn::max_pool3d(x, {.ksize = {2}, .strides = {2}, .padding = "VALID"});
//
// Volumes [batch, planes, rows, columns, channels] (NDHWC; NCDHW only where a device has kernels for it). Window sizes
// and strides: one number, three (planes, rows, columns) or five. Padding never wins a maximum and is not counted in a
// mean. Types: half, bfloat16, float32 (avg_pool3d: and float64). Errors: INVALID_ARGUMENT where a window is larger
// than its volume. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct Pool3dOptions {
  std::vector<std::int64_t> ksize = {1, 1, 1, 1, 1};
  std::vector<std::int64_t> strides = {1, 1, 1, 1, 1};
  std::string padding = "VALID";
  std::string data_format = "NDHWC";
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// The greatest of each window; NaN wins. At ties every winner gets the gradient, as in TensorFlow's CPU kernel.
CAUDAL_API Output max_pool3d(const Operand& input, const Pool3dOptions& options);
// The mean of each window.
CAUDAL_API Output avg_pool3d(const Operand& input, const Pool3dOptions& options);

}  // namespace caudal::inline v0::nn
