#include "caudal/graph/control_flow_context.h"

#include <algorithm>

#include "caudal/graph/graph.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

ControlFlowContext*& current() {
  thread_local ControlFlowContext* context = nullptr;
  return context;
}

}  // namespace

ControlFlowContext::ControlFlowContext(Graph& graph) : graph_(graph), outer_(current_control_flow_context(graph)) {
  if (outer_ != nullptr) outer_->nested_.push_back(this);
}
ControlFlowContext::~ControlFlowContext() = default;

ControlFlowContext* ControlFlowContext::loop() {
  ControlFlowContext* context = this;
  while (context != nullptr && !context->is_loop()) context = context->outer_;
  return context;
}

bool ControlFlowContext::contains(const ControlFlowContext* other) const {
  while (other != nullptr && other != this) other = other->outer_;
  return other == this;
}

void ControlFlowContext::export_results(const std::vector<Output>& results) {
  if (outer_ == nullptr) return;
  for (const Output& result : results) outer_->add_known(result);
}

Output ControlFlowContext::inner(const Output& value) const {
  const auto found = brought_in_.find(value);
  return found == brought_in_.end() ? value : found->second;
}

std::vector<Node*> ControlFlowContext::take_outer_control_inputs(NodeDraft& draft) {
  const ControlFlowContext* around = loop();
  if (around == nullptr) return {};
  const auto is_inside = [around](const Node* before) {
    ControlFlowContext* context = output_context(*before);
    return context != nullptr && context->loop() == around;
  };
  const auto outside = std::stable_partition(draft.control_inputs.begin(), draft.control_inputs.end(), is_inside);
  std::vector<Node*> taken(outside, draft.control_inputs.end());
  draft.control_inputs.erase(outside, draft.control_inputs.end());
  return taken;
}

ControlFlowContext* output_context(const Node& node) {
  ControlFlowContext* context = node.context();
  return context != nullptr && node.op().spec->control == ControlFlow::kExit ? context->outer() : context;
}

ContextScope::ContextScope(ControlFlowContext* context) : previous_(current()) { current() = context; }
ContextScope::~ContextScope() { current() = previous_; }

ControlFlowContext* current_control_flow_context(const Graph& graph) {
  ControlFlowContext* context = current();
  return context != nullptr && &context->graph() == &graph ? context : nullptr;
}

}  // namespace caudal::inline v0
