// Deterministic tensors for tests: the same arguments give the same values on every machine.
#pragma once

#include <cstdint>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::harness {

// Where values are drawn from, uniformly. Limits are cut to what the type can hold (no negative unsigned numbers).
// Floating and complex values keep `clear` away from every integer, so that the kinks of usual functions (0, 1, 6,
// rounding) are not met by accident and finite differences make sense.
struct ValueRange {
  double low = -5;
  double high = 5;
  double clear = 0.1;
};

// Any type but resource and variant; strings are short lower-case words, bools fair, quantised types as their integers.
// Throws INVALID_ARGUMENT for a range without a value of the type.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed = 1, const ValueRange& range = {});

// `values` converted to `dtype` as static_cast does (real types and bool; complex gets no imaginary part).
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values);

// The values that arithmetic trips over: 0, -0, 1, -1, infinities, NaN, the largest, smallest and denormal numbers;
// for integers the limits and their neighbours. A vector of 37 elements, so that SIMD lanes and tails see them.
Tensor special_values(DType dtype);

// The same values in memory that does not begin at its buffer's start (nor at a SIMD boundary).
Tensor offset_view(const Tensor& tensor);

}  // namespace caudal::inline v0::harness
