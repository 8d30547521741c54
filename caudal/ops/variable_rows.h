// Rows of variables: updates of some of them and reads of some of them, without touching the others.
//
// `indices` (int32 or int64, any shape) name rows; `updates` has the shape indices.shape + variable.shape[1:], or is a
// scalar for all. Repeated indices take effect one after another, in order. Run time errors: INVALID_ARGUMENT for an
// index outside of the variable or another shape; nothing is changed then. The result is the variable's value
// afterwards. Thread safety: as building a graph.
#pragma once

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0 {

// ref[indices] = updates; +=; -=; *=; /=; the smaller; the larger.
CAUDAL_API Output scatter_update(const Variable& ref, const Operand& indices, const Operand& updates,
                                 const OpOptions& options = {});
CAUDAL_API Output scatter_add(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});
CAUDAL_API Output scatter_sub(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});
CAUDAL_API Output scatter_mul(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});
CAUDAL_API Output scatter_div(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});
CAUDAL_API Output scatter_min(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});
CAUDAL_API Output scatter_max(const Variable& ref, const Operand& indices, const Operand& updates,
                              const OpOptions& options = {});

namespace raw_ops {
struct ResourceGatherOptions {
  std::int64_t batch_dims = 0;
  bool validate_indices = true;  // has no effect: indices are always checked
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The rows of a resource variable: shape variable.shape[:batch_dims] + indices.shape[batch_dims:] +
// variable.shape[batch_dims + 1:]. The gradient is sparse.
CAUDAL_API Output resource_gather(const Output& resource, const Operand& indices, DType dtype,
                                  const ResourceGatherOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
