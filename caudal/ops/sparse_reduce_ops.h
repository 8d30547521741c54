// Reductions of sparse tensors; the places without a value do not take part.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0::sparse {

struct ReduceOptions {
  Operand axis = Tensor();  // an int32 scalar or vector; default: all axes
  bool keepdims = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Dense results; 0 where nothing is to reduce. INVALID_ARGUMENT for an axis outside the rank.
CAUDAL_API Output reduce_sum(const SparseTensor& sp_input, const ReduceOptions& options = {});
CAUDAL_API Output reduce_max(const SparseTensor& sp_input, const ReduceOptions& options = {});
// The same as sparse tensors: what has no value to reduce is left out.
CAUDAL_API SparseTensor reduce_sum_sparse(const SparseTensor& sp_input, const ReduceOptions& options = {});
CAUDAL_API SparseTensor reduce_max_sparse(const SparseTensor& sp_input, const ReduceOptions& options = {});

// Softmax along the last axis of a sparse tensor of rank 2 or more, over the values that are there. The result has the
// input's indices, which must be sorted.
CAUDAL_API SparseTensor softmax(const SparseTensor& sp_input, const OpOptions& options = {});

}  // namespace caudal::inline v0::sparse
