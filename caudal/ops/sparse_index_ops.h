// Sparse tensors rearranged: sorted, reshaped, cut, joined, filled.
//
// Errors: INVALID_ARGUMENT, at run time, for indices, values and shapes that do not fit each other.
// Thread safety: as building a graph.
#pragma once

#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0 {
namespace sparse {

// The same with sorted indices, row by row; equal ones keep their order.
CAUDAL_API SparseTensor reorder(const SparseTensor& sp_input, const OpOptions& options = {});

// The same elements, in row-major order, in another shape; one size may be -1.
CAUDAL_API SparseTensor reshape(const SparseTensor& sp_input, const Operand& shape, const OpOptions& options = {});

struct FilledRows {
  SparseTensor filled;         // [default_value] at column 0 of every row that had none; sorted by row
  Output empty_row_indicator;  // bool [rows]
};
CAUDAL_API FilledRows fill_empty_rows(const SparseTensor& sp_input, const Operand& default_value,
                                      const OpOptions& options = {});

// What lies in [start, start + size), as a tensor of its own.
CAUDAL_API SparseTensor slice(const SparseTensor& sp_input, const Operand& start, const Operand& size,
                              const OpOptions& options = {});

// Joined along `axis` (negative: from the end), sorted. The other sizes must agree.
CAUDAL_API SparseTensor concat(int axis, const std::vector<SparseTensor>& sp_inputs, const OpOptions& options = {});

// `num_split` pieces along `axis`; where the size is no multiple the first pieces get one more.
CAUDAL_API std::vector<SparseTensor> split(const SparseTensor& sp_input, int num_split, const Operand& axis,
                                           const OpOptions& options = {});

// The elements for which `to_retain`, a bool vector, is true.
CAUDAL_API SparseTensor retain(const SparseTensor& sp_input, const Operand& to_retain, const OpOptions& options = {});

}  // namespace sparse

namespace raw_ops {
struct FillEmptyRowsGrad {
  Output d_values, d_default_value;
};
CAUDAL_API FillEmptyRowsGrad sparse_fill_empty_rows_grad(const Operand& reverse_index_map, const Operand& grad_values,
                                                         const OpOptions& options = {});
CAUDAL_API Output sparse_slice_grad(const Operand& backprop_val_grad, const Operand& input_indices,
                                    const Operand& input_start, const Operand& output_indices,
                                    const OpOptions& options = {});
}  // namespace raw_ops
}  // namespace caudal::inline v0
