// Sparse tensors written out.
//
// Thread safety: as building a graph.
#pragma once

#include <string>

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0 {

struct SparseToDenseOptions {
  Operand default_value = 0;     // of the places that are not named; a scalar
  bool validate_indices = true;  // INVALID_ARGUMENT for indices that repeat or are not sorted
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// A tensor of shape `output_shape` with sparse_values[i] at sparse_indices[i]. sparse_indices: int32 or int64, a matrix
// of one index per row; a vector where the result is one; or one scalar. sparse_values: one per index, or a scalar for
// all. Throws INVALID_ARGUMENT for shapes that do not fit and, at run time, for indices outside.
CAUDAL_API Output sparse_to_dense(const Operand& sparse_indices, const Operand& output_shape,
                                  const Operand& sparse_values, const SparseToDenseOptions& options = {});

namespace sparse {
// The tensor that sp_input stands for.
CAUDAL_API Output to_dense(const SparseTensor& sp_input, const SparseToDenseOptions& options = {});
}  // namespace sparse

}  // namespace caudal::inline v0
