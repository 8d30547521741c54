// Three-dimensional convolution (correlation, as TensorFlow defines it) of NDHWC inputs with DHWIO filters, and its
// gradients.
//
//   out[b, z, y, x, o] = sum over k, i, j, c of in[b, z * sd + k * dd - front, y * sh + i * dh - top, x * sw + j * dw -
//                        left, c] * filter[k, i, j, c, o]
//
// where the input is zero outside. Patches of some output rows at a time become a matrix, the rest is gemm. half and
// bfloat16 are widened to float. Results depend on shapes and the instruction set only, not on the number of threads.
// Thread safety: all functions. UNIMPLEMENTED for types other than half, bfloat16, float, double.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/window3d.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// The filter is [window.., channels / groups, out_channels]; output channel o sees the input channels of group
// o / (out_channels / groups).
struct Conv3dShape {
  Window3d window;
  int64_t out_channels = 0;
  int64_t groups = 1;

  int64_t patch() const { return window.window_size() * (window.channels / groups); }
};

void conv3d(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* in, const void* filter, void* out);
// The gradient of the input, given that of the output.
void conv3d_backward_data(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* filter, const void* grad,
                          void* in_grad);
// The gradient of the filter.
void conv3d_backward_filter(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* in, const void* grad,
                            void* filter_grad);

// The same by plain loops, in double: what the tests compare with.
void conv3d_reference(const Conv3dShape& shape, const double* in, const double* filter, double* out);
void conv3d_backward_data_reference(const Conv3dShape& shape, const double* filter, const double* grad,
                                    double* in_grad);
void conv3d_backward_filter_reference(const Conv3dShape& shape, const double* in, const double* grad,
                                      double* filter_grad);

}  // namespace caudal::inline v0::kernels
