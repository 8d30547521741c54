#include "caudal/ops/training_ops.h"

#include "caudal/graph/scope.h"
#include "caudal/ops/training_ops_kernel.h"

namespace caudal::inline v0 {
namespace {

// ---- Kernels

void gradient_descent(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                      const kernels::StepScalar* s, bool) {
  kernels::apply_gradient_descent(pool, dtype, n, v[0], s[0], grad);
}
void momentum(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
              const kernels::StepScalar* s, bool nesterov) {
  kernels::apply_momentum(pool, dtype, n, v[0], v[1], grad, {.rate = s[0], .momentum = s[1], .nesterov = nesterov});
}
void adam(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad, const kernels::StepScalar* s,
          bool nesterov) {
  kernels::apply_adam(pool, dtype, n, v[0], v[1], v[2], grad,
                      {.rate = s[2],
                       .beta1 = s[3],
                       .beta2 = s[4],
                       .epsilon = s[5],
                       .beta1_power = s[0],
                       .beta2_power = s[1],
                       .nesterov = nesterov});
}
kernels::RmsPropStep rmsprop_step(const kernels::StepScalar* s) {
  return {.rate = s[0], .rho = s[1], .momentum = s[2], .epsilon = s[3]};
}
void rmsprop(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
             const kernels::StepScalar* s, bool) {
  kernels::apply_rmsprop(pool, dtype, n, v[0], v[1], v[2], grad, rmsprop_step(s));
}
void centered_rmsprop(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                      const kernels::StepScalar* s, bool) {
  kernels::apply_centered_rmsprop(pool, dtype, n, v[0], v[1], v[2], v[3], grad, rmsprop_step(s));
}
void adagrad(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
             const kernels::StepScalar* s, bool update_slots) {
  kernels::apply_adagrad(pool, dtype, n, v[0], v[1], grad, {.rate = s[0], .update_slots = update_slots});
}
void adagrad_v2(ThreadPool& pool, DType dtype, std::int64_t n, char* const* v, const char* grad,
                const kernels::StepScalar* s, bool update_slots) {
  kernels::apply_adagrad(pool, dtype, n, v[0], v[1], grad,
                         {.rate = s[0], .epsilon = s[1], .update_slots = update_slots});
}

// ---- Registrations

#define CAUDAL_VAR_MS_MOM(V) V("var") V("ms") V("mom")
#define CAUDAL_VAR_MG_MS_MOM(V) V("var") V("mg") V("ms") V("mom")

CAUDAL_REGISTER_TRAINING("ApplyGradientDescent", CAUDAL_VAR, "alpha: T; delta: T", CAUDAL_LOCKING, gradient_descent,
                         kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyMomentum", CAUDAL_VAR_ACCUM, "lr: T; grad: T; momentum: T", CAUDAL_NESTEROV, momentum,
                         kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyAdam", CAUDAL_VAR_M_V,
                         "beta1_power: T; beta2_power: T; lr: T; beta1: T; beta2: T; epsilon: T; grad: T",
                         CAUDAL_NESTEROV, adam, kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyRMSProp", CAUDAL_VAR_MS_MOM, "lr: T; rho: T; momentum: T; epsilon: T; grad: T",
                         CAUDAL_LOCKING, rmsprop, kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyCenteredRMSProp", CAUDAL_VAR_MG_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T", CAUDAL_LOCKING, centered_rmsprop,
                         kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyAdagrad", CAUDAL_VAR_ACCUM, "lr: T; grad: T", CAUDAL_UPDATE_SLOTS, adagrad, kComplexToo);
CAUDAL_REGISTER_TRAINING("ApplyAdagradV2", CAUDAL_VAR_ACCUM, "lr: T; epsilon: T; grad: T", CAUDAL_UPDATE_SLOTS,
                         adagrad_v2, kComplexToo);
CAUDAL_REGISTER_TRAINING("SparseApplyMomentum", CAUDAL_VAR_ACCUM, "lr: T; grad: T; indices: Tindices; momentum: T",
                         CAUDAL_INDICES CAUDAL_NESTEROV, momentum, kComplexToo);
CAUDAL_REGISTER_TRAINING("SparseApplyRMSProp", CAUDAL_VAR_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_LOCKING, rmsprop, kComplexToo);
CAUDAL_REGISTER_TRAINING("SparseApplyCenteredRMSProp", CAUDAL_VAR_MG_MS_MOM,
                         "lr: T; rho: T; momentum: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_LOCKING, centered_rmsprop, kComplexToo);
CAUDAL_REGISTER_TRAINING("SparseApplyAdagrad", CAUDAL_VAR_ACCUM, "lr: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_UPDATE_SLOTS, adagrad, kComplexToo | kNeedsColumns);
CAUDAL_REGISTER_TRAINING("SparseApplyAdagradV2", CAUDAL_VAR_ACCUM, "lr: T; epsilon: T; grad: T; indices: Tindices",
                         CAUDAL_INDICES CAUDAL_UPDATE_SLOTS, adagrad_v2, kComplexToo | kNeedsColumns);

// ---- Public functions

}  // namespace

IndexedSlices sum_duplicates(const IndexedSlices& slices, const std::source_location& where) {
  const LocationScope location(where);
  Node& unique = OpBuilder("Unique", {}).input(slices.indices).build_node();
  const Output count = OpBuilder("Size", {}).input(unique.output(0)).build();
  const Output values =
      OpBuilder("UnsortedSegmentSum", {}).input(slices.values).input(unique.output(1)).input(count).build();
  return {.values = values, .indices = unique.output(0), .dense_shape = slices.dense_shape};
}

namespace raw_ops {

Operation apply_gradient_descent(const Variable& var, const Operand& alpha, const Operand& delta,
                                 const ApplyOptions& options) {
  return update_of("ApplyGradientDescent", {&var}, {&alpha, &delta}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                         const Operand& momentum, const ApplyNesterovOptions& options) {
  return update_of("ApplyMomentum", {&var, &accum}, {&lr, &grad, &momentum}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation apply_adam(const Variable& var, const Variable& m, const Variable& v, const Operand& beta1_power,
                     const Operand& beta2_power, const Operand& lr, const Operand& beta1, const Operand& beta2,
                     const Operand& epsilon, const Operand& grad, const ApplyNesterovOptions& options) {
  return update_of("ApplyAdam", {&var, &m, &v}, {&beta1_power, &beta2_power, &lr, &beta1, &beta2, &epsilon, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom, const Operand& lr,
                        const Operand& rho, const Operand& momentum, const Operand& epsilon, const Operand& grad,
                        const ApplyOptions& options) {
  return update_of("ApplyRMSProp", {&var, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms, const Variable& mom,
                                 const Operand& lr, const Operand& rho, const Operand& momentum, const Operand& epsilon,
                                 const Operand& grad, const ApplyOptions& options) {
  return update_of("ApplyCenteredRMSProp", {&var, &mg, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   update_node_options(options))
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                        const ApplyAdagradOptions& options) {
  return update_of("ApplyAdagrad", {&var, &accum}, {&lr, &grad}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr, const Operand& epsilon,
                           const Operand& grad, const ApplyAdagradOptions& options) {
  return update_of("ApplyAdagradV2", {&var, &accum}, {&lr, &epsilon, &grad}, update_node_options(options))
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation sparse_apply_momentum(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                                const Operand& indices, const Operand& momentum, const ApplyNesterovOptions& options) {
  return update_of("SparseApplyMomentum", {&var, &accum}, {&lr, &grad}, update_node_options(options))
      .input(indices, int32)
      .input(momentum, var.dtype())
      .attr("use_locking", options.use_locking)
      .attr("use_nesterov", options.use_nesterov)
      .build_operation();
}

Operation sparse_apply_rmsprop(const Variable& var, const Variable& ms, const Variable& mom, const Operand& lr,
                               const Operand& rho, const Operand& momentum, const Operand& epsilon, const Operand& grad,
                               const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyRMSProp", {&var, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_centered_rmsprop(const Variable& var, const Variable& mg, const Variable& ms,
                                        const Variable& mom, const Operand& lr, const Operand& rho,
                                        const Operand& momentum, const Operand& epsilon, const Operand& grad,
                                        const Operand& indices, const ApplyOptions& options) {
  return update_of("SparseApplyCenteredRMSProp", {&var, &mg, &ms, &mom}, {&lr, &rho, &momentum, &epsilon, &grad},
                   update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .build_operation();
}

Operation sparse_apply_adagrad(const Variable& var, const Variable& accum, const Operand& lr, const Operand& grad,
                               const Operand& indices, const ApplyAdagradOptions& options) {
  return update_of("SparseApplyAdagrad", {&var, &accum}, {&lr, &grad}, update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

Operation sparse_apply_adagrad_v2(const Variable& var, const Variable& accum, const Operand& lr, const Operand& epsilon,
                                  const Operand& grad, const Operand& indices, const ApplyAdagradOptions& options) {
  return update_of("SparseApplyAdagradV2", {&var, &accum}, {&lr, &epsilon, &grad}, update_node_options(options))
      .input(indices, int32)
      .attr("use_locking", options.use_locking)
      .attr("update_slots", options.update_slots)
      .build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
