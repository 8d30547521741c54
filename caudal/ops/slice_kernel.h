// The write of a slice, for ops that write elsewhere than to an output (StridedSliceAssign).
//
// Thread safety: as kernels.
#pragma once

#include "caudal/core/kernel.h"
#include "caudal/ops/slice_spec.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::internal {

// Writes `value`, broadcast to the slice's shape, where the slice of `target` lies. Throws INVALID_ARGUMENT if it does
// not broadcast. REQUIRES: the slice was resolved against target's shape; nobody else sees target.
void assign_slice_of(RunContext& c, const Tensor& value, Tensor& target, const ResolvedSlice& slice);

}  // namespace caudal::inline v0::internal
