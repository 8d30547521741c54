// Inside of reduce: the typed loops that its driver calls.
#pragma once

#include <cstdint>

#include "caudal/kernels/reduce.h"

namespace caudal::inline v0::kernels {

struct ReduceKernels {
  int64_t in_size = 0, acc_size = 0, out_size = 0;  // bytes of an element
  void (*init)(void* acc, int64_t n) = nullptr;
  // acc[0] = acc[0] op (in[0] op ... op in[n - 1]).
  void (*row)(const void* in, int64_t n, void* acc) = nullptr;
  // acc[j] = acc[j] op in[j].
  void (*column)(const void* in, int64_t n, void* acc) = nullptr;
  // acc[j] = acc[j] op partial[j].
  void (*combine)(const void* partial, int64_t n, void* acc) = nullptr;
  // out[j] = acc[j], divided by `count` for a mean.
  void (*finish)(const void* acc, int64_t n, int64_t count, void* out) = nullptr;
};

// UNIMPLEMENTED if the operation is not defined for the type.
ReduceKernels reduce_kernels(ReduceOp op, DType dtype);

}  // namespace caudal::inline v0::kernels
