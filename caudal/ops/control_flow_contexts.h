// The two kinds of contexts of v1 control flow: a branch of a condition, and a loop. They build the graphs that
// TensorFlow's own cond and while_loop build ("Implementation of Control Flow in TensorFlow", 2017), so that exported
// graphs mean the same to it.
//
// Ownership: of their graph (Graph::own). Thread safety: as building a graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caudal/graph/control_flow_context.h"
#include "caudal/graph/graph.h"
#include "caudal/ops/control_flow_ops.h"

namespace caudal::inline v0 {

class LoopGradient;  // loop_gradient.h

// One branch of a condition. What comes from outside goes through a Switch; what has no inputs waits for the pivot.
class CondContext final : public ControlFlowContext {
 public:
  // REQUIRES: `pivot` is live only where this branch (0: false, 1: true) is taken.
  CondContext(Graph& graph, const Output& pred, const Output& pivot, int branch);

  const Output& pred() const { return pred_; }
  int branch() const { return branch_; }

  bool is_loop() const override { return false; }
  Output add_value(const Output& value) override;
  void adopt(NodeDraft& draft) override;
  void note_node(Node& node) override;
  Output pivot() const override { return pivot_; }

  // For readers of files: the name as it stands, and what stands in here for values from outside.
  void restore(std::string name, const std::vector<std::pair<Output, Output>>& brought_in);

  // What the branch returns, as a Merge may take it: values from outside go through a Switch too.
  Output branch_result(const Output& value);

 private:
  Output bring_from_outside(const Output& value);

  Output pred_, pivot_;
  int branch_;
};

struct LoopSettings {
  Output maximum_iterations;  // may be none
  std::int64_t parallel_iterations = 10;
  bool back_prop = true;
  bool swap_memory = false;
};

// A loop, or the loop that computes another one's gradient. What comes from outside goes through a constant Enter; what
// depends on nothing of the iteration waits for the pivot.
class WhileContext final : public ControlFlowContext {
 public:
  // A context "name" (in the current scope, made unique). `gradient` is what a gradient loop belongs to, else null.
  WhileContext(Graph& graph, std::string_view name, LoopSettings settings,
               std::shared_ptr<LoopGradient> gradient = nullptr);

  const LoopSettings& settings() const { return settings_; }
  LoopGradient* gradient() const { return gradient_.get(); }
  const std::vector<Output>& enters() const { return enters_; }
  const std::vector<Output>& exits() const { return exits_; }
  // The LoopCond.
  const Output& condition() const { return condition_; }
  const Output& pivot_for_pred() const { return pivot_for_pred_; }
  const Output& pivot_for_body() const { return pivot_for_body_; }

  bool is_loop() const override { return true; }
  Output add_value(const Output& value) override;
  void adopt(NodeDraft& draft) override;
  void note_node(Node& node) override;
  Output pivot() const override { return pivot_for_body_ ? pivot_for_body_ : pivot_for_pred_; }

  using Condition = std::function<Output(const std::vector<Output>&)>;
  using Body = std::function<std::vector<Output>(const std::vector<Output>&)>;
  // Builds the loop. `shapes[i]` is what the shape of variable i is in every iteration. Returns the exits.
  std::vector<Output> build(const Condition& condition, const Body& body, const std::vector<Output>& initial,
                            const std::vector<PartialShape>& shapes);

  // Parts of gradient loops. REQUIRES: this is the current context.
  // A variable that enters with `initial`, which is known in here already; named `name`, of unknown shape if `grows`.
  Output add_enter(const Output& initial, std::string_view name, bool grows = false);
  Output add_exit(const Output& value, std::string_view name);
  void set_pivots(const Output& for_pred, const Output& for_body, const Output& condition);
  // For readers of files.
  void restore(std::string name, std::vector<Output> enters, std::vector<Output> exits,
               const std::vector<std::pair<Output, Output>>& brought_in);

 private:
  std::vector<Output> make_enters(const std::vector<Output>& initial, const std::vector<PartialShape>& shapes);
  void wait_for_outer_pivot(const std::vector<Output>& enters);
  void adopt_here(NodeDraft& draft);
  // The context that a node of type `op` belongs to: this one, unless it serves a gradient loop and is better computed
  // in the loop itself.
  ControlFlowContext& home_of(const std::string& op, const Output& input);
  void add_pivot_to_free_node(NodeDraft& draft);
  void pull_in(const std::vector<Node*>& outer_control_inputs, NodeDraft& draft);
  // Gives an Enter the control inputs that it may have, and this context.
  void settle_enter(Node& enter);

  LoopSettings settings_;
  std::shared_ptr<LoopGradient> gradient_;
  Output pivot_for_pred_, pivot_for_body_, condition_;
  std::string frame_;  // what Enters name: the context's name when it was made
  std::vector<Output> enters_, exits_;
};

inline constexpr std::string_view kCondContextKey = "cond_context";
inline constexpr std::string_view kWhileContextKey = "while_context";
// Adds a context that is in no other one to its graph's collection: what exported meta graphs say of it.
void add_to_context_collection(const CondContext& context);
void add_to_context_collection(const WhileContext& context);

// data -> the side of `pred`, beside `data` where that is placed.
raw_ops::SwitchOutputs switch_beside(const Output& data, const Output& pred, const std::string& name = {});
// The back edge of a loop variable: next into the second input of `merge`. INVALID_ARGUMENT if types differ, or shapes
// where `same_shape`.
Output add_back_edge(const Output& merge, const Output& next, bool same_shape);
// The loop that a node's outputs belong to, or the node itself (an Exit) belongs to; null at the top.
WhileContext* loop_of(const Node& node);
WhileContext* loop_of_output(const Node& node);
// A constant Enter that `value` comes from without change, or null.
Node* constant_enter_of(const Output& value);
bool is_constant_enter(const Node& node);

}  // namespace caudal::inline v0
