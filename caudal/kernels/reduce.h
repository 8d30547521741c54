// Reductions over any set of axes.
//
// float, half and bfloat16 are summed and multiplied in double, complex64 in complex128; the result is rounded once.
// Integers wrap. Max and Min pass NaN on. An empty reduction gives the operation's neutral element (Max: -inf or the
// lowest integer); the mean of nothing is NaN, of integers 0. Results do not depend on the number of threads: work is
// cut by shape only and partial results combine in order. Thread safety: all functions.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/dims.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

enum class ReduceOp : uint8_t { kSum, kMean, kProd, kMax, kMin, kAll, kAny };

// out[kept dimensions] = reduction of in[dims] over `axes`. kAll and kAny take bool, kMax and kMin no complex types
// (UNIMPLEMENTED otherwise). REQUIRES: axes are distinct and in [0, rank).
void reduce(ThreadPool& pool, ReduceOp op, DType dtype, const void* in, Dims dims, Dims axes, void* out);

// out[o, i] = index along the middle dimension of in[outer, size, inner] of the greatest (or least) element; of equal
// ones the first. NaN is never chosen unless all are NaN (then 0). out_dtype: kInt32, kInt64, kInt16 or kUint16.
// REQUIRES: size > 0 unless outer * inner = 0.
void arg_reduce(ThreadPool& pool, bool greatest, DType dtype, const void* in, int64_t outer, int64_t size,
                int64_t inner, DType out_dtype, void* out);

}  // namespace caudal::inline v0::kernels
