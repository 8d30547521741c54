// Softmax over the last dimension, and the cross entropies fused with it and their gradients.
//
// All take matrices [rows, classes] of float, double, half or bfloat16 (UNIMPLEMENTED otherwise) and subtract the row's
// maximum first, so that huge logits give finite results. A logit of -inf has probability 0 and no effect on the loss
// unless its label is positive; a row of -inf only gives NaN. Outputs may be the logits. Thread safety: all functions.
#pragma once

#include <cstdint>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

void softmax(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes, void* out);
void log_softmax(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes, void* out);

// loss[row] = log(sum(exp(logits))) - logits[label]; backprop[row, c] = softmax - (c == label). `label_dtype` is kInt32
// or kInt64. INVALID_ARGUMENT if a label is outside [0, classes).
void sparse_softmax_cross_entropy(ThreadPool& pool, DType dtype, const void* logits, int64_t rows, int64_t classes,
                                  DType label_dtype, const void* labels, void* loss, void* backprop);

// loss[row] = sum(labels * (log(sum(exp(logits))) - logits)), where a label of 0 contributes 0; backprop = softmax -
// labels, as TensorFlow has it also where the labels do not sum to 1.
void softmax_cross_entropy(ThreadPool& pool, DType dtype, const void* logits, const void* labels, int64_t rows,
                           int64_t classes, void* loss, void* backprop);

}  // namespace caudal::inline v0::kernels
