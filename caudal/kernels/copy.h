// Moving elements without looking at them: everything here knows only how many bytes an element has. For plain types
// (is_plain); strings and the like need their own loops. Thread safety: all functions. Outputs must not overlap inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/dims.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// Row-major strides, in elements.
std::vector<int64_t> dense_strides(Dims dims);

// out[i . out_strides] = in[i . in_strides] for every index i in `sizes`. Strides count elements; those of the input
// may be 0 (repeat) or negative. Slices, reversals, transposes, tiles, concatenation and padding are all this.
void copy_strided(ThreadPool& pool, int64_t element_size, Dims sizes, const void* in, Dims in_strides, void* out,
                  Dims out_strides);

// Dimension d of the result is dimension permutation[d] of in[dims].
void transpose(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims permutation, void* out);

// out[dims] where in_dims has equal rank and sizes of 1 or the same.
void broadcast_to(ThreadPool& pool, int64_t element_size, const void* in, Dims in_dims, void* out, Dims dims);

// in[dims] repeated multiples[d] times along each dimension.
void tile(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims multiples, void* out);

// in[dims] starting at begin[d], every step[d]-th element (may be negative), sizes[d] of them.
void strided_slice(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims begin, Dims step, Dims sizes,
                   void* out);

// The adjoint of strided_slice: out[dims] is zero but for grad[sizes] at the places that the slice read.
void strided_slice_grad(ThreadPool& pool, int64_t element_size, const void* grad, Dims dims, Dims begin, Dims step,
                        Dims sizes, void* out);

// in[dims] with before[d] and after[d] elements `value` around it.
void pad(ThreadPool& pool, int64_t element_size, const void* in, Dims dims, Dims before, Dims after, const void* value,
         void* out);

// Parts [outer, part.columns] side by side: out[outer, sum of columns].
struct ConcatPart {
  const void* data = nullptr;
  int64_t columns = 0;
};
void concat(ThreadPool& pool, int64_t element_size, int64_t outer, std::span<const ConcatPart> parts, void* out);

// The inverse: columns [first, first + part_columns) of in[outer, columns].
void split_part(ThreadPool& pool, int64_t element_size, int64_t outer, int64_t columns, int64_t first,
                int64_t part_columns, const void* in, void* out);

// out[o, i, :] = in[o, indices[i], :] where in is [outer, size, inner]. `index_dtype` is kInt32 or kInt64. Returns -1,
// or the position of the first index outside [0, size); then the content of `out` is unspecified.
[[nodiscard]] int64_t gather(ThreadPool& pool, int64_t element_size, const void* in, int64_t outer, int64_t size,
                             int64_t inner, DType index_dtype, const void* indices, int64_t count, void* out);

// n copies of one element.
void fill(ThreadPool& pool, int64_t element_size, const void* value, int64_t n, void* out);

// out[i] = condition[i] ? a[i] : b[i], each of `rows` rows of `inner` elements following its row's condition.
void select(ThreadPool& pool, int64_t element_size, const bool* condition, const void* a, const void* b, int64_t rows,
            int64_t inner, void* out);

}  // namespace caudal::inline v0::kernels
