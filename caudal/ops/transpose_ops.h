// Other orders of dimensions and of elements along a dimension.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Dimension i of the result is dimension perm[i] of `a` (int32 or int64 vector, a permutation of 0 .. rank - 1).
CAUDAL_API Output transpose(const Operand& a, const Operand& perm, const OpOptions& options = {});
// All dimensions in reverse order.
CAUDAL_API Output transpose(const Operand& a);
// Dimensions `axis` (int32 or int64 vector) run backwards. INVALID_ARGUMENT for an axis out of range or named twice.
CAUDAL_API Output reverse(const Operand& tensor, const Operand& axis, const OpOptions& options = {});

namespace math {
// y[x[i]] = i. Run time error: INVALID_ARGUMENT unless x is a permutation of 0 .. n - 1.
CAUDAL_API Output invert_permutation(const Operand& x, const OpOptions& options = {});
}  // namespace math

namespace raw_ops {
// The transpose, complex numbers conjugated.
CAUDAL_API Output conjugate_transpose(const Operand& x, const Operand& perm, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
