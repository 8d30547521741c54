// Pooling over three dimensions of NDHWC inputs, and its gradients.
//
// half and bfloat16 are computed in float. Results do not depend on the number of threads. Thread safety: all
// functions. UNIMPLEMENTED for types other than half, bfloat16, float, double.
#pragma once

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/window3d.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// The greatest of each window; NaN wins. A window without elements gives the lowest value.
void max_pool3d(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, void* out);
// Adds each gradient to every input of its window that is closer than 1e-5 to the maximum `out`, as TensorFlow's CPU
// kernel does (in two dimensions only the first gets it).
void max_pool3d_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, const void* out,
                     const void* grad, void* in_grad);
// The element of `grad`, shaped as the input, where the first input that equals the maximum stands; 0 if none does.
void max_pool3d_grad_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, const void* out,
                          const void* grad, void* result);
// The mean of each window, without padding.
void avg_pool3d(ThreadPool& pool, DType dtype, const Window3d& w, const void* in, void* out);
void avg_pool3d_grad(ThreadPool& pool, DType dtype, const Window3d& w, const void* grad, void* in_grad);

}  // namespace caudal::inline v0::kernels
