// The loop that computes the gradient of another loop.
//
// It runs as often as the loop did, backwards. Values of the loop that gradients need are pushed on stacks by the loop
// and popped by its gradient loop; control edges over the counters of both keep pushes and pops in step. Gradients of
// what the loop only reads add up in accumulators. ("Implementation of Control Flow in TensorFlow", 2017, part 5.)
//
// Ownership: of the context of the gradient loop, so of the graph. Thread safety: as building a graph.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/ops/control_flow_contexts.h"

namespace caudal::inline v0 {

class LoopGradient {
 public:
  // `outer` is the gradient of the loop around `forward`, if that is part of the same call of gradients(), which is
  // made in `call_context` (may be null). Adds a counter to the loop, and the gradient loop that counts down.
  static LoopGradient& make(WhileContext& forward, LoopGradient* outer, ControlFlowContext* call_context);
  LoopGradient(WhileContext& forward, LoopGradient* outer, ControlFlowContext* call_context);

  WhileContext& forward() const { return forward_; }
  WhileContext& backward() const { return *backward_; }
  LoopGradient* outer() const { return outer_; }
  ControlFlowContext* call_context() const { return call_context_; }
  // The exits that the loop had before the counter.
  const std::vector<Output>& loop_exits() const { return loop_exits_; }

  // What stands for a value of the loop in the gradient loop. REQUIRES: inside the gradient loop.
  Output real_value(const Output& value);
  // The predicate of a condition inside the loop, as its gradient needs it. REQUIRES: inside the gradient loop.
  Output real_predicate(const Output& pred);
  // What stands for it in the gradient loop, if anything does yet, or none.
  Output known(const Output& value) const;
  // A stack that the loop pushes `value` on. `dead_branch`: the value is of the branch that is not taken.
  Output push(const Output& value, bool dead_branch = false);
  // What was pushed on `stack` for `value` in the iteration whose gradient is being computed.
  Output pop(const Output& stack, const Output& value, bool dead_branch = false);
  // The gradient of what entered by the constant Enter `enter`: the sum of `gradient` over all iterations.
  Gradient accumulate(Node& enter, const Gradient& gradient);

  // By the Switch of each loop variable: the Merge of its gradient.
  std::vector<std::pair<Node*, Output>> merges;
  const Output* find_merge(const Node& loop_switch) const;
  // Gives zeros to variables that do not depend on themselves: their gradient does not come from later iterations.
  void close_open_merges();

 private:
  void start(std::shared_ptr<LoopGradient> self);
  Output add_forward_counter();
  void add_backward_counter(const Output& count);
  Node& forward_sync();
  Node& backward_sync();
  Output guarded_stack(const Output& stack, const Output& value, bool dead_branch);
  Output zeros_like_entering(Node& enter, const Output& gradient);
  Output accumulate_dense(Node& enter, const Output& gradient);
  IndexedSlices accumulate_slices(Node& enter, const IndexedSlices& gradient);

  WhileContext& forward_;
  LoopGradient* outer_;
  ControlFlowContext* call_context_;
  std::vector<Output> loop_exits_;
  Output forward_index_, backward_index_;  // the NextIterations of the counters
  WhileContext* backward_ = nullptr;
  Node* forward_sync_ = nullptr;
  Node* backward_sync_ = nullptr;
  std::unordered_map<Output, Output> kept_;  // values of the loop -> of the gradient loop
};

}  // namespace caudal::inline v0
