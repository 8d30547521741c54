// Embeddings of lists of ids of different lengths, combined row by row (tf.compat.v1.nn).
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::nn {

struct EmbeddingLookupSparseOptions {
  PartitionStrategy partition_strategy = PartitionStrategy::kMod;
  std::string name = "embedding_lookup_sparse";
  std::string combiner = "mean";  // or "sum", "sqrtn"
  std::optional<float> max_norm = {};
  std::source_location where = std::source_location::current();
};
// For each row of sp_ids (int32 or int64 [rows, any]) its ids' embeddings added up with the weights of sp_weights
// (none: all 1) and divided by nothing ("sum"), by the sum of the weights ("mean") or by the root of the sum of their
// squares
// ("sqrtn"). Rows without an id are 0, those behind the last id are missing. The gradient of params is sparse. Throws
// INVALID_ARGUMENT for another combiner, or weights that are not floating.
CAUDAL_API Output embedding_lookup_sparse(const std::vector<Output>& params, const SparseTensor& sp_ids,
                                          const std::optional<SparseTensor>& sp_weights,
                                          const EmbeddingLookupSparseOptions& options = {});

}  // namespace caudal::inline v0::nn
