// Levenshtein distances between sequences of sparse tensors.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0 {

struct EditDistanceOptions {
  bool normalize = true;  // divided by the length of the true sequence
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// How many elements must be inserted, deleted or replaced to make each sequence of `hypothesis` that of `truth`. Both
// of one rank >= 2 and sorted; sequences lie along the last dimension, the result (float32) has the others, the greater
// size of each. Normalised, an empty truth gives infinity, and 0 where the hypothesis is empty too. Any type but
// handles.
CAUDAL_API Output edit_distance(const SparseTensor& hypothesis, const SparseTensor& truth,
                                const EditDistanceOptions& options = {});

}  // namespace caudal::inline v0
