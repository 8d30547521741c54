#include "caudal/train/rmsprop_optimizers.h"

#include "caudal/ops/training_ops.h"
#include "caudal/ops/training_ops_moments.h"

namespace caudal::inline v0::train {

RMSPropOptimizer::RMSPropOptimizer(const RMSPropOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {}

void RMSPropOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    filled_slot(variable, 1, "rms", name());
    if (options_.centered) zeros_slot(variable, "mg", name());
    zeros_slot(variable, "momentum", name());
  }
}

void RMSPropOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("decay", options_.decay);
  set_hyper("momentum", options_.momentum);
  set_hyper("epsilon", options_.epsilon);
}

Operation RMSPropOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  if (options_.centered) {
    return raw_ops::apply_centered_rmsprop(variable, slot(variable, "mg"), slot(variable, "rms"),
                                           slot(variable, "momentum"), hyper("learning_rate", variable),
                                           hyper("decay", variable), hyper("momentum", variable),
                                           hyper("epsilon", variable), gradient, {.use_locking = use_locking()});
  }
  return raw_ops::apply_rmsprop(variable, slot(variable, "rms"), slot(variable, "momentum"),
                                hyper("learning_rate", variable), hyper("decay", variable), hyper("momentum", variable),
                                hyper("epsilon", variable), gradient, {.use_locking = use_locking()});
}

Operation RMSPropOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  if (options_.centered) {
    return raw_ops::sparse_apply_centered_rmsprop(
        variable, slot(variable, "mg"), slot(variable, "rms"), slot(variable, "momentum"),
        hyper("learning_rate", variable), hyper("decay", variable), hyper("momentum", variable),
        hyper("epsilon", variable), gradient.values, gradient.indices, {.use_locking = use_locking()});
  }
  return raw_ops::sparse_apply_rmsprop(variable, slot(variable, "rms"), slot(variable, "momentum"),
                                       hyper("learning_rate", variable), hyper("decay", variable),
                                       hyper("momentum", variable), hyper("epsilon", variable), gradient.values,
                                       gradient.indices, {.use_locking = use_locking()});
}

AdadeltaOptimizer::AdadeltaOptimizer(const AdadeltaOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {}

void AdadeltaOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    zeros_slot(variable, "accum", name());
    zeros_slot(variable, "accum_update", name());
  }
}

void AdadeltaOptimizer::prepare() {
  set_hyper("lr", options_.learning_rate);
  set_hyper("rho", options_.rho);
  set_hyper("epsilon", options_.epsilon);
}

Operation AdadeltaOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_adadelta(variable, slot(variable, "accum"), slot(variable, "accum_update"),
                                 hyper("lr", variable), hyper("rho", variable), hyper("epsilon", variable), gradient,
                                 {.use_locking = use_locking()});
}

Operation AdadeltaOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  return raw_ops::sparse_apply_adadelta(variable, slot(variable, "accum"), slot(variable, "accum_update"),
                                        hyper("lr", variable), hyper("rho", variable), hyper("epsilon", variable),
                                        gradient.values, gradient.indices, {.use_locking = use_locking()});
}

}  // namespace caudal::inline v0::train
