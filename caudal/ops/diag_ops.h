// Tensors that are zero off their diagonal.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

// A tensor of twice the rank with `diagonal` where both halves of the index agree, else 0:
// [d1..dk] gives [d1..dk, d1..dk]. Floating and complex types, int32, int64.
CAUDAL_API Output tensor_diag(const Operand& diagonal, const OpOptions& options = {});
// The inverse: [d1..dk, d1..dk] gives [d1..dk]. INVALID_ARGUMENT unless both halves of the shape agree.
CAUDAL_API Output tensor_diag_part(const Operand& input, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
