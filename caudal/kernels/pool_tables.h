// Inside of pool: loops of float by instruction set.
#pragma once

#include <cstdint>

#include "caudal/kernels/window.h"

namespace caudal::inline v0::kernels {

struct PoolLoops {
  // Row y of the output from one image.
  void (*max_row)(const Window2d& window, const float* image, int64_t y, float* out);
  // The same with the places of the winners in their windows (pool.h).
  void (*max_winners_row)(const Window2d& window, const float* image, int64_t y, float* out, uint8_t* winners);
  // Adds the gradients of row y of the output to one image's sums.
  void (*max_grad_row)(const Window2d& window, const float* image, int64_t y, const float* grad, float* sums);
};

// Those for this machine, or null.
const PoolLoops* pool_loops();
const PoolLoops& pool_loops_avx2();
const PoolLoops& pool_loops_avx512();

}  // namespace caudal::inline v0::kernels
