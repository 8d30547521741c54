// Inside of sgd: loops by instruction set.
#pragma once

#include <cstdint>

namespace caudal::inline v0::kernels {

struct SgdArrays {
  void* var = nullptr;
  const void* grad = nullptr;
  void *first = nullptr, *second = nullptr, *third = nullptr;  // slots
};

struct SgdScalar {
  double real = 0, imag = 0;
};

struct SgdScalars {
  SgdScalar rate, momentum, beta1, beta2, epsilon, beta1_power, beta2_power;
  bool update_slots = true;
};

using SgdLoop = void (*)(const SgdArrays& arrays, const SgdScalars& scalars, int64_t begin, int64_t end);

struct SgdLoops {
  SgdLoop descent, momentum, nesterov, adam, adam_nesterov, rmsprop, centered_rmsprop, adagrad;
};

// Loops of float.
const SgdLoops& sgd_loops_avx2();
const SgdLoops& sgd_loops_avx512();

}  // namespace caudal::inline v0::kernels
