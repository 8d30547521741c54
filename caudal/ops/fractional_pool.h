// Pooling by ratios that are no whole numbers: rows and columns are cut at random into stretches of two neighbouring
// lengths ("Fractional Max-Pooling", Graham 2014).
//
//   auto [y, rows, columns] = nn::fractional_max_pool(x, {1, 1.44, 1.73, 1});
//
// Images [batch, rows, columns, channels]: float32, float64, int32, int64. Errors: INVALID_ARGUMENT for ratios below 1
// or above the size; UNIMPLEMENTED for ratios of batch and channels other than 1. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct FractionalPool {
  Output output;                                      // [batch, floor(rows / ratio), floor(columns / ratio), channels]
  Output row_pooling_sequence, col_pooling_sequence;  // int64: where stretches begin, and the end
};

struct FractionalPoolOptions {
  bool pseudo_random = false;  // stretches in a regular order instead of a shuffled one
  bool overlapping = false;    // stretches share their borders
  std::int64_t seed = 0;       // 0: other stretches at each run
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// pooling_ratio: one number, two (rows, columns) or four. At ties the gradient goes to the first in row-major order.
CAUDAL_API FractionalPool fractional_max_pool(const Operand& value, const std::vector<float>& pooling_ratio,
                                              const FractionalPoolOptions& options = {});
CAUDAL_API FractionalPool fractional_avg_pool(const Operand& value, const std::vector<float>& pooling_ratio,
                                              const FractionalPoolOptions& options = {});

}  // namespace caudal::inline v0::nn
