#include "caudal/ops/elementwise_unary.h"

#include <numbers>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/ops/complex_ops.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"

namespace caudal::inline v0 {
namespace {

using kernels::BinaryOp;
using kernels::UnaryOp;
using raw_ops::reciprocal_grad;
using raw_ops::rsqrt_grad;
using raw_ops::sigmoid_grad;
using raw_ops::sqrt_grad;
using raw_ops::tanh_grad;

// --- Gradients: with y = f(x), grad * conj(f'(x)) ---

Output conj_input(GradientContext& c) { return conj_if_complex(c.input(0)); }

void neg_gradient(GradientContext& c) { c.set_input_grad(0, -c.grad(0)); }
void abs_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * sign(c.input(0))); }
void zero_gradient(GradientContext& c) { c.set_input_grad(0, OpBuilder("ZerosLike", {}).input(c.input(0)).build()); }
void square_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * (conj_input(c) * 2)); }
void sqrt_gradient(GradientContext& c) { c.set_input_grad(0, sqrt_grad(c.output(0), c.grad(0))); }
void rsqrt_gradient(GradientContext& c) { c.set_input_grad(0, rsqrt_grad(c.output(0), c.grad(0))); }
void reciprocal_gradient(GradientContext& c) { c.set_input_grad(0, reciprocal_grad(c.output(0), c.grad(0))); }
void exp_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * conj_if_complex(c.output(0))); }
void expm1_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * exp(conj_input(c))); }
void log_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * reciprocal(conj_input(c))); }
void log1p_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * reciprocal(conj_input(c) + 1)); }
void sin_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * cos(conj_input(c))); }
void cos_gradient(GradientContext& c) { c.set_input_grad(0, -c.grad(0) * sin(conj_input(c))); }
void tan_gradient(GradientContext& c) { c.set_input_grad(0, square(reciprocal(cos(conj_input(c)))) * c.grad(0)); }
void asin_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * reciprocal(sqrt(1 - square(conj_input(c))))); }
void acos_gradient(GradientContext& c) {
  c.set_input_grad(0, -c.grad(0) * reciprocal(sqrt(1 - square(conj_input(c)))));
}
void atan_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * reciprocal(1 + square(conj_input(c)))); }
void sinh_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * cosh(conj_input(c))); }
void cosh_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * sinh(conj_input(c))); }
void asinh_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) / cosh(conj_if_complex(c.output(0)))); }
void acosh_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) / sinh(conj_if_complex(c.output(0)))); }
void atanh_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0) * reciprocal(1 - square(conj_input(c)))); }
void tanh_gradient(GradientContext& c) { c.set_input_grad(0, tanh_grad(conj_if_complex(c.output(0)), c.grad(0))); }
void sigmoid_gradient(GradientContext& c) {
  c.set_input_grad(0, sigmoid_grad(conj_if_complex(c.output(0)), c.grad(0)));
}
void erf_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) * (2 * std::numbers::inv_sqrtpi * exp(-square(c.input(0)))));
}
void erfc_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0) * (-2 * std::numbers::inv_sqrtpi * exp(-square(c.input(0)))));
}
void conj_gradient(GradientContext& c) { c.set_input_grad(0, conj(c.grad(0))); }

// Second order, of z(y, dy).

// z = dy / (2 conj(y))
void sqrt_grad_gradient(GradientContext& c) {
  const Output part = c.grad(0) / c.input(0);
  c.set_input_grad(0, -conj_if_complex(part) * c.output(0));
  c.set_input_grad(1, 0.5 * part);
}
void rsqrt_grad_gradient(GradientContext& c) {
  const Output y = conj_if_complex(c.input(0)), grad = conj_if_complex(c.grad(0));
  c.set_input_grad(0, -1.5 * grad * c.input(1) * square(y));
  c.set_input_grad(1, rsqrt_grad(y, c.grad(0)));
}
void reciprocal_grad_gradient(GradientContext& c) {
  const Output y = conj_if_complex(c.input(0)), grad = conj_if_complex(c.grad(0));
  c.set_input_grad(0, grad * -2 * c.input(1) * y);
  c.set_input_grad(1, reciprocal_grad(y, c.grad(0)));
}
void tanh_grad_gradient(GradientContext& c) {
  const Output y = conj_if_complex(c.input(0)), dy = conj_if_complex(c.input(1));
  c.set_input_grad(0, c.grad(0) * -2 * dy * y);
  c.set_input_grad(1, tanh_grad(y, c.grad(0)));
}
void sigmoid_grad_gradient(GradientContext& c) {
  const Output y = conj_if_complex(c.input(0));
  const Output part = c.grad(0) * conj_if_complex(c.input(1));
  c.set_input_grad(0, part - 2 * part * y);
  c.set_input_grad(1, sigmoid_grad(y, c.grad(0)));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_UNARY_OP(op, types, gradient_function, loop) \
  CAUDAL_REGISTER_OP({.name = op,                           \
                      .inputs = "x: T",                     \
                      .outputs = "y: T",                    \
                      .attrs = "T: " types,                 \
                      .shape = unchanged_shape,             \
                      .gradient = gradient_function,        \
                      .cpu = prepare_unary<UnaryOp::loop>})
#define CAUDAL_PREDICATE_OP(op, loop)                                \
  CAUDAL_REGISTER_OP({.name = op,                                    \
                      .inputs = "x: T",                              \
                      .outputs = "y: bool",                          \
                      .attrs = "T: {bfloat16, half, float, double}", \
                      .shape = unchanged_shape,                      \
                      .gradient = no_gradient,                       \
                      .cpu = prepare_unary<UnaryOp::loop>})
#define CAUDAL_UNARY_GRAD_OP(op, gradient_function, loop)                                   \
  CAUDAL_REGISTER_OP({.name = op,                                                           \
                      .inputs = "y: T; dy: T",                                              \
                      .outputs = "z: T",                                                    \
                      .attrs = "T: {bfloat16, half, float, double, complex64, complex128}", \
                      .shape = merged_inputs_shape,                                         \
                      .gradient = gradient_function,                                        \
                      .cpu = prepare_same_shape<BinaryOp::loop>})
#define CAUDAL_REALS "{bfloat16, half, float, double}"
#define CAUDAL_COMPLEX "{bfloat16, half, float, double, complex64, complex128}"
#define CAUDAL_SIGNED "{bfloat16, half, float, double, int8, int16, int32, int64}"
#define CAUDAL_SIGNED_COMPLEX "{bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"

CAUDAL_UNARY_OP("Neg", CAUDAL_SIGNED_COMPLEX, neg_gradient, kNeg);
CAUDAL_UNARY_OP("Abs", CAUDAL_SIGNED, abs_gradient, kAbs);
CAUDAL_UNARY_OP("Sign", CAUDAL_SIGNED_COMPLEX, zero_gradient, kSign);
CAUDAL_UNARY_OP("Square",
                "{bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
                "complex128}",
                square_gradient, kSquare);
CAUDAL_UNARY_OP("Sqrt", CAUDAL_COMPLEX, sqrt_gradient, kSqrt);
CAUDAL_UNARY_OP("Rsqrt", CAUDAL_COMPLEX, rsqrt_gradient, kRsqrt);
CAUDAL_UNARY_OP("Reciprocal", CAUDAL_SIGNED_COMPLEX, reciprocal_gradient, kReciprocal);
CAUDAL_UNARY_OP("Inv", CAUDAL_SIGNED_COMPLEX, reciprocal_gradient, kReciprocal);
CAUDAL_UNARY_OP("Exp", CAUDAL_COMPLEX, exp_gradient, kExp);
CAUDAL_UNARY_OP("Expm1", CAUDAL_COMPLEX, expm1_gradient, kExpm1);
CAUDAL_UNARY_OP("Log", CAUDAL_COMPLEX, log_gradient, kLog);
CAUDAL_UNARY_OP("Log1p", CAUDAL_COMPLEX, log1p_gradient, kLog1p);
CAUDAL_UNARY_OP("Sin", CAUDAL_COMPLEX, sin_gradient, kSin);
CAUDAL_UNARY_OP("Cos", CAUDAL_COMPLEX, cos_gradient, kCos);
CAUDAL_UNARY_OP("Tan", CAUDAL_COMPLEX, tan_gradient, kTan);
CAUDAL_UNARY_OP("Asin", CAUDAL_COMPLEX, asin_gradient, kAsin);
CAUDAL_UNARY_OP("Acos", CAUDAL_COMPLEX, acos_gradient, kAcos);
CAUDAL_UNARY_OP("Atan", CAUDAL_COMPLEX, atan_gradient, kAtan);
CAUDAL_UNARY_OP("Sinh", CAUDAL_COMPLEX, sinh_gradient, kSinh);
CAUDAL_UNARY_OP("Cosh", CAUDAL_COMPLEX, cosh_gradient, kCosh);
CAUDAL_UNARY_OP("Tanh", CAUDAL_COMPLEX, tanh_gradient, kTanh);
CAUDAL_UNARY_OP("Asinh", CAUDAL_COMPLEX, asinh_gradient, kAsinh);
CAUDAL_UNARY_OP("Acosh", CAUDAL_COMPLEX, acosh_gradient, kAcosh);
CAUDAL_UNARY_OP("Atanh", CAUDAL_COMPLEX, atanh_gradient, kAtanh);
CAUDAL_UNARY_OP("Sigmoid", CAUDAL_COMPLEX, sigmoid_gradient, kSigmoid);
CAUDAL_UNARY_OP("Erf", CAUDAL_REALS, erf_gradient, kErf);
CAUDAL_UNARY_OP("Erfc", CAUDAL_REALS, erfc_gradient, kErfc);
CAUDAL_UNARY_OP("Floor", CAUDAL_REALS, not_differentiable, kFloor);
CAUDAL_UNARY_OP("Ceil", CAUDAL_REALS, not_differentiable, kCeil);
CAUDAL_UNARY_OP("Round", CAUDAL_SIGNED_COMPLEX, not_differentiable, kRound);
CAUDAL_UNARY_OP("Rint", CAUDAL_REALS, not_differentiable, kRound);
CAUDAL_UNARY_OP("Invert", "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}", not_differentiable, kInvert);
CAUDAL_PREDICATE_OP("IsNan", kIsNan);
CAUDAL_PREDICATE_OP("IsInf", kIsInf);
CAUDAL_PREDICATE_OP("IsFinite", kIsFinite);
CAUDAL_REGISTER_OP({.name = "LogicalNot",
                    .inputs = "x: bool",
                    .outputs = "y: bool",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_unary<UnaryOp::kLogicalNot>});
CAUDAL_REGISTER_OP({.name = "Conj",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: {complex64, complex128, variant} = DT_COMPLEX64",
                    .shape = unchanged_shape,
                    .gradient = conj_gradient,
                    .cpu = prepare_unary<UnaryOp::kConj>});
CAUDAL_UNARY_GRAD_OP("SqrtGrad", sqrt_grad_gradient, kSqrtGrad);
CAUDAL_UNARY_GRAD_OP("RsqrtGrad", rsqrt_grad_gradient, kRsqrtGrad);
CAUDAL_UNARY_GRAD_OP("ReciprocalGrad", reciprocal_grad_gradient, kReciprocalGrad);
CAUDAL_UNARY_GRAD_OP("InvGrad", reciprocal_grad_gradient, kReciprocalGrad);
CAUDAL_UNARY_GRAD_OP("TanhGrad", tanh_grad_gradient, kTanhGrad);
CAUDAL_UNARY_GRAD_OP("SigmoidGrad", sigmoid_grad_gradient, kSigmoidGrad);

// --- Functions ---

#define CAUDAL_UNARY_FUNCTION(function, op) \
  Output function(const Operand& x, const OpOptions& options) { return OpBuilder(op, options).input(x).build(); }
#define CAUDAL_UNARY_GRAD_FUNCTION(function, op)                                            \
  Output raw_ops::function(const Operand& y, const Operand& dy, const OpOptions& options) { \
    const DType dtype = common_dtype({&y, &dy});                                            \
    return OpBuilder(op, options).input(y, dtype).input(dy, dtype).build();                 \
  }

CAUDAL_UNARY_FUNCTION(negative, "Neg")
Output abs(const Operand& x, const OpOptions& options) {
  const Output value = x.to_output();
  return is_complex(value.dtype()) ? raw_ops::complex_abs(value, options)
                                   : OpBuilder("Abs", options).input(value).build();
}
CAUDAL_UNARY_FUNCTION(sign, "Sign")
CAUDAL_UNARY_FUNCTION(square, "Square")
CAUDAL_UNARY_FUNCTION(sqrt, "Sqrt")
CAUDAL_UNARY_FUNCTION(rsqrt, "Rsqrt")
CAUDAL_UNARY_FUNCTION(reciprocal, "Reciprocal")
CAUDAL_UNARY_FUNCTION(exp, "Exp")
CAUDAL_UNARY_FUNCTION(expm1, "Expm1")
CAUDAL_UNARY_FUNCTION(log, "Log")
CAUDAL_UNARY_FUNCTION(log1p, "Log1p")
CAUDAL_UNARY_FUNCTION(sin, "Sin")
CAUDAL_UNARY_FUNCTION(cos, "Cos")
CAUDAL_UNARY_FUNCTION(tan, "Tan")
CAUDAL_UNARY_FUNCTION(asin, "Asin")
CAUDAL_UNARY_FUNCTION(acos, "Acos")
CAUDAL_UNARY_FUNCTION(atan, "Atan")
CAUDAL_UNARY_FUNCTION(sinh, "Sinh")
CAUDAL_UNARY_FUNCTION(cosh, "Cosh")
CAUDAL_UNARY_FUNCTION(tanh, "Tanh")
CAUDAL_UNARY_FUNCTION(asinh, "Asinh")
CAUDAL_UNARY_FUNCTION(acosh, "Acosh")
CAUDAL_UNARY_FUNCTION(atanh, "Atanh")
CAUDAL_UNARY_FUNCTION(sigmoid, "Sigmoid")
CAUDAL_UNARY_FUNCTION(nn::sigmoid, "Sigmoid")
CAUDAL_UNARY_FUNCTION(nn::tanh, "Tanh")
CAUDAL_UNARY_FUNCTION(erf, "Erf")
CAUDAL_UNARY_FUNCTION(erfc, "Erfc")
CAUDAL_UNARY_FUNCTION(floor, "Floor")
CAUDAL_UNARY_FUNCTION(ceil, "Ceil")
CAUDAL_UNARY_FUNCTION(round, "Round")
CAUDAL_UNARY_FUNCTION(rint, "Rint")
CAUDAL_UNARY_FUNCTION(is_nan, "IsNan")
CAUDAL_UNARY_FUNCTION(is_inf, "IsInf")
CAUDAL_UNARY_FUNCTION(is_finite, "IsFinite")
CAUDAL_UNARY_FUNCTION(logical_not, "LogicalNot")
CAUDAL_UNARY_FUNCTION(invert, "Invert")
CAUDAL_UNARY_GRAD_FUNCTION(sqrt_grad, "SqrtGrad")
CAUDAL_UNARY_GRAD_FUNCTION(rsqrt_grad, "RsqrtGrad")
CAUDAL_UNARY_GRAD_FUNCTION(reciprocal_grad, "ReciprocalGrad")
CAUDAL_UNARY_GRAD_FUNCTION(tanh_grad, "TanhGrad")
CAUDAL_UNARY_GRAD_FUNCTION(sigmoid_grad, "SigmoidGrad")

Output conj(const Operand& x, const OpOptions& options) {
  const Output value = x.to_output();
  return is_complex(value.dtype()) ? OpBuilder("Conj", options).input(value).build() : value;
}

}  // namespace caudal::inline v0
