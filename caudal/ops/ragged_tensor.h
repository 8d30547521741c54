// Ragged tensors: rows of different lengths.
//
// Thread safety: as building a graph.
#pragma once

#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Row i is values[row_splits[i] : row_splits[i + 1]]. Where the rows are ragged themselves, `values` belongs to the
// innermost splits and `outer_splits` holds the others, outermost first.
struct RaggedTensor {
  Output values;
  Output row_splits;  // int32 or int64, [rows + 1], from 0 on, never falling
  std::vector<Output> outer_splits = {};
};

}  // namespace caudal::inline v0
