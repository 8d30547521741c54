// What the elementwise families share: kernels made of one loop of kernels/elementwise.h, and the gradient of
// broadcasting.
//
// Thread safety: kernels are re-entrant; functions that make nodes as building a graph.
#pragma once

#include <memory>

#include "caudal/core/kernel.h"
#include "caudal/graph/builder.h"
#include "caudal/kernels/elementwise.h"

namespace caudal::inline v0 {

// y = op(x). Throws UNIMPLEMENTED for a type without a loop. `parameter` as find_unary().
std::unique_ptr<Kernel> make_unary_kernel(PrepareContext& context, kernels::UnaryOp op, double parameter = 0.2);
// z = op(x, y), broadcast. Quantised types are compared as their integers.
std::unique_ptr<Kernel> make_binary_kernel(PrepareContext& context, kernels::BinaryOp op, double parameter = 0.2);
// The same for two inputs that must have one shape.
std::unique_ptr<Kernel> make_same_shape_kernel(PrepareContext& context, kernels::BinaryOp op, double parameter = 0.2);

template <kernels::UnaryOp op>
std::unique_ptr<Kernel> prepare_unary(PrepareContext& context) {
  return make_unary_kernel(context, op);
}
template <kernels::BinaryOp op>
std::unique_ptr<Kernel> prepare_binary(PrepareContext& context) {
  return make_binary_kernel(context, op);
}
template <kernels::BinaryOp op>
std::unique_ptr<Kernel> prepare_same_shape(PrepareContext& context) {
  return make_same_shape_kernel(context, op);
}

// numpy's rule for the shapes of values. Throws INVALID_ARGUMENT if they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

// The integers behind a quantised type; other types as they are.
DType plain_integer(DType dtype);

// `grad`, which has the shape of x broadcast with `other`, summed to the shape of x: the gradient of broadcasting x.
// Decided now where static shapes allow, else by BroadcastGradientArgs.
Output sum_to_shape_of(const Output& grad, const Output& x, const Output& other);

// The complex conjugate; real values as they are.
Output conj_if_complex(const Output& x);

}  // namespace caudal::inline v0
