// Shapes as values, and the same elements under another shape.
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct ShapeOptions {
  DType out_type = DType::kInt32;  // int32 or int64
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// The sizes of `input` as a vector. Run time error: INVALID_ARGUMENT if a size does not fit the type.
CAUDAL_API Output shape(const Operand& input, const ShapeOptions& options = {});
// The same of several tensors of one type.
CAUDAL_API std::vector<Output> shape_n(const std::vector<Output>& input, const ShapeOptions& options = {});
// Number of elements, a scalar.
CAUDAL_API Output size(const Operand& input, const ShapeOptions& options = {});
// Number of dimensions, an int32 scalar.
CAUDAL_API Output rank(const Operand& input, const OpOptions& options = {});

// The elements of `tensor` in row-major order under `shape` (int32 or int64 vector); one size may be -1, it is
// computed then. INVALID_ARGUMENT unless the element counts agree.
CAUDAL_API Output reshape(const Operand& tensor, const Operand& shape, const OpOptions& options = {});
// Puts a dimension of size 1 in front of dimension `axis` (-1: at the end). INVALID_ARGUMENT unless -rank-1 <= axis <=
// rank.
CAUDAL_API Output expand_dims(const Operand& input, const Operand& axis, const OpOptions& options = {});
// Removes the dimensions `axis`, which must have size 1; all of size 1 if the list is empty.
CAUDAL_API Output squeeze(const Operand& input, const std::vector<std::int64_t>& axis = {},
                          const OpOptions& options = {});
// `input` repeated to `shape` by numpy's rule. INVALID_ARGUMENT if it does not fit.
CAUDAL_API Output broadcast_to(const Operand& input, const Operand& shape, const OpOptions& options = {});
// `input`, of which more is known. Run time error: INVALID_ARGUMENT unless its shape fits `shape`.
CAUDAL_API Output ensure_shape(const Operand& input, const PartialShape& shape, const OpOptions& options = {});

}  // namespace caudal::inline v0
