#include "caudal/proto/meta_collections.h"

#include <algorithm>
#include <map>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/log.h"
#include "caudal/base/strings.h"
#include "caudal/graph/collection.h"
#include "caudal/ops/control_flow_contexts.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/context_proto.h"
#include "caudal/proto/control_flow.pb.h"
#include "caudal/proto/graph_def.h"

namespace caudal::inline v0 {
namespace {

using Kind = pb::CollectionDef::KindCase;

// Collections whose members are Variable objects, VariableDef in files.
bool holds_variables(std::string_view key) {
  return key == graph_keys::kGlobalVariables || key == graph_keys::kLocalVariables ||
         key == graph_keys::kTrainableVariables || key == graph_keys::kModelVariables ||
         key == graph_keys::kMovingAverageVariables || key == graph_keys::kGlobalStep || key == "metric_variables";
}

// Collections whose members are contexts of conditions and loops.
bool holds_contexts(std::string_view key) { return key == kCondContextKey || key == kWhileContextKey; }

// ---- Export

std::string variable_def(const Variable& variable) {
  const Variable::Parts& parts = variable.parts();
  pb::VariableDef def;
  def.set_variable_name(parts.handle.name());
  if (parts.initializer) def.set_initializer_name(parts.initializer.name());
  def.set_snapshot_name(parts.snapshot.name());
  if (parts.initial_value) def.set_initial_value_name(parts.initial_value.name());
  def.set_is_resource(variable.is_resource());
  def.set_trainable(parts.trainable);
  def.set_synchronization(parts.synchronization);
  def.set_aggregation(parts.aggregation);
  if (const VariableSlice* slice = variable.slice()) {
    auto* info = def.mutable_save_slice_info_def();
    info->set_full_name(slice->full_name);
    info->mutable_full_shape()->Add(slice->full_shape.begin(), slice->full_shape.end());
    info->mutable_var_offset()->Add(slice->offset.begin(), slice->offset.end());
    info->mutable_var_shape()->Add(slice->shape.begin(), slice->shape.end());
  }
  return deterministic_bytes(def);
}

Kind kind_of(const CollectionItem& item) {
  if (item.integer) return pb::CollectionDef::kInt64List;
  if (item.number) return pb::CollectionDef::kFloatList;
  if (!item.type_url.empty()) return pb::CollectionDef::kAnyList;
  if (item.object != nullptr && !item.text.empty()) return pb::CollectionDef::kBytesList;
  if (item.output || item.operation) return pb::CollectionDef::kNodeList;
  return item.object == nullptr ? pb::CollectionDef::kBytesList : pb::CollectionDef::KIND_NOT_SET;
}

void add_item(const CollectionItem& item, Kind kind, pb::CollectionDef& def) {
  switch (kind) {
    case pb::CollectionDef::kNodeList:
      def.mutable_node_list()->add_value(item.output ? item.output.name() : item.operation.name());
      break;
    case pb::CollectionDef::kBytesList:
      def.mutable_bytes_list()->add_value(item.text);
      break;
    case pb::CollectionDef::kInt64List:
      def.mutable_int64_list()->add_value(*item.integer);
      break;
    case pb::CollectionDef::kFloatList:
      def.mutable_float_list()->add_value(*item.number);
      break;
    case pb::CollectionDef::kAnyList: {
      auto* any = def.mutable_any_list()->add_value();
      any->set_type_url(item.type_url);
      any->set_value(item.text);
      break;
    }
    case pb::CollectionDef::KIND_NOT_SET:
      break;
  }
}

pb::CollectionDef collection_def(Graph& graph, const std::string& key) {
  pb::CollectionDef def;
  if (holds_variables(key)) {
    for (const Variable& variable : variables_in_collection(graph, key)) {
      def.mutable_bytes_list()->add_value(variable_def(variable));
    }
    return def;
  }
  const auto items = graph.collection(key);
  if (items.empty()) return def;
  if (holds_contexts(key)) {
    for (const CollectionItem& item : items) {
      def.mutable_bytes_list()->add_value(item.object == nullptr ? item.text : context_def(item));
    }
    return def;
  }
  const Kind kind = kind_of(items[0]);
  if (!std::ranges::all_of(items, [&](const CollectionItem& item) { return kind_of(item) == kind; })) {
    log_warning("the collection '", key, "' is not exported: its members are of several kinds");
    return def;
  }
  for (const CollectionItem& item : items) add_item(item, kind, def);
  return def;
}

// ---- Names below a scope

void prefix(std::string* name, const std::string& scope) {
  if (!name->empty()) *name = in_scope(*name, scope);
}

void prefix(google::protobuf::RepeatedPtrField<std::string>* names, const std::string& scope) {
  for (std::string& name : *names) prefix(&name, scope);
}

void prefix(pb::ValuesDef* values, const std::string& scope) {
  prefix(values->mutable_values(), scope);
  std::map<std::string, std::string> external(values->external_values().begin(), values->external_values().end());
  values->clear_external_values();
  for (const auto& [inside, outside] : external) {
    (*values->mutable_external_values())[in_scope(inside, scope)] = in_scope(outside, scope);
  }
}

void prefix(pb::CondContextDef* context, const std::string& scope);
void prefix(pb::WhileContextDef* context, const std::string& scope);

void prefix(pb::ControlFlowContextDef* context, const std::string& scope) {
  if (context->has_cond_ctxt()) prefix(context->mutable_cond_ctxt(), scope);
  if (context->has_while_ctxt()) prefix(context->mutable_while_ctxt(), scope);
}

void prefix(pb::CondContextDef* context, const std::string& scope) {
  for (std::string* name :
       {context->mutable_context_name(), context->mutable_pred_name(), context->mutable_pivot_name()}) {
    prefix(name, scope);
  }
  prefix(context->mutable_values_def(), scope);
  for (auto& nested : *context->mutable_nested_contexts()) prefix(&nested, scope);
}

void prefix(pb::WhileContextDef* context, const std::string& scope) {
  for (std::string* name :
       {context->mutable_context_name(), context->mutable_pivot_name(), context->mutable_pivot_for_pred_name(),
        context->mutable_pivot_for_body_name(), context->mutable_maximum_iterations_name()}) {
    prefix(name, scope);
  }
  prefix(context->mutable_loop_exit_names(), scope);
  prefix(context->mutable_loop_enter_names(), scope);
  prefix(context->mutable_values_def(), scope);
  for (auto& nested : *context->mutable_nested_contexts()) prefix(&nested, scope);
}

void prefix(pb::QueueRunnerDef* runner, const std::string& scope) {
  prefix(runner->mutable_queue_name(), scope);
  prefix(runner->mutable_enqueue_op_name(), scope);
  prefix(runner->mutable_close_op_name(), scope);
  prefix(runner->mutable_cancel_op_name(), scope);
}

void prefix(pb::SaverDef* saver, const std::string& scope) {
  prefix(saver->mutable_filename_tensor_name(), scope);
  prefix(saver->mutable_save_tensor_name(), scope);
  prefix(saver->mutable_restore_op_name(), scope);
}

template <class Message>
std::string prefixed_message(const std::string& bytes, const std::string& scope) {
  Message message;
  if (!message.ParseFromString(bytes)) throw invalid_argument("a member is damaged");
  prefix(&message, scope);
  return deterministic_bytes(message);
}

// A member of a list of strings as it reads below a scope: messages by their kind, other strings as TensorFlow does,
// which takes them for names.
std::string prefixed_bytes(const std::string& key, const std::string& bytes, const std::string& scope) {
  if (scope.empty()) return bytes;
  if (key == "cond_context") return prefixed_message<pb::CondContextDef>(bytes, scope);
  if (key == "while_context") return prefixed_message<pb::WhileContextDef>(bytes, scope);
  if (key == graph_keys::kQueueRunners) return prefixed_message<pb::QueueRunnerDef>(bytes, scope);
  if (key == graph_keys::kSavers) return prefixed_message<pb::SaverDef>(bytes, scope);
  return in_scope(bytes, scope);
}

// ---- Import

pb::VariableDef parse_variable(const std::string& bytes) {
  pb::VariableDef def;
  if (!def.ParseFromString(bytes) || def.variable_name().empty() || def.snapshot_name().empty()) {
    throw invalid_argument("a member is no variable");
  }
  const auto& slice = def.save_slice_info_def();
  if (slice.full_shape_size() != slice.var_offset_size() || slice.full_shape_size() != slice.var_shape_size()) {
    throw invalid_argument("'", def.variable_name(), "' is part of '", slice.full_name(),
                           "', of which shape, offset and size have different ranks");
  }
  return def;
}

std::shared_ptr<const VariableSlice> slice_from(const pb::SaveSliceInfoDef& def, const std::string& scope) {
  VariableSlice slice;
  slice.full_name = in_scope(def.full_name(), scope);
  slice.full_shape.assign(def.full_shape().begin(), def.full_shape().end());
  slice.offset.assign(def.var_offset().begin(), def.var_offset().end());
  slice.shape.assign(def.var_shape().begin(), def.var_shape().end());
  return std::make_shared<const VariableSlice>(std::move(slice));
}

Variable variable_from(const pb::VariableDef& def, const std::string& scope, const Graph& graph) {
  const auto tensor = [&](const std::string& name) {
    return name.empty() ? Output() : graph.tensor(in_scope(name, scope));
  };
  Variable::Parts parts;
  parts.handle = tensor(def.variable_name());
  parts.snapshot = tensor(def.snapshot_name());
  parts.initial_value = tensor(def.initial_value_name());
  if (!def.initializer_name().empty()) parts.initializer = graph.operation(in_scope(def.initializer_name(), scope));
  parts.trainable = def.trainable();
  parts.synchronization = def.synchronization();
  parts.aggregation = def.aggregation();
  if (def.has_save_slice_info_def()) parts.slice = slice_from(def.save_slice_info_def(), scope);
  return Variable(parts);
}

// Before TensorFlow 1.9 files did not say whether a variable is trainable; the collection does.
bool says_trainable(const pb::MetaGraphDef& meta) {
  const auto parts = split(meta.meta_info_def().tensorflow_version(), '.');
  std::int64_t major = 0, minor = 0;
  if (parts.size() < 2 || !parse_int64(parts[0], &major) || !parse_int64(parts[1], &minor)) return true;
  return major > 1 || (major == 1 && minor >= 9);
}

std::vector<std::string> keys_in_order(const pb::MetaGraphDef& meta) {
  std::vector<std::string> keys;
  for (const auto& [key, def] : meta.collection_def()) keys.push_back(key);
  std::ranges::sort(keys);
  return keys;
}

CollectionItem node_item(const std::string& name, const std::string& scope, const Graph& graph) {
  CollectionItem item;
  const std::string full = in_scope(name, scope);
  if (full.find(':') != std::string::npos) {
    item.output = graph.tensor(full);
  } else {
    item.operation = graph.operation(full);
  }
  return item;
}

class Importer {
 public:
  Importer(const pb::MetaGraphDef& meta, const std::string& scope, Graph& graph)
      : meta_(meta), scope_(scope), graph_(graph), says_trainable_(says_trainable(meta)) {
    const auto found = meta.collection_def().find(std::string(graph_keys::kTrainableVariables));
    if (found == meta.collection_def().end()) return;
    trainable_.insert(found->second.bytes_list().value().begin(), found->second.bytes_list().value().end());
  }

  void add(const std::string& key, const pb::CollectionDef& def) {
    if (holds_variables(key) && def.has_bytes_list()) {
      for (const std::string& bytes : def.bytes_list().value()) add_to_collection(key, variable(bytes));
      return;
    }
    for (const std::string& name : def.node_list().value()) add(key, node_item(name, scope_, graph_));
    for (const std::string& bytes : def.bytes_list().value()) {
      std::string text = prefixed_bytes(key, bytes, scope_);
      if (holds_contexts(key)) {
        add(key, context_from(key, text, graph_));
      } else {
        add(key, {.text = std::move(text)});
      }
    }
    for (const std::int64_t value : def.int64_list().value()) add(key, {.integer = value});
    for (const float value : def.float_list().value()) add(key, {.number = value});
    for (const auto& any : def.any_list().value()) add(key, {.text = any.value(), .type_url = any.type_url()});
  }

 private:
  void add(const std::string& key, CollectionItem item) { graph_.add_to_collection(key, std::move(item)); }

  const Variable& variable(const std::string& bytes) {
    const auto known = variables_.find(bytes);
    if (known != variables_.end()) return known->second;
    pb::VariableDef def = parse_variable(bytes);
    if (!says_trainable_) def.set_trainable(trainable_.contains(bytes));
    return variables_.emplace(bytes, variable_from(def, scope_, graph_)).first->second;
  }

  const pb::MetaGraphDef& meta_;
  const std::string& scope_;
  Graph& graph_;
  const bool says_trainable_;
  std::unordered_set<std::string> trainable_;
  std::map<std::string, Variable> variables_;
};

// Whether the names in a collection are those of nodes.
class Checker {
 public:
  explicit Checker(const pb::GraphDef& graph) {
    for (const auto& node : graph.node()) names_.insert(node.name());
  }

  void check(const std::string& key, const pb::CollectionDef& def) const {
    for (const std::string& name : def.node_list().value()) check_name(name);
    if (!holds_variables(key)) return;
    for (const std::string& bytes : def.bytes_list().value()) {
      const pb::VariableDef variable = parse_variable(bytes);
      for (const std::string& name : {variable.variable_name(), variable.snapshot_name(), variable.initializer_name(),
                                      variable.initial_value_name()}) {
        if (!name.empty()) check_name(name);
      }
    }
  }

 private:
  void check_name(std::string_view name) const {
    if (!names_.contains(name.substr(0, name.rfind(':')))) {
      throw invalid_argument("it names '", name, "', which is not in the graph");
    }
  }

  std::unordered_set<std::string_view> names_;
};

}  // namespace

std::string in_scope(std::string_view name, const std::string& scope) {
  if (scope.empty()) return std::string(name);
  for (const std::string_view mark : {"^", "loc:@"}) {
    if (name.starts_with(mark)) return internal::concat(mark, scope, '/', name.substr(mark.size()));
  }
  return internal::concat(scope, '/', name);
}

void export_collections(const Graph& graph, const std::vector<std::string>& wanted, pb::MetaGraphDef& meta) {
  auto& readable = const_cast<Graph&>(graph);  // a Variable is a handle that could change the graph; this one does not
  for (const std::string& key : graph.collection_keys()) {
    if (!wanted.empty() && std::ranges::find(wanted, key) == wanted.end()) continue;
    pb::CollectionDef def = collection_def(readable, key);
    if (def.kind_case() != pb::CollectionDef::KIND_NOT_SET) (*meta.mutable_collection_def())[key] = std::move(def);
  }
}

void check_collections(const pb::MetaGraphDef& meta) {
  const Checker checker(meta.graph_def());
  for (const auto& [key, def] : meta.collection_def()) {
    try {
      checker.check(key, def);
    } catch (const Error& error) {
      throw error.in("collection '" + key + "'");
    }
  }
}

void import_collections(const pb::MetaGraphDef& meta, const std::string& scope, Graph& graph) {
  Importer importer(meta, scope, graph);
  for (const std::string& key : keys_in_order(meta)) importer.add(key, meta.collection_def().at(key));
}

}  // namespace caudal::inline v0
