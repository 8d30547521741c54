#include "caudal/ops/functional_ops.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/function_call.h"
#include "caudal/ops/function_gradients.h"

namespace caudal::inline v0 {
namespace {

using ops::CalledFunction;
using ops::CallSequence;
using Handle = FunctionRuntime::Handle;

// ---- Shape functions

// As attribute output_shapes says, if it does.
void declared_shape(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.empty()) return unknown_shape(c);
  if (shapes.size() != static_cast<std::size_t>(c.num_outputs())) {
    throw invalid_argument("output_shapes has ", shapes.size(), " entries for ", c.num_outputs(), " outputs");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
}

void while_shape(ShapeContext& c) {
  // Without a declaration a value may get another shape in the loop, and plans rely on what is said here.
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output_handle(i, c.input_handle(i));
  declared_shape(c);
}

// (x..., dy...) -> (dx...): the shapes are those of x.
void symbolic_gradient_shape(ShapeContext& c) {
  if (c.num_inputs() < c.num_outputs()) {
    throw invalid_argument(c.num_inputs(), " inputs for ", c.num_outputs(), " gradients");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const bool is_handle = c.node().input_types[static_cast<std::size_t>(i)] == DType::kResource;
    c.set_output(i, is_handle ? PartialShape::unknown() : c.input(i));
  }
}

void fake_param_shape(ShapeContext& c) { c.set_output(0, c.attr<PartialShape>("shape")); }

// ---- Kernels

// One call.
class SingleCall final : public CallSequence {
 public:
  SingleCall(RunContext& context, Handle handle, int first) : context_(context), handle_(handle), first_(first) {}

  bool next(Handle& handle, std::vector<Tensor>& arguments) override {
    if (called_) return false;
    called_ = true;
    handle = handle_;
    arguments = ops::call_arguments(context_, first_);
    return true;
  }
  void accept(std::vector<Tensor> results) override { results_ = std::move(results); }
  void finish() override { ops::set_call_results(context_, std::move(results_)); }

 private:
  RunContext& context_;
  const Handle handle_;
  const int first_;
  bool called_ = false;
  std::vector<Tensor> results_;
};

// The types of inputs [first, ...).
std::vector<DType> input_types(const PrepareContext& c, int first) {
  const auto& types = c.node().input_types;
  return {types.begin() + first, types.end()};
}

class CallKernel final : public ops::CallingKernel {
 public:
  CallKernel(PrepareContext& c, const FunctionAttr& function, int first)
      : first_(first),
        function_(add(ops::instantiate_call(c, function, input_types(c, first), c.node().output_types))) {
    ops::allow_hand_over(c, first);
  }

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    return std::make_unique<SingleCall>(context, function_, first_);
  }

  const int first_;
  const Handle function_;
};

std::unique_ptr<Kernel> prepare_call(PrepareContext& c) {
  return std::make_unique<CallKernel>(c, c.attr<FunctionAttr>("f"), 0);
}

// A node whose op is a function: its attributes are the function's.
std::unique_ptr<Kernel> prepare_named_call(PrepareContext& c) {
  return std::make_unique<CallKernel>(c, make_function_attr(c.node().type(), c.node().attrs), 0);
}

std::unique_ptr<Kernel> prepare_symbolic_gradient(PrepareContext& c) {
  return std::make_unique<CallKernel>(c, make_function_attr("SymbolicGradient", c.node().attrs), 0);
}

// Calls on this process's CPU; there is no other device that a target could name.
class RemoteCallKernel final : public ops::CallingKernel {
 public:
  explicit RemoteCallKernel(PrepareContext& c)
      : function_(add(ops::instantiate_call(c, c.attr<FunctionAttr>("f"), input_types(c, 1), c.node().output_types))) {
    ops::allow_hand_over(c, 1);
  }

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    const Tensor& target = context.input(0);
    if (target.rank() != 0) throw invalid_argument("the target must be a scalar, not ", target.describe());
    const std::string& device = target.item<std::string>();
    const auto ends_as_cpu = [&](std::string_view end) { return device.ends_with(end); };
    if (!device.empty() && !ends_as_cpu("CPU:0") && !ends_as_cpu("cpu:0")) {
      throw invalid_argument("the target '", device, "' is no device of this process").hint("Use \"/device:CPU:0\".");
    }
    return std::make_unique<SingleCall>(context, function_, 1);
  }

  const Handle function_;
};

std::unique_ptr<Kernel> prepare_remote_call(PrepareContext& c) { return std::make_unique<RemoteCallKernel>(c); }

// One of several functions: If and Case.
class BranchKernel final : public ops::CallingKernel {
 public:
  BranchKernel(PrepareContext& c, const std::vector<FunctionAttr>& branches, bool by_index) : by_index_(by_index) {
    for (const FunctionAttr& branch : branches) {
      branches_.push_back(add(ops::instantiate_call(c, branch, input_types(c, 1), c.node().output_types)));
    }
    ops::allow_hand_over(c, 1);
  }

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    return std::make_unique<SingleCall>(context, branches_[chosen(context.input(0))], 1);
  }

  std::size_t chosen(const Tensor& selector) const {
    if (!by_index_) return ops::to_bool(selector) ? 0 : 1;
    if (selector.rank() != 0) throw invalid_argument("branch_index must be a scalar, not ", selector.describe());
    const std::int32_t index = selector.item<std::int32_t>();
    const auto last = branches_.size() - 1;
    return index < 0 ? last : std::min(last, static_cast<std::size_t>(index));
  }

  const bool by_index_;
  std::vector<Handle> branches_;
};

std::unique_ptr<Kernel> prepare_if(PrepareContext& c) {
  const std::vector branches{c.attr<FunctionAttr>("then_branch"), c.attr<FunctionAttr>("else_branch")};
  return std::make_unique<BranchKernel>(c, branches, false);
}

std::unique_ptr<Kernel> prepare_case(PrepareContext& c) {
  return std::make_unique<BranchKernel>(c, c.attr<std::vector<FunctionAttr>>("branches"), true);
}

// Condition and body by turns.
class WhileCalls final : public CallSequence {
 public:
  WhileCalls(RunContext& context, Handle cond, Handle body)
      : context_(context), cond_(cond), body_(body), values_(ops::call_arguments(context, 0)) {}

  bool next(Handle& handle, std::vector<Tensor>& arguments) override {
    if (decided_) {
      if (!holds_) return false;
      handle = body_;
      arguments = std::move(values_);
    } else {
      handle = cond_;
      arguments = values_;
    }
    return true;
  }

  void accept(std::vector<Tensor> results) override {
    decided_ = !decided_;
    if (decided_) {
      holds_ = ops::to_bool(results[0]);
    } else {
      values_ = std::move(results);
    }
  }

  void finish() override { ops::set_call_results(context_, std::move(values_)); }

 private:
  RunContext& context_;
  const Handle cond_, body_;
  bool decided_ = false;  // the condition has been computed for the values
  bool holds_ = false;
  std::vector<Tensor> values_;
};

class WhileKernel final : public ops::CallingKernel {
 public:
  explicit WhileKernel(PrepareContext& c) {
    const auto& types = c.node().input_types;
    const auto& cond = c.attr<FunctionAttr>("cond");
    FunctionRuntime& functions = c.functions();
    const auto& signature = functions.signature(functions.instantiate(cond));
    if (signature.result_types.size() != 1) {
      throw invalid_argument("the condition '", signature.name, "' gives ", signature.result_types.size(),
                             " results; one is wanted");
    }
    cond_ = add(ops::instantiate_call(c, cond, types, signature.result_types));
    body_ = add(ops::instantiate_call(c, c.attr<FunctionAttr>("body"), types, types));
    ops::allow_hand_over(c, 0);
  }

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    return std::make_unique<WhileCalls>(context, cond_, body_);
  }

  Handle cond_ = 0, body_ = 0;
};

std::unique_ptr<Kernel> prepare_while(PrepareContext& c) { return std::make_unique<WhileKernel>(c); }

// body(i, values...) for i from start to limit.
class ForCalls final : public CallSequence {
 public:
  ForCalls(RunContext& context, Handle body)
      : context_(context), body_(body), i_(scalar(0)), limit_(scalar(1)), delta_(scalar(2)) {
    const bool reaches = delta_ > 0 ? i_ <= limit_ : delta_ < 0 ? i_ >= limit_ : i_ == limit_;
    if (!reaches) {
      throw invalid_argument("start ", i_, ", limit ", limit_, ", delta ", delta_, " never come to an end");
    }
    values_ = ops::call_arguments(context, 3);
  }

  bool next(Handle& handle, std::vector<Tensor>& arguments) override {
    if (delta_ > 0 ? i_ >= limit_ : i_ <= limit_) return false;
    handle = body_;
    arguments.reserve(values_.size() + 1);
    arguments.emplace_back(static_cast<std::int32_t>(i_));
    std::ranges::move(values_, std::back_inserter(arguments));
    return true;
  }

  void accept(std::vector<Tensor> results) override {
    values_ = std::move(results);
    i_ += delta_;
  }

  void finish() override { ops::set_call_results(context_, std::move(values_)); }

 private:
  std::int64_t scalar(int i) const {
    const Tensor& value = context_.input(i);
    if (value.rank() != 0) throw invalid_argument("input ", i, " must be a scalar, not ", value.describe());
    return value.item<std::int32_t>();
  }

  RunContext& context_;
  const Handle body_;
  std::int64_t i_, limit_, delta_;
  std::vector<Tensor> values_;
};

class ForKernel final : public ops::CallingKernel {
 public:
  explicit ForKernel(PrepareContext& c) {
    std::vector<DType> arguments = input_types(c, 3);
    const std::vector<DType> results = arguments;
    arguments.insert(arguments.begin(), DType::kInt32);
    body_ = add(ops::instantiate_call(c, c.attr<FunctionAttr>("body"), arguments, results));
    ops::allow_hand_over(c, 3);
  }

 private:
  std::unique_ptr<CallSequence> start(RunContext& context) const override {
    return std::make_unique<ForCalls>(context, body_);
  }

  Handle body_ = 0;
};

std::unique_ptr<Kernel> prepare_for(PrepareContext& c) { return std::make_unique<ForKernel>(c); }

void run_to_bool(RunContext& c) { c.set_output(0, Tensor(ops::to_bool(c.input(0)))); }

// Nobody reads it; sizes that are not known are none.
void run_fake_param(RunContext& c) {
  const auto& declared = c.node().attr<PartialShape>("shape");
  std::vector<std::int64_t> dims;
  for (int i = 0; declared.has_rank() && i < declared.rank(); ++i)
    dims.push_back(std::max<std::int64_t>(declared[i], 0));
  if (!declared.has_rank()) dims.push_back(0);
  c.set_output(0, Tensor::zeros(c.node().output_types[0], Shape(dims)));
}

void run_device_index(RunContext& c) {
  const auto& names = c.node().attr<std::vector<std::string>>("device_names");
  const auto cpu = std::ranges::find(names, "CPU");
  c.set_output(0, Tensor(static_cast<std::int32_t>(cpu - names.begin())));
}

}  // namespace

// ---- Registrations

#define CAUDAL_CALL_OP(op, is_stateful)                                                     \
  CAUDAL_REGISTER_OP({                                                                      \
      .name = op,                                                                           \
      .inputs = "args: Tin",                                                                \
      .outputs = "output: Tout",                                                            \
      .attrs = "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = '';" \
               "config_proto: string = ''; executor_type: string = ''",                     \
      .stateful = is_stateful,                                                              \
      .shape = unknown_shape,                                                               \
      .gradient = ops::call_gradient,                                                       \
      .cpu = prepare_call,                                                                  \
  })
CAUDAL_CALL_OP("PartitionedCall", false);
CAUDAL_CALL_OP("StatefulPartitionedCall", true);

#define CAUDAL_IF_OP(op, is_stateful)                                                                            \
  CAUDAL_REGISTER_OP({                                                                                           \
      .name = op,                                                                                                \
      .inputs = "cond: Tcond; input: Tin",                                                                       \
      .outputs = "output: Tout",                                                                                 \
      .attrs = "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func;" \
               "output_shapes: list(shape) = []",                                                                \
      .stateful = is_stateful,                                                                                   \
      .shape = declared_shape,                                                                                   \
      .gradient = ops::if_gradient,                                                                              \
      .cpu = prepare_if,                                                                                         \
  })
CAUDAL_IF_OP("If", true);
CAUDAL_IF_OP("StatelessIf", false);

#define CAUDAL_CASE_OP(op, is_stateful)                                                  \
  CAUDAL_REGISTER_OP({                                                                   \
      .name = op,                                                                        \
      .inputs = "branch_index: int32; input: Tin",                                       \
      .outputs = "output: Tout",                                                         \
      .attrs = "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1;" \
               "output_shapes: list(shape) = []",                                        \
      .stateful = is_stateful,                                                           \
      .shape = declared_shape,                                                           \
      .gradient = ops::case_gradient,                                                    \
      .cpu = prepare_case,                                                               \
  })
CAUDAL_CASE_OP("Case", true);
CAUDAL_CASE_OP("StatelessCase", false);

#define CAUDAL_WHILE_OP(op, is_stateful)                                                      \
  CAUDAL_REGISTER_OP({                                                                        \
      .name = op,                                                                             \
      .inputs = "input: T",                                                                   \
      .outputs = "output: T",                                                                 \
      .attrs = "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = [];" \
               "parallel_iterations: int = 10",                                               \
      .stateful = is_stateful,                                                                \
      .shape = while_shape,                                                                   \
      .gradient = ops::while_gradient,                                                        \
      .cpu = prepare_while,                                                                   \
  })
CAUDAL_WHILE_OP("While", true);
CAUDAL_WHILE_OP("StatelessWhile", false);

// The forms of files from before version 2 control flow.
CAUDAL_REGISTER_OP({
    .name = "_If",
    .inputs = "cond: Tcond; input: Tin",
    .outputs = "output: Tout",
    .attrs = "Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; then_branch: func; else_branch: func",
    .stateful = true,
    .shape = unknown_shape,
    .gradient = no_gradient,
    .cpu = prepare_if,
});
CAUDAL_REGISTER_OP({
    .name = "_While",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "T: list(type) >= 0; cond: func; body: func",
    .stateful = true,
    .shape = unknown_shape,
    .gradient = no_gradient,
    .cpu = prepare_while,
});

CAUDAL_REGISTER_OP({
    .name = "For",
    .inputs = "start: int32; limit: int32; delta: int32; input: T",
    .outputs = "output: T",
    .attrs = "T: list(type) >= 0; body: func",
    .shape = unknown_shape,
    .gradient = no_gradient,
    .cpu = prepare_for,
});
CAUDAL_REGISTER_OP({
    .name = "RemoteCall",
    .inputs = "target: string; args: Tin",
    .outputs = "output: Tout",
    .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    .stateful = true,
    .shape = unknown_shape,
    .gradient = no_gradient,
    .cpu = prepare_remote_call,
});
CAUDAL_REGISTER_OP({
    .name = "SymbolicGradient",
    .inputs = "input: Tin",
    .outputs = "output: Tout",
    .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    .shape = symbolic_gradient_shape,
    .gradient = no_gradient,
    .cpu = prepare_symbolic_gradient,
});
CAUDAL_REGISTER_OP({
    .name = "ToBool",
    .inputs = "input: T",
    .outputs = "output: bool",
    .attrs = "T: type",
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_to_bool>,
});
CAUDAL_REGISTER_OP({
    .name = "FakeParam",
    .outputs = "output: dtype",
    .attrs = "dtype: type; shape: shape",
    .shape = fake_param_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_fake_param>,
});
CAUDAL_REGISTER_OP({
    .name = "DeviceIndex",
    .outputs = "index: int32",
    .attrs = "device_names: list(string)",
    .stateful = true,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_device_index>,
});

namespace {

constexpr OpSpec kNamedCall{.name = "a function of the library",
                            .shape = unknown_shape,
                            .gradient = ops::named_call_gradient,
                            .cpu = prepare_named_call};
const FunctionCallRegistrar named_call_registrar(kNamedCall);

// ---- Public functions

std::vector<Output> outputs_of(Node& node, const std::vector<PartialShape>& shapes) {
  std::vector<Output> outputs;
  for (int i = 0; i < node.num_outputs(); ++i) {
    outputs.push_back(node.output(i));
    outputs.back().set_shape(shapes[static_cast<std::size_t>(i)]);
  }
  return outputs;
}

void check_results(const TracedFunction& first, const TracedFunction& other) {
  if (first.result_types == other.result_types) return;
  throw invalid_argument("branches differ in their results: '", first.function.name, "' gives ",
                         AttrValue(first.result_types), ", '", other.function.name, "' ", AttrValue(other.result_types))
      .hint("Let both give the same number of tensors of the same types.");
}

// What is known of a result whichever branch it comes from.
std::vector<PartialShape> common_shapes(const std::vector<const TracedFunction*>& branches) {
  std::vector<PartialShape> shapes = branches[0]->result_shapes;
  for (const TracedFunction* branch : branches) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const PartialShape& other = branch->result_shapes[i];
      if (!shapes[i].has_rank() || !other.has_rank() || shapes[i].rank() != other.rank()) {
        shapes[i] = PartialShape::unknown();
        continue;
      }
      std::vector<std::int64_t> dims;
      for (int d = 0; d < other.rank(); ++d) dims.push_back(shapes[i][d] == other[d] ? other[d] : -1);
      shapes[i] = PartialShape(std::move(dims));
    }
  }
  return shapes;
}

}  // namespace

std::vector<Output> call_function(const TracedFunction& function, const std::vector<Output>& arguments,
                                  const OpOptions& options) {
  const LocationScope where(options.where);
  std::vector<Output> inputs = arguments;
  inputs.insert(inputs.end(), function.captures.begin(), function.captures.end());
  Node& node = OpBuilder(function.stateful ? "StatefulPartitionedCall" : "PartitionedCall", options)
                   .inputs(std::move(inputs))
                   .attr("Tout", function.result_types)
                   .attr("f", function.function)
                   .build_node();
  return outputs_of(node, function.result_shapes);
}

namespace raw_ops {

std::vector<Output> if_else(const Operand& cond, const std::vector<Output>& inputs, const TracedFunction& then_branch,
                            const TracedFunction& else_branch, const OpOptions& options) {
  const LocationScope where(options.where);
  check_results(then_branch, else_branch);
  const auto shapes = common_shapes({&then_branch, &else_branch});
  const bool stateful = then_branch.stateful || else_branch.stateful;
  Node& node = OpBuilder(stateful ? "If" : "StatelessIf", {.name = options.name.empty() ? "If" : options.name})
                   .input(cond)
                   .inputs(inputs)
                   .attr("Tout", then_branch.result_types)
                   .attr("then_branch", then_branch.function)
                   .attr("else_branch", else_branch.function)
                   .attr("output_shapes", shapes)
                   .build_node();
  return outputs_of(node, shapes);
}

std::vector<Output> switch_case(const Operand& branch_index, const std::vector<Output>& inputs,
                                const std::vector<TracedFunction>& branches, const OpOptions& options) {
  const LocationScope where(options.where);
  if (branches.empty()) throw invalid_argument("switch_case() needs at least one branch");
  bool stateful = false;
  std::vector<const TracedFunction*> all;
  std::vector<FunctionAttr> functions;
  for (const TracedFunction& branch : branches) {
    check_results(branches[0], branch);
    stateful |= branch.stateful;
    all.push_back(&branch);
    functions.push_back(branch.function);
  }
  const auto shapes = common_shapes(all);
  Node& node = OpBuilder(stateful ? "Case" : "StatelessCase", {.name = options.name.empty() ? "Case" : options.name})
                   .input(branch_index, DType::kInt32)
                   .inputs(inputs)
                   .attr("Tout", branches[0].result_types)
                   .attr("branches", functions)
                   .attr("output_shapes", shapes)
                   .build_node();
  return outputs_of(node, shapes);
}

std::vector<Output> while_do(const std::vector<Output>& inputs, const TracedFunction& cond, const TracedFunction& body,
                             const WhileOptions& options) {
  const LocationScope where(options.where);
  const bool stateful = cond.stateful || body.stateful;
  Node& node = OpBuilder(stateful ? "While" : "StatelessWhile", {.name = options.name.empty() ? "While" : options.name})
                   .inputs(inputs)
                   .attr("cond", cond.function)
                   .attr("body", body.function)
                   .attr("output_shapes", body.result_shapes)
                   .attr("parallel_iterations", options.parallel_iterations)
                   .build_node();
  return outputs_of(node, body.result_shapes);
}

Output fake_param(DType dtype, const PartialShape& shape, const OpOptions& options) {
  return OpBuilder("FakeParam", options).attr("dtype", dtype).attr("shape", shape).build();
}

Output to_bool(const Operand& input, const OpOptions& options) {
  return OpBuilder("ToBool", options).input(input).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
