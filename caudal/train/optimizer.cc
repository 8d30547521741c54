#include "caudal/train/optimizer.h"

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/training_ops.h"

namespace caudal::inline v0::train {
namespace {

std::string names_of(const std::vector<GradientAndVariable>& pairs) {
  std::vector<std::string> names;
  for (const auto& pair : pairs) names.push_back("'" + pair.variable.op_name() + "'");
  return join(names, ", ");
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
  const std::vector<Variable> variables = options.var_list.empty() ? trainable_variables() : options.var_list;
  if (variables.empty()) {
    throw invalid_argument(name_, ": there are no variables to train")
        .made_at(short_location(options.where))
        .hint("Make layers or variables first, or give var_list.");
  }
  std::vector<Output> handles;
  for (const Variable& variable : variables) handles.push_back(variable.handle());
  const std::vector<Gradient> gradients = caudal::gradients({loss}, handles, {.where = options.where});
  std::vector<GradientAndVariable> pairs;
  for (std::size_t i = 0; i < variables.size(); ++i) pairs.push_back({gradients[i], variables[i]});
  return pairs;
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
  prepare();
  std::vector<Operation> updates;
  for (const auto& pair : pairs) {
    if (!pair.gradient) continue;
    const NameScope update("update_" + pair.variable.op_name());
    updates.push_back(pair.gradient.is_sparse() ? apply_sparse(sum_duplicates(pair.gradient.slices()), pair.variable)
                                                : apply_dense(pair.gradient.dense(), pair.variable));
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

Operation Optimizer::apply_sparse(const IndexedSlices&, const Variable& variable) {
  throw unimplemented(name_, " has no update for sparse gradients; variable '", variable.op_name(), "' has one");
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

Variable Optimizer::zeros_slot(const Variable& variable, std::string_view slot_name, std::string_view op_name) {
  return filled_slot(variable, 0, slot_name, op_name);
}

Variable Optimizer::filled_slot(const Variable& variable, float initial, std::string_view slot_name,
                                std::string_view op_name) {
  Variable& slot = slots_[std::string(slot_name)][variable.op_name()];
  if (slot.handle()) return slot;
  const auto shape = variable.shape().to_shape();
  if (!shape) {
    throw invalid_argument(name_, ": the shape of variable '", variable.op_name(),
                           "' is not known: ", variable.shape());
  }
  const DType dtype = variable.dtype();
  const NameScope top("");
  slot = Variable(
      [&] {
        const Output dims = constant(Tensor(std::vector<int>(shape->dims().begin(), shape->dims().end())));
        return fill(dims, convert_number(Tensor(initial), dtype), {.name = initial == 0 ? "zeros" : "Const"});
      },
      {.trainable = false,
       .name = variable.op_name() + "/" + std::string(op_name),
       .use_resource = variable.is_resource()});
  keep(slot);
  return slot;
}

std::string Optimizer::apply_op(std::string_view op, const Variable& variable) {
  return (variable.is_resource() ? "Resource" : "") + std::string(op);
}

Output Optimizer::cast_to(const Output& value, const Variable& variable) {
  if (value.dtype() == variable.dtype()) return value;
  return OpBuilder("Cast", {}).input(value).attr("DstT", variable.dtype()).build();
}

namespace {

// A hyper-parameter: a number becomes a float32 constant of that name.
Output hyper(const Operand& value, const char* name) { return value.to_output(float32, name); }

}  // namespace

GradientDescentOptimizer::GradientDescentOptimizer(const GradientDescentOptions& options)
    : Optimizer(options.name), options_(options) {}

void GradientDescentOptimizer::prepare() { learning_rate_ = hyper(options_.learning_rate, "learning_rate"); }

Operation GradientDescentOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return OpBuilder(apply_op("ApplyGradientDescent", variable), {})
      .input(variable.handle())
      .input(cast_to(learning_rate_, variable))
      .input(gradient)
      .build_operation();
}

Operation GradientDescentOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable) {
  const Output step = OpBuilder("Mul", {}).input(gradient.values).input(cast_to(learning_rate_, variable)).build();
  return OpBuilder(variable.is_resource() ? "ResourceScatterSub" : "ScatterSub", {})
      .input(variable.handle())
      .input(gradient.indices)
      .input(step)
      .build_operation();
}

MomentumOptimizer::MomentumOptimizer(const MomentumOptions& options) : Optimizer(options.name), options_(options) {}

void MomentumOptimizer::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) zeros_slot(variable, "momentum", name());
}

void MomentumOptimizer::prepare() {
  learning_rate_ = hyper(options_.learning_rate, "learning_rate");
  momentum_ = hyper(options_.momentum, "momentum");
}

Operation MomentumOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return OpBuilder(apply_op("ApplyMomentum", variable), {})
      .input(variable.handle())
      .input(slot(variable, "momentum").handle())
      .input(cast_to(learning_rate_, variable))
      .input(gradient)
      .input(cast_to(momentum_, variable))
      .attr("use_nesterov", options_.use_nesterov)
      .build_operation();
}

AdamOptimizer::AdamOptimizer(const AdamOptions& options) : Optimizer(options.name), options_(options) {}

void AdamOptimizer::create_slots(const std::vector<Variable>& variables) {
  if (!beta1_power_.handle()) {
    const NameScope top("");
    beta1_power_ = Variable(options_.beta1, {.trainable = false, .name = "beta1_power", .dtype = float32});
    beta2_power_ = Variable(options_.beta2, {.trainable = false, .name = "beta2_power", .dtype = float32});
    keep(beta1_power_);
    keep(beta2_power_);
  }
  for (const Variable& variable : variables) {
    zeros_slot(variable, "m", name());
    zeros_slot(variable, "v", name());
  }
}

void AdamOptimizer::prepare() {
  learning_rate_ = hyper(options_.learning_rate, "learning_rate");
  beta1_ = hyper(options_.beta1, "beta1");
  beta2_ = hyper(options_.beta2, "beta2");
  epsilon_ = hyper(options_.epsilon, "epsilon");
}

Operation AdamOptimizer::apply_dense(const Output& gradient, const Variable& variable) {
  return OpBuilder(apply_op("ApplyAdam", variable), {})
      .input(variable.handle())
      .input(slot(variable, "m").handle())
      .input(slot(variable, "v").handle())
      .input(cast_to(beta1_power_, variable))
      .input(cast_to(beta2_power_, variable))
      .input(cast_to(learning_rate_, variable))
      .input(cast_to(beta1_, variable))
      .input(cast_to(beta2_, variable))
      .input(cast_to(epsilon_, variable))
      .input(gradient)
      .build_operation();
}

Operation AdamOptimizer::finish(const std::vector<Operation>& updates, const std::string& name) {
  std::vector<Operation> all = updates;
  {
    const ControlDependencies after(updates);
    all.emplace_back(beta1_power_.assign(OpBuilder("Mul", {}).input(beta1_power_).input(beta1_).build()));
    all.emplace_back(beta2_power_.assign(OpBuilder("Mul", {}).input(beta2_power_).input(beta2_).build()));
  }
  return group(all, {.name = name});
}

}  // namespace caudal::inline v0::train
