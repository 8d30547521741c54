// The nodes of TensorFlow's v1 control flow: definitions and shapes. The executor carries them out
// (core/op_registry.h, ControlFlow); control_flow.h builds conditions and loops from them.
#include "caudal/ops/control_flow_ops.h"

#include <algorithm>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/control_flow_gradients.h"

namespace caudal::inline v0 {
namespace {

void switch_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  for (int i = 0; i < 2; ++i) {
    c.set_output(i, c.input(0));
    c.set_output_handle(i, c.input_handle(0));
  }
}

// Sizes in which the inputs differ are unknown; so is everything if their ranks differ.
// What all inputs say of the resource. Of a list nothing: it may change its elements' type and shape in a loop.
HandleData common_handle(const ShapeContext& c) {
  const HandleData& first = c.input_handle(0);
  if (c.node().input_types[0] == DType::kVariant) return {};
  for (int i = 1; i < c.num_inputs(); ++i) {
    const auto same = [](const auto& a, const auto& b) { return a.dtype == b.dtype && a.shape == b.shape; };
    if (!std::ranges::equal(first, c.input_handle(i), same)) return {};
  }
  return first;
}

void merge_shape(ShapeContext& c) {
  PartialShape merged = c.input(0);
  for (int i = 1; i < c.num_inputs() && merged.has_rank(); ++i) {
    const PartialShape& other = c.input(i);
    if (!other.has_rank() || other.rank() != merged.rank()) {
      merged = PartialShape::unknown();
      break;
    }
    std::vector<std::int64_t> dims;
    for (int d = 0; d < merged.rank(); ++d) dims.push_back(merged.dim(d) == other.dim(d) ? merged.dim(d) : -1);
    merged = PartialShape(dims);
  }
  c.set_output(0, merged);
  c.set_output_handle(0, common_handle(c));
  c.set_output(1, Shape());
}

void forwarded_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  c.set_output_handle(0, c.input_handle(0));
}

// What enters as a loop variable may have another shape in the next iteration.
void enter_shape(ShapeContext& c) {
  if (c.attr<bool>("is_constant")) c.set_output(0, c.input(0));
  c.set_output_handle(0, c.input_handle(0));
}

void loop_cond_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  c.set_output(0, Shape());
}

void run_loop_cond(RunContext& c) { c.set_output(0, c.input(0)); }

std::unique_ptr<Kernel> prepare_loop_cond(PrepareContext& c) {
  c.alias(0, 0);
  return kernel_of<run_loop_cond>(c);
}

// TensorFlow says so with a gradient, not without one.
void no_gradient_of_condition(GradientContext&) {}

void run_control_trigger(RunContext&) {}

void run_abort(RunContext& c) {
  if (c.node().attr<bool>("exit_without_error")) {
    throw aborted("the graph asked for the end of the process, which a library does not do");
  }
  throw aborted(c.node().attr<std::string>("error_msg"));
}

}  // namespace

#define CAUDAL_FORWARDING_OP(op, kind, ref_begin, ref_end, op_attrs, shape_fn, gradient_fn) \
  CAUDAL_REGISTER_OP({                                                                      \
      .name = op,                                                                           \
      .inputs = "data: " ref_begin "T" ref_end,                                             \
      .outputs = "output: " ref_begin "T" ref_end,                                          \
      .attrs = op_attrs,                                                                    \
      .shape = shape_fn,                                                                    \
      .gradient = gradient_fn,                                                              \
      .cpu = control_flow_kernel,                                                           \
      .control = ControlFlow::kind,                                                         \
  })

CAUDAL_FORWARDING_OP("Enter", kEnter, "", "",
                     "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10",
                     enter_shape, enter_gradient);
CAUDAL_FORWARDING_OP("RefEnter", kEnter, "Ref(", ")",
                     "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10",
                     enter_shape, enter_gradient);
CAUDAL_FORWARDING_OP("Exit", kExit, "", "", "T: type", forwarded_shape, exit_gradient);
CAUDAL_FORWARDING_OP("RefExit", kExit, "Ref(", ")", "T: type", forwarded_shape, exit_gradient);
CAUDAL_FORWARDING_OP("NextIteration", kNextIteration, "", "", "T: type", forwarded_shape, next_iteration_gradient);
CAUDAL_FORWARDING_OP("RefNextIteration", kNextIteration, "Ref(", ")", "T: type", forwarded_shape,
                     next_iteration_gradient);

CAUDAL_REGISTER_OP({
    .name = "Switch",
    .inputs = "data: T; pred: bool",
    .outputs = "output_false: T; output_true: T",
    .attrs = "T: type",
    .shape = switch_shape,
    .gradient = switch_gradient,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kSwitch,
});
CAUDAL_REGISTER_OP({
    .name = "RefSwitch",
    .inputs = "data: Ref(T); pred: bool",
    .outputs = "output_false: Ref(T); output_true: Ref(T)",
    .attrs = "T: type",
    .allows_uninitialized_input = true,
    .shape = switch_shape,
    .gradient = switch_gradient,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kSwitch,
});
CAUDAL_REGISTER_OP({
    .name = "Merge",
    .inputs = "inputs: N*T",
    .outputs = "output: T; value_index: int32",
    .attrs = "T: type; N: int >= 1",
    .shape = merge_shape,
    .gradient = merge_gradient,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kMerge,
});
CAUDAL_REGISTER_OP({
    .name = "RefMerge",
    .inputs = "inputs: Ref(N*T)",
    .outputs = "output: Ref(T); value_index: int32",
    .attrs = "T: type; N: int >= 1",
    .shape = merge_shape,
    .gradient = merge_gradient,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kMerge,
});
CAUDAL_REGISTER_OP({
    .name = "LoopCond",
    .inputs = "input: bool",
    .outputs = "output: bool",
    .shape = loop_cond_shape,
    .gradient = no_gradient_of_condition,
    .cpu = prepare_loop_cond,
    .control = ControlFlow::kLoopCond,
});
CAUDAL_REGISTER_OP({
    .name = "ControlTrigger",
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_control_trigger>,
    .control = ControlFlow::kControlTrigger,
});
CAUDAL_REGISTER_OP({
    .name = "Abort",
    .attrs = "error_msg: string = ''; exit_without_error: bool = false",
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_abort>,
});

// ---- Public functions

namespace raw_ops {
namespace {

OpOptions named(const OpOptions& options, std::string_view name) {
  return {.name = options.name.empty() ? std::string(name) : options.name, .where = options.where};
}

}  // namespace

SwitchOutputs switch_(const Output& data, const Output& pred, const OpOptions& options) {
  Node& node =
      OpBuilder(data.is_ref() ? "RefSwitch" : "Switch", named(options, "Switch")).input(data).input(pred).build_node();
  return {node.output(0), node.output(1)};
}

MergeOutputs merge(const std::vector<Output>& inputs, const OpOptions& options) {
  const bool refs = std::ranges::all_of(inputs, &Output::is_ref);
  Node& node = OpBuilder(refs ? "RefMerge" : "Merge", named(options, "Merge")).inputs(inputs).build_node();
  return {node.output(0), node.output(1)};
}

Output enter(const Output& data, const std::string& frame_name, const EnterOptions& options) {
  return OpBuilder(data.is_ref() ? "RefEnter" : "Enter", named({.name = options.name, .where = options.where}, "Enter"))
      .input(data)
      .attr("frame_name", frame_name)
      .attr("is_constant", options.is_constant)
      .attr("parallel_iterations", options.parallel_iterations)
      .build();
}

Output exit(const Output& data, const OpOptions& options) {
  return OpBuilder(data.is_ref() ? "RefExit" : "Exit", named(options, "Exit")).input(data).build();
}

Output next_iteration(const Output& data, const OpOptions& options) {
  return OpBuilder(data.is_ref() ? "RefNextIteration" : "NextIteration", named(options, "NextIteration"))
      .input(data)
      .build();
}

Output loop_cond(const Output& input, const OpOptions& options) {
  return OpBuilder("LoopCond", options).input(input).build();
}

Operation control_trigger(const OpOptions& options) { return OpBuilder("ControlTrigger", options).build_operation(); }

}  // namespace raw_ops
}  // namespace caudal::inline v0
