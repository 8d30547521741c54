// Tensors in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::cli {

// {"dtype": "float32", "shape": [2], "values": [0.5, null]}: values in row-major order with as many digits as tell them
// apart, null for what is not finite, [re, im] for complex ones; no values above `limit` elements, nor for handles.
std::string tensor_json(const Tensor& tensor, std::int64_t limit = 10'000);

}  // namespace caudal::inline v0::cli
