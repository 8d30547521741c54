#include "caudal/graph/scope.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

struct ControlFrame {
  std::vector<Node*> operations;
  bool clear = false;
  std::vector<const Node*> made;  // nodes made inside: they wait already, and so does what uses them
};

struct ScopeState {
  std::vector<Graph*> graphs;
  std::string name;
  std::vector<ControlFrame> control;
  std::vector<std::string> devices;
  std::string location;
};

ScopeState& state() {
  thread_local ScopeState instance;
  return instance;
}

std::mutex& global_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::unique_ptr<Graph>& global_graph() {
  static std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  return graph;
}

// Parts of "/job:ps/task:1/cpu:0" in canonical order; later ones override earlier ones.
using DeviceParts = std::array<std::string, 4>;

void apply_device(std::string_view spec, DeviceParts& parts) {
  for (const std::string_view piece : split(spec, '/')) {
    if (piece.empty()) continue;
    std::string part(piece);
    if (part.starts_with("job:")) {
      parts[0] = part;
    } else if (part.starts_with("replica:")) {
      parts[1] = part;
    } else if (part.starts_with("task:")) {
      parts[2] = part;
    } else if (part.starts_with("device:")) {
      parts[3] = part;
    } else {  // "cpu:0", the old spelling
      std::ranges::transform(part, part.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      parts[3] = "device:" + part;
    }
  }
}

}  // namespace

Graph& default_graph() {
  if (!state().graphs.empty()) return *state().graphs.back();
  std::lock_guard lock(global_mutex());
  return *global_graph();
}

void reset_default_graph() {
  if (!state().graphs.empty()) throw failed_precondition("reset_default_graph() inside a GraphScope");
  std::lock_guard lock(global_mutex());
  global_graph() = std::make_unique<Graph>();
}

GraphScope::GraphScope(Graph& graph) { state().graphs.push_back(&graph); }
GraphScope::~GraphScope() { state().graphs.pop_back(); }

NameScope::NameScope(std::string_view name) : previous_(state().name) {
  if (name.empty()) {
    prefix_ = "";
  } else if (name.ends_with('/')) {
    prefix_ = name;
  } else {
    prefix_ = default_graph().unique_name(previous_ + std::string(name)) + "/";
  }
  state().name = prefix_;
}
NameScope::~NameScope() { state().name = previous_; }

ControlDependencies::ControlDependencies(std::vector<Operation> operations, bool clear) {
  ControlFrame frame;
  frame.clear = clear;
  for (const Operation& operation : operations) {
    if (!operation) throw invalid_argument("ControlDependencies: an operation is missing");
    frame.operations.push_back(operation.node());
  }
  state().control.push_back(std::move(frame));
  if (clear) no_context_.emplace(nullptr);
}
ControlDependencies::~ControlDependencies() { state().control.pop_back(); }

DeviceScope::DeviceScope(std::string_view device) { state().devices.emplace_back(device); }
DeviceScope::~DeviceScope() { state().devices.pop_back(); }

LocationScope::LocationScope(const std::source_location& where) : LocationScope(short_location(where)) {}
LocationScope::LocationScope(std::string made_at) : outermost_(state().location.empty()) {
  if (outermost_) state().location = std::move(made_at);
}
LocationScope::~LocationScope() {
  if (outermost_) state().location.clear();
}

const std::string& current_name_scope() { return state().name; }

std::string current_device() {
  DeviceParts parts;
  for (const std::string& spec : state().devices) apply_device(spec, parts);
  std::string device;
  for (const std::string& part : parts) {
    if (!part.empty()) device += "/" + part;
  }
  return device;
}

std::string current_location(const std::source_location& where) {
  return state().location.empty() ? short_location(where) : state().location;
}

std::vector<Node*> current_control_inputs(const std::vector<std::vector<Output>>& inputs) {
  const auto is_any_input = [&](const auto& matches) {
    return std::ranges::any_of(inputs, [&](const auto& group) {
      return std::ranges::any_of(group, [&](const Output& input) { return matches(input.node()); });
    });
  };
  const auto& frames = state().control;
  auto first = frames.end();  // the scopes in force, outermost first
  while (first != frames.begin()) {
    --first;
    if (first->clear) break;
  }
  std::vector<Node*> before;
  for (auto frame = first; frame != frames.end(); ++frame) {
    if (is_any_input([&](const Node* node) { return std::ranges::find(frame->made, node) != frame->made.end(); })) {
      continue;  // that input waits already
    }
    for (Node* operation : frame->operations) {
      if (!is_any_input([&](const Node* node) { return node == operation; })) before.push_back(operation);
    }
  }
  return before;
}

void note_new_node(Node& node) {
  for (auto frame = state().control.rbegin(); frame != state().control.rend(); ++frame) {
    frame->made.push_back(&node);
    if (frame->clear) break;
  }
}

}  // namespace caudal::inline v0
