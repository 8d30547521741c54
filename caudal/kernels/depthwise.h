// Depthwise convolution of NHWC inputs: input channel c makes output channels c * multiplier + m, with the filter
// [window_height, window_width, channels, multiplier]. float, double, half and bfloat16 (UNIMPLEMENTED otherwise).
// Results do not depend on the number of threads. Thread safety: all functions.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/kernels/window.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

void depthwise_conv2d(ThreadPool& pool, DType dtype, const Window2d& window, int64_t multiplier, const void* in,
                      const void* filter, void* out);
void depthwise_conv2d_backward_data(ThreadPool& pool, DType dtype, const Window2d& window, int64_t multiplier,
                                    const void* filter, const void* grad, void* in_grad);
void depthwise_conv2d_backward_filter(ThreadPool& pool, DType dtype, const Window2d& window, int64_t multiplier,
                                      const void* in, const void* grad, void* filter_grad);

}  // namespace caudal::inline v0::kernels
