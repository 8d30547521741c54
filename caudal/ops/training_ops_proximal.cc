#include "caudal/ops/training_ops_proximal.h"

#include "caudal/ops/training_ops_kernel.h"

namespace caudal::inline v0 {
namespace {

// ---- Kernels

// The first version has no l2_shrinkage.
void ftrl_step(ThreadPool& pool, DType dtype, std::int64_t n, char* const* variables, const char* grad,
               const kernels::StepScalar* s, bool multiplied) {
  const kernels::StepScalar scalars[] = {s[0], s[1], s[2], 0, s[3], 0};
  kernels::apply_update(pool, kernels::UpdateRule::kFtrl, dtype, n, variables, grad, scalars, multiplied);
}

// ---- Registrations

#define CAUDAL_FTRL "use_locking: bool = false; multiply_linear_by_lr: bool = false"
#define CAUDAL_VAR_GRADIENT_ACCUMULATOR_GRADIENT_SQUARED_ACCUMULATOR(V) \
  V("var") V("gradient_accumulator") V("gradient_squared_accumulator")
#define CAUDAL_VAR_ACCUM_LINEAR(V) V("var") V("accum") V("linear")

CAUDAL_REGISTER_TRAINING("ApplyProximalGradientDescent", CAUDAL_VAR, "alpha: T; l1: T; l2: T; delta: T", CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kProximalDescent>, kRealOnly);
CAUDAL_REGISTER_TRAINING("ApplyProximalAdagrad", CAUDAL_VAR_ACCUM, "lr: T; l1: T; l2: T; grad: T", CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kProximalAdagrad>, kChecksSigns);
CAUDAL_REGISTER_TRAINING("ApplyAdagradDA", CAUDAL_VAR_GRADIENT_ACCUMULATOR_GRADIENT_SQUARED_ACCUMULATOR,
                         "grad: T; lr: T; l1: T; l2: T; global_step: int64", CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kAdagradDa>, kRealOnly);
CAUDAL_REGISTER_TRAINING("ApplyFtrl", CAUDAL_VAR_ACCUM_LINEAR, "grad: T; lr: T; l1: T; l2: T; lr_power: T", CAUDAL_FTRL,
                         ftrl_step, kRealOnly);
CAUDAL_REGISTER_TRAINING("ApplyFtrlV2", CAUDAL_VAR_ACCUM_LINEAR,
                         "grad: T; lr: T; l1: T; l2: T; l2_shrinkage: T; lr_power: T", CAUDAL_FTRL,
                         rule_step<kernels::UpdateRule::kFtrl>, kRealOnly);
CAUDAL_REGISTER_TRAINING("SparseApplyProximalGradientDescent", CAUDAL_VAR,
                         "alpha: T; l1: T; l2: T; grad: T; indices: Tindices", CAUDAL_INDICES CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kProximalDescent>, kNeedsColumns);
CAUDAL_REGISTER_TRAINING("SparseApplyProximalAdagrad", CAUDAL_VAR_ACCUM,
                         "lr: T; l1: T; l2: T; grad: T; indices: Tindices", CAUDAL_INDICES CAUDAL_LOCKING,
                         rule_step<kernels::UpdateRule::kProximalAdagrad>, kChecksSigns | kNeedsColumns);
CAUDAL_REGISTER_TRAINING("SparseApplyAdagradDA", CAUDAL_VAR_GRADIENT_ACCUMULATOR_GRADIENT_SQUARED_ACCUMULATOR,
                         "grad: T; indices: Tindices; lr: T; l1: T; l2: T; global_step: int64",
                         CAUDAL_INDICES CAUDAL_LOCKING, rule_step<kernels::UpdateRule::kAdagradDa>, kNeedsColumns);
CAUDAL_REGISTER_TRAINING("SparseApplyFtrl", CAUDAL_VAR_ACCUM_LINEAR,
                         "grad: T; indices: Tindices; lr: T; l1: T; l2: T; lr_power: T", CAUDAL_INDICES CAUDAL_FTRL,
                         ftrl_step, kChecksSigns | kNeedsColumns);
CAUDAL_REGISTER_TRAINING("SparseApplyFtrlV2", CAUDAL_VAR_ACCUM_LINEAR,
                         "grad: T; indices: Tindices; lr: T; l1: T; l2: T; l2_shrinkage: T; lr_power: T",
                         CAUDAL_INDICES CAUDAL_FTRL, rule_step<kernels::UpdateRule::kFtrl>,
                         kChecksSigns | kNeedsColumns);

// ---- Public functions

}  // namespace

namespace raw_ops {

Operation apply_proximal_gradient_descent(const Variable& var, const Operand& alpha, const Operand& l1,
                                          const Operand& l2, const Operand& delta, const ApplyOptions& options) {
  return update_of("ApplyProximalGradientDescent", {&var}, {&alpha, &l1, &l2, &delta}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_proximal_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& l1,
                                 const Operand& l2, const Operand& grad, const ApplyOptions& options) {
  return update_of("ApplyProximalAdagrad", {&var, &accum}, {&lr, &l1, &l2, &grad}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_adagrad_da(const Variable& var, const Variable& gradient_accumulator,
                           const Variable& gradient_squared_accumulator, const Operand& grad, const Operand& lr,
                           const Operand& l1, const Operand& l2, const Operand& global_step,
                           const ApplyOptions& options) {
  return update_of("ApplyAdagradDA", {&var, &gradient_accumulator, &gradient_squared_accumulator},
                   {&grad, &lr, &l1, &l2}, update_node_options(options))
      .input(global_step, int64)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_ftrl(const Variable& var, const Variable& accum, const Variable& linear, const Operand& grad,
                     const Operand& lr, const Operand& l1, const Operand& l2, const Operand& lr_power,
                     const ApplyFtrlOptions& options) {
  return update_of("ApplyFtrl", {&var, &accum, &linear}, {&grad, &lr, &l1, &l2, &lr_power},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("multiply_linear_by_lr", options.multiply_linear_by_lr)
      .build_operation();
}

Operation apply_ftrl_v2(const Variable& var, const Variable& accum, const Variable& linear, const Operand& grad,
                        const Operand& lr, const Operand& l1, const Operand& l2, const Operand& l2_shrinkage,
                        const Operand& lr_power, const ApplyFtrlOptions& options) {
  return update_of("ApplyFtrlV2", {&var, &accum, &linear}, {&grad, &lr, &l1, &l2, &l2_shrinkage, &lr_power},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("multiply_linear_by_lr", options.multiply_linear_by_lr)
      .build_operation();
}

Operation sparse_apply_proximal_gradient_descent(const Variable& var, const Operand& alpha, const Operand& l1,
                                                 const Operand& l2, const Operand& grad, const Operand& indices,
                                                 const ApplyOptions& options) {
  return update_of("SparseApplyProximalGradientDescent", {&var}, {&alpha, &l1, &l2, &grad},
                   update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_proximal_adagrad(const Variable& var, const Variable& accum, const Operand& lr,
                                        const Operand& l1, const Operand& l2, const Operand& grad,
                                        const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyProximalAdagrad", {&var, &accum}, {&lr, &l1, &l2, &grad}, update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_adagrad_da(const Variable& var, const Variable& gradient_accumulator,
                                  const Variable& gradient_squared_accumulator, const Operand& grad,
                                  const Operand& indices, const Operand& lr, const Operand& l1, const Operand& l2,
                                  const Operand& global_step, const ApplyOptions& options) {
  return update_of("SparseApplyAdagradDA", {&var, &gradient_accumulator, &gradient_squared_accumulator}, {&grad},
                   update_node_options(options))
      .input(indices, int32)
      .input(lr, var.dtype())
      .input(l1, var.dtype())
      .input(l2, var.dtype())
      .input(global_step, int64)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_ftrl(const Variable& var, const Variable& accum, const Variable& linear, const Operand& grad,
                            const Operand& indices, const Operand& lr, const Operand& l1, const Operand& l2,
                            const Operand& lr_power, const ApplyFtrlOptions& options) {
  return update_of("SparseApplyFtrl", {&var, &accum, &linear}, {&grad}, update_node_options(options))
      .input(indices, int32)
      .input(lr, var.dtype())
      .input(l1, var.dtype())
      .input(l2, var.dtype())
      .input(lr_power, var.dtype())
      .attr("use_locking", options.use_locking)
      .attr("multiply_linear_by_lr", options.multiply_linear_by_lr)
      .build_operation();
}

Operation sparse_apply_ftrl_v2(const Variable& var, const Variable& accum, const Variable& linear, const Operand& grad,
                               const Operand& indices, const Operand& lr, const Operand& l1, const Operand& l2,
                               const Operand& l2_shrinkage, const Operand& lr_power, const ApplyFtrlOptions& options) {
  return update_of("SparseApplyFtrlV2", {&var, &accum, &linear}, {&grad}, update_node_options(options))
      .input(indices, int32)
      .input(lr, var.dtype())
      .input(l1, var.dtype())
      .input(l2, var.dtype())
      .input(l2_shrinkage, var.dtype())
      .input(lr_power, var.dtype())
      .attr("use_locking", options.use_locking)
      .attr("multiply_linear_by_lr", options.multiply_linear_by_lr)
      .build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
