// The run of a gather, for ops that take their rows from elsewhere than an input (ResourceGather).
//
// Thread safety: as kernels.
#pragma once

#include "caudal/core/kernel.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::internal {

// Output 0 = the slices of `params` along `axis` that input 1 names; the first batch_dims dimensions of both go
// together. Throws INVALID_ARGUMENT for an index outside [0, size).
// REQUIRES: 0 <= batch_dims <= axis < params.rank(), batch_dims <= rank of input 1.
void gather_along(RunContext& c, const Tensor& params, int axis, int batch_dims);

// Output 0 = the places of `params` that input 1 names, as GatherNd. Throws INVALID_ARGUMENT for one outside.
void gather_nd_of(RunContext& c, const Tensor& params);

}  // namespace caudal::inline v0::internal
