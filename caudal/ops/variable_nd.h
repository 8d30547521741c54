// Updates of single places and of slices: ScatterNd on references, resources and copies of tensors, assignments to
// slices of variables.
//
//   tf::scatter_nd_update(w, {{0, 2}, {1, 1}}, values);        // w[0, 2] = values[0], w[1, 1] = values[1]
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0 {

// indices [..., depth]: places of the first `depth` dimensions of the variable; updates: one slice for each. A place
// that is named twice is updated twice, in order. INVALID_ARGUMENT for a place outside. Result: the variable
// afterwards.
CAUDAL_API Output scatter_nd_update(const Variable& ref, const Operand& indices, const Operand& updates,
                                    const OpOptions& options = {});
CAUDAL_API Output scatter_nd_add(const Variable& ref, const Operand& indices, const Operand& updates,
                                 const OpOptions& options = {});
CAUDAL_API Output scatter_nd_sub(const Variable& ref, const Operand& indices, const Operand& updates,
                                 const OpOptions& options = {});
CAUDAL_API Output scatter_nd_min(const Variable& ref, const Operand& indices, const Operand& updates,
                                 const OpOptions& options = {});
CAUDAL_API Output scatter_nd_max(const Variable& ref, const Operand& indices, const Operand& updates,
                                 const OpOptions& options = {});

// A copy of `tensor` with places replaced, added to, subtracted from, or the lesser or greater of both kept. The rules
// of scatter_nd_update hold. Differentiable; where min and max tie, all that are equal share the gradient.
CAUDAL_API Output tensor_scatter_nd_update(const Operand& tensor, const Operand& indices, const Operand& updates,
                                           const OpOptions& options = {});
CAUDAL_API Output tensor_scatter_nd_add(const Operand& tensor, const Operand& indices, const Operand& updates,
                                        const OpOptions& options = {});
CAUDAL_API Output tensor_scatter_nd_sub(const Operand& tensor, const Operand& indices, const Operand& updates,
                                        const OpOptions& options = {});
CAUDAL_API Output tensor_scatter_nd_min(const Operand& tensor, const Operand& indices, const Operand& updates,
                                        const OpOptions& options = {});
CAUDAL_API Output tensor_scatter_nd_max(const Operand& tensor, const Operand& indices, const Operand& updates,
                                        const OpOptions& options = {});

// The slice (strided_slice's meaning) becomes `value`, which is broadcast to it. Result: the variable afterwards.
CAUDAL_API Output strided_slice_assign(const Variable& ref, const Operand& begin, const Operand& end,
                                       const Operand& strides, const Operand& value,
                                       const StridedSliceOptions& options = {});

namespace raw_ops {
// input with updates added at the places that indices name. Differentiable.
CAUDAL_API Output scatter_nd_non_aliasing_add(const Operand& input, const Operand& indices, const Operand& updates,
                                              const OpOptions& options = {});
// The places of a resource variable that indices name, as gather_nd. The gradient is sparse for places of one
// dimension.
CAUDAL_API Output resource_gather_nd(const Output& resource, const Operand& indices, DType dtype,
                                     const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
