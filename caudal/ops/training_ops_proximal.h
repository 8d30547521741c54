// Updates with penalties on the size of the weights (l1, l2), which set small ones to exactly 0: proximal gradient
// descent and Adagrad, Adagrad's dual averaging, FTRL. Real variables only. Conventions and errors: training_ops.h; the
// formulas: kernels/update_rules.h. Besides, INVALID_ARGUMENT: in the updates of ProximalAdagrad and the sparse ones of
// Ftrl for an lr that is not positive and negative penalties; there also for a positive lr_power.
#pragma once

#include "caudal/ops/training_ops.h"

namespace caudal::inline v0::raw_ops {

struct ApplyFtrlOptions {
  bool use_locking = false;
  bool multiply_linear_by_lr = false;  // linear is kept multiplied by lr
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// prox = var - alpha * delta; var = sign(prox) * max(|prox| - alpha * l1, 0) / (1 + l2 * alpha).
CAUDAL_API Operation apply_proximal_gradient_descent(const Variable& var, const Operand& alpha, const Operand& l1,
                                                     const Operand& l2, const Operand& delta,
                                                     const ApplyOptions& options = {});
// The same with alpha = lr / sqrt(accum), accum += grad^2.
CAUDAL_API Operation apply_proximal_adagrad(const Variable& var, const Variable& accum, const Operand& lr,
                                            const Operand& l1, const Operand& l2, const Operand& grad,
                                            const ApplyOptions& options = {});
// var = -lr * sign(sum) * max(|sum| - l1 * global_step, 0) / (l2 * global_step * lr + sqrt(squares)) of the sums of the
// gradients and of their squares. global_step: int64.
CAUDAL_API Operation apply_adagrad_da(const Variable& var, const Variable& gradient_accumulator,
                                      const Variable& gradient_squared_accumulator, const Operand& grad,
                                      const Operand& lr, const Operand& l1, const Operand& l2,
                                      const Operand& global_step, const ApplyOptions& options = {});
// Follow the regularised leader: McMahan et al. 2013. The second version adds 2 * l2_shrinkage * var to the gradient.
CAUDAL_API Operation apply_ftrl(const Variable& var, const Variable& accum, const Variable& linear, const Operand& grad,
                                const Operand& lr, const Operand& l1, const Operand& l2, const Operand& lr_power,
                                const ApplyFtrlOptions& options = {});
CAUDAL_API Operation apply_ftrl_v2(const Variable& var, const Variable& accum, const Variable& linear,
                                   const Operand& grad, const Operand& lr, const Operand& l1, const Operand& l2,
                                   const Operand& l2_shrinkage, const Operand& lr_power,
                                   const ApplyFtrlOptions& options = {});

// grad: [k, ...], indices: int32 or int64 [k].
CAUDAL_API Operation sparse_apply_proximal_gradient_descent(const Variable& var, const Operand& alpha,
                                                            const Operand& l1, const Operand& l2, const Operand& grad,
                                                            const Operand& indices, const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_proximal_adagrad(const Variable& var, const Variable& accum, const Operand& lr,
                                                   const Operand& l1, const Operand& l2, const Operand& grad,
                                                   const Operand& indices, const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_adagrad_da(const Variable& var, const Variable& gradient_accumulator,
                                             const Variable& gradient_squared_accumulator, const Operand& grad,
                                             const Operand& indices, const Operand& lr, const Operand& l1,
                                             const Operand& l2, const Operand& global_step,
                                             const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_ftrl(const Variable& var, const Variable& accum, const Variable& linear,
                                       const Operand& grad, const Operand& indices, const Operand& lr,
                                       const Operand& l1, const Operand& l2, const Operand& lr_power,
                                       const ApplyFtrlOptions& options = {});
CAUDAL_API Operation sparse_apply_ftrl_v2(const Variable& var, const Variable& accum, const Variable& linear,
                                          const Operand& grad, const Operand& indices, const Operand& lr,
                                          const Operand& l1, const Operand& l2, const Operand& l2_shrinkage,
                                          const Operand& lr_power, const ApplyFtrlOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
