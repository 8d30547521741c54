// Updates of the optimisers that keep running means: Adadelta, AdaMax, Adam with AMSGrad, AddSign, PowerSign and the
// momentum of Keras. Conventions, types and errors: training_ops.h; the formulas: kernels/update_rules.h.
#pragma once

#include "caudal/ops/training_ops.h"

namespace caudal::inline v0::raw_ops {

// accum and accum_update are decaying means of the squares of the gradient and of the steps;
// var -= lr * grad * sqrt(accum_update + epsilon) / sqrt(accum + epsilon).
CAUDAL_API Operation apply_adadelta(const Variable& var, const Variable& accum, const Variable& accum_update,
                                    const Operand& lr, const Operand& rho, const Operand& epsilon, const Operand& grad,
                                    const ApplyOptions& options = {});
// v = max(beta2 * v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon). No complex variables.
CAUDAL_API Operation apply_ada_max(const Variable& var, const Variable& m, const Variable& v,
                                   const Operand& beta1_power, const Operand& lr, const Operand& beta1,
                                   const Operand& beta2, const Operand& epsilon, const Operand& grad,
                                   const ApplyOptions& options = {});
// Adam, with the largest v so far, vhat, under the root. Resource variables only; none complex.
CAUDAL_API Operation apply_adam_with_amsgrad(const Variable& var, const Variable& m, const Variable& v,
                                             const Variable& vhat, const Operand& beta1_power,
                                             const Operand& beta2_power, const Operand& lr, const Operand& beta1,
                                             const Operand& beta2, const Operand& epsilon, const Operand& grad,
                                             const ApplyOptions& options = {});
// m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad. No complex
// variables.
CAUDAL_API Operation apply_add_sign(const Variable& var, const Variable& m, const Operand& lr, const Operand& alpha,
                                    const Operand& sign_decay, const Operand& beta, const Operand& grad,
                                    const ApplyOptions& options = {});
// The same m; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad. No complex variables.
CAUDAL_API Operation apply_power_sign(const Variable& var, const Variable& m, const Operand& lr, const Operand& logbase,
                                      const Operand& sign_decay, const Operand& beta, const Operand& grad,
                                      const ApplyOptions& options = {});
// accum = momentum * accum - lr * grad; var += accum, Nesterov: var += momentum * accum - lr * grad. Resource variables
// only.
CAUDAL_API Operation apply_keras_momentum(const Variable& var, const Variable& accum, const Operand& lr,
                                          const Operand& grad, const Operand& momentum,
                                          const ApplyNesterovOptions& options = {});

// grad: [k, ...], indices: int32 or int64 [k].
CAUDAL_API Operation sparse_apply_adadelta(const Variable& var, const Variable& accum, const Variable& accum_update,
                                           const Operand& lr, const Operand& rho, const Operand& epsilon,
                                           const Operand& grad, const Operand& indices,
                                           const ApplyOptions& options = {});
CAUDAL_API Operation sparse_apply_keras_momentum(const Variable& var, const Variable& accum, const Operand& lr,
                                                 const Operand& grad, const Operand& indices, const Operand& momentum,
                                                 const ApplyNesterovOptions& options = {});

}  // namespace caudal::inline v0::raw_ops
