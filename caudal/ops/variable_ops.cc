#include "caudal/ops/variable_ops.h"

#include <memory>
#include <utility>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/lookup_table.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape functions

void variable_v2_shape(ShapeContext& c) { c.set_output(0, c.attr<PartialShape>("shape")); }

// In the first version of the op, [] meant that nothing is known.
void variable_v1_shape(ShapeContext& c) {
  const auto& shape = c.attr<PartialShape>("shape");
  c.set_output(0, shape.rank() == 0 ? PartialShape::unknown() : shape);
}

void var_handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  c.set_output_handle(0, {{c.attr<DType>("dtype"), c.attr<PartialShape>("shape")}});
}

// The declared shape behind handle input i, whose variable must be of type `dtype`.
PartialShape handle_shape(ShapeContext& c, int i, DType dtype) {
  c.with_rank(i, 0);
  if (c.input_handle(i).empty()) return PartialShape::unknown();
  const auto& part = c.input_handle(i)[0];
  if (part.dtype != dtype) {
    throw invalid_argument("the variable is ", part.dtype, ", but attribute 'dtype' is ", dtype);
  }
  return part.shape;
}

void read_shape(ShapeContext& c) { c.set_output(0, handle_shape(c, 0, c.attr<DType>("dtype"))); }

PartialShape fit(const PartialShape& variable, const PartialShape& value) {
  const auto merged = variable.merge(value);
  if (!merged) throw invalid_argument("the variable has shape ", variable, ", the value ", value);
  return *merged;
}

void assign_shape(ShapeContext& c) {
  c.set_output(0, c.attr<bool>("validate_shape") ? fit(c.input(0), c.input(1)) : c.input(1));
}
void update_shape(ShapeContext& c) { c.set_output(0, fit(c.input(0), c.input(1))); }
void resource_update_shape(ShapeContext& c) { fit(handle_shape(c, 0, c.attr<DType>("dtype")), c.input(1)); }
void count_up_to_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 0)); }

void resource_count_up_to_shape(ShapeContext& c) {
  fit(handle_shape(c, 0, c.attr<DType>("T")), PartialShape::scalar());
  c.set_output(0, PartialShape::scalar());
}

void handle_only_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  scalar_shape(c);
}

void variable_shape_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  const auto& handle = c.input_handle(0);
  const int rank = handle.empty() ? -1 : handle[0].shape.rank();
  c.set_output(0, rank < 0 ? PartialShape::unknown_of_rank(1) : PartialShape{rank});
}

// ---- Kernels

struct VariableName {
  explicit VariableName(PrepareContext& c)
      : container(c.attr<std::string>("container")), name(c.attr<std::string>("shared_name")) {
    if (name.empty()) name = c.node().name;
  }
  std::string container, name;
};

// `node` asks for the variable as a `dtype`.
void check_type(const VariableStorage& variable, DType dtype) {
  if (variable.dtype() == dtype) return;
  throw invalid_argument(variable.describe(), " is used as ", dtype)
      .hint("Two variables of one container and name must agree in type.");
}

class VariableKernel final : public Kernel {
 public:
  explicit VariableKernel(PrepareContext& c)
      : id_(c), dtype_(c.attr<DType>("dtype")), shape_(c.attr<PartialShape>("shape")) {
    if (c.node().type() == "Variable" && shape_.rank() == 0) shape_ = PartialShape::unknown();
  }
  void run(RunContext& c) const override {
    auto variable = c.step().resources->get_or_create<VariableStorage>(
        id_.container, id_.name, [this] { return std::make_shared<VariableStorage>(id_.name, dtype_, shape_); });
    check_type(*variable, dtype_);
    c.set_output_ref(0, std::move(variable));
  }

 private:
  VariableName id_;
  DType dtype_;
  PartialShape shape_;
};

class VarHandleKernel final : public Kernel {
 public:
  explicit VarHandleKernel(PrepareContext& c) {
    const VariableName id(c);
    ResourceHandle handle;
    handle.device = c.device().name();
    handle.container = id.container;
    handle.name = id.name;
    handle.type_name = "tensorflow::Var";
    handle.parts = {{c.attr<DType>("dtype"), c.attr<PartialShape>("shape")}};
    handle_ = Tensor::scalar(std::move(handle));
  }
  void run(RunContext& c) const override { c.set_output(0, handle_); }

 private:
  Tensor handle_;
};

void run_read(RunContext& c) {
  VariableStorage& variable = c.variable(0);
  check_type(variable, c.node().output_types[0]);
  c.set_output(0, variable.read());
}

void run_assign(RunContext& c) {
  if (!c.input(1).valid()) throw failed_precondition("the value to assign is a variable without a value");
  c.variable(0).assign(c.take_input(1), c.node().attr<bool>("validate_shape"));
  c.set_output_ref(0, c.variable_ptr(0));
}

void run_assign_variable(RunContext& c) {
  const auto& handle = c.input(0).item<ResourceHandle>();
  std::shared_ptr<VariableStorage> variable;
  if (handle.owned != nullptr) {
    variable = c.variable_ptr(0);
  } else {
    variable = c.step().resources->get_or_create<VariableStorage>(handle.container, handle.name, [&] {
      return std::make_shared<VariableStorage>(handle.name, c.node().attr<DType>("dtype"),
                                               handle.parts.empty() ? PartialShape() : handle.parts[0].shape);
    });
  }
  variable->assign(c.take_input(1), c.node().attr<bool>("validate_shape"));
}

// Adds the second input to a variable, or subtracts it.
class UpdateKernel final : public Kernel {
 public:
  explicit UpdateKernel(kernels::BinaryLoop loop) : loop_(loop) {}
  void run(RunContext& c) const override {
    VariableStorage& variable = c.variable(0);
    const Tensor& value = c.input(1);
    check_type(variable, value.dtype());
    variable.update([&](Tensor& target) {
      if (target.shape() != value.shape()) {
        throw invalid_argument("variable '", variable.name(), "' is ", target.describe(), ", the value ",
                               value.describe())
            .hint("An update does not broadcast: give it the variable's shape.");
      }
      const auto dims = target.shape().dims();
      const bool ok =
          kernels::broadcast_binary(c.pool(), loop_, target.raw(), dims, value.raw(), dims, target.raw(), dims);
      if (!ok) throw internal_error("an update failed");
    });
    if (c.num_outputs() > 0) c.set_output_ref(0, c.variable_ptr(0));
  }

 private:
  kernels::BinaryLoop loop_;
};

template <kernels::BinaryOp op>
std::unique_ptr<Kernel> prepare_update(PrepareContext& c) {
  const auto loop = kernels::find_binary(op, c.input_type(1));
  if (!loop) throw unimplemented("no update of ", c.input_type(1), " variables");
  return std::make_unique<UpdateKernel>(loop);
}

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}

void run_is_initialized(RunContext& c) {
  const bool initialized = c.variable(0).is_initialized();
  c.allocate_output(0, {}).data<bool>()[0] = initialized;
}

void run_var_is_initialized(RunContext& c) {
  const auto& handle = c.input(0).item<ResourceHandle>();
  const auto variable = handle.owned != nullptr
                            ? c.variable_ptr(0)
                            : c.step().resources->find<VariableStorage>(handle.container, handle.name);
  const bool initialized = variable != nullptr && variable->is_initialized();
  c.allocate_output(0, {}).data<bool>()[0] = initialized;
}

void run_destroy(RunContext& c) {
  const auto& handle = c.input(0).item<ResourceHandle>();
  if (handle.owned != nullptr) return;  // goes with its last handle
  ResourceManager& resources = *c.step().resources;
  if (!resources.remove<VariableStorage>(handle.container, handle.name) &&
      !resources.remove<LookupTable>(handle.container, handle.name) && !c.node().attr<bool>("ignore_lookup_error")) {
    throw not_found("no resource '", handle.name, "' in container '",
                    handle.container.empty() ? "localhost" : handle.container, "'");
  }
}

template <class T>
std::int64_t count_up(VariableStorage& variable, std::int64_t limit) {
  std::int64_t before = 0;
  variable.update([&](Tensor& value) {
    if (value.rank() != 0) throw invalid_argument("only a scalar counts up; ", variable.describe(), " is none");
    before = value.item<T>();
    if (before >= limit) throw out_of_range("Reached limit of ", limit, ": variable '", variable.name(), "'");
    value.data<T>()[0] = static_cast<T>(before + 1);
  });
  return before;
}

void run_count_up_to(RunContext& c) {
  VariableStorage& variable = c.variable(0);
  const std::int64_t limit = c.node().attr<std::int64_t>("limit");
  check_type(variable, c.node().output_types[0]);
  if (variable.dtype() == int32) {
    const auto before = count_up<std::int32_t>(variable, limit);
    c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(before);
  } else {
    const auto before = count_up<std::int64_t>(variable, limit);
    c.allocate_output(0, {}).data<std::int64_t>()[0] = before;
  }
}

void run_variable_shape(RunContext& c) {
  const Shape shape = c.variable(0).read().shape();
  Tensor& out = c.allocate_output(0, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    if (out.dtype() == int32) {
      if (shape[i] > INT32_MAX) {
        throw invalid_argument("size ", shape[i], " does not fit int32").hint("Use out_type = int64.");
      }
      out.data<std::int32_t>()[i] = static_cast<std::int32_t>(shape[i]);
    } else {
      out.data<std::int64_t>()[i] = shape[i];
    }
  }
}

// ---- Gradients

void read_gradient(GradientContext& c) { c.set_input_grad(0, c.raw_grad(0)); }

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "VariableV2",
    .outputs = "ref: Ref(dtype)",
    .attrs = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
    .stateful = true,
    .shape = variable_v2_shape,
    .gradient = no_gradient,
    .cpu = prepare<VariableKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "Variable",
    .outputs = "ref: Ref(dtype)",
    .attrs = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
    .stateful = true,
    .shape = variable_v1_shape,
    .gradient = no_gradient,
    .cpu = prepare<VariableKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "VarHandleOp",
    .outputs = "resource: resource",
    .attrs = "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: shape; "
             "allowed_devices: list(string) = []",
    .stateful = true,
    .shape = var_handle_shape,
    .gradient = no_gradient,
    .cpu = prepare<VarHandleKernel>,
});
CAUDAL_REGISTER_OP({
    .name = "ReadVariableOp",
    .inputs = "resource: resource",
    .outputs = "value: dtype",
    .attrs = "dtype: type",
    .stateful = true,
    .shape = read_shape,
    .gradient = read_gradient,
    .cpu = kernel_of<run_read>,
});
CAUDAL_REGISTER_OP({
    .name = "AssignVariableOp",
    .inputs = "resource: resource; value: dtype",
    .attrs = "dtype: type; validate_shape: bool = false",
    .stateful = true,
    .shape = resource_update_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_assign_variable>,
});
CAUDAL_REGISTER_OP({
    .name = "AssignAddVariableOp",
    .inputs = "resource: resource; value: dtype",
    .attrs = "dtype: type",
    .stateful = true,
    .shape = resource_update_shape,
    .gradient = no_gradient,
    .cpu = prepare_update<kernels::BinaryOp::kAdd>,
});
CAUDAL_REGISTER_OP({
    .name = "AssignSubVariableOp",
    .inputs = "resource: resource; value: dtype",
    .attrs = "dtype: type",
    .stateful = true,
    .shape = resource_update_shape,
    .gradient = no_gradient,
    .cpu = prepare_update<kernels::BinaryOp::kSub>,
});
CAUDAL_REGISTER_OP({
    .name = "VarIsInitializedOp",
    .inputs = "resource: resource",
    .outputs = "is_initialized: bool",
    .stateful = true,
    .shape = handle_only_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_var_is_initialized>,
});
CAUDAL_REGISTER_OP({
    .name = "IsVariableInitialized",
    .inputs = "ref: Ref(dtype)",
    .outputs = "is_initialized: bool",
    .attrs = "dtype: type",
    .allows_uninitialized_input = true,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_is_initialized>,
});
CAUDAL_REGISTER_OP({
    .name = "DestroyResourceOp",
    .inputs = "resource: resource",
    .attrs = "ignore_lookup_error: bool = true",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_destroy>,
});
CAUDAL_REGISTER_OP({
    .name = "Assign",
    .inputs = "ref: Ref(T); value: T",
    .outputs = "output_ref: Ref(T)",
    .attrs = "T: type; validate_shape: bool = true; use_locking: bool = true",
    .allows_uninitialized_input = true,
    .shape = assign_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_assign>,
});
CAUDAL_REGISTER_OP({
    .name = "AssignAdd",
    .inputs = "ref: Ref(T); value: T",
    .outputs = "output_ref: Ref(T)",
    .attrs = "T: numbertype; use_locking: bool = false",
    .shape = update_shape,
    .gradient = not_differentiable,
    .cpu = prepare_update<kernels::BinaryOp::kAdd>,
});
CAUDAL_REGISTER_OP({
    .name = "AssignSub",
    .inputs = "ref: Ref(T); value: T",
    .outputs = "output_ref: Ref(T)",
    .attrs = "T: numbertype; use_locking: bool = false",
    .shape = update_shape,
    .gradient = not_differentiable,
    .cpu = prepare_update<kernels::BinaryOp::kSub>,
});
CAUDAL_REGISTER_OP({
    .name = "CountUpTo",
    .inputs = "ref: Ref(T)",
    .outputs = "output: T",
    .attrs = "limit: int; T: {int32, int64}",
    .shape = count_up_to_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_count_up_to>,
});
CAUDAL_REGISTER_OP({
    .name = "ResourceCountUpTo",
    .inputs = "resource: resource",
    .outputs = "output: T",
    .attrs = "limit: int; T: {int32, int64}",
    .stateful = true,
    .shape = resource_count_up_to_shape,
    .gradient = no_gradient,
    .cpu = kernel_of<run_count_up_to>,
});
CAUDAL_REGISTER_OP({
    .name = "VariableShape",
    .inputs = "input: resource",
    .outputs = "output: out_type",
    .attrs = "out_type: {int32, int64} = DT_INT32",
    .stateful = true,
    .shape = variable_shape_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_variable_shape>,
});

}  // namespace

// ---- Public functions

OpBuilder& internal::colocate(OpBuilder& builder, const Output& variable) {
  const Node& node = *variable.node();
  builder.attr("_class", std::vector<std::string>{"loc:@" + node.name()});
  if (!node.info().device.empty()) builder.device(node.info().device);
  return builder;
}

namespace raw_ops {
namespace {

Output update(const char* op, const Output& ref, const Operand& value, const UpdateOptions& options) {
  OpBuilder builder(op, {.name = options.name, .where = options.where});
  builder.input(ref).input(value, ref.dtype()).attr("use_locking", options.use_locking);
  return internal::colocate(builder, ref).build();
}

Operation update_resource(const char* op, const Output& resource, const Operand& value, DType dtype,
                          const OpOptions& options) {
  OpBuilder builder(op, options);
  builder.input(resource).input(value, dtype);
  return internal::colocate(builder, resource).build_operation();
}

}  // namespace

Output variable_v2(const PartialShape& shape, DType dtype, const VariableOpOptions& options) {
  return OpBuilder("VariableV2", {.name = options.name, .where = options.where})
      .attr("shape", shape)
      .attr("dtype", dtype)
      .attr("container", options.container)
      .attr("shared_name", options.shared_name)
      .build();
}

Output var_handle_op(DType dtype, const PartialShape& shape, const VariableOpOptions& options) {
  return OpBuilder("VarHandleOp", {.name = options.name, .where = options.where})
      .attr("container", options.container)
      .attr("shared_name", options.shared_name)
      .attr("dtype", dtype)
      .attr("shape", shape)
      .build();
}

Output read_variable_op(const Output& resource, DType dtype, const OpOptions& options) {
  OpBuilder builder("ReadVariableOp", options);
  return internal::colocate(builder.input(resource).attr("dtype", dtype), resource).build();
}

Output assign(const Output& ref, const Operand& value, const AssignOptions& options) {
  OpBuilder builder("Assign", {.name = options.name, .where = options.where});
  builder.input(ref).input(value, ref.dtype());
  builder.attr("validate_shape", options.validate_shape).attr("use_locking", options.use_locking);
  return internal::colocate(builder, ref).build();
}

Operation assign_variable_op(const Output& resource, const Operand& value, DType dtype, const AssignOptions& options) {
  OpBuilder builder("AssignVariableOp", {.name = options.name, .where = options.where});
  builder.input(resource).input(value, dtype).attr("validate_shape", options.validate_shape);
  return internal::colocate(builder, resource).build_operation();
}

Output assign_add(const Output& ref, const Operand& value, const UpdateOptions& options) {
  return update("AssignAdd", ref, value, options);
}

Output assign_sub(const Output& ref, const Operand& value, const UpdateOptions& options) {
  return update("AssignSub", ref, value, options);
}

Operation assign_add_variable_op(const Output& resource, const Operand& value, DType dtype, const OpOptions& options) {
  return update_resource("AssignAddVariableOp", resource, value, dtype, options);
}

Operation assign_sub_variable_op(const Output& resource, const Operand& value, DType dtype, const OpOptions& options) {
  return update_resource("AssignSubVariableOp", resource, value, dtype, options);
}

Output is_variable_initialized(const Output& ref, const OpOptions& options) {
  OpBuilder builder("IsVariableInitialized", options);
  return internal::colocate(builder.input(ref), ref).build();
}

Output var_is_initialized_op(const Output& resource, const OpOptions& options) {
  OpBuilder builder("VarIsInitializedOp", options);
  return internal::colocate(builder.input(resource), resource).build();
}

Output count_up_to(const Output& ref, std::int64_t limit, const OpOptions& options) {
  OpBuilder builder("CountUpTo", options);
  return internal::colocate(builder.input(ref).attr("limit", limit), ref).build();
}

Output resource_count_up_to(const Output& resource, std::int64_t limit, DType dtype, const OpOptions& options) {
  OpBuilder builder("ResourceCountUpTo", options);
  return internal::colocate(builder.input(resource).attr("limit", limit).attr("T", dtype), resource).build();
}

Output variable_shape(const Output& resource, DType out_type, const OpOptions& options) {
  return OpBuilder("VariableShape", options).input(resource).attr("out_type", out_type).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
