// What the reverse walk asks of whoever knows conditions and loops (ops/control_flow_gradients.cc), so that autodiff
// names no op.
//
// Thread safety: as building a graph.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/control_flow_context.h"
#include "caudal/graph/node.h"

namespace caudal::inline v0 {

// The loops that one call of gradients() goes through.
class CAUDAL_API LoopGradients {
 public:
  // An exit whose turn it is; `with_zeros` if its gradient is zeros because nobody asked for its value.
  struct ReadyExit {
    Output exit;
    bool with_zeros = false;
  };
  using Pending = std::unordered_map<Node*, int>;
  using HasGradient = std::function<bool(Node*)>;

  virtual ~LoopGradients();
  // The loop of an Exit takes part. Returns all exits of the loop at the first call for it, then nothing: they take
  // part together, because the loop's gradient is one loop.
  virtual std::vector<Node*> add_loop(Node& exit) = 0;
  // Says how many gradients are on their way to each node. Returns the unused exits of loops that wait for no others.
  virtual std::vector<Output> start(Pending& pending, const std::unordered_set<Node*>& seeds) = 0;
  // All gradients for an Exit have arrived. Returns the loop's exits once that holds for all of them.
  virtual std::vector<ReadyExit> exit_ready(Node& exit, const HasGradient& has_gradient) = 0;
  virtual Output zeros_for_exit(const Output& exit) = 0;
  // The context in which the gradients of a node's outputs (`of_outputs`) or inputs are computed; null for the one in
  // which gradients() was called.
  virtual ControlFlowContext* context_for(const Node& node, bool of_outputs) const = 0;
  // Zeros as the gradient of an output that nothing depends on; none where none is wanted.
  virtual Output zeros(const Output& output) = 0;
  // All nodes are done.
  virtual void finish() = 0;
};

struct ControlFlowGradientOps {
  std::unique_ptr<LoopGradients> (*make_loops)(ControlFlowContext* call_context);
  // Zeros for an output of a Switch that is in no loop.
  Output (*zeros_of_switch)(const Output& output);
};
// Called once, before main.
struct CAUDAL_API ControlFlowGradientRegistrar {
  explicit ControlFlowGradientRegistrar(const ControlFlowGradientOps& ops);
};

// True for the Switch of a loop variable, false for that of a condition.
CAUDAL_API bool is_loop_switch(const Node& node);
// Gradients flow through values of this output.
CAUDAL_API bool carries_gradient(const Output& output);

}  // namespace caudal::inline v0
