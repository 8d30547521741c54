// The nodes of TensorFlow's v1 control flow: definitions and shapes. The executor carries them out
// (core/op_registry.h, ControlFlow); control_flow.h builds conditions and loops from them.
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"

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
  c.set_output_handle(0, c.input_handle(0));
  c.set_output(1, Shape());
}

void forwarded_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
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

void run_control_trigger(RunContext&) {}

void run_abort(RunContext& c) {
  if (c.node().attr<bool>("exit_without_error")) {
    throw aborted("the graph asked for the end of the process, which a library does not do");
  }
  throw aborted(c.node().attr<std::string>("error_msg"));
}

}  // namespace

#define CAUDAL_FORWARDING_OP(op, kind, ref_begin, ref_end, op_attrs) \
  CAUDAL_REGISTER_OP({                                               \
      .name = op,                                                    \
      .inputs = "data: " ref_begin "T" ref_end,                      \
      .outputs = "output: " ref_begin "T" ref_end,                   \
      .attrs = op_attrs,                                             \
      .shape = forwarded_shape,                                      \
      .gradient = not_differentiable,                                \
      .cpu = control_flow_kernel,                                    \
      .control = ControlFlow::kind,                                  \
  })

CAUDAL_FORWARDING_OP("Enter", kEnter, "", "",
                     "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10");
CAUDAL_FORWARDING_OP("RefEnter", kEnter, "Ref(", ")",
                     "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10");
CAUDAL_FORWARDING_OP("Exit", kExit, "", "", "T: type");
CAUDAL_FORWARDING_OP("RefExit", kExit, "Ref(", ")", "T: type");
CAUDAL_FORWARDING_OP("NextIteration", kNextIteration, "", "", "T: type");
CAUDAL_FORWARDING_OP("RefNextIteration", kNextIteration, "Ref(", ")", "T: type");

CAUDAL_REGISTER_OP({
    .name = "Switch",
    .inputs = "data: T; pred: bool",
    .outputs = "output_false: T; output_true: T",
    .attrs = "T: type",
    .shape = switch_shape,
    .gradient = not_differentiable,
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
    .gradient = not_differentiable,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kSwitch,
});
CAUDAL_REGISTER_OP({
    .name = "Merge",
    .inputs = "inputs: N*T",
    .outputs = "output: T; value_index: int32",
    .attrs = "T: type; N: int >= 1",
    .shape = merge_shape,
    .gradient = not_differentiable,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kMerge,
});
CAUDAL_REGISTER_OP({
    .name = "RefMerge",
    .inputs = "inputs: Ref(N*T)",
    .outputs = "output: Ref(T); value_index: int32",
    .attrs = "T: type; N: int >= 1",
    .shape = merge_shape,
    .gradient = not_differentiable,
    .cpu = control_flow_kernel,
    .control = ControlFlow::kMerge,
});
CAUDAL_REGISTER_OP({
    .name = "LoopCond",
    .inputs = "input: bool",
    .outputs = "output: bool",
    .shape = loop_cond_shape,
    .gradient = not_differentiable,
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

}  // namespace caudal::inline v0
