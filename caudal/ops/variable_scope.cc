#include "caudal/ops/variable_scope.h"

#include <algorithm>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/ops/partitioned_variable.h"

namespace caudal::inline v0 {
namespace {

// What a graph remembers for get_variable and for unique scope names.
struct VariableStore {
  std::map<std::string, Variable> variables;
  std::map<std::string, PartitionedVariable> partitioned;
  std::map<std::string, int> scope_counts;
};

// Lies in a collection, so that it lives and dies with the graph.
VariableStore& store_of(Graph& graph) {
  constexpr std::string_view kKey = "__variable_store";
  auto items = graph.collection(kKey);
  if (items.empty()) {
    CollectionItem item;
    item.object = std::make_shared<VariableStore>();
    graph.add_to_collection(kKey, item);
    items.push_back(item);
  }
  return *static_cast<VariableStore*>(const_cast<void*>(items[0].object.get()));
}

struct OpenScope {
  Graph* graph;
  VariableScopeInfo* info;
};

std::vector<OpenScope>& open_scopes() {
  thread_local std::vector<OpenScope> scopes;
  return scopes;
}

std::string within(const std::string& scope, std::string_view name) {
  if (scope.empty()) return std::string(name);
  return name.empty() ? scope : internal::concat(scope, '/', name);
}

std::string unique_scope_name(VariableStore& store, const std::string& outer, const std::string& name) {
  std::string candidate = name;
  for (int i = 1; store.scope_counts[within(outer, candidate)] > 0; ++i) candidate = internal::concat(name, '_', i);
  return candidate;
}

Initializer default_initializer(DType dtype) {
  if (is_floating(dtype)) return glorot_uniform_initializer();
  if (is_integer(dtype) || dtype == boolean || is_complex(dtype)) return zeros_initializer();
  throw invalid_argument("a variable of type ", dtype, " needs an initializer");
}

Error exists_already(const std::string& name, const Variable& variable) {
  const std::string& made_at = variable.handle().node()->info().made_at;
  return already_exists("variable '", name, "' exists already", made_at.empty() ? "" : ", made at ", made_at)
      .hint("To share it, say {.reuse = true} or {.reuse = AUTO_REUSE} in its variable scope.");
}

Variable shared(const std::string& name, const Variable& variable, const GetVariableOptions& options) {
  const PartialShape shape = variable.shape();
  if (!shape.compatible(options.shape)) {
    throw invalid_argument("variable '", name, "' has shape ", shape, "; it is asked for with shape ", options.shape);
  }
  if (options.dtype != DType::kInvalid && options.dtype != variable.dtype()) {
    throw invalid_argument("variable '", name, "' is ", variable.dtype(), "; it is asked for as ", options.dtype);
  }
  return variable;
}

Variable make(const std::string& name, const GetVariableOptions& options, const VariableScopeInfo& scope) {
  VariableOptions v;
  v.trainable = options.trainable;
  v.collections = options.collections;
  v.validate_shape = options.validate_shape;
  v.name = name;
  v.dtype = options.dtype;
  v.use_resource = options.use_resource.value_or(scope.use_resource);
  v.where = options.where;
  Initializer initializer = options.initializer ? options.initializer : scope.initializer;
  // Names of variables do not depend on name scopes.
  const NameScope top("");
  if (initializer.value()) {
    if (options.shape.has_rank()) throw invalid_argument("the initial value brings its shape: leave the shape out");
    return Variable(*initializer.value(), v);
  }
  const auto shape = options.shape.to_shape();
  if (!shape) {
    throw invalid_argument("the shape ", options.shape, " of a new variable must be known")
        .hint("Give {.shape = ...}, or a value as initializer.");
  }
  v.dtype = options.dtype == DType::kInvalid ? scope.dtype : options.dtype;
  if (!initializer) initializer = default_initializer(v.dtype);
  return Variable([&] { return initializer.function()(*shape, v.dtype); }, v);
}

void add_penalty(const std::string& name, const Variable& variable, const Regularizer& regularizer) {
  if (regularizer == nullptr) return;
  const NameScope scope(name + "/Regularizer/");
  const Output loss = regularizer(variable);
  if (loss) variable.graph().add_to_collection(graph_keys::kRegularizationLosses, {.output = loss});
}

}  // namespace

VariableScopeInfo get_variable_scope() {
  const auto& scopes = open_scopes();
  if (scopes.empty() || scopes.back().graph != &default_graph()) return {};
  return *scopes.back().info;
}

VariableScope::VariableScope(std::string_view name, const VariableScopeOptions& options) : graph_(&default_graph()) {
  VariableScopeInfo info = get_variable_scope();
  VariableStore& store = store_of(*graph_);
  if (name.empty() && options.default_name.empty()) {
    throw invalid_argument("a variable scope needs a name or a default name");
  }
  const std::string own = name.empty() ? unique_scope_name(store, info.name, options.default_name) : std::string(name);
  info.name = within(info.name, own);
  ++store.scope_counts[info.name];
  enter(std::move(info), name.empty() ? options.default_name : own, options);
}

VariableScope::VariableScope(const VariableScopeInfo& scope, const VariableScopeOptions& options)
    : graph_(&default_graph()) {
  VariableStore& store = store_of(*graph_);
  outer_counts_ = store.scope_counts;
  ++store.scope_counts[scope.name];
  const auto slash = scope.name.rfind('/');
  enter(scope, slash == std::string::npos ? scope.name : scope.name.substr(slash + 1), options);
}

void VariableScope::enter(VariableScopeInfo info, const std::string& name_scope, const VariableScopeOptions& options) {
  if (options.initializer) info.initializer = options.initializer;
  if (options.regularizer) info.regularizer = options.regularizer;
  if (options.partitioner) info.partitioner = options.partitioner;
  if (options.reuse.mode != ReuseMode::kNo) info.reuse = options.reuse.mode;
  if (options.dtype != DType::kInvalid) info.dtype = options.dtype;
  if (options.use_resource) info.use_resource = *options.use_resource;
  if (!name_scope.empty()) name_scope_.emplace(name_scope);  // the top scope, entered again, has none of its own
  info.original_name_scope = current_name_scope();
  info_ = std::move(info);
  open_scopes().push_back({graph_, &info_});
}

VariableScope::~VariableScope() {
  open_scopes().pop_back();
  auto& counts = store_of(*graph_).scope_counts;
  if (outer_counts_) {
    counts = std::move(*outer_counts_);
    return;
  }
  // Unique names inside start anew when the scope is entered again: that is how layers find their variables.
  for (auto& [name, count] : counts) {
    if (name.starts_with(info_.name + "/")) count = 0;
  }
}

void VariableScope::reuse_variables() { info_.reuse = ReuseMode::kYes; }

Variable get_variable(std::string_view name, const GetVariableOptions& options) {
  const LocationScope where(options.where);
  const VariableScopeInfo scope = get_variable_scope();
  const std::string full = within(scope.name, name);
  VariableStore& store = store_of(default_graph());
  auto& variables = store.variables;
  const auto found = variables.find(full);
  try {
    if (store.partitioned.contains(full)) {
      throw invalid_argument("variable '", full, "' exists in parts; get it with get_partitioned_variable()");
    }
    if (found != variables.end()) {
      if (scope.reuse == ReuseMode::kNo) throw exists_already(full, found->second);
      return shared(full, found->second, options);
    }
    if (scope.reuse == ReuseMode::kYes) {
      std::vector<std::string> known;
      for (const auto& [other, variable] : variables) known.push_back(other);
      const std::string advice = did_you_mean(full, known);
      throw not_found("variable '", full, "' does not exist, or was not made with get_variable()")
          .hint(advice.empty() ? "To make it here, say {.reuse = AUTO_REUSE} in its variable scope." : advice);
    }
    const Variable variable = make(full, options, scope);
    variables.emplace(full, variable);
    add_penalty(full, variable, options.regularizer ? options.regularizer : scope.regularizer);
    return variable;
  } catch (const Error& error) {
    throw error.made_at(current_location(options.where));
  }
}

// ---- Variables in parts

namespace {

Shape partitioned_shape(const std::string& name, const GetVariableOptions& options) {
  PartialShape shape = options.shape;
  if (options.initializer.value()) {
    const Operand& value = *options.initializer.value();
    const PartialShape given = value.is_output() ? value.to_output().shape() : PartialShape(value.value()->shape());
    const auto merged = shape.merge(given);
    if (!merged) throw invalid_argument("variable '", name, "' of shape ", shape, " is initialised with ", given);
    shape = *merged;
  }
  const auto known = shape.to_shape();
  if (!known) {
    throw invalid_argument("Shape of a new partitioned variable must be fully defined, but instead was ", shape, ".");
  }
  if (known->rank() < 1) {
    throw invalid_argument("A partitioned Variable must have rank at least 1, shape: ", *known);
  }
  return *known;
}

std::vector<std::int64_t> checked_partitions(const Partitioner& partitioner, const Shape& shape, DType dtype) {
  if (partitioner == nullptr) {
    throw invalid_argument("neither the call nor the variable scope has a partitioner")
        .hint("For a whole variable use get_variable().");
  }
  std::vector<std::int64_t> partitions = partitioner(shape, dtype);
  const auto text = [&] { return PartialShape(partitions).to_string(); };
  if (static_cast<int>(partitions.size()) != shape.rank()) {
    throw invalid_argument("Partitioner returned a partition list that does not match the Variable's rank: ",
                           partitions.size(), " vs. ", shape);
  }
  if (std::ranges::any_of(partitions, [](std::int64_t n) { return n < 1; })) {
    throw invalid_argument("Partitioner returned zero partitions for some axes of ", shape);
  }
  if (std::ranges::count_if(partitions, [](std::int64_t n) { return n > 1; }) > 1) {
    throw invalid_argument("Can only slice a variable along one dimension: shape: ", shape, ", partitioning: ", text());
  }
  return partitions;
}

// Consecutive pieces, the first ones longer by one where the size does not divide.
std::vector<VariableSlice> slices_of(const std::string& name, const Shape& shape,
                                     const std::vector<std::int64_t>& partitions) {
  const auto cut = std::ranges::max_element(partitions);
  const auto axis = cut - partitions.begin();
  const std::int64_t count = *cut, size = shape[static_cast<int>(axis)];
  std::vector<VariableSlice> slices;
  std::vector<std::int64_t> offset(shape.rank(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> part = shape.to_vector();
    part[axis] = size / count + (i < size % count ? 1 : 0);
    slices.push_back({name, shape.to_vector(), offset, part});
    offset[axis] += part[axis];
  }
  return slices;
}

Variable make_part(const VariableSlice& slice, int index, GetVariableOptions options, const VariableScopeInfo& scope) {
  const std::string name = internal::concat(slice.full_name, "/part_", index);
  if (options.initializer.value()) {
    const NameScope initializer(name + "/PartitionedInitializer/");
    const DType wanted = options.dtype == DType::kInvalid ? scope.dtype : options.dtype;
    const Output whole = options.initializer.value()->to_output(wanted);
    options.initializer = OpBuilder("Slice", {}).input(whole).input(slice.offset).input(slice.shape).build();
    options.shape = PartialShape::unknown();
  } else {
    options.shape = PartialShape(slice.shape);
  }
  const bool trainable = std::exchange(options.trainable, false);
  const auto collections = std::exchange(options.collections, {});
  const Shape whole(slice.full_shape);
  const PartOfVariable part(whole);
  Variable::Parts parts = make(name, options, scope).parts();
  parts.trainable = trainable;
  parts.slice = std::make_shared<const VariableSlice>(slice);
  const Variable variable(parts);
  for (const std::string& key : collections) add_to_collection(key, variable);
  if (trainable) add_to_collection(graph_keys::kTrainableVariables, variable);
  add_penalty(name, variable, options.regularizer ? options.regularizer : scope.regularizer);
  return variable;
}

const PartitionedVariable& shared(const PartitionedVariable& variable, const GetVariableOptions& options,
                                  const std::vector<std::int64_t>* partitions) {
  const auto differs = [&](std::string_view what, const auto& wanted, const auto& found) {
    throw invalid_argument("Trying to reuse partitioned variable ", variable.name(), ", but specified ", what, " ",
                           wanted, " and found ", what, " ", found, ".");
  };
  if (!options.shape.compatible(variable.shape())) differs("shape", options.shape, variable.shape());
  if (options.dtype != DType::kInvalid && options.dtype != variable.dtype()) {
    differs("dtype", options.dtype, variable.dtype());
  }
  if (partitions != nullptr && *partitions != variable.partitions()) {
    differs("partitions", PartialShape(*partitions), PartialShape(variable.partitions()));
  }
  return variable;
}

}  // namespace

PartitionedVariable get_partitioned_variable(std::string_view name, const GetVariableOptions& options,
                                             const Partitioner& partitioner) {
  const LocationScope where(options.where);
  const VariableScopeInfo scope = get_variable_scope();
  const std::string full = within(scope.name, name);
  VariableStore& store = store_of(default_graph());
  try {
    if (store.variables.contains(full)) {
      throw invalid_argument("A partitioner was provided, but an unpartitioned version of the variable was found: ",
                             full, ".  Perhaps a variable of the same name was already created without partitioning?");
    }
    const Partitioner& cut = partitioner ? partitioner : scope.partitioner;
    const DType dtype = options.dtype == DType::kInvalid ? scope.dtype : options.dtype;
    const auto found = store.partitioned.find(full);
    if (found != store.partitioned.end()) {
      if (scope.reuse == ReuseMode::kNo) throw exists_already(full, found->second[0]);
      if (cut == nullptr) return shared(found->second, options, nullptr);
      const auto partitions = checked_partitions(cut, found->second.shape(), dtype);
      return shared(found->second, options, &partitions);
    }
    if (scope.reuse == ReuseMode::kYes) {
      throw not_found("PartitionedVariable ", full,
                      " does not exist, or was not created with "
                      "get_partitioned_variable()")
          .hint("To make it here, say {.reuse = AUTO_REUSE} in its variable scope.");
    }
    const Shape shape = partitioned_shape(full, options);
    auto partitions = checked_partitions(cut, shape, dtype);
    std::vector<Variable> parts;
    for (const VariableSlice& slice : slices_of(full, shape, partitions)) {
      parts.push_back(make_part(slice, static_cast<int>(parts.size()), options, scope));
      store.variables.emplace(parts.back().op_name(), parts.back());
    }
    return store.partitioned.emplace(full, PartitionedVariable(full, shape, std::move(partitions), std::move(parts)))
        .first->second;
  } catch (const Error& error) {
    throw error.made_at(current_location(options.where));
  }
}

}  // namespace caudal::inline v0
