#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/elementwise_ops.h"
#include "caudal/kernels/elementwise_tables.h"

namespace caudal::inline v0::kernels {
namespace {

template <class T>
BinaryLoop::Fn lookup(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return binary_loop<T, Add>;
    case BinaryOp::kSub:
      return binary_loop<T, Sub>;
    case BinaryOp::kMul:
      return binary_loop<T, Mul>;
    case BinaryOp::kDiv:
      return binary_loop<T, DivInt>;
    case BinaryOp::kFloorDiv:
      return binary_loop<T, FloorDivInt>;
    case BinaryOp::kFloorMod:
      return binary_loop<T, FloorModInt>;
    case BinaryOp::kTruncateDiv:
      return binary_loop<T, DivInt>;
    case BinaryOp::kTruncateMod:
      return binary_loop<T, ModInt>;
    case BinaryOp::kMod:
      return binary_loop<T, ModInt>;
    case BinaryOp::kPow:
      return binary_loop<T, PowInt>;
    case BinaryOp::kMaximum:
      return binary_loop<T, Maximum>;
    case BinaryOp::kMinimum:
      return binary_loop<T, Minimum>;
    case BinaryOp::kSquaredDifference:
      return binary_loop<T, SquaredDifference>;
    case BinaryOp::kLess:
      return binary_loop<T, Less>;
    case BinaryOp::kLessEqual:
      return binary_loop<T, LessEqual>;
    case BinaryOp::kGreater:
      return binary_loop<T, Greater>;
    case BinaryOp::kGreaterEqual:
      return binary_loop<T, GreaterEqual>;
    case BinaryOp::kEqual:
      return binary_loop<T, Equal>;
    case BinaryOp::kNotEqual:
      return binary_loop<T, NotEqual>;
    case BinaryOp::kBitwiseAnd:
      return binary_loop<T, And>;
    case BinaryOp::kBitwiseOr:
      return binary_loop<T, Or>;
    case BinaryOp::kBitwiseXor:
      return binary_loop<T, Xor>;
    case BinaryOp::kLeftShift:
      return binary_loop<T, LeftShift>;
    case BinaryOp::kRightShift:
      return binary_loop<T, RightShift>;
    case BinaryOp::kReluGrad:
      return binary_loop<T, ReluGrad>;
    case BinaryOp::kRelu6Grad:
      return binary_loop<T, Relu6Grad>;
    case BinaryOp::kLeakyReluGrad:
      return binary_loop<T, LeakyReluGrad>;
    default:
      return nullptr;
  }
}

BinaryLoop::Fn lookup_bool(BinaryOp op) {
  switch (op) {
    case BinaryOp::kLogicalAnd:
      return binary_loop<bool, And>;
    case BinaryOp::kLogicalOr:
      return binary_loop<bool, Or>;
    case BinaryOp::kEqual:
      return binary_loop<bool, Equal>;
    case BinaryOp::kNotEqual:
      return binary_loop<bool, NotEqual>;
    default:
      return nullptr;
  }
}

}  // namespace

BinaryLoop::Fn plain_binary_integer(BinaryOp op, DType dtype) {
  BinaryLoop::Fn fn = nullptr;
  if (dtype == DType::kBool) return lookup_bool(op);
  try_dispatch(IntegerTypes{}, dtype, [&]<class T>() { fn = lookup<T>(op); });
  return fn;
}

}  // namespace caudal::inline v0::kernels
