// Moving elements of any type: what all ops that only rearrange memory are made of.
//
// Strides and offsets count elements. Plain types move as bytes; strings, handles and variants are assigned.
// Thread safety: all functions. Source and destination must not overlap.
#pragma once

#include <cstdint>
#include <span>

#include "caudal/base/export.h"
#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// to[i] = from[i]. REQUIRES: the elements of `to` exist (a Tensor's memory).
CAUDAL_API void copy_elements(DType dtype, const char* from, char* to, std::int64_t n);
// The same, split over the pool's threads.
CAUDAL_API void copy_elements(ThreadPool& pool, DType dtype, const char* from, char* to, std::int64_t n);
// to[i] = *value.
CAUDAL_API void fill_elements(ThreadPool& pool, DType dtype, const char* value, char* to, std::int64_t n);

// to[sum(i_k * to_strides[k])] = from[sum(i_k * from_strides[k])] for all indices below dims; a stride may be 0 or
// negative (`from` and `to` then point at the element of index 0).
CAUDAL_API void strided_copy(ThreadPool& pool, DType dtype, std::span<const std::int64_t> dims, const char* from,
                             std::span<const std::int64_t> from_strides, char* to,
                             std::span<const std::int64_t> to_strides);

}  // namespace caudal::inline v0
