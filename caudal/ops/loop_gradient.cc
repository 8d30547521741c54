#include "caudal/ops/loop_gradient.h"

#include <algorithm>
#include <optional>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/stack_ops.h"

namespace caudal::inline v0 {
namespace {

Output int_constant(int value, const std::string& name) { return constant(value, {.name = name}); }

Output zeros_constant(DType dtype, const PartialShape& shape, const std::string& name = "Const") {
  return constant(Tensor::zeros(dtype, Shape{}), {.shape = shape, .name = name});
}

Output filled_with_zeros(const Output& shape, DType dtype) {
  return OpBuilder("Fill", {.name = "zeros"}).input(shape).input(Tensor::zeros(dtype, Shape{})).build();
}

// The shape of a value; of a variable's value where it is a resource.
Output shape_node(const Output& value, DType out_type = DType::kInt32) {
  return OpBuilder(value.dtype() == DType::kResource ? "VariableShape" : "Shape", {.name = "Shape"})
      .input(value)
      .attr("out_type", out_type)
      .build();
}

// Closes a loop variable that so far enters on both sides of its Merge.
Output close(const Output& merge, const Output& next) {
  const Output back = raw_ops::next_iteration(next);
  merge.graph().connect(*merge.node(), 1, back);
  return back;
}

}  // namespace

LoopGradient& LoopGradient::make(WhileContext& forward, LoopGradient* outer, ControlFlowContext* call_context) {
  auto made = std::make_shared<LoopGradient>(forward, outer, call_context);
  LoopGradient& gradient = *made;
  gradient.start(std::move(made));
  return gradient;
}

LoopGradient::LoopGradient(WhileContext& forward, LoopGradient* outer, ControlFlowContext* call_context)
    : forward_(forward), outer_(outer), call_context_(call_context), loop_exits_(forward.exits()) {}

void LoopGradient::start(std::shared_ptr<LoopGradient> self) {
  Graph& graph = forward_.graph();
  const auto make_backward = [&] {
    LoopSettings settings = forward_.settings();
    backward_ = &graph.own(std::make_unique<WhileContext>(graph, forward_.name(), settings, std::move(self)));
  };
  Output count;
  {
    ControlFlowContext* around = outer_ != nullptr ? &outer_->forward() : forward_.outer();
    const ContextScope scope(around != nullptr ? around : call_context_);
    count = add_forward_counter();
    if (outer_ == nullptr) {
      make_backward();
      add_backward_counter(count);
      return;
    }
    around->add_known(count);
  }
  // How often this loop ran differs from iteration to iteration of the outer one.
  const Output counts = outer_->push(count);
  const ContextScope scope(&outer_->backward());
  make_backward();
  add_backward_counter(outer_->pop(counts, count));
}

// n = 0; while (the loop goes on) ++n
Output LoopGradient::add_forward_counter() {
  Graph& graph = forward_.graph();
  const Output zero = int_constant(0, "f_count");
  // The pushes of one execution of an inner loop come before those of the next.
  if (outer_ != nullptr) graph.add_control_input(*zero.node(), *outer_->forward_index_.node()->input(0).node());
  const ContextScope inside(&forward_);
  const Output enter = forward_.add_enter(zero, "f_count");
  const Output merge = raw_ops::merge({enter, enter}).output;
  const auto sides = raw_ops::switch_(merge, forward_.condition());
  forward_index_ = close(merge, OpBuilder("AddV2", {.name = "Add"}).input(sides.if_true).input(1).build());
  return forward_.add_exit(sides.if_false, "f_count");
}

// n = count; while (n >= 1) --n
void LoopGradient::add_backward_counter(const Output& count) {
  const Output one = int_constant(1, "b_count");
  const ContextScope inside(backward_);
  const Output enter = backward_->add_enter(count, "b_count");
  const Output merge = raw_ops::merge({enter, enter}).output;
  backward_->set_pivots(merge, {}, {});
  const Output goes_on = OpBuilder("GreaterEqual", {}).input(merge).input(one).build();
  const Output condition = raw_ops::loop_cond(goes_on, {.name = "b_count"});
  backward_->set_pivots(merge, {}, condition);
  const auto sides = raw_ops::switch_(merge, condition);
  const Output index = OpBuilder("Sub", {}).input(sides.if_true).input(one).build();
  backward_->set_pivots(merge, index, condition);
  backward_index_ = close(merge, index);
  const Output last = backward_->add_exit(sides.if_false, "b_count");
  // The pops of one execution of an inner loop come before those of the next.
  if (outer_ != nullptr) forward_.graph().add_control_input(outer_->backward_sync(), *last.node());
}

Node& LoopGradient::forward_sync() {
  if (forward_sync_ == nullptr) {
    const ControlDependencies none({}, /*clear=*/true);
    forward_sync_ = raw_ops::control_trigger({.name = "f_sync"}).node();
    forward_sync_->set_context(&forward_);
    forward_.graph().add_control_input(*forward_index_.node(), *forward_sync_);
  }
  return *forward_sync_;
}

Node& LoopGradient::backward_sync() {
  if (backward_sync_ == nullptr) {
    const ControlDependencies none({}, /*clear=*/true);
    backward_sync_ = raw_ops::control_trigger({.name = "b_sync"}).node();
    backward_sync_->set_context(backward_);
    forward_.graph().add_control_input(*backward_index_.node(), *backward_sync_);
  }
  return *backward_sync_;
}

Output LoopGradient::push(const Output& value, bool dead_branch) {
  Graph& graph = forward_.graph();
  const ControlDependencies none({}, /*clear=*/true);
  Output stack;
  {
    const ContextScope at_call(call_context_);
    stack = raw_ops::stack_v2(-1, value.dtype(), {.name = "f_acc"});
  }
  const Output entered = forward_.add_value(stack);
  const auto push_in = [&](ControlFlowContext* context) {
    const ContextScope inside(context);
    return OpBuilder("StackPushV2", {})
        .input(entered)
        .input(value)
        .attr("swap_memory", forward_.settings().swap_memory)
        .build();
  };
  ControlFlowContext* context = output_context(*value.node());
  Output pushed;
  if (context == &forward_) {
    pushed = push_in(&forward_);
    graph.add_control_input(*forward_index_.node(), *pushed.node());
  } else {
    if (context == nullptr || context->is_loop()) {
      throw unimplemented("the gradient of loop '", forward_.name(), "' needs '", value.name(),
                          "', which is made in another loop")
          .hint("Return it from its loop as a loop variable.");
    }
    pushed = push_in(dead_branch ? context->outer() : context);
    if (dead_branch) pushed.node()->set_context(context);
    graph.add_control_input(forward_sync(), *pushed.node());
  }
  graph.add_control_input(*pushed.node(), *forward_index_.node()->input(0).node());
  return stack;
}

// The stack, live only where the branch of a condition that pushed on it was taken.
Output LoopGradient::guarded_stack(const Output& stack, const Output& value, bool dead_branch) {
  const ControlFlowContext* home = stack.node()->context();
  ControlFlowContext* context = value.node()->context();
  while (context != nullptr && context != home && context->is_loop()) context = context->outer();
  if (context == nullptr || context == home) return stack;
  const auto& branch = static_cast<const CondContext&>(*context);
  Output pred;
  for (const LoopGradient* state = this; state != nullptr && !pred; state = state->outer_) {
    pred = state->known(branch.pred());
  }
  if (!pred) pred = branch.pred();
  return switch_beside(stack, pred)[dead_branch ? 1 - branch.branch() : branch.branch()];
}

Output LoopGradient::pop(const Output& stack, const Output& value, bool dead_branch) {
  Output popped;
  {
    const ControlDependencies none({}, /*clear=*/true);
    const ContextScope inside(backward_);
    const Output guarded = guarded_stack(stack, value, dead_branch);
    popped = raw_ops::stack_pop_v2(guarded, value.dtype());
    popped.set_shape(value.shape());
  }
  if (backward_->settings().parallel_iterations > 1) {
    forward_.graph().add_control_input(backward_sync(), *popped.node());
  }
  return popped;
}

Output LoopGradient::known(const Output& value) const {
  const auto found = kept_.find(value);
  return found == kept_.end() ? Output() : found->second;
}

Output LoopGradient::real_value(const Output& value) {
  if (const Output found = known(value)) return found;
  Output current = value;
  LoopGradient* state = this;
  Output real;
  while (!real) {
    if (Node* enter = constant_enter_of(current)) {
      // Something that the loop only reads: it is outside, perhaps to be taken from the stacks of the loop around.
      current = enter->input(0);
      state = state->outer_;
      if (state == nullptr) real = backward_->add_value(current);
      continue;
    }
    if (current.node()->type() == "Const") {
      real = constant(current.node()->attr<Tensor>("value"));
      break;
    }
    Output stack;
    {
      const ContextScope at_call(call_context_);
      stack = state->push(current);
    }
    real = state->pop(stack, current);
    if (state != this) real = backward_->add_value(real);
  }
  kept_[value] = real;
  return real;
}

Output LoopGradient::real_predicate(const Output& pred) {
  if (const Output found = known(pred)) return found;
  Output stack;
  {
    const ContextScope at_call(call_context_);
    stack = push(pred);
  }
  return kept_[pred] = pop(stack, pred);
}

const Output* LoopGradient::find_merge(const Node& loop_switch) const {
  const auto found =
      std::ranges::find(merges, &loop_switch, [](const auto& entry) -> const Node* { return entry.first; });
  return found == merges.end() ? nullptr : &found->second;
}

// ---- Sums over the iterations

// Only a loop that never runs shows it, but then the shape must be right.
Output LoopGradient::zeros_like_entering(Node& enter, const Output& gradient) {
  const Output& value = enter.input(0);
  ControlFlowContext* around = backward_->outer();
  const ContextScope outside(around != nullptr ? around : call_context_);
  if (gradient.shape().is_fully_known()) return zeros_constant(gradient.dtype(), gradient.shape(), "b_acc");
  if (outer_ == nullptr || around == nullptr || !around->is_loop()) {
    return filled_with_zeros(shape_node(value), gradient.dtype());
  }
  Output shape;
  {
    const ContextScope inside(forward_.outer());
    shape = shape_node(value);
  }
  Output shapes;
  {
    const ContextScope at_call(call_context_);
    shapes = outer_->push(shape);
  }
  return filled_with_zeros(outer_->pop(shapes, shape), gradient.dtype());
}

Output LoopGradient::accumulate_dense(Node& enter, const Output& gradient) {
  const Output zeros = zeros_like_entering(enter, gradient);
  const ContextScope inside(backward_);
  const Output start = backward_->add_enter(zeros, "b_acc");
  const Output merge = raw_ops::merge({start, start}, {.name = "b_acc"}).output;
  const auto sides = raw_ops::switch_(merge, backward_->condition());
  close(merge, OpBuilder("AddV2", {.name = "Add"}).input(sides.if_true).input(gradient).build());
  return backward_->add_exit(sides.if_false, "b_acc");
}

// Rows are joined iteration by iteration, behind one row of zeros for row 0.
IndexedSlices LoopGradient::accumulate_slices(Node& enter, const IndexedSlices& gradient) {
  const PartialShape& shape = gradient.values.shape();
  std::vector<Output> initial;
  {
    ControlFlowContext* around = backward_->outer();
    const ContextScope outside(around != nullptr ? around : call_context_);
    initial.push_back(constant(Tensor::zeros(gradient.indices.dtype(), Shape{1})));
    if (shape.is_fully_known()) {
      initial.push_back(zeros_constant(gradient.values.dtype(), shape.with_dim(0, 1), "b_acc"));
    } else {
      const Output rest = OpBuilder("StridedSlice", {})
                              .input(shape_node(enter.input(0)))
                              .input({1})
                              .input({0})
                              .input({1})
                              .attr("end_mask", 1)
                              .build();
      const Output one_row = constant(Tensor::from<std::int32_t>({1}, {1}));
      const Output sizes = OpBuilder("ConcatV2", {}).inputs({one_row, rest}).input(0, DType::kInt32).build();
      initial.push_back(filled_with_zeros(sizes, gradient.values.dtype()));
    }
    // TensorFlow starts with zeros: a loop that never runs then has a gradient of no rows.
    if (gradient.dense_shape) initial.push_back(shape_node(enter.input(0), gradient.dense_shape.dtype()));
  }
  const ContextScope inside(backward_);
  std::vector<Output> merges, results;
  std::vector<raw_ops::SwitchOutputs> sides;
  std::vector<Output> starts;
  for (const Output& value : initial) starts.push_back(backward_->add_enter(value, "b_acc", /*grows=*/true));
  starts[0].set_shape({-1});
  if (initial[1].shape().has_rank()) starts[1].set_shape(initial[1].shape().with_dim(0, -1));
  for (const Output& start : starts) merges.push_back(raw_ops::merge({start, start}, {.name = "b_acc"}).output);
  for (const Output& merge : merges) sides.push_back(raw_ops::switch_(merge, backward_->condition()));
  const auto joined = [&](std::size_t i, const Output& more) {
    return OpBuilder("ConcatV2", {}).inputs({sides[i].if_true, more}).input(0, DType::kInt32).build();
  };
  std::vector<Output> next = {joined(0, gradient.indices), joined(1, gradient.values)};
  if (gradient.dense_shape) {
    next.push_back(OpBuilder("Maximum", {}).input(gradient.dense_shape).input(sides[2].if_true).build());
  }
  for (std::size_t i = 0; i < next.size(); ++i) close(merges[i], next[i]);
  for (const auto& side : sides) results.push_back(backward_->add_exit(side.if_false, "b_acc"));
  return {.values = results[1], .indices = results[0], .dense_shape = gradient.dense_shape ? results[2] : Output()};
}

Gradient LoopGradient::accumulate(Node& enter, const Gradient& gradient) {
  if (gradient.is_sparse()) return accumulate_slices(enter, gradient.slices());
  return accumulate_dense(enter, gradient.dense());
}

void LoopGradient::close_open_merges() {
  for (const auto& [node, merge] : merges) {
    if (merge.node()->input(0) != merge.node()->input(1)) continue;
    const Output& entering = merge.node()->input(0);
    Output zeros;
    if (!entering.shape().is_fully_known()) {
      ControlFlowContext* around = backward_->outer();
      const ContextScope outside(around != nullptr ? around : call_context_);
      zeros = filled_with_zeros(shape_node(entering.node()->input(0)), merge.dtype());
    }
    const ContextScope inside(backward_);
    if (!zeros) zeros = zeros_constant(merge.dtype(), entering.shape());
    close(merge, zeros);
  }
}

}  // namespace caudal::inline v0
