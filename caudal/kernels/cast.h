// Conversion between element types, as TensorFlow's Cast does it.
//
// Floating to integer truncates; out of range and NaN give what x86-64 instructions give. Integers are taken modulo
// 2^n. Anything to bool is "not zero"; complex to real drops the imaginary part. half and bfloat16 go through float.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// True for every pair of bool, integer, floating and complex types.
bool can_cast(DType from, DType to);

// Thread safe; out may be in if the elements have the same size. UNIMPLEMENTED if not can_cast.
void cast(ThreadPool& pool, DType from, const void* in, DType to, void* out, int64_t n);

}  // namespace caudal::inline v0::kernels
