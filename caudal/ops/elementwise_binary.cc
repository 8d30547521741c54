#include "caudal/ops/elementwise_binary.h"

#include <algorithm>
#include <string>
#include <utility>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_unary.h"

namespace caudal::inline v0 {
namespace {

using kernels::BinaryOp;

// --- Kernels ---

// fn(x, y, z) for each element, broadcast; for the rare types without a fast loop.
template <class Out, class Fn>
void for_each_pair(const Tensor& x, const Tensor& y, Tensor& z, Fn fn) {
  const auto values_x = x.flat<std::string>(), values_y = y.flat<std::string>();
  const auto strides = [&z](const Tensor& t) {
    std::vector<std::int64_t> result(static_cast<std::size_t>(z.rank()), 0);
    const auto own = t.shape().strides();
    for (int i = 1; i <= t.rank(); ++i) {
      if (t.shape()[-i] != 1)
        result[result.size() - static_cast<std::size_t>(i)] = own[own.size() - static_cast<std::size_t>(i)];
    }
    return result;
  };
  const auto strides_x = strides(x), strides_y = strides(y);
  std::int64_t index = 0;
  for (Out& out : z.flat<Out>()) {
    std::int64_t rest = index++, at_x = 0, at_y = 0;
    for (int d = z.rank() - 1; d >= 0; --d) {
      const std::int64_t i = rest % z.dim(d);
      rest /= z.dim(d);
      at_x += i * strides_x[static_cast<std::size_t>(d)];
      at_y += i * strides_y[static_cast<std::size_t>(d)];
    }
    out = fn(values_x[static_cast<std::size_t>(at_x)], values_y[static_cast<std::size_t>(at_y)]);
  }
}

void join_strings(RunContext& c) {
  Tensor z(DType::kString, broadcast(c.input(0).shape(), c.input(1).shape()));
  for_each_pair<std::string>(c.input(0), c.input(1), z, [](const auto& a, const auto& b) { return a + b; });
  c.set_output(0, std::move(z));
}

std::unique_ptr<Kernel> prepare_add(PrepareContext& c) {
  return c.input_type(0) == DType::kString ? kernel_of<join_strings>(c) : make_binary_kernel(c, BinaryOp::kAdd);
}

// False if some sizes, both known, contradict each other.
bool can_broadcast(const PartialShape& a, const PartialShape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    if (a[-i] >= 0 && b[-i] >= 0 && a[-i] != b[-i] && a[-i] != 1 && b[-i] != 1) return false;
  }
  return true;
}

// Equal and NotEqual: one bool for shapes that do not fit, if the node asks so; strings too.
template <bool equal>
class EqualityKernel final : public Kernel {
 public:
  EqualityKernel(std::unique_ptr<Kernel> numbers, bool shape_error)
      : numbers_(std::move(numbers)), shape_error_(shape_error) {}
  void run(RunContext& c) const override {
    const Tensor &x = c.input(0), &y = c.input(1);
    if (!shape_error_ && !can_broadcast(x.shape(), y.shape())) {
      *c.allocate_output(0, Shape()).template data<bool>() = !equal;
    } else if (numbers_ != nullptr) {
      numbers_->run(c);
    } else {
      Tensor& z = c.allocate_output(0, broadcast(x.shape(), y.shape()));
      for_each_pair<bool>(x, y, z, [](const auto& a, const auto& b) { return (a == b) == equal; });
    }
  }

 private:
  std::unique_ptr<Kernel> numbers_;  // null for strings
  bool shape_error_;
};

template <bool equal>
std::unique_ptr<Kernel> prepare_equality(PrepareContext& c) {
  auto numbers = c.input_type(0) == DType::kString
                     ? nullptr
                     : make_binary_kernel(c, equal ? BinaryOp::kEqual : BinaryOp::kNotEqual);
  return std::make_unique<EqualityKernel<equal>>(std::move(numbers), c.attr<bool>("incompatible_shape_error"));
}

void store_sizes(RunContext& c, int i, const std::vector<std::int64_t>& values) {
  Tensor& out = c.allocate_output(i, Shape({static_cast<std::int64_t>(values.size())}));
  if (out.dtype() == DType::kInt64) {
    std::ranges::copy(values, out.data<std::int64_t>());
  } else {
    std::ranges::transform(values, out.data<std::int32_t>(), [](auto v) { return static_cast<std::int32_t>(v); });
  }
}

Shape shape_input(RunContext& c, int i) {
  if (c.input(i).rank() != 1) throw invalid_argument("a shape must be a vector, not ", c.input(i).describe());
  return Shape(c.input(i).to_int64s());
}

void run_broadcast_args(RunContext& c) {
  store_sizes(c, 0, broadcast(shape_input(c, 0), shape_input(c, 1)).to_vector());
}

void run_broadcast_gradient_args(RunContext& c) {
  const Shape s0 = shape_input(c, 0), s1 = shape_input(c, 1);
  const int rank = broadcast(s0, s1).rank();
  // TensorFlow lists an axis of size 1 for both operands, unless the shapes are the same.
  const auto axes = [&](const Shape& s) {
    std::vector<std::int64_t> result;
    for (int d = 0; d < rank && !(s0 == s1); ++d) {
      const int own = d - (rank - s.rank());
      if (own < 0 || s[own] == 1) result.push_back(d);
    }
    return result;
  };
  store_sizes(c, 0, axes(s0));
  store_sizes(c, 1, axes(s1));
}

// --- Shape functions ---

void equality_shape(ShapeContext& c) {
  if (c.attr<bool>("incompatible_shape_error")) return broadcast_shape(c);
  const PartialShape &x = c.input(0), &y = c.input(1);
  if (!can_broadcast(x, y)) return c.set_output(0, PartialShape::scalar());
  c.set_output(0, x.is_fully_known() && y.is_fully_known() ? broadcast(x, y) : PartialShape::unknown());
}

void broadcast_gradient_args_shape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    c.with_rank(i, 1);
    c.set_output(i, PartialShape::unknown_of_rank(1));
  }
}

void broadcast_args_shape(ShapeContext& c) {
  const PartialShape s0 = c.with_rank(0, 1), s1 = c.with_rank(1, 1);
  const bool known = s0[0] >= 0 && s1[0] >= 0;
  c.set_output(0, PartialShape({known ? std::max(s0[0], s1[0]) : PartialShape::kUnknown}));
}

// --- Gradients ---

// Sets both gradients, each given for the broadcast shape.
void set_broadcast_grads(GradientContext& c, const Output& grad_x, const Output& grad_y) {
  c.set_input_grad(0, sum_to_shape_of(grad_x, c.input(0), c.input(1)));
  c.set_input_grad(1, sum_to_shape_of(grad_y, c.input(1), c.input(0)));
}

struct Operands {
  Output grad, x, y;  // x and y conjugated
};
Operands operands(GradientContext& c) { return {c.grad(0), conj_if_complex(c.input(0)), conj_if_complex(c.input(1))}; }

// 1 where x is not 0, else 0.
Output nonzero(const Output& x) { return OpBuilder("Cast", {}).input(not_equal(x, 0)).attr("DstT", x.dtype()).build(); }

Output select(const Output& condition, const Operand& x, const Operand& y) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder("SelectV2", {}).input(condition).input(x, dtype).input(y, dtype).build();
}

void add_gradient(GradientContext& c) { set_broadcast_grads(c, c.grad(0), c.grad(0)); }
void sub_gradient(GradientContext& c) { set_broadcast_grads(c, c.grad(0), -c.grad(0)); }
void mul_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, grad * y, x * grad);
}
void mul_no_nan_gradient(GradientContext& c) {
  const Output grad = c.grad(0);
  set_broadcast_grads(c, multiply_no_nan(grad, c.input(1)), multiply_no_nan(c.input(0), grad));
}
void div_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, grad / y, grad * (-x / y / y));
}
void div_no_nan_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, div_no_nan(grad, y), grad * div_no_nan(div_no_nan(-x, y), y));
}
void floormod_gradient(GradientContext& c) {
  const Output grad = c.grad(0);
  set_broadcast_grads(c, grad, grad * -floordiv(c.input(0), c.input(1)));
}
void maximum_gradient(GradientContext& c) {
  const Output grad = c.grad(0), first = greater_equal(c.input(0), c.input(1));
  set_broadcast_grads(c, select(first, grad, 0), select(first, 0, grad));
}
void minimum_gradient(GradientContext& c) {
  const Output grad = c.grad(0), first = less_equal(c.input(0), c.input(1));
  set_broadcast_grads(c, select(first, grad, 0), select(first, 0, grad));
}
void pow_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  const Output z = conj_if_complex(c.output(0));
  // log(x) only where it is defined: no NaN from x = 0 with y = 2.
  const Output defined = is_complex(x.dtype()) ? not_equal(x, 0) : greater(x, 0);
  const Output log_x = select(defined, log(select(defined, x, 1)), 0);
  set_broadcast_grads(c, grad * y * pow(x, y - 1), grad * z * log_x);
}
void squared_difference_gradient(GradientContext& c) {
  const Output grad_x = c.grad(0) * 2 * (c.input(0) - c.input(1));
  set_broadcast_grads(c, grad_x, -grad_x);
}
void xdivy_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, grad * xdivy(nonzero(x), y), grad * xdivy(-x, square(y)));
}
void xlogy_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, grad * xlogy(nonzero(x), y), grad * xdivy(x, y));
}
void xlog1py_gradient(GradientContext& c) {
  const auto [grad, x, y] = operands(c);
  set_broadcast_grads(c, grad * xlog1py(nonzero(x), y), grad * xdivy(x, y + 1));
}
void atan2_gradient(GradientContext& c) {
  const Output y = c.input(0), x = c.input(1);
  const Output scaled = c.grad(0) / (square(x) + square(y));
  set_broadcast_grads(c, x * scaled, -y * scaled);
}

}  // namespace

// --- Registrations ---

#define CAUDAL_BINARY_OP(op, types, gradient_function, loop, ...) \
  CAUDAL_REGISTER_OP({.name = op,                                 \
                      .inputs = "x: T; y: T",                     \
                      .outputs = "z: T",                          \
                      .attrs = "T: " types,                       \
                      __VA_ARGS__.shape = broadcast_shape,        \
                      .gradient = gradient_function,              \
                      .cpu = prepare_binary<BinaryOp::loop>})
#define CAUDAL_COMPARISON_OP(op, loop)                                                                         \
  CAUDAL_REGISTER_OP({.name = op,                                                                              \
                      .inputs = "x: T; y: T",                                                                  \
                      .outputs = "z: bool",                                                                    \
                      .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, " \
                               "uint32, uint64}",                                                              \
                      .shape = broadcast_shape,                                                                \
                      .gradient = not_differentiable,                                                          \
                      .cpu = prepare_binary<BinaryOp::loop>})
#define CAUDAL_EQUALITY_OP(op, equal)                                            \
  CAUDAL_REGISTER_OP({.name = op,                                                \
                      .inputs = "x: T; y: T",                                    \
                      .outputs = "z: bool",                                      \
                      .attrs = "T: type; incompatible_shape_error: bool = true", \
                      .commutative = true,                                       \
                      .shape = equality_shape,                                   \
                      .gradient = not_differentiable,                            \
                      .cpu = prepare_equality<equal>})
#define CAUDAL_LOGICAL_OP(op, loop)                   \
  CAUDAL_REGISTER_OP({.name = op,                     \
                      .inputs = "x: bool; y: bool",   \
                      .outputs = "z: bool",           \
                      .commutative = true,            \
                      .shape = broadcast_shape,       \
                      .gradient = not_differentiable, \
                      .cpu = prepare_binary<BinaryOp::loop>})
#define CAUDAL_COMMUTATIVE .commutative = true,
#define CAUDAL_NUMBERS \
  "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"
#define CAUDAL_REAL_NUMBERS "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64}"
#define CAUDAL_INTEGERS "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
#define CAUDAL_COMPLEX "{bfloat16, half, float, double, complex64, complex128}"

CAUDAL_REGISTER_OP({.name = "Add",
                    .inputs = "x: T; y: T",
                    .outputs = "z: T",
                    .attrs = "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, "
                             "complex128, string}",
                    .shape = broadcast_shape,
                    .gradient = add_gradient,
                    .cpu = prepare_add});
CAUDAL_REGISTER_OP({.name = "AddV2",
                    .inputs = "x: T; y: T",
                    .outputs = "z: T",
                    .attrs = "T: " CAUDAL_NUMBERS,
                    .commutative = true,
                    .aggregate = true,
                    .shape = broadcast_shape,
                    .gradient = add_gradient,
                    .cpu = prepare_binary<BinaryOp::kAdd>});
CAUDAL_BINARY_OP("Sub", CAUDAL_NUMBERS, sub_gradient, kSub);
CAUDAL_BINARY_OP("Mul", CAUDAL_NUMBERS, mul_gradient, kMul, CAUDAL_COMMUTATIVE);
CAUDAL_BINARY_OP("MulNoNan", CAUDAL_COMPLEX, mul_no_nan_gradient, kMulNoNan);
CAUDAL_BINARY_OP("Div", CAUDAL_NUMBERS, div_gradient, kDiv);
CAUDAL_BINARY_OP("RealDiv", CAUDAL_NUMBERS, div_gradient, kRealDiv);
CAUDAL_BINARY_OP("DivNoNan", CAUDAL_COMPLEX, div_no_nan_gradient, kDivNoNan);
CAUDAL_BINARY_OP("FloorDiv", CAUDAL_NUMBERS, not_differentiable, kFloorDiv);
CAUDAL_BINARY_OP("FloorMod", CAUDAL_REAL_NUMBERS, floormod_gradient, kFloorMod);
CAUDAL_BINARY_OP("TruncateDiv", CAUDAL_NUMBERS, not_differentiable, kTruncateDiv);
CAUDAL_BINARY_OP("TruncateMod", "{int32, int64, bfloat16, half, float, double}", no_gradient, kTruncateMod);
CAUDAL_BINARY_OP("Mod", "{int32, int64, half, bfloat16, float, double}", no_gradient, kMod);
CAUDAL_BINARY_OP("Maximum", CAUDAL_REAL_NUMBERS, maximum_gradient, kMaximum);
CAUDAL_BINARY_OP("Minimum", CAUDAL_REAL_NUMBERS, minimum_gradient, kMinimum);
CAUDAL_BINARY_OP("Pow", "{bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}",
                 pow_gradient, kPow);
CAUDAL_BINARY_OP("SquaredDifference", "{bfloat16, half, float, double, int32, int64, complex64, complex128}",
                 squared_difference_gradient, kSquaredDifference, CAUDAL_COMMUTATIVE);
CAUDAL_BINARY_OP("Xdivy", CAUDAL_COMPLEX, xdivy_gradient, kXdivy);
CAUDAL_BINARY_OP("Xlogy", CAUDAL_COMPLEX, xlogy_gradient, kXlogy);
CAUDAL_BINARY_OP("Xlog1py", CAUDAL_COMPLEX, xlog1py_gradient, kXlog1py);
CAUDAL_REGISTER_OP({.name = "Atan2",
                    .inputs = "y: T; x: T",
                    .outputs = "z: T",
                    .attrs = "T: {bfloat16, half, float, double}",
                    .shape = broadcast_shape,
                    .gradient = atan2_gradient,
                    .cpu = prepare_binary<BinaryOp::kAtan2>});
CAUDAL_COMPARISON_OP("Less", kLess);
CAUDAL_COMPARISON_OP("LessEqual", kLessEqual);
CAUDAL_COMPARISON_OP("Greater", kGreater);
CAUDAL_COMPARISON_OP("GreaterEqual", kGreaterEqual);
CAUDAL_EQUALITY_OP("Equal", true);
CAUDAL_EQUALITY_OP("NotEqual", false);
CAUDAL_LOGICAL_OP("LogicalAnd", kLogicalAnd);
CAUDAL_LOGICAL_OP("LogicalOr", kLogicalOr);
CAUDAL_BINARY_OP("BitwiseAnd", CAUDAL_INTEGERS, not_differentiable, kBitwiseAnd, CAUDAL_COMMUTATIVE);
CAUDAL_BINARY_OP("BitwiseOr", CAUDAL_INTEGERS, not_differentiable, kBitwiseOr, CAUDAL_COMMUTATIVE);
CAUDAL_BINARY_OP("BitwiseXor", CAUDAL_INTEGERS, not_differentiable, kBitwiseXor, CAUDAL_COMMUTATIVE);
CAUDAL_BINARY_OP("LeftShift", CAUDAL_INTEGERS, not_differentiable, kLeftShift);
CAUDAL_BINARY_OP("RightShift", CAUDAL_INTEGERS, not_differentiable, kRightShift);
CAUDAL_REGISTER_OP({.name = "BroadcastGradientArgs",
                    .inputs = "s0: T; s1: T",
                    .outputs = "r0: T; r1: T",
                    .attrs = "T: {int32, int64} = DT_INT32",
                    .shape = broadcast_gradient_args_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_broadcast_gradient_args>});
CAUDAL_REGISTER_OP({.name = "BroadcastArgs",
                    .inputs = "s0: T; s1: T",
                    .outputs = "r0: T",
                    .attrs = "T: {int32, int64} = DT_INT32",
                    .shape = broadcast_args_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_broadcast_args>});

// --- Functions ---

namespace {

Output binary(std::string_view op, const Operand& x, const Operand& y, const OpOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  return OpBuilder(op, options).input(x, dtype).input(y, dtype).build();
}

// Of a user's line that is not that of an OpOptions.
OpOptions at(const Operand& x) { return {.name = {}, .where = x.where()}; }

}  // namespace

#define CAUDAL_BINARY_FUNCTION(function, op) \
  Output function(const Operand& x, const Operand& y, const OpOptions& options) { return binary(op, x, y, options); }

Output add(const Operand& x, const Operand& y, const OpOptions& options) {
  return binary(common_dtype({&x, &y}) == DType::kString ? "Add" : "AddV2", x, y, options);
}
CAUDAL_BINARY_FUNCTION(subtract, "Sub")
CAUDAL_BINARY_FUNCTION(multiply, "Mul")
CAUDAL_BINARY_FUNCTION(multiply_no_nan, "MulNoNan")
CAUDAL_BINARY_FUNCTION(div, "Div")
CAUDAL_BINARY_FUNCTION(div_no_nan, "DivNoNan")
CAUDAL_BINARY_FUNCTION(floordiv, "FloorDiv")
CAUDAL_BINARY_FUNCTION(floormod, "FloorMod")
CAUDAL_BINARY_FUNCTION(truncatediv, "TruncateDiv")
CAUDAL_BINARY_FUNCTION(truncatemod, "TruncateMod")
CAUDAL_BINARY_FUNCTION(maximum, "Maximum")
CAUDAL_BINARY_FUNCTION(minimum, "Minimum")
CAUDAL_BINARY_FUNCTION(pow, "Pow")
CAUDAL_BINARY_FUNCTION(squared_difference, "SquaredDifference")
CAUDAL_BINARY_FUNCTION(atan2, "Atan2")
CAUDAL_BINARY_FUNCTION(xdivy, "Xdivy")
CAUDAL_BINARY_FUNCTION(xlogy, "Xlogy")
CAUDAL_BINARY_FUNCTION(xlog1py, "Xlog1py")
CAUDAL_BINARY_FUNCTION(less, "Less")
CAUDAL_BINARY_FUNCTION(less_equal, "LessEqual")
CAUDAL_BINARY_FUNCTION(greater, "Greater")
CAUDAL_BINARY_FUNCTION(greater_equal, "GreaterEqual")
CAUDAL_BINARY_FUNCTION(equal, "Equal")
CAUDAL_BINARY_FUNCTION(not_equal, "NotEqual")
CAUDAL_BINARY_FUNCTION(logical_and, "LogicalAnd")
CAUDAL_BINARY_FUNCTION(logical_or, "LogicalOr")
CAUDAL_BINARY_FUNCTION(logical_xor, "NotEqual")
CAUDAL_BINARY_FUNCTION(bitwise::bitwise_and, "BitwiseAnd")
CAUDAL_BINARY_FUNCTION(bitwise::bitwise_or, "BitwiseOr")
CAUDAL_BINARY_FUNCTION(bitwise::bitwise_xor, "BitwiseXor")
CAUDAL_BINARY_FUNCTION(bitwise::left_shift, "LeftShift")
CAUDAL_BINARY_FUNCTION(bitwise::right_shift, "RightShift")
CAUDAL_BINARY_FUNCTION(broadcast_dynamic_shape, "BroadcastArgs")

Output divide(const Operand& x, const Operand& y, const OpOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  if (is_differentiable(dtype)) return binary("RealDiv", x, y, options);
  const LocationScope location(options.where);
  const DType real = dtype_size(dtype) <= 2 ? DType::kFloat : DType::kDouble;
  const auto cast = [&](const Operand& value) {
    return OpBuilder("Cast", {}).input(value, dtype).attr("DstT", real).build();
  };
  return OpBuilder("RealDiv", options).input(cast(x)).input(cast(y)).build();
}

Output operator+(const Operand& x, const Operand& y) { return add(x, y, at(x)); }
Output operator-(const Operand& x, const Operand& y) { return subtract(x, y, at(x)); }
Output operator*(const Operand& x, const Operand& y) { return multiply(x, y, at(x)); }
Output operator/(const Operand& x, const Operand& y) { return divide(x, y, at(x)); }
Output operator%(const Operand& x, const Operand& y) { return floormod(x, y, at(x)); }
Output operator-(const Operand& x) { return negative(x, at(x)); }

raw_ops::BroadcastGradientArgs raw_ops::broadcast_gradient_args(const Operand& s0, const Operand& s1,
                                                                const OpOptions& options) {
  const DType dtype = common_dtype({&s0, &s1});
  Node& node = OpBuilder("BroadcastGradientArgs", options).input(s0, dtype).input(s1, dtype).build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace caudal::inline v0
