// Tables of vectors, whole or spread over several tensors.
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

enum class PartitionStrategy {
  kMod,  // row i lies in partition i % n
  kDiv,  // partitions hold consecutive rows, the first (rows % n) of them one more
};

struct EmbeddingLookupOptions {
  PartitionStrategy partition_strategy = PartitionStrategy::kMod;
  std::string name = "embedding_lookup";
  std::optional<float> max_norm = {};  // longer rows are scaled down to this Euclidean norm
  std::source_location where = std::source_location::current();
};

// The rows `ids` (int32 or int64, any shape) of the table whose partitions are `params`, each [rows, ...]: shape ids +
// params[0][1:]. Gradients of params are sparse. INVALID_ARGUMENT without params, at run time for an id that is no row.
CAUDAL_API Output embedding_lookup(const std::vector<Output>& params, const Operand& ids,
                                   const EmbeddingLookupOptions& options = {});

}  // namespace caudal::inline v0::nn
