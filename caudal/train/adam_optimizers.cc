#include "caudal/train/adam_optimizers.h"

#include <algorithm>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/training_ops.h"
#include "caudal/ops/training_ops_moments.h"
#include "caudal/ops/variable_rows.h"

namespace caudal::inline v0::train {
namespace {

template <class Options>
AdamOptions adam_options(const Options& o) {
  return {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.use_locking, o.name};
}

}  // namespace

AdamFamilyOptimizer::AdamFamilyOptimizer(const AdamOptions& options, bool has_beta2_power)
    : Optimizer(options.name, options.use_locking), options_(options), has_beta2_power_(has_beta2_power) {}

void AdamFamilyOptimizer::create_slots(const std::vector<Variable>& variables) {
  if (!beta1_power_.handle()) {
    // Of the kind of the first variable by name, wherever it stands in the list.
    const Variable& first = *std::ranges::min_element(variables, {}, &Variable::name);
    beta1_power_ = make_scalar(options_.beta1, "beta1_power", first);
    if (has_beta2_power_) beta2_power_ = make_scalar(options_.beta2, "beta2_power", first);
  }
  for (const Variable& variable : variables) {
    zeros_slot(variable, "m", name());
    zeros_slot(variable, "v", name());
  }
}

void AdamFamilyOptimizer::prepare() {
  set_hyper("learning_rate", options_.learning_rate);
  set_hyper("beta1", options_.beta1);
  set_hyper("beta2", options_.beta2);
  set_hyper("epsilon", options_.epsilon);
}

Operation AdamFamilyOptimizer::finish(const std::vector<Operation>& updates, const std::string& name) {
  std::vector<Operation> all = updates;
  {
    const ControlDependencies after(updates);
    all.emplace_back(beta1_power_.assign(multiply(beta1_power_, hyper("beta1"))));
    if (has_beta2_power_) all.emplace_back(beta2_power_.assign(multiply(beta2_power_, hyper("beta2"))));
  }
  return group(all, {.name = name});
}

Output AdamFamilyOptimizer::corrected_rate(const Variable& variable) const {
  const Output power1 = cast_to(beta1_power_, variable), power2 = cast_to(beta2_power_, variable);
  return divide(multiply(hyper("learning_rate", variable), sqrt(subtract(1, power2))), subtract(1, power1));
}

AdamFamilyOptimizer::Moments AdamFamilyOptimizer::decay_moments(const IndexedSlices& gradient,
                                                                const Variable& variable) const {
  const auto decayed = [&](const char* slot_name, const char* beta_name, const Output& rows) {
    const Variable mean = slot(variable, slot_name);
    const Output beta = hyper(beta_name, variable), added = multiply(rows, subtract(1, beta));
    const ControlDependencies after({mean.assign(multiply(mean, beta))});
    const ControlDependencies after_both({scatter_add(mean, gradient.indices, added)});
    return mean.read_value();
  };
  return {.m = decayed("m", "beta1", gradient.values),
          .v = decayed("v", "beta2", multiply(gradient.values, gradient.values))};
}

AdamOptimizer::AdamOptimizer(const AdamOptions& options) : AdamFamilyOptimizer(options, true) {}

Operation AdamOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_adam(variable, slot(variable, "m"), slot(variable, "v"), cast_to(beta1_power(), variable),
                             cast_to(beta2_power(), variable), hyper("learning_rate", variable),
                             hyper("beta1", variable), hyper("beta2", variable), hyper("epsilon", variable), gradient,
                             {.use_locking = use_locking()});
}

Operation AdamOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  const Moments moments = decay_moments(gradient, variable);
  const Output step =
      divide(multiply(corrected_rate(variable), moments.m), add(sqrt(moments.v), hyper("epsilon", variable)));
  return variable.assign_sub(step);
}

NadamOptimizer::NadamOptimizer(const NadamOptions& options) : AdamFamilyOptimizer(adam_options(options), true) {}

Operation NadamOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_adam(variable, slot(variable, "m"), slot(variable, "v"), cast_to(beta1_power(), variable),
                             cast_to(beta2_power(), variable), hyper("learning_rate", variable),
                             hyper("beta1", variable), hyper("beta2", variable), hyper("epsilon", variable), gradient,
                             {.use_locking = use_locking(), .use_nesterov = true});
}

Operation NadamOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  const Moments moments = decay_moments(gradient, variable);
  const Output beta1 = hyper("beta1", variable);
  const Output m =
      add(multiply(gradient.values, subtract(1, beta1)), multiply(beta1, gather(moments.m, gradient.indices)));
  const Output v = gather(moments.v, gradient.indices);
  const Output step = divide(multiply(corrected_rate(variable), m), add(sqrt(v), hyper("epsilon", variable)));
  return scatter_sub(variable, gradient.indices, step);
}

AdaMaxOptimizer::AdaMaxOptimizer(const AdaMaxOptions& options) : AdamFamilyOptimizer(adam_options(options), false) {}

Operation AdaMaxOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return raw_ops::apply_ada_max(variable, slot(variable, "m"), slot(variable, "v"), cast_to(beta1_power(), variable),
                                hyper("learning_rate", variable), hyper("beta1", variable), hyper("beta2", variable),
                                hyper("epsilon", variable), gradient, {.use_locking = use_locking()});
}

Operation AdaMaxOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  const Variable m_slot = slot(variable, "m"), v_slot = slot(variable, "v");
  const Output& rows = gradient.indices;
  const Output beta1 = hyper("beta1", variable);
  const Output m = add(multiply(gather(m_slot, rows), beta1), multiply(gradient.values, subtract(1, beta1)));
  const Output v = maximum(multiply(gather(v_slot, rows), hyper("beta2", variable)), abs(gradient.values));
  const Output rate = divide(hyper("learning_rate", variable), subtract(1, cast_to(beta1_power(), variable)));
  const Output step = multiply(rate, divide(m, add(v, hyper("epsilon", variable))));
  return group({scatter_update(m_slot, rows, m), scatter_update(v_slot, rows, v), scatter_sub(variable, rows, step)});
}

}  // namespace caudal::inline v0::train
