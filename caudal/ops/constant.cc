#include "caudal/ops/constant.h"

#include <cmath>
#include <cstring>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variant_registry.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/copied_text.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// Shape functions.

void const_shape(ShapeContext& c) {
  const auto& value = c.attr<Tensor>("value");
  if (value.dtype() != c.attr<DType>("dtype")) {
    throw invalid_argument("the value is ", value.describe(), ", the attribute dtype ", c.attr<DType>("dtype"));
  }
  c.set_output(0, value.shape());
}

void placeholder_shape(ShapeContext& c) { c.set_output(0, c.attr<PartialShape>("shape")); }

void placeholder_with_default_shape(ShapeContext& c) {
  const auto& shape = c.attr<PartialShape>("shape");
  if (!shape.compatible(c.input(0))) {
    throw invalid_argument("the default has shape ", c.input(0), ", which does not fit ", shape);
  }
  c.set_output(0, shape);
}

void identity_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(i));
    c.set_output_handle(i, c.input_handle(i));
  }
}

void dims_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, c.input_as_shape(0));
}

void fill_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  if (const Tensor* dims = c.constant_input(0); dims != nullptr && dims->rank() == 1) shape_from(*dims, "dims");
  dims_shape(c);
}

// Kernels.

class ConstKernel final : public Kernel {
 public:
  explicit ConstKernel(Tensor value) : value_(std::move(value)) {}
  void run(RunContext& c) const override { c.set_output(0, value_); }

 private:
  Tensor value_;
};

std::unique_ptr<Kernel> prepare_const(PrepareContext& c) {
  return std::make_unique<ConstKernel>(c.attr<Tensor>("value"));
}

void run_identity(RunContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
}

std::unique_ptr<Kernel> prepare_identity(PrepareContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.alias(i, i);
  return kernel_of<run_identity>(c);
}

// A fed default is a feed like any other: its shape is checked there.
void run_placeholder_with_default(RunContext& c) {
  const auto& shape = c.node().attr<PartialShape>("shape");
  if (!shape.compatible(c.input(0).shape())) {
    throw invalid_argument("the default has shape ", c.input(0).shape(), ", which does not fit ", shape);
  }
  c.set_output(0, c.input(0));
}

std::unique_ptr<Kernel> prepare_placeholder_with_default(PrepareContext& c) {
  c.alias(0, 0);
  return kernel_of<run_placeholder_with_default>(c);
}

void run_ref_identity(RunContext& c) { c.set_output_ref(0, c.variable_ptr(0)); }

void run_no_op(RunContext&) {}

void run_snapshot(RunContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate_output(0, x.shape());
  if (y.raw() != x.raw()) copy_elements(c.pool(), x.dtype(), x.raw(), y.raw(), x.num_elements());
}

std::unique_ptr<Kernel> prepare_snapshot(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return kernel_of<run_snapshot>(c);
}

void set_zero(Tensor& tensor) {
  if (tensor.num_elements() == 0) return;
  if (is_plain(tensor.dtype())) {
    std::memset(tensor.raw(), 0, tensor.byte_size());
  } else {
    tensor = Tensor(tensor.dtype(), tensor.shape());
  }
}

void run_zeros_like(RunContext& c) { set_zero(c.allocate_output(0, c.input(0).shape())); }

void run_variant_zeros_like(RunContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate_output(0, x.shape());
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const Variant& value = x.data<Variant>()[i];
    y.data<Variant>()[i] = value.empty() ? value : variant_ops(value.get()->type_name()).zeros_like(value);
  }
}

std::unique_ptr<Kernel> prepare_zeros_like(PrepareContext& c) {
  if (c.input_type(0) == DType::kVariant) return kernel_of<run_variant_zeros_like>(c);
  if (c.input_type(0) == DType::kResource) throw unimplemented("there is no zero of type resource");
  return kernel_of<run_zeros_like>(c);
}

void run_fill(RunContext& c) {
  const Shape shape = shape_from(c.input(0), "dims");
  const Tensor& value = c.input(1);
  if (value.num_elements() != 1) throw invalid_argument("value must be a scalar, not ", value.describe());
  check_copied_text(c, value, shape.num_elements());
  Tensor& y = c.allocate_output(0, shape);
  fill_elements(c.pool(), value.dtype(), value.raw(), y.raw(), y.num_elements());
}

class OnesLikeKernel final : public Kernel {
 public:
  explicit OnesLikeKernel(Tensor one) : one_(std::move(one)) {}
  void run(RunContext& c) const override {
    Tensor& y = c.allocate_output(0, c.input(0).shape());
    fill_elements(c.pool(), y.dtype(), one_.raw(), y.raw(), y.num_elements());
  }

 private:
  Tensor one_;
};

Tensor one(DType dtype) { return dtype == DType::kBool ? Tensor(true) : convert_number(Tensor(1), dtype); }

std::unique_ptr<Kernel> prepare_ones_like(PrepareContext& c) {
  return std::make_unique<OnesLikeKernel>(one(c.output_type(0)));
}

void run_empty(RunContext& c) {
  Tensor& y = c.allocate_output(0, shape_from(c.input(0), "shape"));
  if (c.node().attr<bool>("init")) set_zero(y);
}

void run_check_numerics(RunContext& c) {
  const Tensor& x = c.input(0);
  std::int64_t nans = 0, infinities = 0;
  kernels::dispatch(kernels::FloatTypes{}, x.dtype(), "CheckNumerics", [&]<class T>() {
    for (const T value : x.flat<T>()) {
      const auto number = static_cast<kernels::Wide<T>>(value);
      nans += std::isnan(number) ? 1 : 0;
      infinities += std::isinf(number) ? 1 : 0;
    }
  });
  if (nans + infinities > 0) {
    const char* what = infinities == 0 ? "NaN" : nans == 0 ? "Inf" : "Inf and NaN";
    throw invalid_argument(c.node().attr<std::string>("message"), " : Tensor had ", what, " values: ", nans,
                           " NaN and ", infinities, " infinite among the ", x.num_elements(), " of ", x.describe());
  }
  c.set_output(0, x);
}

std::unique_ptr<Kernel> prepare_check_numerics(PrepareContext& c) {
  c.alias(0, 0);
  return kernel_of<run_check_numerics>(c);
}

// Gradients.

void identity_gradient(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_input_grad(i, c.raw_grad(i));
}

void prevent_gradient_gradient(GradientContext& c) {
  throw Error(Code::kNotFound,
              internal::concat("Gradient explicitly disabled. Reason: ", c.attr<std::string>("message")));
}

void fill_gradient(GradientContext& c) {
  const Output& grad = c.grad(0);
  const Output axes = all_axes(grad);
  c.set_input_grad(1, OpBuilder("Sum", {}).input(grad).input(axes).build());
}

// A number that was fine forwards may have a bad gradient: it is checked too.
void check_numerics_gradient(GradientContext& c) {
  c.set_input_grad(0, OpBuilder(c.node().type(), {})
                          .input(c.grad(0))
                          .attr("message", "Not a number (NaN) or infinity (Inf) values detected in gradient. " +
                                               c.attr<std::string>("message"))
                          .build());
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Const",
                    .outputs = "output: dtype",
                    .attrs = "value: tensor; dtype: type",
                    .shape = const_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_const});
CAUDAL_REGISTER_OP({.name = "Placeholder",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type; shape: shape = ?",
                    .shape = placeholder_shape,
                    .gradient = not_differentiable,
                    .cpu = no_kernel});
CAUDAL_REGISTER_OP({.name = "PlaceholderV2",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type; shape: shape",
                    .deprecated_version = 23,
                    .shape = placeholder_shape,
                    .gradient = not_differentiable,
                    .cpu = no_kernel});
CAUDAL_REGISTER_OP({.name = "PlaceholderWithDefault",
                    .inputs = "input: dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type; shape: shape",
                    .shape = placeholder_with_default_shape,
                    .gradient = identity_gradient,
                    .cpu = prepare_placeholder_with_default});
CAUDAL_REGISTER_OP({.name = "Identity",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = identity_shape,
                    .gradient = identity_gradient,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP({.name = "RefIdentity",
                    .inputs = "input: Ref(T)",
                    .outputs = "output: Ref(T)",
                    .attrs = "T: type",
                    .allows_uninitialized_input = true,
                    .shape = identity_shape,
                    .gradient = identity_gradient,
                    .cpu = kernel_of<run_ref_identity>});
// Markers that rewriters and debuggers look for.
CAUDAL_REGISTER_OP({.name = "GuaranteeConst",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .stateful = true,
                    .shape = identity_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP({.name = "DebugGradientIdentity",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .allows_uninitialized_input = true,
                    .shape = identity_shape,
                    .gradient = identity_gradient,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP({.name = "DebugGradientRefIdentity",
                    .inputs = "input: Ref(T)",
                    .outputs = "output: Ref(T)",
                    .attrs = "T: type",
                    .allows_uninitialized_input = true,
                    .shape = identity_shape,
                    .gradient = identity_gradient,
                    .cpu = kernel_of<run_ref_identity>});
CAUDAL_REGISTER_OP({.name = "IdentityN",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: list(type) >= 1",
                    .shape = identity_shape,
                    .gradient = identity_gradient,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP(
    {.name = "NoOp", .shape = no_outputs_shape, .gradient = not_differentiable, .cpu = kernel_of<run_no_op>});
CAUDAL_REGISTER_OP({.name = "StopGradient",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP({.name = "PreventGradient",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type; message: string = ''",
                    .shape = unchanged_shape,
                    .gradient = prevent_gradient_gradient,
                    .cpu = prepare_identity});
CAUDAL_REGISTER_OP({.name = "Snapshot",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_snapshot});
CAUDAL_REGISTER_OP({.name = "ZerosLike",
                    .inputs = "x: T",
                    .outputs = "y: T",
                    .attrs = "T: type",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_zeros_like});
CAUDAL_REGISTER_OP({.name = "OnesLike",
                    .inputs = "x: T",
                    .outputs = "y: T",
                    .attrs = "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, "
                             "uint64, complex64, complex128, bool}",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_ones_like});
CAUDAL_REGISTER_OP({.name = "Fill",
                    .inputs = "dims: index_type; value: T",
                    .outputs = "output: T",
                    .attrs = "T: type; index_type: {int32, int64} = DT_INT32",
                    .shape = fill_shape,
                    .gradient = fill_gradient,
                    .cpu = kernel_of<run_fill>});
CAUDAL_REGISTER_OP({.name = "Empty",
                    .inputs = "shape: int32",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type; init: bool = false",
                    .stateful = true,
                    .shape = dims_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_empty>});
CAUDAL_REGISTER_OP({.name = "CheckNumerics",
                    .inputs = "tensor: T",
                    .outputs = "output: T",
                    .attrs = "T: {bfloat16, half, float, double}; message: string",
                    .stateful = true,
                    .shape = unchanged_shape,
                    .gradient = check_numerics_gradient,
                    .cpu = prepare_check_numerics});
CAUDAL_REGISTER_OP({.name = "CheckNumericsV2",
                    .inputs = "tensor: T",
                    .outputs = "output: T",
                    .attrs = "T: {bfloat16, half, float, double}; message: string",
                    .stateful = true,
                    .shape = unchanged_shape,
                    .gradient = check_numerics_gradient,
                    .cpu = prepare_check_numerics});

namespace {

// The value in a wanted shape; TensorFlow repeats the last element where there are too few.
Tensor stretched(const Tensor& value, const Shape& shape) {
  if (value.num_elements() == shape.num_elements()) return value.reshape(shape);
  const bool is_empty_scalar = value.rank() == 0 && shape.num_elements() == 0;
  if (is_empty_scalar) return Tensor(value.dtype(), shape);
  if (value.num_elements() > shape.num_elements() || value.num_elements() == 0) {
    throw invalid_argument("a value of ", value.num_elements(), " elements does not fill shape ", shape);
  }
  Tensor result(value.dtype(), shape);
  const auto size = static_cast<std::int64_t>(dtype_size(value.dtype()));
  const std::int64_t n = value.num_elements();
  copy_elements(value.dtype(), value.raw(), result.raw(), n);
  for (std::int64_t i = n; i < shape.num_elements(); ++i) {
    copy_elements(value.dtype(), value.raw() + (n - 1) * size, result.raw() + i * size, 1);
  }
  return result;
}

Tensor constant_tensor(const Literal& value, const ConstantOptions& options) {
  Tensor tensor = value.to_tensor(options.dtype);
  if (!options.shape.has_rank()) return tensor;
  const auto shape = options.shape.to_shape();
  if (!shape) throw invalid_argument("the shape ", options.shape, " of a constant lacks sizes");
  return stretched(tensor, *shape);
}

}  // namespace

Output constant(const Literal& value, const ConstantOptions& options) {
  Tensor tensor;
  try {
    tensor = constant_tensor(value, options);
  } catch (const Error& error) {
    throw error.at_node("Const", options.name, current_location(options.where));
  }
  return OpBuilder("Const", {.name = options.name, .where = options.where})
      .attr("value", tensor)
      .attr("dtype", tensor.dtype())
      .build();
}

Output placeholder(DType dtype, const PartialShape& shape, const OpOptions& options) {
  return OpBuilder("Placeholder", options).attr("dtype", dtype).attr("shape", shape).build();
}

Output placeholder_with_default(const Operand& input, const PartialShape& shape, const OpOptions& options) {
  return OpBuilder("PlaceholderWithDefault", options).input(input).attr("shape", shape).build();
}

Output identity(const Operand& input, const OpOptions& options) {
  return OpBuilder("Identity", options).input(input).build();
}

std::vector<Output> identity_n(const std::vector<Output>& input, const OpOptions& options) {
  return outputs_of(OpBuilder("IdentityN", options).inputs(input).build_node());
}

Operation no_op(const OpOptions& options) { return OpBuilder("NoOp", options).build_operation(); }

Operation group(const std::vector<Operation>& operations, const OpOptions& options) {
  const ControlDependencies after(operations);
  return no_op({.name = options.name.empty() ? "group_deps" : options.name, .where = options.where});
}

Output stop_gradient(const Operand& input, const OpOptions& options) {
  return OpBuilder("StopGradient", options).input(input).build();
}

namespace {

// zeros and ones: a Const where the shape is written in the program and the tensor small, else a Fill.
Output filled(const Operand& shape, const Tensor& value, const OpOptions& options) {
  constexpr std::int64_t kSmall = 1000;
  const LocationScope where(options.where);
  if (const Tensor* sizes = shape.value(); sizes != nullptr && sizes->rank() == 1) {
    const Shape known = shape_from(*sizes, "shape");
    if (known.num_elements() < kSmall) {
      return constant(value, {.shape = known, .name = options.name, .where = options.where});
    }
  }
  return OpBuilder("Fill", options).input(shape, DType::kInt32).input(value).build();
}

}  // namespace

Output zeros(const Operand& shape, DType dtype, const OpOptions& options) {
  return filled(shape, Tensor::zeros(dtype, Shape{}),
                {.name = options.name.empty() ? "zeros" : options.name, .where = options.where});
}

Output ones(const Operand& shape, DType dtype, const OpOptions& options) {
  return filled(shape, one(dtype), {.name = options.name.empty() ? "ones" : options.name, .where = options.where});
}

Output zeros_like(const Operand& x, const OpOptions& options) {
  return OpBuilder("ZerosLike", options).input(x).build();
}

Output ones_like(const Operand& x, const OpOptions& options) { return OpBuilder("OnesLike", options).input(x).build(); }

Output fill(const Operand& dims, const Operand& value, const OpOptions& options) {
  return OpBuilder("Fill", options).input(dims, DType::kInt32).input(value).build();
}

Output debugging::check_numerics(const Operand& tensor, const std::string& message, const OpOptions& options) {
  return OpBuilder("CheckNumerics", options).input(tensor).attr("message", message).build();
}

Output raw_ops::prevent_gradient(const Operand& input, const std::string& message, const OpOptions& options) {
  return OpBuilder("PreventGradient", options).input(input).attr("message", message).build();
}

Output raw_ops::snapshot(const Operand& input, const OpOptions& options) {
  return OpBuilder("Snapshot", options).input(input).build();
}

Output raw_ops::empty(const Operand& shape, DType dtype, const EmptyOptions& options) {
  return OpBuilder("Empty", {.name = options.name, .where = options.where})
      .input(shape, DType::kInt32)
      .attr("dtype", dtype)
      .attr("init", options.init)
      .build();
}

}  // namespace caudal::inline v0
