// The updates of optimisers as ops: one op changes a variable and its slots in one pass.
//
// Each function makes the op for reference variables (ApplyMomentum) or for resources (ResourceApplyMomentum), by what
// `var` is. The gradient has the variable's shape and type, the other operands are scalars of its type. Slots are
// variables of the same shape. Run time errors: INVALID_ARGUMENT for shapes that differ, FAILED_PRECONDITION for a
// variable or slot without a value; nothing is changed then. Types: half, bfloat16, float32, float64.
//
// The sparse ones update the rows `indices` of the variable with the rows of `grad`, one after another: a row that is
// named twice is updated twice. Optimisers add such gradients up first, see sum_duplicates().
// Thread safety: as building a graph.
#pragma once

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0 {

// The same gradient with every index once.
CAUDAL_API IndexedSlices sum_duplicates(const IndexedSlices& slices,
                                        const std::source_location& where = std::source_location::current());

namespace raw_ops {

struct ApplyOptions {
  bool use_locking = false;  // has no effect: updates always lock
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct ApplyNesterovOptions {
  bool use_locking = false;
  bool use_nesterov = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct ApplyAdagradOptions {
  bool use_locking = false;
  bool update_slots = true;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// var -= alpha * delta.
CAUDAL_API Operation apply_gradient_descent(const Variable& var, const Operand& alpha, const Operand& delta,
                                            const ApplyOptions& options = {});
// accum = momentum * accum + grad; var -= lr * accum; Nesterov: var -= lr * (grad + momentum * accum).
CAUDAL_API Operation apply_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                                    const Operand& momentum, const ApplyNesterovOptions& options = {});
// m and v are decaying means of grad and its square, corrected for their start by the powers of beta1 and beta2;
// var -= lr * m / (sqrt(v) + epsilon).
CAUDAL_API Operation apply_adam(const Variable& var, const Variable& m, const Variable& v, const Operand& beta1_power,
                                const Operand& beta2_power, const Operand& lr, const Operand& beta1,
                                const Operand& beta2, const Operand& epsilon, const Operand& grad,
                                const ApplyNesterovOptions& options = {});
// ms is a decaying mean of grad's square; mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom.
CAUDAL_API Operation apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom, const Operand& lr,
                                   const Operand& rho, const Operand& momentum, const Operand& epsilon,
                                   const Operand& grad, const ApplyOptions& options = {});
// The same with the variance, by mg, a decaying mean of grad, in place of the mean square.
CAUDAL_API Operation apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms,
                                            const Variable& mom, const Operand& lr, const Operand& rho,
                                            const Operand& momentum, const Operand& epsilon, const Operand& grad,
                                            const ApplyOptions& options = {});
// accum += grad^2; var -= lr * grad / sqrt(accum). The second version divides by sqrt(accum) + epsilon.
CAUDAL_API Operation apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                                   const ApplyAdagradOptions& options = {});
CAUDAL_API Operation apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr,
                                      const Operand& epsilon, const Operand& grad,
                                      const ApplyAdagradOptions& options = {});

// grad: [k, ...], indices: int32 or int64 [k]. INVALID_ARGUMENT for an index outside of the variable.
CAUDAL_API Operation sparse_apply_momentum(const Variable& var, const Variable& accum, const Operand& lr,
                                           const Operand& grad, const Operand& indices, const Operand& momentum,
                                           const ApplyNesterovOptions& options = {});
CAUDAL_API Operation sparse_apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom,
                                          const Operand& lr, const Operand& rho, const Operand& momentum,
                                          const Operand& epsilon, const Operand& grad, const Operand& indices,
                                          const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms,
                                                   const Variable& mom, const Operand& lr, const Operand& rho,
                                                   const Operand& momentum, const Operand& epsilon, const Operand& grad,
                                                   const Operand& indices, const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr,
                                          const Operand& grad, const Operand& indices,
                                          const ApplyAdagradOptions& options = {});
CAUDAL_API Operation sparse_apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr,
                                             const Operand& epsilon, const Operand& grad, const Operand& indices,
                                             const ApplyAdagradOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
