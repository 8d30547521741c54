// Products of vectors in three dimensions.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0::linalg {

// a x b for the vectors in the last dimension. Both have one shape, [..., 3], and one type, a real one; so has the
// product. Throws INVALID_ARGUMENT if the shapes differ or the last dimension is not 3.
CAUDAL_API Output cross(const Operand& a, const Operand& b, const OpOptions& options = {});

}  // namespace caudal::inline v0::linalg
