#include "caudal/proto/freeze_graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/op_registry.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

// Values of variables by the name of their node.
using VariableValues = std::map<std::string, Tensor, std::less<>>;

// The node of "node:2", "^node" or "node".
std::string_view node_of(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return input.substr(0, input.rfind(':'));
}

using NodeIndex = std::unordered_map<std::string_view, int>;

NodeIndex index_of(const pb::GraphDef& def) {
  NodeIndex index;
  for (int i = 0; i < def.node_size(); ++i) index.emplace(def.node(i).name(), i);
  return index;
}

Error no_such_node(const std::string& name, const pb::GraphDef& def) {
  std::vector<std::string> names;
  for (const auto& node : def.node()) names.push_back(node.name());
  const std::string near = did_you_mean(name, names);
  const Error error = not_found("the graph has no node '", name, "'");
  return near.empty() ? error : error.hint(near);
}

// Ops that hand on what they get: the type attribute T follows the variable's.
bool hands_on(const std::string& op) {
  static const std::unordered_set<std::string> ops = {"Identity", "RefIdentity", "Enter",         "RefEnter",
                                                      "Exit",     "RefExit",     "Switch",        "RefSwitch",
                                                      "Merge",    "RefMerge",    "NextIteration", "RefNextIteration"};
  return ops.contains(op);
}

class Freezer {
 public:
  Freezer(const pb::GraphDef& def, const VariableValues& values) : def_(def), values_(values), index_(index_of(def)) {}

  pb::GraphDef run() {
    find_carriers();
    pb::GraphDef frozen;
    *frozen.mutable_versions() = def_.versions();
    *frozen.mutable_library() = def_.library();
    for (const auto& node : def_.node()) {
      try {
        add(node, frozen);
      } catch (const Error& error) {
        throw error.at_node(node.op(), node.name());
      }
    }
    return frozen;
  }

 private:
  // What a node gives that stands for a variable: the reference or the handle.
  struct Carrier {
    const Tensor* value;
    bool is_resource;
  };

  // Finds the nodes that do; until nothing changes, as loops have back edges.
  void find_carriers() {
    for (const auto& node : def_.node()) {
      if (const auto value = values_.find(node.name()); value != values_.end() && is_variable_op(node.op())) {
        carriers_.emplace(node.name(), Carrier{&value->second, node.op() == "VarHandleOp"});
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& node : def_.node()) {
        if (!hands_on(node.op()) || carriers_.contains(node.name())) continue;
        for (const std::string& input : node.input()) {
          const Carrier* carrier = carried(input);
          // An Identity of a reference is a read: an ordinary value.
          if (carrier == nullptr || (!carrier->is_resource && !node.op().starts_with("Ref"))) continue;
          changed |= carriers_.emplace(node.name(), *carrier).second;
        }
      }
    }
  }

  const Carrier* carried(std::string_view input) const {
    if (input.starts_with('^')) return nullptr;
    const auto found = carriers_.find(node_of(input));
    return found == carriers_.end() ? nullptr : &found->second;
  }

  void add(const pb::NodeDef& node, pb::GraphDef& frozen) const {
    pb::NodeDef copy = node;
    copy.mutable_attr()->erase("_output_shapes");
    drop_colocation(copy);
    const auto carrier = carriers_.find(node.name());
    const Carrier* input = nullptr;
    for (const std::string& name : node.input()) {
      if (input == nullptr) input = carried(name);
    }
    if (is_variable_op(node.op()) && carrier != carriers_.end()) {
      become_constant(*carrier->second.value, copy);
    } else if (carrier != carriers_.end()) {
      if (copy.op().starts_with("Ref")) copy.set_op(copy.op().substr(3));
      (*copy.mutable_attr())["T"].set_type(to_proto(input->value->dtype()));
    } else if (node.op() == "ReadVariableOp" && input != nullptr) {
      become("Identity", {{"T", input->value->dtype()}}, copy);
    } else if (node.op() == "ResourceGather" && input != nullptr) {
      become_gather(input->value->dtype(), copy, frozen);
    } else if (node.op() == "VariableShape" && input != nullptr) {
      const pb::DataType out_type = attr_type(node, "out_type", pb::DT_INT32);
      become("Shape", {{"T", input->value->dtype()}, {"out_type", from_proto(out_type)}}, copy);
    } else if (input != nullptr) {
      check_only_reads(node, *input);
    }
    *frozen.add_node() = std::move(copy);
  }

  static pb::DataType attr_type(const pb::NodeDef& node, const std::string& name, pb::DataType otherwise) {
    const auto found = node.attr().find(name);
    return found == node.attr().end() ? otherwise : found->second.type();
  }

  static void become(const std::string& op, const std::map<std::string, DType>& types, pb::NodeDef& node) {
    node.set_op(op);
    node.clear_attr();
    for (const auto& [name, type] : types) (*node.mutable_attr())[name].set_type(to_proto(type));
  }

  static void become_constant(const Tensor& value, pb::NodeDef& node) {
    become("Const", {{"dtype", value.dtype()}}, node);
    *(*node.mutable_attr())["value"].mutable_tensor() = to_proto(value);
    node.clear_input();
  }

  static void become_gather(DType dtype, pb::NodeDef& node, pb::GraphDef& frozen) {
    const pb::DataType indices = attr_type(node, "Tindices", pb::DT_INT32);
    const auto batch_dims = node.attr().find("batch_dims");
    const std::int64_t dims = batch_dims == node.attr().end() ? 0 : batch_dims->second.i();
    pb::NodeDef axis;
    axis.set_name(node.name() + "/axis");
    become_constant(Tensor(static_cast<std::int32_t>(dims)), axis);
    become("GatherV2", {{"Tparams", dtype}, {"Tindices", from_proto(indices)}, {"Taxis", int32}}, node);
    (*node.mutable_attr())["batch_dims"].set_i(dims);
    const std::vector<std::string> inputs(node.input().begin(), node.input().end());
    node.clear_input();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.add_input(inputs[i]);
      if (i == 1) node.add_input(axis.name());  // before control inputs
    }
    *frozen.add_node() = std::move(axis);
  }

  // A node placed with a variable that is none any more, or with one that is not there.
  void drop_colocation(pb::NodeDef& node) const {
    const auto found = node.mutable_attr()->find("_class");
    if (found == node.mutable_attr()->end()) return;
    auto* names = found->second.mutable_list()->mutable_s();
    const auto gone = [&](const std::string& name) {
      constexpr std::string_view mark = "loc:@";
      return name.starts_with(mark) && !index_.contains(std::string_view(name).substr(mark.size()));
    };
    names->erase(std::remove_if(names->begin(), names->end(), gone), names->end());
    if (names->empty()) node.mutable_attr()->erase("_class");
  }

  // Any op may read the value of a reference variable; one that takes the reference itself changes it.
  static void check_only_reads(const pb::NodeDef& node, const Carrier& input) {
    const Op* op = find_op(node.op());
    const bool takes_reference =
        op != nullptr && std::ranges::any_of(op->def.inputs, [](const ArgDef& arg) { return arg.is_ref; });
    if (!input.is_resource && !takes_reference) return;
    throw failed_precondition("it needs a variable that was to become a constant")
        .hint("Name outputs of the forward computation, or keep the variable.");
  }

  const pb::GraphDef& def_;
  const VariableValues& values_;
  const NodeIndex index_;
  std::unordered_map<std::string_view, Carrier> carriers_;
};

pb::GraphDef sub_graph(const pb::GraphDef& def, const std::vector<std::string>& outputs) {
  const NodeIndex index = index_of(def);
  std::vector<bool> needed(def.node_size());
  std::vector<int> waiting;
  const auto need = [&](std::string_view name) {
    const auto found = index.find(name);
    if (found == index.end()) throw no_such_node(std::string(name), def);
    if (!needed[found->second]) waiting.push_back(found->second);
    needed[found->second] = true;
  };
  for (const std::string& output : outputs) need(node_of(output));
  while (!waiting.empty()) {
    const int node = waiting.back();
    waiting.pop_back();
    for (const std::string& input : def.node(node).input()) need(node_of(input));
  }
  pb::GraphDef part;
  *part.mutable_versions() = def.versions();
  *part.mutable_library() = def.library();
  for (int i = 0; i < def.node_size(); ++i) {
    if (needed[i]) *part.add_node() = def.node(i);
  }
  return part;
}

}  // namespace

bool is_variable_op(const std::string& op) {
  return op == "VariableV2" || op == "VarHandleOp" || op == "Variable" || op == "AutoReloadVariable";
}

void copy_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, Graph& part) {
  import_graph_def(sub_graph(export_graph_def(graph), outputs), {}, part);
}

void freeze_sub_graph(const Graph& graph, const std::vector<std::string>& outputs, const VariableValue& value_of,
                      Graph& frozen) {
  const pb::GraphDef part = sub_graph(export_graph_def(graph), outputs);
  VariableValues values;
  for (const auto& proto : part.node()) {
    if (!is_variable_op(proto.op())) continue;
    if (auto value = value_of(*graph.find(proto.name()))) values.emplace(proto.name(), *std::move(value));
  }
  import_graph_def(Freezer(part, values).run(), {}, frozen);
}

}  // namespace caudal::inline v0
