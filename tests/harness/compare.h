// Comparing tensors in tests, with messages that say where and what.
#pragma once

#include <string>
#include <vector>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::harness {

// Elements of any real type, bool or quantised type as doubles.
std::vector<double> to_doubles(const Tensor& tensor);

// The tolerance of a type where nothing else is said: float64 1e-12, float32 1e-5, float16 2e-3, bfloat16 2e-2 (complex
// as their parts), 0 for all others.
double default_tolerance(DType dtype);

// Empty if type and shape agree and every element does within `tolerance` * max(1, |expected|); NaNs equal each other,
// infinities only themselves. tolerance 0: exactly, -0 equal to 0. Else a message with the first and the worst element.
std::string difference(const Tensor& expected, const Tensor& got, double tolerance);

// Empty if the elements agree bit by bit (all NaNs are one).
std::string bit_difference(const Tensor& expected, const Tensor& got);

}  // namespace caudal::inline v0::harness
