#include "caudal/train/adagrad_optimizers.h"

#include "caudal/base/error.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/training_ops.h"
#include "caudal/ops/training_ops_proximal.h"

namespace caudal::inline v0::train {

AdagradOptimizer::AdagradOptimizer(const AdagradOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {
  require(options.initial_accumulator_value > 0, "initial_accumulator_value", options.initial_accumulator_value,
          "positive");
}

void AdagradOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    filled_slot(variable, options_.initial_accumulator_value, "accumulator", name());
  }
}

void AdagradOptimizer::prepare() { set_hyper("learning_rate", options_.learning_rate); }

Operation AdagradOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_adagrad(variable, slot(variable, "accumulator"), hyper("learning_rate", variable), gradient,
                                {.use_locking = use_locking()});
}

Operation AdagradOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_adagrad(variable, slot(variable, "accumulator"), hyper("learning_rate", variable),
                                       gradient.values, gradient.indices, {.use_locking = use_locking()});
}

AdagradDAOptimizer::AdagradDAOptimizer(const AdagradDAOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {
  if (!options.global_step.handle()) {
    throw invalid_argument(options.name, ": global_step is missing")
        .hint("Give it, and minimize(), the same variable.");
  }
  require(options.initial_gradient_squared_accumulator_value > 0, "initial_gradient_squared_accumulator_value",
          options.initial_gradient_squared_accumulator_value, "positive");
}

void AdagradDAOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    zeros_slot(variable, "gradient_accumulator", name());
    filled_slot(variable, options_.initial_gradient_squared_accumulator_value, "gradient_squared_accumulator", name());
  }
}

void AdagradDAOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("l1_regularization_strength", options_.l1_regularization_strength);
  set_hyper("l2_regularization_strength", options_.l2_regularization_strength);
  // The step that this update is, from 1.
  step_ = add(cast(identity(options_.global_step), int64), Tensor(std::int64_t{1}));
}

Operation AdagradDAOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_adagrad_da(
      variable, slot(variable, "gradient_accumulator"), slot(variable, "gradient_squared_accumulator"), gradient,
      hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
      hyper("l2_regularization_strength", variable), step_, {.use_locking = use_locking()});
}

Operation AdagradDAOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_adagrad_da(
      variable, slot(variable, "gradient_accumulator"), slot(variable, "gradient_squared_accumulator"), gradient.values,
      gradient.indices, hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
      hyper("l2_regularization_strength", variable), step_, {.use_locking = use_locking()});
}

ProximalAdagradOptimizer::ProximalAdagradOptimizer(const ProximalAdagradOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {
  require(options.initial_accumulator_value > 0, "initial_accumulator_value", options.initial_accumulator_value,
          "positive");
}

void ProximalAdagradOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    filled_slot(variable, options_.initial_accumulator_value, "accumulator", name());
  }
}

void ProximalAdagradOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("l1_regularization_strength", options_.l1_regularization_strength);
  set_hyper("l2_regularization_strength", options_.l2_regularization_strength);
}

Operation ProximalAdagradOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_proximal_adagrad(variable, slot(variable, "accumulator"), hyper("learning_rate", variable),
                                         hyper("l1_regularization_strength", variable),
                                         hyper("l2_regularization_strength", variable), gradient,
                                         {.use_locking = use_locking()});
}

Operation ProximalAdagradOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_proximal_adagrad(
      variable, slot(variable, "accumulator"), hyper("learning_rate", variable),
      hyper("l1_regularization_strength", variable), hyper("l2_regularization_strength", variable), gradient.values,
      gradient.indices, {.use_locking = use_locking()});
}

}  // namespace caudal::inline v0::train
