// Two-dimensional convolution (correlation, as TensorFlow defines it) of NHWC inputs with HWIO filters, and its
// gradients.
//
//   out[b, y, x, o] = sum over i, j, c of in[b, y * sh + i * dh - top, x * sw + j * dw - left, c] * filter[i, j, c, o]
//
// where the input is zero outside. float and double run on the register tiles of gemm without building patches: in NHWC
// a row of a patch is contiguous. half and bfloat16 are widened to float; int32, grouped convolutions and plain
// machines use the reference. Results depend on shapes and the instruction set only, not on the number of threads.
// Thread safety: all functions. UNIMPLEMENTED for other types.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/window.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

// The filter is [window_height, window_width, channels / groups, out_channels]; output channel o sees the input
// channels of group o / (out_channels / groups).
struct Conv2dShape {
  Window2d window;
  int64_t out_channels = 0;
  int64_t groups = 1;

  int64_t patch() const { return window.window_height * window.window_width * (window.channels / groups); }
};

// Applied to the result of the forward pass: + bias[out_channels], then max(., 0).
struct ConvTail {
  const void* bias = nullptr;
  bool relu = false;
};

void conv2d(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* filter, void* out,
            const ConvTail& tail = {});
// The gradient of the input, given that of the output. With a `gate`, laid out as the input, it is 0 where the gate is
// not positive: the gradient of a ReLU that the input comes from.
void conv2d_backward_data(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* filter, const void* grad,
                          void* in_grad, const void* gate = nullptr);
// The gradient of the filter.
void conv2d_backward_filter(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* grad,
                            void* filter_grad);

// The forward pass with max-pooling of its result, which is never stored as a whole; float. `pool_window` slides over
// the convolution's output. Winners are as max_pool_winners() gives them (pool.h).
void conv2d_max_pool(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window, const float* in,
                     const float* filter, const ConvTail& tail, float* pooled, uint8_t* winners);

// The gradients of filter and bias, and of the input, straight from the gradient of the pooled result: each window has
// one winner, so most of the convolution's own gradient is zero and left out. `gate` is the pooled result where a ReLU
// lies before the pooling, else null; bias_grad [out_channels] may be null; in_gate is conv2d_backward_data()'s gate.
// What is left out counts as zero even where the input or the filter is not finite.
void conv2d_max_pool_backward_filter(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                     const float* in, const float* pooled_grad, const uint8_t* winners,
                                     const float* gate, float* filter_grad, float* bias_grad);
void conv2d_max_pool_backward_data(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                   const float* filter, const float* pooled_grad, const uint8_t* winners,
                                   const float* gate, float* in_grad, const float* in_gate);

// The same by plain loops.
void conv2d_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* filter,
                      void* out, const ConvTail& tail = {});
void conv2d_backward_data_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* filter,
                                    const void* grad, void* in_grad);
void conv2d_backward_filter_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in,
                                      const void* grad, void* filter_grad);

}  // namespace caudal::inline v0::kernels
