#include "caudal/train/ftrl_optimizer.h"

#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/training_ops_proximal.h"

namespace caudal::inline v0::train {

FtrlOptimizer::FtrlOptimizer(const FtrlOptions& options)
    : Optimizer(options.name, options.use_locking), options_(options) {
  const auto not_negative = [&](const char* argument, float value) {
    require(value >= 0, argument, value, "positive or 0");
  };
  not_negative("initial_accumulator_value", options.initial_accumulator_value);
  require(options.learning_rate_power <= 0, "learning_rate_power", options.learning_rate_power, "negative or 0");
  not_negative("l1_regularization_strength", options.l1_regularization_strength);
  not_negative("l2_regularization_strength", options.l2_regularization_strength);
  not_negative("l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength);
}

void FtrlOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    filled_slot(variable, options_.initial_accumulator_value, "accum",
                options_.accum_name.empty() ? name() : options_.accum_name);
    zeros_slot(variable, "linear", options_.linear_name.empty() ? name() : options_.linear_name);
  }
}

void FtrlOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("l1_regularization_strength", options_.l1_regularization_strength);
  // beta enters as a penalty, so that the op need not know it.
  Output l2 = Operand(options_.l2_regularization_strength).to_output(float32, "l2_regularization_strength");
  if (options_.beta != 0) {
    const Output rate = maximum(hyper("learning_rate"), 1e-36F);
    l2 = add(l2, divide(options_.beta, multiply(rate, 2.0F)));
  }
  set_hyper("adjusted_l2_regularization_strength", l2);
  set_hyper("l2_shrinkage_regularization_strength", options_.l2_shrinkage_regularization_strength);
  set_hyper("learning_rate_power", options_.learning_rate_power);
}

Operation FtrlOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  if (options_.l2_shrinkage_regularization_strength > 0) {
    return raw_ops::apply_ftrl_v2(variable, slot(variable, "accum"), slot(variable, "linear"), gradient,
                                  hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
                                  hyper("adjusted_l2_regularization_strength", variable),
                                  hyper("l2_shrinkage_regularization_strength", variable),
                                  hyper("learning_rate_power", variable), {.use_locking = use_locking()});
  }
  return raw_ops::apply_ftrl(variable, slot(variable, "accum"), slot(variable, "linear"), gradient,
                             hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
                             hyper("adjusted_l2_regularization_strength", variable),
                             hyper("learning_rate_power", variable), {.use_locking = use_locking()});
}

Operation FtrlOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  if (options_.l2_shrinkage_regularization_strength > 0) {
    return raw_ops::sparse_apply_ftrl_v2(
        variable, slot(variable, "accum"), slot(variable, "linear"), gradient.values, gradient.indices,
        hyper("learning_rate", variable), hyper("l1_regularization_strength", variable),
        hyper("adjusted_l2_regularization_strength", variable), hyper("l2_shrinkage_regularization_strength", variable),
        hyper("learning_rate_power", variable), {.use_locking = use_locking()});
  }
  return raw_ops::sparse_apply_ftrl(variable, slot(variable, "accum"), slot(variable, "linear"), gradient.values,
                                    gradient.indices, hyper("learning_rate", variable),
                                    hyper("l1_regularization_strength", variable),
                                    hyper("adjusted_l2_regularization_strength", variable),
                                    hyper("learning_rate_power", variable), {.use_locking = use_locking()});
}

}  // namespace caudal::inline v0::train
