// Arithmetic of sparse tensors, with each other and with dense ones.
//
// Errors: INVALID_ARGUMENT, at run time, for indices, values and shapes that do not fit each other.
// Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/ops/sparse_tensor.h"

namespace caudal::inline v0 {
namespace sparse {

struct AddOptions {
  Operand threshold = 0;  // sums of two values of a smaller magnitude are left out
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The sum of two sparse tensors of one shape, whose indices are sorted.
CAUDAL_API SparseTensor add(const SparseTensor& a, const SparseTensor& b, const AddOptions& options = {});
// The sum with a dense tensor of the same shape, of rank 1 to 5.
CAUDAL_API Output add(const SparseTensor& a, const Operand& b, const OpOptions& options = {});

// The greater (lesser) of two sparse tensors of one shape, whose indices are sorted; what is in one alone meets 0.
CAUDAL_API SparseTensor maximum(const SparseTensor& sp_a, const SparseTensor& sp_b, const OpOptions& options = {});
CAUDAL_API SparseTensor minimum(const SparseTensor& sp_a, const SparseTensor& sp_b, const OpOptions& options = {});

struct SparseMatMulOptions {
  bool adjoint_a = false, adjoint_b = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// A matrix times a dense matrix: dense. Indices need not be sorted.
CAUDAL_API Output sparse_dense_matmul(const SparseTensor& sp_a, const Operand& b,
                                      const SparseMatMulOptions& options = {});

// Values combined with what stands at their place in `dense`, whose shape broadcasts to the sparse tensor's.
CAUDAL_API SparseTensor cwise_add(const SparseTensor& sp, const Operand& dense, const OpOptions& options = {});
CAUDAL_API SparseTensor cwise_multiply(const SparseTensor& sp, const Operand& dense, const OpOptions& options = {});
CAUDAL_API SparseTensor cwise_divide(const SparseTensor& sp, const Operand& dense, const OpOptions& options = {});

}  // namespace sparse

namespace raw_ops {
struct SparseAddGrad {
  Output a_val_grad, b_val_grad;
};
CAUDAL_API SparseAddGrad sparse_add_grad(const Operand& backprop_val_grad, const Operand& a_indices,
                                         const Operand& b_indices, const Operand& sum_indices,
                                         const OpOptions& options = {});
}  // namespace raw_ops
}  // namespace caudal::inline v0
