#include "caudal/ops/control_flow_contexts.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow_checks.h"
#include "caudal/ops/loop_gradient.h"

namespace caudal::inline v0 {
namespace {

bool is_kind(const Node& node, ControlFlow kind) { return node.op().spec->control == kind; }

bool has_no_inputs(const NodeDraft& draft) {
  return std::ranges::all_of(draft.inputs, [](const auto& group) { return group.empty(); });
}

// Calls that the inputs alone may not start: they hold nodes without inputs.
bool is_call(const Graph& graph, const std::string& op) {
  return op == "SymbolicGradient" || graph.functions().find(op) != nullptr;
}

void add_control_input(NodeDraft& draft, const Output& before) {
  if (before) draft.control_inputs.push_back(before.node());
}

void mark_known_up(ControlFlowContext* context, const Output& value) {
  for (; context != nullptr; context = context->outer()) context->add_known(value);
}

// The graph owns the context already.
CollectionItem item_of(const ControlFlowContext& context) {
  CollectionItem item;
  item.object = std::shared_ptr<const void>(std::shared_ptr<const void>(), &context);
  return item;
}

}  // namespace

void add_to_context_collection(const CondContext& context) {
  context.graph().add_to_collection(kCondContextKey, item_of(context));
}

void add_to_context_collection(const WhileContext& context) {
  context.graph().add_to_collection(kWhileContextKey, item_of(context));
}

raw_ops::SwitchOutputs switch_beside(const Output& data, const Output& pred, const std::string& name) {
  const std::string op = data.is_ref() ? "RefSwitch" : "Switch";
  const AttrValue* placed = find_attr(data.node()->info().attrs, "_class");
  Node& node =
      OpBuilder(op, {.name = name.empty() ? "Switch" : name})
          .input(data)
          .input(pred)
          .attr("_class",
                placed != nullptr ? *placed : AttrValue(std::vector<std::string>{"loc:@" + data.node()->name()}))
          .build_node();
  return {node.output(0), node.output(1)};
}

Output add_back_edge(const Output& merge, const Output& next, bool same_shape) {
  const Output back = raw_ops::next_iteration(next);
  const Output& enter = merge.node()->input(0);
  if (same_shape) internal::check_loop_variable(enter.node()->input(0), merge.shape(), back);
  merge.graph().connect(*merge.node(), 1, back);
  return back;
}

WhileContext* loop_of(const Node& node) {
  return node.context() == nullptr ? nullptr : static_cast<WhileContext*>(node.context()->loop());
}

WhileContext* loop_of_output(const Node& node) {
  ControlFlowContext* context = output_context(node);
  return context == nullptr ? nullptr : static_cast<WhileContext*>(context->loop());
}

bool is_constant_enter(const Node& node) {
  return is_kind(node, ControlFlow::kEnter) && node.attr<bool>("is_constant");
}

Node* constant_enter_of(const Output& value) {
  Node* node = value.node();
  while (is_kind(*node, ControlFlow::kSwitch) || node->type() == "Identity" || node->type() == "RefIdentity") {
    node = node->input(0).node();
  }
  return is_constant_enter(*node) ? node : nullptr;
}

// ---- CondContext

CondContext::CondContext(Graph& graph, const Output& pred, const Output& pivot, int branch)
    : ControlFlowContext(graph), pred_(pred), pivot_(pivot), branch_(branch) {
  set_name(scoped_unique_name(graph, "cond_text"));
  add_known(pred);
  bring_in(pred, pred);
  add_known(pivot);
  pivot.node()->set_context(this);
}

Output CondContext::bring_from_outside(const Output& value) {
  add_known(value);
  if (outer() == nullptr) return value;
  const Output around = outer()->add_value(value);
  add_known(around);
  bring_in(around, around);
  return around;
}

Output CondContext::add_value(const Output& value) {
  if (knows(value)) return inner(value);
  Output result = bring_from_outside(value);
  {
    const ControlDependencies none({}, /*clear=*/true);
    result = switch_beside(result, pred_)[branch_];
  }
  result.node()->set_context(this);
  mark_known_up(this, result);
  bring_in(value, result);
  return result;
}

void CondContext::adopt(NodeDraft& draft) {
  if (has_no_inputs(draft)) {
    take_outer_control_inputs(draft);
    const bool waits =
        std::ranges::any_of(draft.control_inputs, [this](const Node* before) { return contains(before->context()); });
    if (!waits) add_control_input(draft, pivot_);
    return;
  }
  for (auto& group : draft.inputs) {
    for (Output& input : group) {
      if (input) input = add_value(input);
    }
  }
  take_outer_control_inputs(draft);
  if (is_call(graph(), draft.op)) add_control_input(draft, pivot_);
}

void CondContext::note_node(Node& node) {
  node.set_context(this);
  for (int i = 0; i < node.num_outputs(); ++i) mark_known_up(this, node.output(i));
}

void CondContext::restore(std::string name, const std::vector<std::pair<Output, Output>>& brought_in) {
  set_name(std::move(name));
  for (const auto& [outside, inside] : brought_in) bring_in(outside, inside);
}

Output CondContext::branch_result(const Output& value) {
  if (knows(value)) return inner(value);
  // The branch returns what was made outside, as it is.
  const Output around = bring_from_outside(value);
  const Output result = switch_beside(around, pred_)[branch_];
  bring_in(value, result);
  return result;
}

// ---- WhileContext

WhileContext::WhileContext(Graph& graph, std::string_view name, LoopSettings settings,
                           std::shared_ptr<LoopGradient> gradient)
    : ControlFlowContext(graph), settings_(std::move(settings)), gradient_(std::move(gradient)) {
  if (settings_.parallel_iterations < 1) {
    throw invalid_argument("parallel_iterations is ", settings_.parallel_iterations, "; it must be 1 or more");
  }
  set_name(scoped_unique_name(graph, name));
  frame_ = this->name();
}

Output WhileContext::add_value(const Output& value) {
  if (knows(value) || value.node()->context() == this) return inner(value);
  add_known(value);
  // A gradient loop takes values of its loop from the stacks where the loop left them.
  ControlFlowContext* current = current_control_flow_context(graph());
  auto* loop = current == nullptr ? nullptr : static_cast<WhileContext*>(current->loop());
  if (loop != nullptr && loop->gradient() != nullptr) {
    if (loop_of_output(*value.node()) == &loop->gradient()->forward()) {
      const Output kept = loop->gradient()->real_value(value);
      bring_in(value, kept);
      return kept;
    }
  }
  const Output around = outer() == nullptr ? value : outer()->add_value(value);
  if (ControlFlowContext* home = output_context(*around.node());
      home != nullptr && home->loop() != nullptr && !home->loop()->contains(outer())) {
    throw invalid_argument("'", value.name(), "' is made inside the loop '", home->loop()->name(),
                           "' and used in another one")
        .hint("Return it from the body as a loop variable.");
  }
  Output entered;
  {
    const ControlDependencies none({}, /*clear=*/true);
    entered =
        raw_ops::enter(around, frame_, {.is_constant = true, .parallel_iterations = settings_.parallel_iterations});
  }
  settle_enter(*entered.node());
  add_known(entered);
  bring_in(value, entered);
  return entered;
}

void WhileContext::settle_enter(Node& enter) {
  ControlFlowContext* outer_loop = outer() == nullptr ? nullptr : outer()->loop();
  for (Node* before : current_control_inputs({{enter.input(0)}})) {
    // It may wait for what is around this loop, within the next loop outwards.
    const ControlFlowContext* wanted = output_context(*before);
    ControlFlowContext* context = outer();
    while (context != wanted && context != nullptr && context != outer_loop) context = context->outer();
    if (context == wanted) graph().add_control_input(enter, *before);
  }
  enter.set_context(this);
  note_new_node(enter);
}

// Of a value that only lends its shape to a gradient, the loop keeps the shape rather than the value.
ControlFlowContext& WhileContext::home_of(const std::string& op, const Output& input) {
  if (op != "Shape" && op != "Size" && op != "Rank") return *this;
  ControlFlowContext* current = current_control_flow_context(graph());
  const auto* loop = current == nullptr ? nullptr : static_cast<WhileContext*>(current->loop());
  if (loop == nullptr || loop->gradient() == nullptr || !input) return *this;
  return loop_of(*input.node()) == &loop->gradient()->forward() ? *input.node()->context() : *this;
}

void WhileContext::adopt(NodeDraft& draft) {
  const bool has_one_input = draft.inputs.size() == 1 && draft.inputs[0].size() == 1;
  ControlFlowContext& home = has_one_input ? home_of(draft.op, draft.inputs[0][0]) : *this;
  if (home.is_loop()) {
    static_cast<WhileContext&>(home).adopt_here(draft);
  } else {
    home.adopt(draft);
  }
}

void WhileContext::adopt_here(NodeDraft& draft) {
  if (draft.op == "PartitionedCall" || draft.op == "StatefulPartitionedCall") add_control_input(draft, pivot());
  std::vector<Node*> from_outside;
  if (has_no_inputs(draft)) {
    from_outside = take_outer_control_inputs(draft);
    if (draft.control_inputs.empty()) add_control_input(draft, pivot());
  } else {
    for (auto& group : draft.inputs) {
      for (Output& input : group) {
        if (input) input = add_value(input);
      }
    }
    from_outside = take_outer_control_inputs(draft);
    add_pivot_to_free_node(draft);
  }
  pull_in(from_outside, draft);
}

void WhileContext::add_pivot_to_free_node(NodeDraft& draft) {
  if (!draft.control_inputs.empty()) return;
  const bool invariant = std::ranges::all_of(draft.inputs, [](const auto& group) {
    return std::ranges::all_of(group, [](const Output& input) { return input && is_constant_enter(*input.node()); });
  });
  if (invariant || is_call(graph(), draft.op)) add_control_input(draft, pivot());
}

void WhileContext::pull_in(const std::vector<Node*>& outer_control_inputs, NodeDraft& draft) {
  if (outer_control_inputs.empty()) return;
  // A loop cannot wait for a node outside; it can take a value from there.
  const ControlDependencies none({}, /*clear=*/true);
  const ContextScope inside(this);
  for (Node* before : outer_control_inputs) {
    if (before->num_outputs() == 0) continue;
    draft.control_inputs.push_back(OpBuilder("Identity", {}).input(before->output(0)).build().node());
  }
}

void WhileContext::note_node(Node& node) {
  ControlFlowContext& home = node.num_inputs() == 1 ? home_of(node.type(), node.input(0)) : *this;
  if (&home != this) return home.note_node(node);
  node.set_context(this);
  for (int i = 0; i < node.num_outputs(); ++i) add_known(node.output(i));
}

std::vector<Output> WhileContext::make_enters(const std::vector<Output>& initial,
                                              const std::vector<PartialShape>& shapes) {
  std::vector<Output> entered;
  const ControlDependencies none({}, /*clear=*/true);
  for (std::size_t i = 0; i < initial.size(); ++i) {
    if (!internal::is_as_known(initial[i].shape(), shapes[i])) {
      throw invalid_argument("loop variable ", i, ", '", initial[i].name(), "', enters with shape ", initial[i].shape(),
                             "; its shape invariant is ", shapes[i])
          .hint("An invariant may only leave open what changes.");
    }
    const Output enter = raw_ops::enter(initial[i], frame_, {.parallel_iterations = settings_.parallel_iterations});
    enter.set_shape(shapes[i]);
    entered.push_back(enter);
  }
  return entered;
}

// The variable of an inner loop that starts with what never changes in the outer one must not start before its time.
void WhileContext::wait_for_outer_pivot(const std::vector<Output>& enters) {
  Output outer_pivot;
  for (ControlFlowContext* context = outer(); context != nullptr && !outer_pivot; context = context->outer()) {
    outer_pivot = context->pivot();
  }
  if (!outer_pivot) return;
  for (const Output& enter : enters) {
    if (is_constant_enter(*enter.node()->input(0).node()))
      graph().add_control_input(*enter.node(), *outer_pivot.node());
  }
}

std::vector<Output> WhileContext::build(const Condition& condition, const Body& body,
                                        const std::vector<Output>& initial, const std::vector<PartialShape>& shapes) {
  const ContextScope inside(this);
  for (const Output& value : initial) add_known(value);
  std::vector<Output> real;
  for (const Output& value : initial) real.push_back(outer() == nullptr ? value : outer()->add_value(value));
  enters_ = make_enters(real, shapes);
  wait_for_outer_pivot(enters_);
  for (const Output& enter : enters_) settle_enter(*enter.node());
  forget_values();
  for (const Output& enter : enters_) add_known(enter);

  std::vector<Output> merged;
  for (const Output& enter : enters_) merged.push_back(raw_ops::merge({enter, enter}).output);
  pivot_for_pred_ = merged[0];
  const Output wanted = condition(merged);
  if (!wanted || wanted.dtype() != DType::kBool || (wanted.shape().has_rank() && wanted.shape().rank() != 0)) {
    throw invalid_argument("the condition of a loop must be a bool scalar, not ", wanted.describe())
        .hint("Compare, or reduce with reduce_all() or reduce_any().");
  }
  condition_ = raw_ops::loop_cond(wanted);

  std::vector<raw_ops::SwitchOutputs> switched;
  for (const Output& merge : merged) switched.push_back(switch_beside(merge, condition_));
  std::vector<Output> arguments;
  for (const auto& sides : switched) {
    arguments.push_back(OpBuilder(sides.if_true.is_ref() ? "RefIdentity" : "Identity", {.name = "Identity"})
                            .input(sides.if_true)
                            .build());
  }
  pivot_for_body_ = arguments[0];
  const std::vector<Output> results = body(arguments);
  if (results.size() != merged.size()) {
    throw invalid_argument("the body of the loop returns ", results.size(), " tensors for ", merged.size(),
                           " loop variables")
        .hint("Return every variable, in the order of loop_vars, also those that stay as they are.");
  }
  for (std::size_t i = 0; i < merged.size(); ++i) add_back_edge(merged[i], results[i], /*same_shape=*/true);
  for (const auto& sides : switched) exits_.push_back(raw_ops::exit(sides.if_false));
  export_results(exits_);
  return exits_;
}

Output WhileContext::add_enter(const Output& initial, std::string_view name, bool grows) {
  add_known(initial);
  const Output enter = raw_ops::enter(
      initial, frame_, {.parallel_iterations = settings_.parallel_iterations, .name = std::string(name)});
  if (!grows) enter.set_shape(initial.shape());
  enters_.push_back(enter);
  return enter;
}

Output WhileContext::add_exit(const Output& value, std::string_view name) {
  const Output result = raw_ops::exit(value, {.name = std::string(name)});
  exits_.push_back(result);
  export_results({result});
  return result;
}

void WhileContext::set_pivots(const Output& for_pred, const Output& for_body, const Output& condition) {
  pivot_for_pred_ = for_pred;
  pivot_for_body_ = for_body;
  condition_ = condition;
}

void WhileContext::restore(std::string name, std::vector<Output> enters, std::vector<Output> exits,
                           const std::vector<std::pair<Output, Output>>& brought_in) {
  set_name(std::move(name));
  if (!enters.empty()) frame_ = enters[0].node()->attr<std::string>("frame_name");
  enters_ = std::move(enters);
  exits_ = std::move(exits);
  for (const auto& [outside, inside] : brought_in) bring_in(outside, inside);
}

}  // namespace caudal::inline v0
