// Functions of one operand, element by element.
//
// All keep the shape, and the type where nothing else is said. A type that the op does not have is INVALID_ARGUMENT
// when the node is made, one without a CPU kernel UNIMPLEMENTED when it first runs. Complex values give complex values;
// half and bfloat16 are computed in float. Thread safety: as building a graph.
#pragma once

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Arithmetic. Integers wrap: negative(INT_MIN) is INT_MIN.
CAUDAL_API Output negative(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output abs(const Operand& x, const OpOptions& options = {});   // real types
CAUDAL_API Output sign(const Operand& x, const OpOptions& options = {});  // -1, 0, 1; NaN stays; complex: x / |x|
CAUDAL_API Output square(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output sqrt(const Operand& x, const OpOptions& options = {});   // NaN below 0
CAUDAL_API Output rsqrt(const Operand& x, const OpOptions& options = {});  // 1 / sqrt(x)
CAUDAL_API Output reciprocal(const Operand& x, const OpOptions& options = {});

// Floating and complex types.
CAUDAL_API Output exp(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output expm1(const Operand& x, const OpOptions& options = {});  // exp(x) - 1, precise near 0
CAUDAL_API Output log(const Operand& x, const OpOptions& options = {});    // natural; -inf at 0, NaN below
CAUDAL_API Output log1p(const Operand& x, const OpOptions& options = {});  // log(1 + x), precise near 0
CAUDAL_API Output sin(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output cos(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output tan(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output asin(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output acos(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output atan(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output sinh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output cosh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output tanh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output asinh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output acosh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output atanh(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output sigmoid(const Operand& x, const OpOptions& options = {});  // 1 / (1 + exp(-x))
// 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x, and 1 minus that. Floating types.
CAUDAL_API Output erf(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output erfc(const Operand& x, const OpOptions& options = {});

// Rounding. No gradient flows through these.
CAUDAL_API Output floor(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output ceil(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output round(const Operand& x, const OpOptions& options = {});  // half to even; integers stay
CAUDAL_API Output rint(const Operand& x, const OpOptions& options = {});   // half to even

// Predicates of floating values, as bool.
CAUDAL_API Output is_nan(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output is_inf(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output is_finite(const Operand& x, const OpOptions& options = {});

CAUDAL_API Output logical_not(const Operand& x, const OpOptions& options = {});  // bool
CAUDAL_API Output invert(const Operand& x, const OpOptions& options = {});       // all bits of integers
// The complex conjugate; a real x is returned as it is, without a node.
CAUDAL_API Output conj(const Operand& x, const OpOptions& options = {});

namespace nn {
CAUDAL_API Output sigmoid(const Operand& x, const OpOptions& options = {});
CAUDAL_API Output tanh(const Operand& x, const OpOptions& options = {});
}  // namespace nn

namespace raw_ops {
// Gradients in terms of the function's result y and the gradient dy of it, both of one shape:
CAUDAL_API Output sqrt_grad(const Operand& y, const Operand& dy, const OpOptions& options = {});   // dy * 0.5 / y
CAUDAL_API Output rsqrt_grad(const Operand& y, const Operand& dy, const OpOptions& options = {});  // dy * -0.5 * y^3
CAUDAL_API Output reciprocal_grad(const Operand& y, const Operand& dy, const OpOptions& options = {});  // -dy * y^2
CAUDAL_API Output tanh_grad(const Operand& y, const Operand& dy, const OpOptions& options = {});     // dy * (1 - y^2)
CAUDAL_API Output sigmoid_grad(const Operand& y, const Operand& dy, const OpOptions& options = {});  // dy * y * (1 - y)
}  // namespace raw_ops

}  // namespace caudal::inline v0
