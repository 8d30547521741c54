// Batch normalisation: statistics per channel, and the passes that use them.
//
// Values are [outer, channels, inner]: NHWC has inner = 1 and outer = N * H * W, NCHW outer = N and inner = H * W.
// Types float, half and bfloat16 (UNIMPLEMENTED otherwise); everything per channel is float, sums are kept in double.
// Results do not depend on the number of threads. Thread safety: all functions.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

struct ChannelLayout {
  int64_t outer = 0, channels = 0, inner = 1;
  int64_t count() const { return outer * inner; }  // values per channel
};

// Mean and variance (divided by the count) of each channel; NaN where there are no values.
void batch_statistics(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* x, float* mean,
                      float* variance);

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset. y may be x.
void batch_normalize(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* x, const float* mean,
                     const float* variance, const float* scale, const float* offset, float epsilon, void* y);

// Gradients given that of y. With `training`, mean and variance are those of x itself and depend on it:
//   dx = scale * r * (dy - mean(dy) - (x - mean) * r^2 * mean(dy * (x - mean))),  r = 1 / sqrt(variance + epsilon);
// else dx = scale * r * dy. dscale = r * sum(dy * (x - mean)), doffset = sum(dy).
void batch_normalize_grad(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* dy, const void* x,
                          const float* scale, const float* mean, const float* variance, float epsilon, bool training,
                          void* dx, float* dscale, float* doffset);

}  // namespace caudal::inline v0::kernels
