#include "caudal/train/moving_averages.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/train/slot_creator.h"

namespace caudal::inline v0::train {
namespace {

Output assign_debiased(const Variable& variable, const Output& value, const Output& rest) {
  const Variable biased = create_filled_slot(variable, 0, "biased");
  const Output zero = constant(convert_number(Tensor(0.0F), variable.dtype()));
  const Variable local_step = create_slot(
      variable, [&] { return zero; }, "local_step");
  const Output updated = biased.assign_sub(multiply(subtract(biased, value), rest));
  const Output steps = local_step.assign_add(1);
  return variable.assign(divide(updated, subtract(1, pow(subtract(1, rest), steps))));
}

}  // namespace

Output assign_moving_average(const Variable& variable, const Operand& value, const Operand& decay,
                             const AssignMovingAverageOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name);
  const Output rest = cast(subtract(1.0F, decay.to_output(float32)), variable.dtype());
  const Output next = value.to_output(variable.dtype());
  if (options.zero_debias) return assign_debiased(variable, next, rest);
  return variable.assign_sub(multiply(subtract(variable, next), rest));
}

Output ExponentialMovingAverage::decay() const {
  const Output decay = options_.decay.to_output(float32, "decay");
  if (!options_.num_updates) return decay;
  const Output updates = cast(options_.num_updates->to_output(float32), float32, {.name = "num_updates"});
  return minimum(decay, divide(add(updates, 1), add(updates, 10)));
}

namespace {

void check_type(const Output& averaged) {
  if (is_floating(averaged.dtype())) return;
  throw invalid_argument("no moving average of ", averaged.describe(), ": its type is not floating");
}

}  // namespace

Operation ExponentialMovingAverage::apply(const std::vector<Variable>& var_list) {
  const std::vector<Variable> variables = var_list.empty() ? trainable_variables() : var_list;
  if (variables.empty()) throw invalid_argument(name(), ": there are no variables");
  const GraphScope graph(variables[0].handle().graph());
  for (const Variable& variable : variables) {
    check_type(variable);
    Variable& average = averages_[variable.op_name()];
    if (average.handle()) continue;
    const ControlDependencies none({}, /*clear=*/true);
    average = create_slot(
        variable, [&] { return initialized_value(variable); }, name());
    add_to_collection(graph_keys::kMovingAverageVariables, variable);
  }
  const NameScope scope(name());
  const Output rate = decay();
  std::vector<Operation> updates;
  for (const Variable& variable : variables) {
    // Read here, so that after a control dependency on an update the average takes in what that made.
    const Output value = variable.read_value();
    updates.emplace_back(assign_moving_average(average(variable), value, rate, {.zero_debias = false}));
  }
  return group(updates, {.name = scope.prefix()});
}

Operation ExponentialMovingAverage::apply_to_tensors(const std::vector<Output>& tensors) {
  if (tensors.empty()) throw invalid_argument(name(), ": there are no tensors");
  const GraphScope graph(tensors[0].graph());
  for (const Output& tensor : tensors) {
    check_type(tensor);
    Variable& average = averages_[tensor.node()->name()];
    if (average.handle()) continue;
    const auto shape = tensor.shape().to_shape();
    if (!shape) throw invalid_argument(name(), ": the shape of ", tensor.describe(), " is not known");
    const ControlDependencies none({}, /*clear=*/true);
    const NameScope top("");
    average = Variable(
        [&] {
          const Output dims = constant(Tensor(std::vector<int>(shape->dims().begin(), shape->dims().end())));
          return fill(dims, convert_number(Tensor(0.0F), tensor.dtype()), {.name = "zeros"});
        },
        {.trainable = false, .name = tensor.node()->name() + "/" + name()});
  }
  const NameScope scope(name());
  const Output rate = decay();
  std::vector<Operation> updates;
  for (const Output& tensor : tensors) {
    updates.emplace_back(
        assign_moving_average(average_of(tensor), tensor, rate, {.zero_debias = options_.zero_debias}));
  }
  return group(updates, {.name = scope.prefix()});
}

Variable ExponentialMovingAverage::average(const Variable& variable) const {
  const auto found = averages_.find(variable.op_name());
  return found == averages_.end() ? Variable() : found->second;
}

Variable ExponentialMovingAverage::average_of(const Output& tensor) const {
  const auto found = averages_.find(tensor.node()->name());
  return found == averages_.end() ? Variable() : found->second;
}

std::string ExponentialMovingAverage::average_name(const Variable& variable) const {
  const Variable present = average(variable);
  if (present.handle()) return present.op_name();
  const std::string wanted = variable.op_name() + "/" + name();
  const Graph& graph = variable.handle().graph();
  std::string free = wanted;
  for (int i = 1; graph.find(free) != nullptr; ++i) free = wanted + "_" + std::to_string(i);
  return free;
}

std::map<std::string, Variable> ExponentialMovingAverage::variables_to_restore(
    const std::vector<Variable>& moving_avg_variables) const {
  std::vector<Variable> averaged = moving_avg_variables;
  if (averaged.empty()) {
    averaged = trainable_variables();
    for (const Variable& variable : moving_average_variables()) averaged.push_back(variable);
  }
  std::map<std::string, Variable> names;
  std::map<std::string, bool> is_averaged;
  for (const Variable& variable : averaged) {
    names[average_name(variable)] = variable;
    is_averaged[variable.op_name()] = true;
  }
  for (const Variable& variable : global_variables()) {
    if (!is_averaged.contains(variable.op_name())) names.emplace(variable.op_name(), variable);
  }
  return names;
}

}  // namespace caudal::inline v0::train
