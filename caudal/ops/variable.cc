#include "caudal/ops/variable.h"

#include <memory>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0 {
namespace {

Error shape_unknown(const Output& initial_value) {
  return invalid_argument("the shape of the initial value ", initial_value.describe(), " is not known")
      .hint("Give it a known shape, or use {.validate_shape = false}.");
}

PartialShape declared_shape(const Output& initial_value, bool validate_shape) {
  if (!validate_shape) return PartialShape::unknown();
  if (!initial_value.shape().is_fully_known()) throw shape_unknown(initial_value);
  return initial_value.shape();
}

Output make_read(const Variable::Parts& parts, DType dtype, const OpOptions& options) {
  if (parts.handle.dtype() == resource) return raw_ops::read_variable_op(parts.handle, dtype, options);
  OpBuilder builder("Identity", options);
  return internal::colocate(builder.input(parts.handle), parts.handle).build();
}

OpOptions named(const OpOptions& options, std::string_view fallback) {
  return {.name = options.name.empty() ? std::string(fallback) : options.name, .where = options.where};
}

}  // namespace

std::string VariableSlice::spec() const {
  std::string text;
  for (const std::int64_t size : full_shape) text += std::to_string(size) + " ";
  for (std::size_t i = 0; i < offset.size(); ++i) {
    text += (i == 0 ? "" : ":") + std::to_string(offset[i]) + "," + std::to_string(shape[i]);
  }
  return text;
}

Variable::Variable(const Operand& initial_value, const VariableOptions& options) {
  make(&initial_value, nullptr, options);
}

void Variable::make(const Operand* operand, const InitialValue* function, const VariableOptions& options) {
  const LocationScope where(options.where);
  Output& initial = parts_.initial_value;
  if (operand != nullptr && operand->is_output()) initial = operand->to_output();
  const GraphScope graph(initial ? initial.graph() : default_graph());
  // A variable made inside a loop or branch is initialised outside of it.
  const ControlDependencies outside({}, true);
  const NameScope scope(options.name.empty() ? "Variable" : options.name);
  try {
    if (function != nullptr) {
      const NameScope initializer("Initializer");
      initial = (*function)();
    } else if (!initial) {
      initial = operand->to_output(options.dtype, "initial_value");
    }
    if (options.dtype != DType::kInvalid && options.dtype != initial.dtype()) {
      throw invalid_argument("the initial value ", initial.describe(), " is no ", options.dtype);
    }
    const DType dtype = initial.dtype();
    const PartialShape shape = declared_shape(initial, options.validate_shape);
    if (options.use_resource) {
      const std::string shared_name = scope.prefix().substr(0, scope.prefix().size() - 1);
      parts_.handle = raw_ops::var_handle_op(dtype, shape, {.shared_name = shared_name, .name = scope.prefix()});
      parts_.initializer =
          raw_ops::assign_variable_op(parts_.handle, initial, dtype, {.validate_shape = false, .name = "Assign"});
      const NameScope read("Read");
      parts_.snapshot = make_read(parts_, dtype, {});
    } else {
      parts_.handle = raw_ops::variable_v2(shape, dtype, {.name = scope.prefix()});
      parts_.initializer =
          raw_ops::assign(parts_.handle, initial, {.validate_shape = options.validate_shape, .name = "Assign"});
      parts_.snapshot = make_read(parts_, dtype, {.name = "read"});
    }
  } catch (const Error& error) {
    throw error.at_node("Variable", scope.prefix().substr(0, scope.prefix().size() - 1),
                        current_location(options.where));
  }
  static_cast<Output&>(*this) = parts_.snapshot;
  parts_.trainable = options.trainable;
  for (const std::string& key : options.collections) add_to_collection(key, *this);
  if (options.trainable) add_to_collection(graph_keys::kTrainableVariables, *this);
}

bool Variable::is_resource() const { return parts_.handle.dtype() == resource; }

Output Variable::read_value(const OpOptions& options) const {
  return make_read(parts_, dtype(), named(options, "read"));
}

Output Variable::read_after(const Operation& update, const OpOptions& options) const {
  const ControlDependencies after({update});
  return make_read(parts_, dtype(), {.where = options.where});
}

Output Variable::assign(const Operand& value, const OpOptions& options) const {
  if (!is_resource()) return raw_ops::assign(handle(), value, {.name = options.name, .where = options.where});
  const bool validate_shape = shape().is_fully_known();
  const raw_ops::AssignOptions o = {.validate_shape = validate_shape, .name = options.name, .where = options.where};
  return read_after(raw_ops::assign_variable_op(handle(), value, dtype(), o), options);
}

Output Variable::assign_add(const Operand& delta, const OpOptions& options) const {
  if (!is_resource()) return raw_ops::assign_add(handle(), delta, {.name = options.name, .where = options.where});
  return read_after(raw_ops::assign_add_variable_op(handle(), delta, dtype(), options), options);
}

Output Variable::assign_sub(const Operand& delta, const OpOptions& options) const {
  if (!is_resource()) return raw_ops::assign_sub(handle(), delta, {.name = options.name, .where = options.where});
  return read_after(raw_ops::assign_sub_variable_op(handle(), delta, dtype(), options), options);
}

Output Variable::count_up_to(std::int64_t limit, const OpOptions& options) const {
  if (!is_resource()) return raw_ops::count_up_to(handle(), limit, options);
  return raw_ops::resource_count_up_to(handle(), limit, dtype(), options);
}

Output Variable::is_initialized(const OpOptions& options) const {
  return is_resource() ? raw_ops::var_is_initialized_op(handle(), options)
                       : raw_ops::is_variable_initialized(handle(), options);
}

Output assign(const Variable& ref, const Operand& value, const OpOptions& options) {
  return ref.assign(value, options);
}
Output assign_add(const Variable& ref, const Operand& value, const OpOptions& options) {
  return ref.assign_add(value, options);
}
Output assign_sub(const Variable& ref, const Operand& value, const OpOptions& options) {
  return ref.assign_sub(value, options);
}
Output count_up_to(const Variable& ref, std::int64_t limit, const OpOptions& options) {
  return ref.count_up_to(limit, options);
}
Output is_variable_initialized(const Variable& variable, const OpOptions& options) {
  return variable.is_initialized(options);
}

// ---- Collections and initialisers

void add_to_collection(std::string_view key, const Variable& variable) {
  CollectionItem item;
  item.output = variable.handle();
  item.object = std::make_shared<const Variable>(variable);
  variable.graph().add_to_collection(key, std::move(item));
}

std::vector<Variable> variables_in_collection(Graph& graph, std::string_view key, std::string_view scope) {
  std::vector<Variable> variables;
  for (const CollectionItem& item : graph.collection(key, scope)) {
    if (item.object != nullptr) variables.push_back(*static_cast<const Variable*>(item.object.get()));
  }
  return variables;
}

std::vector<Variable> global_variables(std::string_view scope) {
  return variables_in_collection(default_graph(), graph_keys::kGlobalVariables, scope);
}
std::vector<Variable> local_variables(std::string_view scope) {
  return variables_in_collection(default_graph(), graph_keys::kLocalVariables, scope);
}
std::vector<Variable> trainable_variables(std::string_view scope) {
  return variables_in_collection(default_graph(), graph_keys::kTrainableVariables, scope);
}
std::vector<Variable> model_variables(std::string_view scope) {
  return variables_in_collection(default_graph(), graph_keys::kModelVariables, scope);
}
std::vector<Variable> moving_average_variables(std::string_view scope) {
  return variables_in_collection(default_graph(), graph_keys::kMovingAverageVariables, scope);
}

Operation variables_initializer(const std::vector<Variable>& variables, const OpOptions& options) {
  const GraphScope graph(variables.empty() ? default_graph() : variables[0].graph());
  OpBuilder builder("NoOp", named(options, "init"));
  for (const Variable& variable : variables) builder.control_input(variable.initializer());
  return builder.build_operation();
}

Operation global_variables_initializer(const OpOptions& options) {
  return variables_initializer(global_variables(), named(options, "init"));
}

Operation local_variables_initializer(const OpOptions& options) {
  return variables_initializer(local_variables(), named(options, "init"));
}

Output report_uninitialized_variables(const OpOptions& options) {
  auto variables = global_variables();
  for (const Variable& variable : local_variables()) variables.push_back(variable);
  return report_uninitialized_variables(variables, options);
}

Output report_uninitialized_variables(const std::vector<Variable>& variables, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "report_uninitialized_variables" : options.name);
  std::vector<std::string> names;
  std::vector<Output> missing;
  for (const Variable& variable : variables) {
    names.push_back(variable.op_name());
    const Output initialized = variable.is_initialized();
    missing.push_back(OpBuilder("LogicalNot", {}).input(initialized).build());
  }
  const Output all = Operand(Tensor(names)).to_output();
  if (variables.empty()) return all;
  const Output mask = OpBuilder("Pack", {}).inputs(missing).attr("axis", 0).build();
  const Output positions = OpBuilder("Where", {}).input(mask).build();
  const Output rows = OpBuilder("Reshape", {}).input(positions).input({-1}).build();
  return OpBuilder("GatherV2", {}).input(all).input(rows).input(0).build();
}

}  // namespace caudal::inline v0
