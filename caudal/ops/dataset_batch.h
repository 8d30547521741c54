// Stacking elements, for the datasets that do so. Internal to ops.
#pragma once

#include <vector>

#include "caudal/ops/dataset.h"

namespace caudal::inline v0::ops {

// The elements of `input`, `batch_size` at a time, stacked.
DatasetPtr batched(Dataset::Spec spec, DatasetPtr input, std::int64_t batch_size, bool drop_remainder);

// Tensors of one rank and type as the rows of one, each filled up to shape `row` with the scalar `value`. Any type.
// REQUIRES: no row is larger.
Tensor padded_stack(const std::vector<const Tensor*>& rows, const Shape& row, const Tensor& value,
                    Allocator& allocator);

}  // namespace caudal::inline v0::ops
