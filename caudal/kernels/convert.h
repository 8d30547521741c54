// half and bfloat16 to float and back, in bulk. Rounding is to nearest, ties to even.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// REQUIRES: dtype is kHalf or kBFloat16.
void widen(DType dtype, const void* in, float* out, int64_t n);
void narrow(DType dtype, const float* in, void* out, int64_t n);
void widen(ThreadPool& pool, DType dtype, const void* in, float* out, int64_t n);
void narrow(ThreadPool& pool, DType dtype, const float* in, void* out, int64_t n);

}  // namespace caudal::inline v0::kernels
