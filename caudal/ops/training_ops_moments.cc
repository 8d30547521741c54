#include "caudal/ops/training_ops_moments.h"

#include "caudal/ops/training_ops_kernel.h"

namespace caudal::inline v0 {
namespace {

// ---- Registrations

#define CAUDAL_VAR_ACCUM_ACCUM_UPDATE(V) V("var") V("accum") V("accum_update")
#define CAUDAL_VAR_M_V_VHAT(V) V("var") V("m") V("v") V("vhat")
#define CAUDAL_VAR_M(V) V("var") V("m")

CAUDAL_REGISTER_TRAINING("ApplyAdadelta", CAUDAL_VAR_ACCUM_ACCUM_UPDATE, "lr: T; rho: T; epsilon: T; grad: T",
                         CAUDAL_LOCKING, rule_step<kernels::UpdateRule::kAdadelta>, kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyAdaMax", CAUDAL_VAR_M_V,
                         "beta1_power: T; lr: T; beta1: T; beta2: T; epsilon: T; grad: T", CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kAdaMax>, kRealOnly);
CAUDAL_REGISTER_RESOURCE_TRAINING("ApplyAdamWithAmsgrad", CAUDAL_VAR_M_V_VHAT,
                                  "beta1_power: T; beta2_power: T; lr: T; beta1: T; beta2: T; epsilon: T; grad: T",
                                  CAUDAL_LOCKING, rule_step<kernels::UpdateRule::kAmsgrad>, kRealOnly);
CAUDAL_REGISTER_TRAINING("ApplyAddSign", CAUDAL_VAR_M, "lr: T; alpha: T; sign_decay: T; beta: T; grad: T",
                         CAUDAL_LOCKING, rule_step<kernels::UpdateRule::kAddSign>, kRealOnly);
CAUDAL_REGISTER_TRAINING("ApplyPowerSign", CAUDAL_VAR_M, "lr: T; logbase: T; sign_decay: T; beta: T; grad: T",
                         CAUDAL_LOCKING, rule_step<kernels::UpdateRule::kPowerSign>, kRealOnly);
CAUDAL_REGISTER_RESOURCE_TRAINING("ApplyKerasMomentum", CAUDAL_VAR_ACCUM, "lr: T; grad: T; momentum: T",
                                  CAUDAL_NESTEROV, rule_step<kernels::UpdateRule::kKerasMomentum>, kComplexToo);
CAUDAL_REGISTER_TRAINING("SparseApplyAdadelta", CAUDAL_VAR_ACCUM_ACCUM_UPDATE,
                         "lr: T; rho: T; epsilon: T; grad: T; indices: Tindices", CAUDAL_INDICES CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kAdadelta>, kComplexToo);
CAUDAL_REGISTER_RESOURCE_TRAINING("SparseApplyKerasMomentum", CAUDAL_VAR_ACCUM,
                                  "lr: T; grad: T; indices: Tindices; momentum: T", CAUDAL_INDICES CAUDAL_NESTEROV,
                                  rule_step<kernels::UpdateRule::kKerasMomentum>, kComplexToo);

// ---- Public functions

void require_resource(const char* op, const Variable& var, const std::source_location& where) {
  if (var.is_resource()) return;
  throw invalid_argument(op, " is for resource variables; '", var.op_name(), "' is a reference")
      .made_at(short_location(where))
      .hint("Make it with .use_resource = true.");
}

}  // namespace

namespace raw_ops {

Operation apply_adadelta(const Variable& var, const Variable& accum, const Variable& accum_update, const Operand& lr,
                         const Operand& rho, const Operand& epsilon, const Operand& grad, const ApplyOptions& options) {
  return update_of("ApplyAdadelta", {&var, &accum, &accum_update}, {&lr, &rho, &epsilon, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_ada_max(const Variable& var, const Variable& m, const Variable& v, const Operand& beta1_power,
                        const Operand& lr, const Operand& beta1, const Operand& beta2, const Operand& epsilon,
                        const Operand& grad, const ApplyOptions& options) {
  return update_of("ApplyAdaMax", {&var, &m, &v}, {&beta1_power, &lr, &beta1, &beta2, &epsilon, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_adam_with_amsgrad(const Variable& var, const Variable& m, const Variable& v, const Variable& vhat,
                                  const Operand& beta1_power, const Operand& beta2_power, const Operand& lr,
                                  const Operand& beta1, const Operand& beta2, const Operand& epsilon,
                                  const Operand& grad, const ApplyOptions& options) {
  require_resource("ApplyAdamWithAmsgrad", var, options.where);
  return update_of("ApplyAdamWithAmsgrad", {&var, &m, &v, &vhat},
                   {&beta1_power, &beta2_power, &lr, &beta1, &beta2, &epsilon, &grad}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_add_sign(const Variable& var, const Variable& m, const Operand& lr, const Operand& alpha,
                         const Operand& sign_decay, const Operand& beta, const Operand& grad,
                         const ApplyOptions& options) {
  return update_of("ApplyAddSign", {&var, &m}, {&lr, &alpha, &sign_decay, &beta, &grad}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_power_sign(const Variable& var, const Variable& m, const Operand& lr, const Operand& logbase,
                           const Operand& sign_decay, const Operand& beta, const Operand& grad,
                           const ApplyOptions& options) {
  return update_of("ApplyPowerSign", {&var, &m}, {&lr, &logbase, &sign_decay, &beta, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_keras_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                               const Operand& momentum, const ApplyNesterovOptions& options) {
  require_resource("ApplyKerasMomentum", var, options.where);
  return update_of("ApplyKerasMomentum", {&var, &accum}, {&lr, &grad, &momentum}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation sparse_apply_adadelta(const Variable& var, const Variable& accum, const Variable& accum_update,
                                const Operand& lr, const Operand& rho, const Operand& epsilon, const Operand& grad,
                                const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyAdadelta", {&var, &accum, &accum_update}, {&lr, &rho, &epsilon, &grad},
                   update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_keras_momentum(const Variable& var, const Variable& accum, const Operand& lr,
                                      const Operand& grad, const Operand& indices, const Operand& momentum,
                                      const ApplyNesterovOptions& options) {
  require_resource("SparseApplyKerasMomentum", var, options.where);
  return update_of("SparseApplyKerasMomentum", {&var, &accum}, {&lr, &grad}, update_node_options(options))
      .input(indices, int32)
      .input(momentum, var.dtype())
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
