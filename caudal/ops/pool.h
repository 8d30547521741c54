// Pooling: the greatest or the mean of each window over images, and its gradients.
//
//   Output y = nn::max_pool(x, {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}, .padding = "VALID"});
//
// Images [batch, rows, columns, channels] (NHWC; NCHW only where a device has kernels for it). Window sizes and
// strides: one number, two (rows, columns) or four (one for each dimension). A window over channels must be one pixel
// large, and its stride its size. Padding never wins a maximum and is not counted in a mean. Errors: INVALID_ARGUMENT
// where a window is larger than its image. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0::nn {

struct PoolOptions {
  std::vector<std::int64_t> ksize = {1, 1, 1, 1};
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  Padding padding = "VALID";  // avg_pool: "SAME" or "VALID" only
  std::string data_format = "NHWC";
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// The greatest of each window; NaN wins. Real number types. At ties the gradient goes to the first in row-major order.
CAUDAL_API Output max_pool(const Operand& value, const PoolOptions& options);
// The mean of each window. Floating types.
CAUDAL_API Output avg_pool(const Operand& value, const PoolOptions& options);

struct MaxPoolWithArgmax {
  Output output, argmax;
};
struct MaxPoolWithArgmaxOptions {
  std::vector<std::int64_t> ksize = {1, 1, 1, 1};
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  std::string padding = "VALID";
  DType targmax = DType::kInt64;
  std::string name = {};
  bool include_batch_in_index = false;
  std::source_location where = std::source_location::current();
};
// The same, and where each maximum stood: (row * columns + column) * channels + channel, plus the image's offset with
// include_batch_in_index.
CAUDAL_API MaxPoolWithArgmax max_pool_with_argmax(const Operand& input, const MaxPoolWithArgmaxOptions& options);

}  // namespace caudal::inline v0::nn
