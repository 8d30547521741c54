// Small things that many op families need.
//
// Thread safety: as building a graph; functions of values are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/graph/builder.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// The value of an integer vector as a shape. Throws INVALID_ARGUMENT, naming it `what`, for a tensor that is no vector
// and for sizes that are no shape.
Shape shape_from(const Tensor& sizes, std::string_view what);

// An axis counted from the front: axis + rank if it is negative. Throws INVALID_ARGUMENT unless -rank <= axis < rank.
int normalized_axis(std::int64_t axis, int rank, std::string_view what = "axis");

// What two shapes together say. Throws INVALID_ARGUMENT, in the words of TensorFlow's kernels, if they contradict.
PartialShape merge_shapes(const PartialShape& a, const PartialShape& b);

// The value of a scalar integer tensor (one element of any rank). Throws INVALID_ARGUMENT, naming it `what`.
std::int64_t scalar_int(const Tensor& value, std::string_view what);

// "float", "half", "int32": as TensorFlow's kernels spell types in messages that programs match on.
std::string kernel_type_name(DType dtype);

// All outputs of a node, in order.
std::vector<Output> outputs_of(Node& node);

// A vector of int32 or int64 as a constant node.
Output int32_vector(const std::vector<std::int64_t>& values);
Output int64_vector(const std::vector<std::int64_t>& values);

// int32 vector 0, 1, .. rank - 1: a constant if the rank is known, else made at run time.
Output all_axes(const Output& x);
// The shape of x as int32 vector: a constant if it is known, else a Shape node.
Output shape_of(const Output& x, DType out_type = DType::kInt32);

}  // namespace caudal::inline v0
