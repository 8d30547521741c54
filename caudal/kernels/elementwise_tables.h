// Inside of elementwise: where the loops of each kind of type come from.
#pragma once

#include "caudal/kernels/elementwise.h"

namespace caudal::inline v0::kernels {

// Null where the operation is not defined. Half and bfloat16 are looked up as float.
UnaryLoop::Fn plain_unary(UnaryOp op, DType dtype);
BinaryLoop::Fn plain_binary_float(BinaryOp op, DType dtype);    // float, double
BinaryLoop::Fn plain_binary_integer(BinaryOp op, DType dtype);  // integers, bool
BinaryLoop::Fn plain_binary_complex(BinaryOp op, DType dtype);

// Loops of float for one instruction set; null where the plain loop will do.
UnaryLoop::Fn unary_avx2(UnaryOp op);
UnaryLoop::Fn unary_avx512(UnaryOp op);
BinaryLoop::Fn binary_avx2(BinaryOp op);
BinaryLoop::Fn binary_avx512(BinaryOp op);

}  // namespace caudal::inline v0::kernels
