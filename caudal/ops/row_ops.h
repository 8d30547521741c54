// Rows put together and changed by position.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/operand_list.h"

namespace caudal::inline v0 {

// Values of one known shape along a new first dimension, as stack(). Any type but handles and variants.
// INVALID_ARGUMENT if the shape is not fully known.
CAUDAL_API Output parallel_stack(const OperandList& values, const OpOptions& options = {});

namespace raw_ops {
// x with row i[k] replaced by v[k], v[k] added to it or subtracted from it, one after the other. i: int32 vector,
// counted modulo the rows of x; v [i, x's other dimensions]. Number types; update also bool and string. Unlike
// TensorFlow's these never change x itself.
CAUDAL_API Output inplace_update(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options = {});
CAUDAL_API Output inplace_add(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options = {});
CAUDAL_API Output inplace_sub(const Operand& x, const Operand& i, const Operand& v, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
