#include "caudal/ops/stack_ops.h"

#include <mutex>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/step_resource.h"

namespace caudal::inline v0 {
namespace {

constexpr const char* kContainer = "_stacks";
constexpr const char* kHandle = "Stack handle";

class TensorStack final : public Resource {
 public:
  TensorStack(DType dtype, std::string name, std::int32_t max_size)
      : dtype_(dtype), name_(std::move(name)), max_size_(max_size) {}

  std::string describe() const override { return "Stack[" + name_ + "]"; }
  DType dtype() const { return dtype_; }

  void push(Tensor value) {
    std::lock_guard lock(mutex_);
    check_open();
    if (static_cast<std::int64_t>(tensors_.size()) >= max_size_) {
      throw invalid_argument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    tensors_.push_back(std::move(value));
  }

  Tensor pop() {
    std::lock_guard lock(mutex_);
    check_open();
    if (tensors_.empty()) throw invalid_argument("Stack[", name_, "] is empty when calling Pop().");
    Tensor top = std::move(tensors_.back());
    tensors_.pop_back();
    return top;
  }

  void close() {
    std::lock_guard lock(mutex_);
    tensors_.clear();
    closed_ = true;
  }

 private:
  void check_open() const {
    if (closed_) throw invalid_argument("Stack[", name_, "] has already been closed.");
  }

  const DType dtype_;
  const std::string name_;
  const std::int32_t max_size_;
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<Tensor> tensors_;
};

// ---- Shape functions

// The handle was a vector [container, name] once; inference still says so of the resource, as TensorFlow's does.
void stack_shape(ShapeContext& c) { c.set_output(0, PartialShape{2}); }
void push_shape(ShapeContext& c) { c.set_output(0, c.input(1)); }

// ---- Kernels

void run_stack(RunContext& c) {
  std::int32_t size = INT32_MAX;
  if (c.num_inputs() > 0) {
    const Tensor& wanted = c.input(0);
    if (wanted.rank() != 0) throw invalid_argument("Stack size must be a scalar, but had shape: ", wanted.shape());
    if (wanted.item<std::int32_t>() >= 0) size = wanted.item<std::int32_t>();
  }
  const auto& stack_name = c.node().attr<std::string>("stack_name");
  const std::string name = unique_step_name(stack_name.empty() ? c.node().name : stack_name);
  set_step_handle(c, kContainer, name, std::make_shared<TensorStack>(c.node().attr<DType>("elem_type"), name, size));
}

void run_push(RunContext& c) {
  const auto stack = step_resource<TensorStack>(c, 0, kHandle);
  const Tensor& value = c.input(1);
  if (value.dtype() != stack->dtype()) {
    throw invalid_argument("Must have type ", kernel_type_name(stack->dtype()), " but got ",
                           kernel_type_name(value.dtype()));
  }
  stack->push(c.take_input(1));
  c.set_output(0, value);
}

std::unique_ptr<Kernel> prepare_push(PrepareContext& c) {
  c.alias(1, 0);
  return kernel_of<run_push>(c);
}

void run_pop(RunContext& c) {
  const auto stack = step_resource<TensorStack>(c, 0, kHandle);
  const DType wanted = c.node().output_types[0];
  if (stack->dtype() != wanted) {
    throw invalid_argument("Must have type ", kernel_type_name(stack->dtype()), " but got ", kernel_type_name(wanted));
  }
  c.set_output(0, stack->pop());
}

void run_close(RunContext& c) { step_resource<TensorStack>(c, 0, kHandle)->close(); }

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "StackV2",
                    .inputs = "max_size: int32",
                    .outputs = "handle: resource",
                    .attrs = "elem_type: type; stack_name: string = ''",
                    .stateful = true,
                    .shape = stack_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_stack>});
CAUDAL_REGISTER_OP({.name = "StackPushV2",
                    .inputs = "handle: resource; elem: T",
                    .outputs = "output: T",
                    .attrs = "T: type; swap_memory: bool = false",
                    .stateful = true,
                    .shape = push_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_push});
CAUDAL_REGISTER_OP({.name = "StackPopV2",
                    .inputs = "handle: resource",
                    .outputs = "elem: elem_type",
                    .attrs = "elem_type: type",
                    .stateful = true,
                    .shape = unknown_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_pop>});
CAUDAL_REGISTER_OP({.name = "StackCloseV2",
                    .inputs = "handle: resource",
                    .stateful = true,
                    .shape = no_outputs_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_close>});
CAUDAL_REGISTER_OP({.name = "Stack",
                    .outputs = "handle: Ref(string)",
                    .attrs = "elem_type: type; stack_name: string = ''",
                    .stateful = true,
                    .shape = stack_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_stack>});
CAUDAL_REGISTER_OP({.name = "StackPush",
                    .inputs = "handle: Ref(string); elem: T",
                    .outputs = "output: T",
                    .attrs = "T: type; swap_memory: bool = false",
                    .shape = push_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_push});
CAUDAL_REGISTER_OP({.name = "StackPop",
                    .inputs = "handle: Ref(string)",
                    .outputs = "elem: elem_type",
                    .attrs = "elem_type: type",
                    .shape = unknown_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_pop>});
CAUDAL_REGISTER_OP({.name = "StackClose",
                    .inputs = "handle: Ref(string)",
                    .shape = no_outputs_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_close>});

// ---- Public functions

namespace raw_ops {

Output stack_v2(const Operand& max_size, DType elem_type, const StackOptions& options) {
  return OpBuilder("StackV2", {.name = options.name, .where = options.where})
      .input(max_size, int32)
      .attr("elem_type", elem_type)
      .attr("stack_name", options.stack_name)
      .build();
}

Output stack_push_v2(const Output& handle, const Operand& elem, const OpOptions& options) {
  return OpBuilder("StackPushV2", options).input(handle).input(elem).build();
}

Output stack_pop_v2(const Output& handle, DType elem_type, const OpOptions& options) {
  return OpBuilder("StackPopV2", options).input(handle).attr("elem_type", elem_type).build();
}

Operation stack_close_v2(const Output& handle, const OpOptions& options) {
  return OpBuilder("StackCloseV2", options).input(handle).build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
