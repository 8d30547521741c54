// Matrix products.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;
  bool adjoint_a = false, adjoint_b = false;  // transposed and conjugated; not together with transpose
  std::string name;
  std::source_location where = std::source_location::current();
};

// a [..., m, k] times b [..., k, n] gives [..., m, n]; the leading dimensions broadcast. Both have one type: floating,
// complex, int32 or int64. INVALID_ARGUMENT for inner sizes that differ.
CAUDAL_API Output matmul(const Operand& a, const Operand& b, const MatMulOptions& options = {});

}  // namespace caudal::inline v0
