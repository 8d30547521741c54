// The greatest entries, and whether a target is among them.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct TopK {
  Output values, indices;
};
struct TopKOptions {
  bool sorted = true;  // the order is unspecified otherwise
  DType index_type = DType::kInt32;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The k greatest entries along the last dimension and where they stand: [..., n] -> [..., k], greatest first; of equal
// ones that with the lower index; NaN comes last. Real number types. INVALID_ARGUMENT unless 0 <= k <= n.
CAUDAL_API TopK top_k(const Operand& input, const Operand& k = 1, const TopKOptions& options = {});

// For each row of predictions (float32 [batch, classes]) whether fewer than k entries exceed that of its target (int32
// or int64 [batch]). False where the target is no class, or an entry of the row is NaN or infinite.
CAUDAL_API Output in_top_k(const Operand& predictions, const Operand& targets, const Operand& k,
                           const OpOptions& options = {});

}  // namespace caudal::inline v0::nn
