// Nodes and their outputs.
//
// A Node belongs to its Graph, which never moves or frees it before its own end. Output and Operation are small handles
// that users pass around; they are valid as long as the graph is. Thread safety: reading is safe while nobody builds.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/node_info.h"
#include "caudal/core/shape_context.h"

namespace caudal::inline v0 {

class ControlFlowContext;
class Graph;
class Node;

// One output of a node: what TensorFlow calls a Tensor of a graph. A default-made one is "none".
class CAUDAL_API Output {
 public:
  Output() = default;
  Output(Node* node, int index) : node_(node), index_(index) {}

  explicit operator bool() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  int index() const { return index_; }
  Graph& graph() const;
  DType dtype() const;
  bool is_ref() const;
  const PartialShape& shape() const;
  std::string name() const;  // "hidden1/Relu:0"
  // Says more than inference could find out. Throws INVALID_ARGUMENT if it contradicts.
  void set_shape(const PartialShape& shape) const;
  // "float32[?,300] 'hidden1/Relu:0'", for messages.
  std::string describe() const;

  friend bool operator==(const Output&, const Output&) = default;
  friend auto operator<=>(const Output&, const Output&) = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

// A node as a thing to run or to wait for.
class CAUDAL_API Operation {
 public:
  Operation() = default;
  Operation(Node* node) : node_(node) {}                     // NOLINT
  Operation(const Output& output) : node_(output.node()) {}  // NOLINT
  explicit operator bool() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  const std::string& name() const;
  const std::string& type() const;
  Output output(int i = 0) const { return {node_, i}; }
  Output input(int i) const;
  friend bool operator==(const Operation&, const Operation&) = default;

 private:
  Node* node_ = nullptr;
};

class CAUDAL_API Node {
 public:
  struct Consumer {
    Node* node;
    int input;
  };

  Graph& graph() const { return *graph_; }
  // Position in Graph::nodes().
  int id() const { return id_; }
  const NodeInfo& info() const { return *info_; }
  const std::string& name() const { return info_->name; }
  const std::string& type() const { return info_->type(); }
  const Op& op() const { return *info_->op; }
  template <class T>
  const T& attr(std::string_view name) const {
    return info_->attr<T>(name);
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return info_->num_outputs(); }
  const Output& input(int i) const { return inputs_[i]; }
  std::span<const Output> inputs() const { return inputs_; }
  // The inputs of one argument of the definition, e.g. "values" of Pack.
  std::span<const Output> inputs(std::string_view argument) const;
  Output output(int i) { return {this, i}; }
  std::span<Node* const> control_inputs() const { return control_inputs_; }
  std::span<const Consumer> consumers() const { return consumers_; }
  std::span<Node* const> control_consumers() const { return control_consumers_; }

  const PartialShape& output_shape(int i) const { return output_shapes_[i]; }
  const HandleData& output_handle(int i) const { return output_handles_[i]; }

  // The branch or loop that the node was made in (control_flow_context.h); null at the top.
  ControlFlowContext* context() const { return context_; }
  void set_context(ControlFlowContext* context) { context_ = context; }

 private:
  friend class Graph;
  friend class Output;
  Node() = default;

  Graph* graph_ = nullptr;
  int id_ = 0;
  std::unique_ptr<NodeInfo> info_ = std::make_unique<NodeInfo>();
  std::vector<Output> inputs_;
  std::vector<Node*> control_inputs_, control_consumers_;
  std::vector<Consumer> consumers_;
  std::vector<PartialShape> output_shapes_;
  std::vector<HandleData> output_handles_;
  ControlFlowContext* context_ = nullptr;
};

}  // namespace caudal::inline v0

template <>
struct std::hash<caudal::Output> {
  std::size_t operator()(const caudal::Output& output) const noexcept {
    return std::hash<const void*>()(output.node()) * 31 + static_cast<std::size_t>(output.index());
  }
};
