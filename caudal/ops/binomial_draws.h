// Draws of binomial distributions, for the kernels of stateless and stateful ops.
//
// Thread safety: functions of their arguments; the memory written is the caller's.
#pragma once

#include <cstdint>

#include "caudal/base/philox.h"
#include "caudal/base/thread_pool.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// out [samples + batch] from counts and probs, which broadcast to the batch. Throws INVALID_ARGUMENT unless the shape
// of `out` ends with the batch's, UNIMPLEMENTED for types without a kernel.
void fill_binomial(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& counts, const Tensor& probs,
                   Tensor& out);
// The number of elements of the batch.
std::int64_t binomial_batch(const Tensor& counts, const Tensor& probs);

}  // namespace caudal::inline v0
