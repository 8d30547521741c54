#include "caudal/train/optimizer_base.h"

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/training_ops.h"
#include "caudal/train/slot_creator.h"

namespace caudal::inline v0::train {
namespace {

std::string names_of(const std::vector<GradientAndVariable>& pairs) {
  std::vector<std::string> names;
  for (const auto& pair : pairs) names.push_back("'" + pair.variable.op_name() + "'");
  return join(names, ", ");
}

// All of them once each of them is there.
std::vector<Gradient> together(const std::vector<Gradient>& gradients) {
  Outputs tensors;
  for (const Gradient& gradient : gradients) {
    if (gradient) tensors.push_back(gradient.is_sparse() ? gradient.slices().values : gradient.dense());
  }
  if (tensors.empty()) return gradients;
  const Outputs waited = tuple(tensors);
  std::vector<Gradient> result;
  std::size_t next = 0;
  for (const Gradient& gradient : gradients) {
    if (!gradient) {
      result.emplace_back();
    } else if (gradient.is_sparse()) {
      IndexedSlices slices = gradient.slices();
      slices.values = waited[next++];
      result.emplace_back(slices);
    } else {
      result.emplace_back(waited[next++]);
    }
  }
  return result;
}

}  // namespace

Optimizer::~Optimizer() = default;

Operation Optimizer::minimize(const Output& loss, const MinimizeOptions& options) {
  const LocationScope location(options.where);
  return apply_gradients(compute_gradients(loss, options), options);
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(const Output& loss, const MinimizeOptions& options) {
  const LocationScope location(options.where);
  const GraphScope graph(loss.graph());
  if (!is_floating(loss.dtype()) && !is_complex(loss.dtype())) {
    throw invalid_argument(name_, ": the loss ", loss.describe(), " is of no floating type")
        .made_at(short_location(options.where));
  }
  const std::vector<Variable> variables = options.var_list.empty() ? trainable_variables() : options.var_list;
  if (variables.empty()) {
    throw invalid_argument(name_, ": there are no variables to train")
        .made_at(short_location(options.where))
        .hint("Make layers or variables first, or give var_list.");
  }
  std::vector<Output> handles;
  for (const Variable& variable : variables) handles.push_back(variable.handle());
  GradientOptions how{.where = options.where};
  if (options.grad_loss) how.grad_ys = {options.grad_loss};
  std::vector<Gradient> gradients = caudal::gradients({loss}, handles, how);
  if (options.gate_gradients == GateGradients::kGraph) gradients = together(gradients);
  std::vector<GradientAndVariable> pairs;
  for (std::size_t i = 0; i < variables.size(); ++i) pairs.push_back({gradients[i], variables[i]});
  return pairs;
}

Operation Optimizer::update(const GradientAndVariable& pair) {
  const NameScope scope("update_" + pair.variable.op_name());
  return pair.gradient.is_sparse() ? apply_sparse_duplicates(pair.gradient.slices(), pair.variable)
                                   : apply_dense(pair.gradient.dense(), pair.variable);
}

Operation Optimizer::apply_gradients(const std::vector<GradientAndVariable>& pairs, const MinimizeOptions& options) {
  const LocationScope location(options.where);
  std::vector<Variable> trained;
  for (const auto& pair : pairs) {
    if (pair.gradient) trained.push_back(pair.variable);
  }
  if (trained.empty()) {
    throw invalid_argument(name_, ": no gradients for any variable: ", names_of(pairs))
        .made_at(short_location(options.where))
        .hint("The loss does not depend on them through differentiable ops.");
  }
  const GraphScope graph(trained[0].handle().graph());
  // Slots are variables of their own right: they do not wait for anything and lie beside their variable, not in our
  // scope.
  {
    const ControlDependencies none({}, /*clear=*/true);
    create_slots(trained);
  }
  const NameScope scope(options.name.empty() ? name_ : options.name);
  const std::string full_name = scope.prefix();
  hypers_.clear();
  prepare();
  std::vector<Operation> updates;
  for (const auto& pair : pairs) {
    if (pair.gradient) updates.push_back(update(pair));
  }
  Operation done;
  if (!options.global_step.handle()) {
    done = finish(updates, full_name);
  } else {
    const ControlDependencies after({finish(updates, "update")});
    const Output one = constant(convert_number(Tensor(1), options.global_step.dtype()));
    done = options.global_step.assign_add(one, {.name = full_name, .where = options.where});
  }
  default_graph().add_to_collection(graph_keys::kTrainOp, {.operation = done});
  return done;
}

Operation Optimizer::apply_sparse_duplicates(const IndexedSlices& gradient, const Variable& variable) {
  return apply_sparse(sum_duplicates(gradient), variable);
}

Operation Optimizer::finish(const std::vector<Operation>& updates, const std::string& name) {
  return group(updates, {.name = name});
}

std::vector<std::string> Optimizer::slot_names() const {
  std::vector<std::string> names;
  for (const auto& [name, slots] : slots_) names.push_back(name);
  return names;
}

Variable Optimizer::slot(const Variable& variable, std::string_view slot_name) const {
  const auto slots = slots_.find(slot_name);
  if (slots == slots_.end()) return {};
  const auto found = slots->second.find(variable.op_name());
  return found == slots->second.end() ? Variable() : found->second;
}

void Optimizer::zeros_slot(const Variable& variable, std::string_view slot_name, std::string_view op_name) {
  filled_slot(variable, 0, slot_name, op_name);
}

void Optimizer::filled_slot(const Variable& variable, float initial, std::string_view slot_name,
                            std::string_view op_name) {
  Variable& slot = slots_[std::string(slot_name)][variable.op_name()];
  if (slot.handle()) return;
  slot = create_filled_slot(variable, initial, op_name);
  variables_.push_back(slot);
}

Variable Optimizer::make_scalar(const Operand& initial, const std::string& name, const Variable& beside) {
  const NameScope top("");
  const Variable scalar(initial,
                        {.trainable = false, .name = name, .dtype = float32, .use_resource = beside.is_resource()});
  variables_.push_back(scalar);
  return scalar;
}

void Optimizer::set_hyper(const char* name, const Operand& value) { hypers_[name] = value.to_output(float32, name); }

const Output& Optimizer::hyper(std::string_view name) const { return hypers_.find(name)->second; }

Output Optimizer::hyper(std::string_view name, const Variable& variable) const {
  return cast_to(hyper(name), variable);
}

Output Optimizer::cast_to(const Output& value, const Variable& variable) {
  return value.dtype() == variable.dtype() ? value : cast(value, variable.dtype());
}

void Optimizer::require(bool fits, const char* argument, double value, const char* must) const {
  if (!fits) throw invalid_argument(name_, ": ", argument, " is ", value, "; it must be ", must);
}

}  // namespace caudal::inline v0::train
