// Rows of tensors of any type: stacking and unstacking.
//
// Thread safety: as tensors.
#pragma once

#include <cstdint>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::ops {

// The shape of a stack of `rows` tensors of `row`'s shape.
Shape stacked_shape(std::int64_t rows, const Shape& row);
// The shape of a row. REQUIRES: rank > 0.
Shape row_shape(const Shape& stack);
// Writes `row` at position i of `stack`, whose rows have as many elements.
void put_row(const Tensor& row, Tensor& stack, std::int64_t i);
// Row i of `stack`, over the same memory.
Tensor take_row(const Tensor& stack, std::int64_t i);

}  // namespace caudal::inline v0::ops
