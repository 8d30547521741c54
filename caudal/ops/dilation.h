// Grey-scale morphology: dilation and erosion of images by a structuring function.
//
//   dilation:  out[b, y, x, c] = max over i, j of input[b, y * stride + i * rate, x * stride + j * rate, c] + filter[i,
//   j, c] erosion:   out[b, y, x, c] = min over i, j of input[..] - filter[i, j, c]
//
// input [batch, rows, columns, channels], filter [rows, columns, channels]; outside the image is nothing. Strides and
// rates as those of nn::conv2d. Real number types. At ties the gradient goes to the first in row-major order. Errors:
// INVALID_ARGUMENT where shapes do not fit. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct MorphologyOptions {
  std::vector<std::int64_t> strides = {1, 1, 1, 1};
  std::vector<std::int64_t> rates = {1, 1, 1, 1};
  std::string padding = "VALID";
  std::string name = {};
  std::source_location where = std::source_location::current();
};

CAUDAL_API Output dilation2d(const Operand& input, const Operand& filter, const MorphologyOptions& options = {});
// The negated dilation of the negated input by the kernel turned by 180 degrees.
CAUDAL_API Output erosion2d(const Operand& value, const Operand& kernel, const MorphologyOptions& options = {});

}  // namespace caudal::inline v0::nn
