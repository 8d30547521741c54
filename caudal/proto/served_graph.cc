#include "caudal/proto/served_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"
#include "caudal/proto/graph_def.h"
#include "caudal/proto/graph_limits.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

// "^a", "a", "a:1" -> "a".
std::string_view node_of(std::string_view input) {
  if (input.starts_with('^')) return input.substr(1);
  return input.substr(0, input.rfind(':'));
}

// "a" -> "a:0".
std::string with_index(const std::string& input) {
  return input.starts_with('^') || input.find(':') != std::string::npos ? input : input + ":0";
}

pb::GraphDef parse_graph(std::string_view bytes) {
  pb::GraphDef def;
  if (bytes.size() > INT32_MAX || !def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw invalid_argument("these ", bytes.size(), " bytes are no GraphDef");
  }
  return def;
}

// Adds the library of `def` to that of `all`: functions that are there already must be the same.
void merge_library(pb::GraphDef& def, pb::GraphDef& all) {
  std::unordered_map<std::string, const pb::FunctionDef*> known;
  for (const auto& function : all.library().function()) known.emplace(function.signature().name(), &function);
  std::vector<pb::FunctionDef*> added;
  for (auto& function : *def.mutable_library()->mutable_function()) {
    const auto found = known.find(function.signature().name());
    if (found == known.end()) {
      added.push_back(&function);
    } else if (deterministic_bytes(*found->second) != deterministic_bytes(function)) {
      throw invalid_argument("Cannot add function '", function.signature().name(),
                             "' because a different function with the same name already exists.");
    }
  }
  for (auto* function : added) *all.mutable_library()->add_function() = std::move(*function);
  for (const auto& gradient : def.library().gradient()) *all.mutable_library()->add_gradient() = gradient;
}

void merge(pb::GraphDef def, pb::GraphDef& all) {
  std::unordered_set<std::string_view> names;
  for (const auto& node : all.node()) names.insert(node.name());
  for (const auto& node : def.node()) {
    if (names.contains(node.name())) {
      throw invalid_argument("GraphDef argument to Extend includes node '", node.name(),
                             "', which was created by a previous call to Create or Extend in this session.");
    }
  }
  merge_library(def, all);
  if (all.node_size() == 0) *all.mutable_versions() = def.versions();
  all.mutable_versions()->set_min_consumer(std::max(all.versions().min_consumer(), def.versions().min_consumer()));
  for (auto& node : *def.mutable_node()) *all.add_node() = std::move(node);
}

// Nodes of unknown ops and all that depend on them -> the index of the node that is to blame.
std::unordered_map<std::string, int> without_op(const pb::GraphDef& def) {
  std::unordered_set<std::string_view> functions;
  for (const auto& function : def.library().function()) functions.insert(function.signature().name());
  std::unordered_map<std::string, int> reason;
  std::vector<int> waiting;
  for (int i = 0; i < def.node_size(); ++i) {
    if (find_op(def.node(i).op()) != nullptr || functions.contains(def.node(i).op())) continue;
    reason.emplace(def.node(i).name(), i);
    waiting.push_back(i);
  }
  if (waiting.empty()) return reason;
  std::unordered_map<std::string_view, std::vector<int>> followers;
  for (int i = 0; i < def.node_size(); ++i) {
    for (const auto& input : def.node(i).input()) followers[node_of(input)].push_back(i);
  }
  while (!waiting.empty()) {
    const std::string& name = def.node(waiting.back()).name();
    waiting.pop_back();
    const int blamed = reason.at(name);
    for (const int follower : followers[name]) {
      if (reason.emplace(def.node(follower).name(), blamed).second) waiting.push_back(follower);
    }
  }
  return reason;
}

void set_string(pb::NodeDef& node, const char* attr, std::string_view value) {
  (*node.mutable_attr())[attr].set_s(std::string(value));
}

// What _Send and _Recv share.
pb::NodeDef& add_rendezvous_node(pb::GraphDef& def, const char* op, const Output& tensor, std::string_view device) {
  pb::NodeDef& node = *def.add_node();
  node.set_op(op);
  const bool send = std::string_view(op) == "_Send";
  node.set_name(internal::concat(send ? "_send_" : "_recv_", tensor.node()->name(), '_', tensor.index()));
  (*node.mutable_attr())[send ? "T" : "tensor_type"].set_type(to_proto(tensor.dtype()));
  set_string(node, "tensor_name", tensor.name());
  set_string(node, "send_device", device);
  set_string(node, "recv_device", device);
  (*node.mutable_attr())["send_device_incarnation"].set_i(1);
  (*node.mutable_attr())["client_terminated"].set_b(true);
  return node;
}

void replace_inputs(const std::unordered_map<std::string, std::string>& replaced, pb::GraphDef& def) {
  for (auto& node : *def.mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (const auto found = replaced.find(with_index(input)); found != replaced.end()) input = found->second;
    }
  }
}

}  // namespace

struct ServedGraph::Definition {
  pb::GraphDef def;
  std::unordered_map<std::string, int> left_out;
};

ServedGraph::ServedGraph() : definition_(std::make_unique<Definition>()) {}
ServedGraph::~ServedGraph() = default;

void ServedGraph::import() {
  definition_->left_out = without_op(definition_->def);
  const ImportSpec spec{.may_leave_parts = true};
  if (definition_->left_out.empty()) return import_graph_def(definition_->def, spec, graph_);
  pb::GraphDef known;
  *known.mutable_versions() = definition_->def.versions();
  *known.mutable_library() = definition_->def.library();
  for (const auto& node : definition_->def.node()) {
    if (!definition_->left_out.contains(node.name())) *known.add_node() = node;
  }
  import_graph_def(known, spec, graph_);
}

std::shared_ptr<const ServedGraph> ServedGraph::make(std::string_view bytes, const GraphLimits& limits) {
  std::shared_ptr<ServedGraph> made(new ServedGraph());
  made->definition_->def = parse_graph(bytes);
  made->constant_bytes_ = check_limits(made->definition_->def, limits);
  made->import();
  return made;
}

std::shared_ptr<const ServedGraph> ServedGraph::extended(std::string_view bytes, const GraphLimits& limits) const {
  pb::GraphDef more = parse_graph(bytes);
  std::shared_ptr<ServedGraph> made(new ServedGraph());
  made->definition_->def = definition_->def;
  merge(std::move(more), made->definition_->def);
  made->constant_bytes_ = check_limits(made->definition_->def, limits);
  made->import();
  return made;
}

std::optional<Error> ServedGraph::left_out(std::string_view node) const {
  const auto found = definition_->left_out.find(std::string(node));
  if (found == definition_->left_out.end()) return std::nullopt;
  const pb::NodeDef& blamed = definition_->def.node(found->second);
  const auto type = blamed.attr().find("T");
  std::string what = internal::concat("there is no op '", blamed.op(), "' and so no kernel of it for device CPU");
  if (type != blamed.attr().end()) what += " and type " + pb::DataType_Name(type->second.type());
  if (blamed.name() != node) what += internal::concat("; '", node, "' depends on it");
  return unimplemented(what).at_node(blamed.op(), blamed.name());
}

ServedGraph::Waiting ServedGraph::with_rendezvous(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                                                  std::string_view device) const {
  std::shared_ptr<ServedGraph> made(new ServedGraph());
  pb::GraphDef& def = made->definition_->def;
  def = definition_->def;
  std::unordered_map<std::string, std::string> replaced;
  for (const Output& feed : feeds) {
    const std::string receiver = add_rendezvous_node(def, "_Recv", feed, device).name();
    replaced[feed.name()] = receiver;
    // A control dependency on a fed placeholder waits for the value.
    if (feed.node()->type().starts_with("Placeholder")) replaced["^" + feed.node()->name()] = "^" + receiver;
  }
  replace_inputs(replaced, def);
  Waiting result;
  for (const Output& fetch : fetches) {
    pb::NodeDef& send = add_rendezvous_node(def, "_Send", fetch, device);
    const auto fed = replaced.find(fetch.name());
    send.add_input(fed != replaced.end() ? fed->second : fetch.name());
    result.senders.push_back(send.name());
  }
  made->constant_bytes_ = constant_bytes_;
  made->import();
  result.graph = std::move(made);
  return result;
}

std::shared_ptr<const ServedGraph> ServedGraph::with_connections(
    const std::vector<std::pair<Output, Output>>& pairs) const {
  std::shared_ptr<ServedGraph> made(new ServedGraph());
  made->definition_->def = definition_->def;
  std::unordered_map<std::string, std::string> replaced;
  for (const auto& [from, to] : pairs) replaced[to.name()] = from.name();
  replace_inputs(replaced, made->definition_->def);
  made->constant_bytes_ = constant_bytes_;
  made->import();
  return made;
}

std::string ServedGraph::bytes_of(const std::vector<Node*>& nodes, std::string_view device) const {
  pb::GraphDef def;
  for (const Node* node : nodes) {
    *def.add_node() = export_node(*node);
    def.mutable_node(def.node_size() - 1)->set_device(std::string(device));
  }
  *def.mutable_versions() = definition_->def.versions();
  return deterministic_bytes(def);
}

}  // namespace caudal::inline v0
