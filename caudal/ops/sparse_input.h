// Sparse tensors as kernels see them: three inputs, checked.
//
// Thread safety: pure functions; a view borrows from the run's inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// One of TensorFlow's sparse tensors: values[k] stands at indices[k].
struct SparseView {
  std::span<const std::int64_t> indices;  // [count, rank], row-major
  const Tensor* values = nullptr;
  std::vector<std::int64_t> dims;
  std::int64_t count = 0;
  int rank = 0;

  std::span<const std::int64_t> index(std::int64_t k) const {
    return indices.subspan(static_cast<std::size_t>(k) * rank, rank);
  }
};

// What the kernel demands of the indices.
enum class IndexOrder {
  kAny,     // not even inside the shape
  kInside,  // each inside the shape
  kStrict,  // each inside the shape and after the one before
};

// The sparse tensor in inputs `indices`, `values` and `shape` of the node, whatever their order. Throws
// INVALID_ARGUMENT, with the names of the arguments, for ranks and sizes that do not fit, and for indices against
// `order`.
SparseView sparse_input(RunContext& c, int indices, int values, int shape, IndexOrder order);
// The same of tensors; `what` names the sparse tensor.
SparseView sparse_view(const Tensor& indices, const Tensor& values, const Tensor& shape, IndexOrder order,
                       std::string_view what);
// Throws INVALID_ARGUMENT for the first index against `order`.
void check_indices(const SparseView& view, IndexOrder order, std::string_view what);

// "[1,2]".
std::string index_text(std::span<const std::int64_t> index);

// Shape inference: the ranks of the three inputs and their common sizes. Returns the dense shape as far as it is known.
PartialShape sparse_input_shape(ShapeContext& c, int indices, int values, int shape);

}  // namespace caudal::inline v0
