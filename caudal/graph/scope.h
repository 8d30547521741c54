// Scopes: RAII objects that add something to every node made while they live, in this thread.
//
//   {
//     NameScope scope("hidden1");
//     auto y = relu(x);      // node "hidden1/Relu"
//   }
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/graph.h"

namespace caudal::inline v0 {

// Nodes go to `graph`.
class CAUDAL_API GraphScope {
 public:
  explicit GraphScope(Graph& graph);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;
};

// Names begin with "name/", made unique ("name_1/") unless `name` ends with '/', which re-enters a scope by its full
// name. An empty name goes back to the top.
class CAUDAL_API NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  // The full scope with a '/' at the end, or "".
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_, previous_;
};

// Nodes run after `operations` (none of them empty), unless an input of theirs was made inside this scope: it waits.
// An empty list with `clear` lifts all control dependencies of the outer scopes, and leaves all conditions and loops.
class CAUDAL_API ControlDependencies {
 public:
  explicit ControlDependencies(std::vector<Operation> operations, bool clear = false);
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  std::optional<ContextScope> no_context_;
};

// Nodes are asked to be placed on `device`: "/cpu:0", "/job:ps/task:1"; inner ones override part by part.
class CAUDAL_API DeviceScope {
 public:
  explicit DeviceScope(std::string_view device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
};

// Nodes count as made at `where`: library code puts it around nodes that it makes on behalf of a user's line. The
// outermost scope wins.
class CAUDAL_API LocationScope {
 public:
  explicit LocationScope(const std::source_location& where);
  explicit LocationScope(std::string made_at);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  bool outermost_;
};

// Current state, for builders.
CAUDAL_API const std::string& current_name_scope();  // "" or "a/b/"
CAUDAL_API std::string current_device();
// The overriding place if there is one, else `where`.
CAUDAL_API std::string current_location(const std::source_location& where);
// Control inputs that a new node with these inputs gets.
CAUDAL_API std::vector<Node*> current_control_inputs(const std::vector<std::vector<Output>>& inputs);
// Tells the open ControlDependencies scopes that a node was made.
CAUDAL_API void note_new_node(Node& node);

}  // namespace caudal::inline v0
