// Where in conditions and loops a node lives, and what a node made there must be given.
//
// TensorFlow's v1 control flow is a matter of edges: what an outer node hands into a branch goes through a Switch, into
// a loop through an Enter, and a node without inputs waits for a pivot. A context knows how to make these for its
// branch or loop; OpBuilder asks the current one for every node. The kinds that there are live in the ops layer
// (ops/control_flow_contexts.h).
//
// Ownership: contexts belong to their graph and live as long as it. Thread safety: as building a graph.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/node.h"

namespace caudal::inline v0 {

struct NodeDraft;

class CAUDAL_API ControlFlowContext {
 public:
  // A context inside the current one.
  explicit ControlFlowContext(Graph& graph);
  virtual ~ControlFlowContext();
  ControlFlowContext(const ControlFlowContext&) = delete;
  ControlFlowContext& operator=(const ControlFlowContext&) = delete;

  Graph& graph() const { return graph_; }
  // The context around this one; null at the top.
  ControlFlowContext* outer() const { return outer_; }
  const std::vector<ControlFlowContext*>& nested() const { return nested_; }
  // "while/while_context", as TensorFlow names it.
  const std::string& name() const { return name_; }
  // A loop, or else a branch of a condition.
  virtual bool is_loop() const = 0;
  // The innermost loop around, this context included; null if there is none.
  ControlFlowContext* loop();
  // True if `other` is this context or inside it.
  bool contains(const ControlFlowContext* other) const;

  // `value` as nodes in here may take it: itself, or behind the nodes that bring it in, which the first demand makes.
  virtual Output add_value(const Output& value) = 0;
  // Gives a node that is about to be made in here its inputs and control inputs.
  virtual void adopt(NodeDraft& draft) = 0;
  // Tells that it was made.
  virtual void note_node(Node& node) = 0;
  // What runs in every execution of this context before anything else; may be none while a loop is being built.
  virtual Output pivot() const = 0;

  // Values known in here: made inside, or brought in.
  bool knows(const Output& value) const { return values_.contains(value); }
  void add_known(const Output& value) { values_.insert(value); }
  // Makes results known around this context.
  void export_results(const std::vector<Output>& results);
  const std::set<Output>& values() const { return values_; }
  // Outer values and what stands for them in here.
  const std::unordered_map<Output, Output>& brought_in() const { return brought_in_; }

 protected:
  void set_name(std::string name) { name_ = std::move(name); }
  void forget_values() { values_.clear(); }
  // The stand-in of `value`, or `value` itself.
  Output inner(const Output& value) const;
  void bring_in(const Output& value, const Output& stand_in) { brought_in_[value] = stand_in; }
  // Removes control inputs from outside the innermost loop and returns them: a loop cannot wait for them that way.
  std::vector<Node*> take_outer_control_inputs(NodeDraft& draft);

 private:
  Graph& graph_;
  ControlFlowContext* outer_;
  std::vector<ControlFlowContext*> nested_;
  std::string name_;
  std::set<Output> values_;
  std::unordered_map<Output, Output> brought_in_;
};

// The context that the outputs of a node belong to: an Exit's are outside its loop. Null at the top.
CAUDAL_API ControlFlowContext* output_context(const Node& node);

// Nodes are made in `context` (null: in none) while it lives, in this thread.
class CAUDAL_API ContextScope {
 public:
  explicit ContextScope(ControlFlowContext* context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  ControlFlowContext* previous_;
};

// The context in which nodes of `graph` are made now; null at the top.
CAUDAL_API ControlFlowContext* current_control_flow_context(const Graph& graph);

}  // namespace caudal::inline v0
