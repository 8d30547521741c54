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
UnaryLoop::Fn real_unary(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return unary_loop<T, NegFloat>;
    case UnaryOp::kAbs:
      return unary_loop<T, AbsFloat>;
    case UnaryOp::kSign:
      return unary_loop<T, Sign>;
    case UnaryOp::kSquare:
      return unary_loop<T, Square>;
    case UnaryOp::kSqrt:
      return unary_loop<T, Sqrt>;
    case UnaryOp::kRsqrt:
      return unary_loop<T, Rsqrt>;
    case UnaryOp::kReciprocal:
      return unary_loop<T, Reciprocal>;
    case UnaryOp::kExp:
      return unary_loop<T, Exp>;
    case UnaryOp::kExpm1:
      return unary_loop<T, Expm1>;
    case UnaryOp::kLog:
      return unary_loop<T, Log>;
    case UnaryOp::kLog1p:
      return unary_loop<T, Log1p>;
    case UnaryOp::kSin:
      return unary_loop<T, Sin>;
    case UnaryOp::kCos:
      return unary_loop<T, Cos>;
    case UnaryOp::kTan:
      return unary_loop<T, Tan>;
    case UnaryOp::kAsin:
      return unary_loop<T, Asin>;
    case UnaryOp::kAcos:
      return unary_loop<T, Acos>;
    case UnaryOp::kAtan:
      return unary_loop<T, Atan>;
    case UnaryOp::kSinh:
      return unary_loop<T, Sinh>;
    case UnaryOp::kCosh:
      return unary_loop<T, Cosh>;
    case UnaryOp::kTanh:
      return unary_loop<T, Tanh>;
    case UnaryOp::kAsinh:
      return unary_loop<T, Asinh>;
    case UnaryOp::kAcosh:
      return unary_loop<T, Acosh>;
    case UnaryOp::kAtanh:
      return unary_loop<T, Atanh>;
    case UnaryOp::kErf:
      return unary_loop<T, Erf>;
    case UnaryOp::kErfc:
      return unary_loop<T, Erfc>;
    case UnaryOp::kLgamma:
      return unary_loop<T, Lgamma>;
    case UnaryOp::kFloor:
      return unary_loop<T, Floor>;
    case UnaryOp::kCeil:
      return unary_loop<T, Ceil>;
    case UnaryOp::kRound:
      return unary_loop<T, Round>;
    case UnaryOp::kSigmoid:
      return unary_loop<T, Sigmoid>;
    case UnaryOp::kRelu:
      return unary_loop<T, Relu>;
    case UnaryOp::kRelu6:
      return unary_loop<T, Relu6>;
    case UnaryOp::kLeakyRelu:
      return unary_loop<T, LeakyRelu>;
    case UnaryOp::kElu:
      return unary_loop<T, Elu>;
    case UnaryOp::kSelu:
      return unary_loop<T, Selu>;
    case UnaryOp::kSoftplus:
      return unary_loop<T, Softplus>;
    case UnaryOp::kSoftsign:
      return unary_loop<T, Softsign>;
    case UnaryOp::kIsNan:
      return unary_loop<T, IsNan>;
    case UnaryOp::kIsInf:
      return unary_loop<T, IsInf>;
    case UnaryOp::kIsFinite:
      return unary_loop<T, IsFinite>;
    default:
      return nullptr;
  }
}

template <class T>
UnaryLoop::Fn integer_unary(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return unary_loop<T, Neg>;
    case UnaryOp::kAbs:
      return unary_loop<T, AbsInt>;
    case UnaryOp::kSign:
      return unary_loop<T, Sign>;
    case UnaryOp::kSquare:
      return unary_loop<T, Square>;
    case UnaryOp::kRound:
      return unary_loop<T, Same>;
    case UnaryOp::kRelu:
      return unary_loop<T, Relu>;
    case UnaryOp::kRelu6:
      return unary_loop<T, Relu6>;
    case UnaryOp::kLeakyRelu:
      return unary_loop<T, LeakyRelu>;
    case UnaryOp::kInvert:
      return unary_loop<T, Invert>;
    default:
      return nullptr;
  }
}

template <class T>
UnaryLoop::Fn complex_unary(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return unary_loop<T, NegFloat>;
    case UnaryOp::kSign:
      return unary_loop<T, SignComplex>;
    case UnaryOp::kSquare:
      return unary_loop<T, Square>;
    case UnaryOp::kSqrt:
      return unary_loop<T, Sqrt>;
    case UnaryOp::kRsqrt:
      return unary_loop<T, Rsqrt>;
    case UnaryOp::kReciprocal:
      return unary_loop<T, Reciprocal>;
    case UnaryOp::kExp:
      return unary_loop<T, Exp>;
    case UnaryOp::kExpm1:
      return unary_loop<T, Expm1Complex>;
    case UnaryOp::kLog:
      return unary_loop<T, Log>;
    case UnaryOp::kLog1p:
      return unary_loop<T, Log1pComplex>;
    case UnaryOp::kSin:
      return unary_loop<T, Sin>;
    case UnaryOp::kCos:
      return unary_loop<T, Cos>;
    case UnaryOp::kTan:
      return unary_loop<T, Tan>;
    case UnaryOp::kAsin:
      return unary_loop<T, Asin>;
    case UnaryOp::kAcos:
      return unary_loop<T, Acos>;
    case UnaryOp::kAtan:
      return unary_loop<T, Atan>;
    case UnaryOp::kSinh:
      return unary_loop<T, Sinh>;
    case UnaryOp::kCosh:
      return unary_loop<T, Cosh>;
    case UnaryOp::kTanh:
      return unary_loop<T, Tanh>;
    case UnaryOp::kAsinh:
      return unary_loop<T, Asinh>;
    case UnaryOp::kAcosh:
      return unary_loop<T, Acosh>;
    case UnaryOp::kAtanh:
      return unary_loop<T, Atanh>;
    case UnaryOp::kSigmoid:
      return unary_loop<T, Sigmoid>;
    case UnaryOp::kConj:
      return unary_loop<T, Conj>;
    default:
      return nullptr;
  }
}

}  // namespace

UnaryLoop::Fn plain_unary(UnaryOp op, DType dtype) {
  UnaryLoop::Fn fn = nullptr;
  if (dtype == DType::kBool) return op == UnaryOp::kLogicalNot ? unary_loop<bool, LogicalNot> : nullptr;
  if (try_dispatch(TypeList<float, double>{}, dtype, [&]<class T>() { fn = real_unary<T>(op); })) return fn;
  if (try_dispatch(ComplexTypes{}, dtype, [&]<class T>() { fn = complex_unary<T>(op); })) return fn;
  try_dispatch(IntegerTypes{}, dtype, [&]<class T>() { fn = integer_unary<T>(op); });
  return fn;
}

}  // namespace caudal::inline v0::kernels
