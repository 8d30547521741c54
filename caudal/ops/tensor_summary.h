// Values in messages, written as TensorFlow's Print, Assert and StringFormat write them. Internal to ops.
#pragma once

#include <cstdint>
#include <string>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::ops {

// The first `most` elements (all if negative): "1 2 3...", rows in brackets, texts as they are.
std::string summarize(const Tensor& value, std::int64_t most);
// The first and last `at_ends` elements of each dimension (all if -1): "[1 2 3 ... 7 8 9]", texts in quotes.
std::string summarize_ends(const Tensor& value, std::int64_t at_ends);

}  // namespace caudal::inline v0::ops
