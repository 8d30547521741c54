// Inside of conv2d: the way for one-channel images.
#pragma once

#include <cstdint>

#include "caudal/kernels/conv2d.h"

namespace caudal::inline v0::kernels {

// conv2d_max_pool() for one-channel images and fewer filters than lanes, stride 1, pooling by 2 x 2 with stride 2 of
// whole windows. False, and nothing done, if it is something else.
bool conv2d_max_pool_planar(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window, const float* in,
                            const float* filter, const ConvTail& tail, float* pooled, uint8_t* winners);

// The same of conv2d_max_pool_backward_filter().
bool conv2d_max_pool_backward_filter_planar(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                            const float* in, const float* pooled_grad, const uint8_t* winners,
                                            const float* gate, float* filter_grad, float* bias_grad);

}  // namespace caudal::inline v0::kernels
