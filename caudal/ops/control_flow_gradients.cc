#include "caudal/ops/control_flow_gradients.h"

#include <algorithm>
#include <map>
#include <memory>

#include "caudal/autodiff/control_flow.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow_contexts.h"
#include "caudal/ops/loop_gradient.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

// ---- Helpers

WhileContext* current_loop(const Node& node) {
  ControlFlowContext* current = current_control_flow_context(node.graph());
  return current == nullptr ? nullptr : static_cast<WhileContext*>(current->loop());
}

Output zeros_of_shape(const Output& shape, DType dtype) {
  return OpBuilder("Fill", {.name = "zeros"}).input(shape).input(Tensor::zeros(dtype, Shape{})).build();
}

Output shape_of_value(const Output& value) {
  return OpBuilder(value.dtype() == DType::kResource ? "VariableShape" : "Shape", {.name = "Shape"})
      .input(value)
      .build();
}

// Of a variable's handle the gradient is one of its value.
DType gradient_dtype(const Output& value) {
  if (value.dtype() != DType::kResource) return value.dtype();
  const HandleData& parts = value.node()->output_handle(value.index());
  return parts.empty() ? DType::kFloat : parts[0].dtype;
}

IndexedSlices as_slices(const Gradient& gradient) {
  if (gradient.is_sparse()) return gradient.slices();
  const Output dense = gradient.dense();
  const Output sizes = shape(dense, {.out_type = DType::kInt64});
  const Output rows =
      OpBuilder("StridedSlice", {}).input(sizes).input({0}).input({1}).input({1}).attr("shrink_axis_mask", 1).build();
  const Output all = range(Tensor(std::int64_t{0}), rows, Tensor(std::int64_t{1}));
  return {.values = dense, .indices = all, .dense_shape = sizes};
}

Output widened(const Output& index, bool to_int64) {
  if (!to_int64 || index.dtype() == DType::kInt64) return index;
  return OpBuilder("Cast", {}).input(index).attr("DstT", DType::kInt64).build();
}

// A Merge of gradients; all are sparse if one is.
Gradient merged(const std::vector<Gradient>& gradients, const std::string& name) {
  if (std::ranges::none_of(gradients, &Gradient::is_sparse)) {
    std::vector<Output> dense;
    for (const Gradient& gradient : gradients) dense.push_back(gradient.dense());
    return raw_ops::merge(dense, {.name = name}).output;
  }
  std::vector<IndexedSlices> parts;
  for (const Gradient& gradient : gradients) parts.push_back(as_slices(gradient));
  const auto differs = [](const Output& a, const Output& b) { return a && b && a.dtype() != b.dtype(); };
  bool wide_indices = false, wide_shapes = false, all_shapes = true;
  for (const IndexedSlices& part : parts) {
    wide_indices |= differs(part.indices, parts[0].indices);
    wide_shapes |= differs(part.dense_shape, parts[0].dense_shape);
    all_shapes &= static_cast<bool>(part.dense_shape);
  }
  std::vector<Output> values, indices, shapes;
  for (const IndexedSlices& part : parts) {
    values.push_back(part.values);
    indices.push_back(widened(part.indices, wide_indices));
    if (all_shapes) shapes.push_back(widened(part.dense_shape, wide_shapes));
  }
  return IndexedSlices{.values = raw_ops::merge(values, {.name = name}).output,
                       .indices = raw_ops::merge(indices, {.name = name}).output,
                       .dense_shape = all_shapes ? raw_ops::merge(shapes, {.name = name}).output : Output()};
}

// Both sides of a gradient behind a Switch.
struct GradientSides {
  Gradient if_false, if_true;
};
GradientSides switched(const Gradient& gradient, const Output& pred, const std::string& name = {}) {
  if (!gradient.is_sparse()) {
    const auto sides = switch_beside(gradient.dense(), pred, name);
    return {sides.if_false, sides.if_true};
  }
  const IndexedSlices& slices = gradient.slices();
  const auto values = switch_beside(slices.values, pred, name), indices = switch_beside(slices.indices, pred, name);
  const auto shape = slices.dense_shape ? switch_beside(slices.dense_shape, pred, name) : raw_ops::SwitchOutputs();
  return {IndexedSlices{values.if_false, indices.if_false, shape.if_false},
          IndexedSlices{values.if_true, indices.if_true, shape.if_true}};
}

// ---- Zeros

Output zeros_of_switch(const Output& output) {
  const Node& node = *output.node();
  if (node.context() == nullptr || node.context()->is_loop()) return zeros_like(output);
  // Made where the other branch runs, the one that does not use the value.
  const auto& branch = static_cast<const CondContext&>(*node.context());
  const Output other = raw_ops::switch_(node.input(0), branch.pred())[1 - branch.branch()];
  const Output runs = identity(other);
  if (output.dtype() == DType::kResource) {
    const ControlDependencies after({runs});
    return zeros_of_shape(shape_of_value(other), gradient_dtype(output));
  }
  const Output shape = shape_of_value(other);
  const ControlDependencies after({runs});
  return zeros_of_shape(shape, output.dtype());
}

Output zeros_for_known_shape(const Output& output) {
  if (output.dtype() == DType::kResource) return zeros_of_shape(shape_of_value(output), gradient_dtype(output));
  return constant(Tensor::zeros(output.dtype(), Shape{}), {.shape = output.shape()});
}

// ---- All loops of one call of gradients()

class Loops final : public LoopGradients {
 public:
  explicit Loops(ControlFlowContext* call_context) : call_context_(call_context) {}

  std::vector<Node*> add_loop(Node& exit) override {
    WhileContext* forward = loop_of(exit);
    if (forward == nullptr) {
      throw failed_precondition("the loop of '", exit.name(), "' came from a file that does not say what its parts are")
          .hint("Import the meta graph instead of the graph: it holds the loop's contexts.");
    }
    if (find(forward) != nullptr) return {};
    LoopGradient& loop = LoopGradient::make(*forward, outer_gradient(*forward), call_context_);
    states_.push_back({&loop, static_cast<int>(loop.loop_exits().size()), {}, {}});
    std::vector<Node*> exits;
    for (const Output& each : loop.loop_exits()) exits.push_back(each.node());
    return exits;
  }

  std::vector<Output> start(Pending& pending, const std::unordered_set<Node*>& seeds) override {
    std::vector<Output> ready;
    for (State& state : states_) {
      for (const Output& exit : state.loop->loop_exits()) {
        if (pending[exit.node()] != 0) continue;
        --state.missing_exits;
        if (!seeds.contains(exit.node())) state.unused.push_back(exit);
        if (state.missing_exits == 0) ready.insert(ready.end(), state.unused.begin(), state.unused.end());
      }
      for (const Output& enter : state.loop->forward().enters()) {
        int& count = pending[enter.node()];
        if (count == 0) count = 1;
      }
    }
    return ready;
  }

  std::vector<ReadyExit> exit_ready(Node& exit, const HasGradient& has_gradient) override {
    State& state = *find(loop_of(exit));
    state.deferred.emplace_back(&exit, 0);
    if (--state.missing_exits != 0) return {};
    std::vector<ReadyExit> ready;
    for (const Output& each : state.deferred) {
      if (has_gradient(each.node())) {
        ready.push_back({each, false});
      } else {
        state.unused.push_back(each);
      }
    }
    const bool any = !ready.empty();
    for (const Output& each : state.unused) ready.push_back({each, any});
    return ready;
  }

  Output zeros_for_exit(const Output& exit) override {
    ControlFlowContext* around = exit.node()->context()->outer();
    LoopGradient* outer = outer_gradient(*static_cast<WhileContext*>(exit.node()->context()));
    if (outer == nullptr) return exit.shape().is_fully_known() ? zeros_for_known_shape(exit) : zeros_like(exit);
    if (exit.shape().is_fully_known()) {
      const ContextScope inside(&outer->backward());
      return zeros_for_known_shape(exit);
    }
    Output sizes;
    {
      const ContextScope inside(around);
      sizes = shape_of_value(exit);
    }
    const Output stack = outer->push(sizes);
    const ContextScope inside(&outer->backward());
    return zeros_of_shape(outer->pop(stack, sizes), exit.dtype());
  }

  ControlFlowContext* context_for(const Node& node, bool of_outputs) const override {
    WhileContext* forward = of_outputs ? loop_of_output(node) : loop_of(node);
    const State* state = find(forward);
    return state == nullptr ? nullptr : &state->loop->backward();
  }

  Output zeros(const Output& output) override {
    Node& node = *output.node();
    if (is_loop_switch(node)) return {};
    const bool is_switch = node.op().spec->control == ControlFlow::kSwitch;
    const State* state = find(loop_of(node));
    if (state == nullptr) return is_switch ? zeros_of_switch(output) : zeros_like(output);
    LoopGradient& loop = *state->loop;
    if (is_switch) return zeros_of_untaken_branch(loop, output);
    if (output.shape().is_fully_known()) return zeros_for_known_shape(output);
    Output sizes;
    {
      const ContextScope inside(node.context());
      sizes = shape_of_value(output);
    }
    return zeros_of_shape(kept_shape(loop, sizes, false), gradient_dtype(output));
  }

  void finish() override {
    for (State& state : states_) state.loop->close_open_merges();
  }

 private:
  struct State {
    LoopGradient* loop;
    int missing_exits;  // whose gradients have not all arrived
    std::vector<Output> unused, deferred;
  };

  const State* find(const WhileContext* forward) const {
    const auto found =
        std::ranges::find_if(states_, [&](const State& state) { return &state.loop->forward() == forward; });
    return found == states_.end() ? nullptr : &*found;
  }
  State* find(const WhileContext* forward) { return const_cast<State*>(std::as_const(*this).find(forward)); }

  LoopGradient* outer_gradient(const WhileContext& forward) const {
    ControlFlowContext* around = forward.outer() == nullptr ? nullptr : forward.outer()->loop();
    const State* state = find(static_cast<WhileContext*>(around));
    return state == nullptr ? nullptr : state->loop;
  }

  Output kept_shape(LoopGradient& loop, const Output& sizes, bool dead_branch) const {
    Output stack;
    {
      const ContextScope at_call(call_context_);
      stack = loop.push(sizes, dead_branch);
    }
    return loop.pop(stack, sizes, dead_branch);
  }

  // Zeros that are live in iterations that take the other branch.
  Output zeros_of_untaken_branch(LoopGradient& loop, const Output& output) const {
    Node& node = *output.node();
    auto& branch = static_cast<CondContext&>(*node.context());
    if (output.shape().is_fully_known() && output.dtype() != DType::kResource) {
      return switch_beside(zeros_for_known_shape(output), loop.real_predicate(branch.pred()))[1 - branch.branch()];
    }
    Output other, sizes;
    {
      const ContextScope around(branch.outer());
      other = switch_beside(node.input(0), branch.pred())[1 - branch.branch()];
      sizes = shape_of_value(other);
    }
    other.node()->set_context(&branch);
    sizes.node()->set_context(&branch);
    return zeros_of_shape(kept_shape(loop, sizes, /*dead_branch=*/true), gradient_dtype(output));
  }

  ControlFlowContext* call_context_;
  std::vector<State> states_;
};

constexpr ControlFlowGradientOps kOps = {
    .make_loops = [](ControlFlowContext* call_context) -> std::unique_ptr<LoopGradients> {
      return std::make_unique<Loops>(call_context);
    },
    .zeros_of_switch = zeros_of_switch,
};
const ControlFlowGradientRegistrar registrar(kOps);

// ---- Gradients

// A loop variable's Switch is seen twice: with the gradient that comes from outside, and with the one that has gone
// round the loop.
void loop_switch_gradient(GradientContext& c) {
  LoopGradient* loop = current_loop(c.node())->gradient();
  if (const Output* merge = loop->find_merge(c.node())) {
    if (c.has_grad(1)) add_back_edge(*merge, c.raw_grad(1).dense(), /*same_shape=*/false);
    return;
  }
  if (!c.has_grad(0)) return;
  const Output from_outside = c.raw_grad(0).dense();
  const Output merge = raw_ops::merge({from_outside, from_outside}, {.name = "b_switch"}).output;
  loop->merges.emplace_back(&c.node(), merge);
  c.set_input_grad(0, merge);
}

void branch_switch_gradient(GradientContext& c, const CondContext& branch) {
  if (!carries_gradient(c.output(0))) return;
  std::vector<Gradient> sides(2);
  sides[branch.branch()] = c.raw_grad(branch.branch());
  sides[1 - branch.branch()] = c.raw_grad(1 - branch.branch());
  c.set_input_grad(0, merged(sides, "cond_grad"));
}

}  // namespace

void switch_gradient(GradientContext& c) {
  const ControlFlowContext* home = c.node().context();
  if (home != nullptr && home->is_loop() && is_loop_switch(c.node()) && current_loop(c.node()) != nullptr &&
      current_loop(c.node())->gradient() != nullptr) {
    return loop_switch_gradient(c);
  }
  if (home != nullptr && !home->is_loop()) return branch_switch_gradient(c, static_cast<const CondContext&>(*home));
  if (!carries_gradient(c.output(0))) return;
  const Output& pred = c.input(1);
  c.set_input_grad(0, merged({switched(c.raw_grad(0), pred).if_false, switched(c.raw_grad(1), pred).if_true}, "Merge"));
}

void merge_gradient(GradientContext& c) {
  if (!c.has_grad(0)) return;
  const Gradient& gradient = c.raw_grad(0);
  const ControlFlowContext* from = output_context(*c.input(0).node());
  WhileContext* loop = current_loop(c.node());
  if (from == nullptr) {
    // No context tells: the index does.
    for (int i = 0; i < c.num_inputs(); ++i) {
      const Output chosen = OpBuilder("Equal", {}).input(c.output(1)).input(i).build();
      c.set_input_grad(i, switched(gradient, chosen).if_true);
    }
    return;
  }
  GradientSides sides;
  if (from->is_loop()) {
    if (loop == nullptr || loop->gradient() == nullptr) {
      throw invalid_argument("the gradient goes through a loop variable's initial value from inside the loop")
          .hint("Ask for gradients of what the body is given or only reads, or outside the loop.");
    }
    sides = switched(gradient, loop->condition());
  } else {
    Output pred = static_cast<const CondContext*>(from)->pred();
    if (loop != nullptr && loop->gradient() != nullptr) pred = loop->gradient()->real_predicate(pred);
    sides = switched(gradient, pred, "cond_grad");
  }
  c.set_input_grad(0, sides.if_false);
  c.set_input_grad(1, sides.if_true);
}

void exit_gradient(GradientContext& c) {
  WhileContext* backward = current_loop(c.node());
  if (backward == nullptr || !backward->settings().back_prop || !c.has_grad(0)) return;
  if (const WhileContext* forward = loop_of(c.node()); forward != nullptr && forward->gradient() != nullptr) {
    throw unimplemented("the gradient of a while loop's gradient")
        .hint("Build the loop in v2 form (enable_control_flow_v2()): functional loops have gradients of any order.");
  }
  Output gradient;
  {
    ControlFlowContext* around = backward->outer();
    const ContextScope outside(around != nullptr ? around : backward->gradient()->call_context());
    gradient = c.raw_grad(0).dense();
  }
  c.set_input_grad(0, backward->add_enter(gradient, "b_exit"));
}

void next_iteration_gradient(GradientContext& c) { c.set_input_grad(0, c.raw_grad(0)); }

void enter_gradient(GradientContext& c) {
  WhileContext* backward = current_loop(c.node());
  if (backward == nullptr || !backward->settings().back_prop || backward->gradient() == nullptr) {
    c.set_input_grad(0, c.raw_grad(0));
    return;
  }
  if (c.attr<bool>("is_constant")) {
    c.set_input_grad(0, backward->gradient()->accumulate(c.node(), c.raw_grad(0)));
    return;
  }
  c.set_input_grad(0, backward->add_exit(c.raw_grad(0).dense(), "Exit"));
}

}  // namespace caudal::inline v0
