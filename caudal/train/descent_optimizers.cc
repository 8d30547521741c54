#include "caudal/train/descent_optimizers.h"

#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/training_ops.h"
#include "caudal/ops/training_ops_proximal.h"

namespace caudal::inline v0::train {

GradientDescentOptimizer::GradientDescentOptimizer(const GradientDescentOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {}

void GradientDescentOptimizer::prepare() { set_hyper("learning_rate", options_.learning_rate); }

Operation GradientDescentOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_gradient_descent(variable, hyper("learning_rate", variable), gradient,
                                         {.use_locking = use_locking()});
}

Operation GradientDescentOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return apply_sparse_duplicates(gradient, variable);
}

// The rule is linear: rows that repeat need not be added up first.
Operation GradientDescentOptimizer::apply_sparse_duplicates(const IndexedSlices& gradient, const Variable& variable) {
  const Output step = multiply(gradient.values, hyper("learning_rate", variable));
  return OpBuilder(variable.is_resource() ? "ResourceScatterSub" : "ScatterSub", {})
      .input(variable.handle())
      .input(gradient.indices)
      .input(step)
      .build_operation();
}

MomentumOptimizer::MomentumOptimizer(const MomentumOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {}

void MomentumOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    zeros_slot(variable, "momentum", name());
  }
}

void MomentumOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("momentum", options_.momentum);
}

Operation MomentumOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_momentum(variable, slot(variable, "momentum"), hyper("learning_rate", variable), gradient,
                                 hyper("momentum", variable),
                                 {.use_locking = use_locking(), .use_nesterov = options_.use_nesterov});
}

Operation MomentumOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_momentum(variable, slot(variable, "momentum"), hyper("learning_rate", variable),
                                        gradient.values, gradient.indices, hyper("momentum", variable),
                                        {.use_locking = use_locking(), .use_nesterov = options_.use_nesterov});
}

ProximalGradientDescentOptimizer::ProximalGradientDescentOptimizer(const ProximalGradientDescentOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {}

void ProximalGradientDescentOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("l1_regularization_strength", options_.l1_regularization_strength);
  set_hyper("l2_regularization_strength", options_.l2_regularization_strength);
}

Operation ProximalGradientDescentOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_proximal_gradient_descent(
      variable, hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
      hyper("l2_regularization_strength", variable), gradient, {.use_locking = use_locking()});
}

Operation ProximalGradientDescentOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_proximal_gradient_descent(
      variable, hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
      hyper("l2_regularization_strength", variable), gradient.values, gradient.indices, {.use_locking = use_locking()});
}

}  // namespace caudal::inline v0::train
