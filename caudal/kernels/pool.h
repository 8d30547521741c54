// Max and average pooling of NHWC inputs and their gradients. Windows never reach outside: padding is left out of the
// maximum and of the mean's count.
//
// Max pooling takes all real types, average pooling floating ones (UNIMPLEMENTED otherwise). NaN wins a maximum.
// Results do not depend on the number of threads. Thread safety: all functions.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/window.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

void max_pool(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, void* out);

// The gradient goes to the first greatest element of each window in row-major order, found again in the input.
void max_pool_grad(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, const void* grad,
                   void* in_grad);

// Also gives the place of each maximum: (y * width + x) * channels + c, plus the image's offset if `batch_in_index`.
// index_dtype is kInt32 or kInt64.
void max_pool_with_argmax(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, void* out,
                          DType index_dtype, bool batch_in_index, void* argmax);

// in_grad[argmax[i]] += grad[i] for each image. Returns -1, or the position of the first index that is outside.
[[nodiscard]] int64_t max_pool_grad_with_argmax(ThreadPool& pool, DType dtype, const Window2d& window, const void* grad,
                                                DType index_dtype, bool batch_in_index, const void* argmax,
                                                void* in_grad);

// The same for training: winners[output element] is the place of the first greatest element in its window, in row-major
// order counted in the whole window (i * window_width + j; places outside of the image count but never win).
// REQUIRES: no dilation, windows of at most 255 elements.
void max_pool_winners(ThreadPool& pool, const Window2d& window, const float* in, float* out, uint8_t* winners);

// in_grad (of the whole input) is grad at the winners' places, summed where windows overlap, and 0 elsewhere. Where
// `gate`, the pooled output or null, is not positive, nothing flows: a ReLU lies before the pooling. bias_grad
// [channels], or null, is the sum of what flowed. REQUIRES: as max_pool_winners; winners lie in their windows.
void max_pool_winners_grad(ThreadPool& pool, const Window2d& window, const float* grad, const uint8_t* winners,
                           const float* gate, float* in_grad, float* bias_grad);

void avg_pool(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, void* out);
void avg_pool_grad(ThreadPool& pool, DType dtype, const Window2d& window, const void* grad, void* in_grad);

}  // namespace caudal::inline v0::kernels
