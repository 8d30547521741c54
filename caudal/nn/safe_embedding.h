// Embeddings of lists of ids that may be empty or hold ids that are none.
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

struct SafeEmbeddingLookupSparseOptions {
  std::string combiner = "mean";                          // or "sum", "sqrtn"
  std::optional<std::int64_t> default_id = std::nullopt;  // of rows without ids; none: their result is 0
  PartitionStrategy partition_strategy = PartitionStrategy::kDiv;
  std::optional<float> max_norm = {};
  std::string name = "safe_embedding_lookup_sparse";
  std::source_location where = std::source_location::current();
};
// As embedding_lookup_sparse, with a result for every row, also for ids of a higher rank (the last dimension holds the
// lists). Negative ids are left out, and for "mean" and "sqrtn" ids whose weight is not positive.
CAUDAL_API Output safe_embedding_lookup_sparse(const std::vector<Output>& embedding_weights,
                                               const SparseTensor& sparse_ids,
                                               const std::optional<SparseTensor>& sparse_weights = std::nullopt,
                                               const SafeEmbeddingLookupSparseOptions& options = {});

}  // namespace caudal::inline v0::nn
