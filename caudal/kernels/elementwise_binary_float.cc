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
      return binary_loop<T, RealDiv>;
    case BinaryOp::kRealDiv:
      return binary_loop<T, RealDiv>;
    case BinaryOp::kDivNoNan:
      return binary_loop<T, DivNoNan>;
    case BinaryOp::kMulNoNan:
      return binary_loop<T, MulNoNan>;
    case BinaryOp::kFloorDiv:
      return binary_loop<T, FloorDivFloat>;
    case BinaryOp::kFloorMod:
      return binary_loop<T, FloorModFloat>;
    case BinaryOp::kTruncateDiv:
      return binary_loop<T, TruncateDivFloat>;
    case BinaryOp::kTruncateMod:
      return binary_loop<T, ModFloat>;
    case BinaryOp::kMod:
      return binary_loop<T, ModFloat>;
    case BinaryOp::kPow:
      return binary_loop<T, PowFloat>;
    case BinaryOp::kMaximum:
      return binary_loop<T, Maximum>;
    case BinaryOp::kMinimum:
      return binary_loop<T, Minimum>;
    case BinaryOp::kSquaredDifference:
      return binary_loop<T, SquaredDifference>;
    case BinaryOp::kXdivy:
      return binary_loop<T, Xdivy>;
    case BinaryOp::kXlogy:
      return binary_loop<T, Xlogy>;
    case BinaryOp::kXlog1py:
      return binary_loop<T, Xlog1py>;
    case BinaryOp::kAtan2:
      return binary_loop<T, Atan2>;
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
    case BinaryOp::kReluGrad:
      return binary_loop<T, ReluGrad>;
    case BinaryOp::kRelu6Grad:
      return binary_loop<T, Relu6Grad>;
    case BinaryOp::kLeakyReluGrad:
      return binary_loop<T, LeakyReluGrad>;
    case BinaryOp::kSoftplusGrad:
      return binary_loop<T, SoftplusGrad>;
    case BinaryOp::kSoftsignGrad:
      return binary_loop<T, SoftsignGrad>;
    case BinaryOp::kEluGrad:
      return binary_loop<T, EluGrad>;
    case BinaryOp::kSeluGrad:
      return binary_loop<T, SeluGrad>;
    case BinaryOp::kTanhGrad:
      return binary_loop<T, TanhGrad>;
    case BinaryOp::kSigmoidGrad:
      return binary_loop<T, SigmoidGrad>;
    case BinaryOp::kSqrtGrad:
      return binary_loop<T, SqrtGrad>;
    case BinaryOp::kRsqrtGrad:
      return binary_loop<T, RsqrtGrad>;
    case BinaryOp::kReciprocalGrad:
      return binary_loop<T, ReciprocalGrad>;
    default:
      return nullptr;
  }
}

}  // namespace

BinaryLoop::Fn plain_binary_float(BinaryOp op, DType dtype) {
  BinaryLoop::Fn fn = nullptr;
  try_dispatch(TypeList<float, double>{}, dtype, [&]<class T>() { fn = lookup<T>(op); });
  return fn;
}

}  // namespace caudal::inline v0::kernels
