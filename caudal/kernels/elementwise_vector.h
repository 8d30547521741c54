// Vector loops of float for one instruction set; included like elementwise_ops.h, after `kLanes` is defined.
//
// Transcendental functions are computed in double and rounded once, so that their error stays below 0.51 ulp with short
// polynomials and no special care. No fused multiply-add: the same bits on every instruction set. The last few elements
// go through the same vector code.
#pragma once

#include <cstdint>
#include <cstring>

#include "caudal/kernels/elementwise_ops.h"
#include "caudal/kernels/elementwise_tables.h"

namespace caudal::inline v0::kernels {
namespace {

typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef int64_t Longs __attribute__((vector_size(8 * kLanes)));
typedef float Floats __attribute__((vector_size(4 * kLanes)));

inline Doubles all(double value) { return value - Doubles{}; }
inline Longs bits_of(Doubles x) { return reinterpret_cast<Longs>(x); }
inline Doubles from_bits(Longs x) { return reinterpret_cast<Doubles>(x); }
inline Doubles with_sign_of(Doubles x, Doubles sign) {
  constexpr int64_t kSign = std::numeric_limits<int64_t>::min();
  return from_bits((bits_of(x) & ~kSign) | (bits_of(sign) & kSign));
}

// 2^n and e^r - 1 with x = n ln 2 + r, |r| <= ln 2 / 2; x is clamped to +-150, beyond which float results are 0 or inf.
struct ExpParts {
  Doubles scale, rest;
};
inline ExpParts exp_parts(Doubles x) {
  constexpr double kLog2e = 1.4426950408889634074, kLn2 = 0.69314718055994530942, kMagic = 0x1.8p52;
  x = x < -150.0 ? all(-150.0) : x;
  x = x > 150.0 ? all(150.0) : x;
  const Doubles shifted = x * kLog2e + kMagic;
  const Doubles r = x - (shifted - kMagic) * kLn2;
  const Doubles scale = from_bits((bits_of(shifted) + 1023) << 52);
  // Taylor to r^8: the first term left out is below 2^-31 of r.
  Doubles q = r * (1.0 / 40320) + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  q = q * r + 1.0;
  return {scale, q * r};
}

inline Doubles exp_of(Doubles x) {
  const ExpParts parts = exp_parts(x);
  return parts.scale + parts.scale * parts.rest;
}
inline Doubles expm1_of(Doubles x) {
  const ExpParts parts = exp_parts(x);
  return with_sign_of(parts.scale * parts.rest + (parts.scale - 1.0), x);
}

// y = 2^e m with m in [sqrt(1/2), sqrt(2)); log y = e ln 2 + 2 artanh(s), s = (m - 1) / (m + 1).
inline Doubles log_series(Doubles s, Doubles e) {
  const Doubles z = s * s;
  Doubles q = z * (1.0 / 11) + 1.0 / 9;
  q = q * z + 1.0 / 7;
  q = q * z + 1.0 / 5;
  q = q * z + 1.0 / 3;
  const Doubles twice = s + s;
  return e * 0.69314718055994530942 + (twice + twice * z * q);
}
struct LogParts {
  Doubles mantissa, exponent;
};
inline LogParts log_parts(Doubles y) {
  // Unsigned, because a NaN or a negative number may wrap; log_edges() deals with those.
  typedef uint64_t Unsigned __attribute__((vector_size(8 * kLanes)));
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kBias = uint64_t{1023} << 52, kTwo52 = 0x4330000000000000;
  const auto bits = reinterpret_cast<Unsigned>(y);
  const Unsigned e = (bits - kRootHalf + kBias) >> 52;
  return {reinterpret_cast<Doubles>(bits - ((e - 1023) << 52)),
          reinterpret_cast<Doubles>(e | kTwo52) - (0x1p52 + 1023)};
}
inline Doubles log_edges(Doubles y, Doubles value) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  value = y == kInf ? all(kInf) : value;
  value = y == 0.0 ? all(-kInf) : value;
  value = y < 0.0 ? all(std::numeric_limits<double>::quiet_NaN()) : value;
  return y != y ? y : value;
}
inline Doubles log_of(Doubles y) {
  const LogParts parts = log_parts(y);
  return log_edges(y, log_series((parts.mantissa - 1.0) / (parts.mantissa + 1.0), parts.exponent));
}
inline Doubles log1p_of(Doubles x) {
  const Doubles y = x + 1.0;
  const LogParts parts = log_parts(y);
  const auto near_one = parts.exponent == 0.0;
  // Near one, y has lost the low bits of x.
  const Doubles above = near_one ? x : parts.mantissa - 1.0;
  const Doubles below = near_one ? x + 2.0 : parts.mantissa + 1.0;
  return with_sign_of(log_edges(y, log_series(above / below, parts.exponent)), x);
}

struct ExpVector {
  static Doubles apply(Doubles x) { return exp_of(x); }
};
struct Expm1Vector {
  static Doubles apply(Doubles x) { return expm1_of(x); }
};
struct LogVector {
  static Doubles apply(Doubles x) { return log_of(x); }
};
struct Log1pVector {
  static Doubles apply(Doubles x) { return x < -1.0 ? all(std::numeric_limits<double>::quiet_NaN()) : log1p_of(x); }
};
struct TanhVector {
  static Doubles apply(Doubles x) {
    const Doubles t = expm1_of(x + x);
    return t / (t + 2.0);
  }
};
struct SigmoidVector {
  static Doubles apply(Doubles x) { return 1.0 / (1.0 + exp_of(-x)); }
};
struct EluVector {
  static Doubles apply(Doubles x) { return x < 0.0 ? expm1_of(x) : x; }
};
struct SeluVector {
  static Doubles apply(Doubles x) { return x < 0.0 ? expm1_of(x) * kSeluScaleAlpha : x * kSeluScale; }
};
struct SoftplusVector {
  static Doubles apply(Doubles x) { return x > 100.0 ? x : log1p_of(exp_of(x)); }
};

template <class Op>
void vector_loop(const void* in, void* out, int64_t n, double) {
  const auto* x = static_cast<const char*>(in);
  auto* y = static_cast<char*>(out);
  constexpr int64_t kBytes = sizeof(Floats);
  Floats block;
  int64_t left = n * static_cast<int64_t>(sizeof(float));
  for (; left >= kBytes; left -= kBytes, x += kBytes, y += kBytes) {
    std::memcpy(&block, x, kBytes);
    block = __builtin_convertvector(Op::apply(__builtin_convertvector(block, Doubles)), Floats);
    std::memcpy(y, &block, kBytes);
  }
  if (left == 0) return;
  block = Floats{};
  std::memcpy(&block, x, static_cast<std::size_t>(left));
  block = __builtin_convertvector(Op::apply(__builtin_convertvector(block, Doubles)), Floats);
  std::memcpy(y, &block, static_cast<std::size_t>(left));
}

inline UnaryLoop::Fn vector_unary(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return unary_loop<float, NegFloat>;
    case UnaryOp::kAbs:
      return unary_loop<float, AbsFloat>;
    case UnaryOp::kSign:
      return unary_loop<float, Sign>;
    case UnaryOp::kSquare:
      return unary_loop<float, Square>;
    case UnaryOp::kSqrt:
      return unary_loop<float, Sqrt>;
    case UnaryOp::kRsqrt:
      return unary_loop<float, Rsqrt>;
    case UnaryOp::kReciprocal:
      return unary_loop<float, Reciprocal>;
    case UnaryOp::kFloor:
      return unary_loop<float, Floor>;
    case UnaryOp::kCeil:
      return unary_loop<float, Ceil>;
    case UnaryOp::kRound:
      return unary_loop<float, Round>;
    case UnaryOp::kRelu:
      return unary_loop<float, Relu>;
    case UnaryOp::kRelu6:
      return unary_loop<float, Relu6>;
    case UnaryOp::kLeakyRelu:
      return unary_loop<float, LeakyRelu>;
    case UnaryOp::kSoftsign:
      return unary_loop<float, Softsign>;
    case UnaryOp::kExp:
      return vector_loop<ExpVector>;
    case UnaryOp::kExpm1:
      return vector_loop<Expm1Vector>;
    case UnaryOp::kLog:
      return vector_loop<LogVector>;
    case UnaryOp::kLog1p:
      return vector_loop<Log1pVector>;
    case UnaryOp::kTanh:
      return vector_loop<TanhVector>;
    case UnaryOp::kSigmoid:
      return vector_loop<SigmoidVector>;
    case UnaryOp::kElu:
      return vector_loop<EluVector>;
    case UnaryOp::kSelu:
      return vector_loop<SeluVector>;
    case UnaryOp::kSoftplus:
      return vector_loop<SoftplusVector>;
    default:
      return nullptr;
  }
}

inline BinaryLoop::Fn vector_binary(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return binary_loop<float, Add>;
    case BinaryOp::kSub:
      return binary_loop<float, Sub>;
    case BinaryOp::kMul:
      return binary_loop<float, Mul>;
    case BinaryOp::kDiv:
    case BinaryOp::kRealDiv:
      return binary_loop<float, RealDiv>;
    case BinaryOp::kMaximum:
      return binary_loop<float, Maximum>;
    case BinaryOp::kMinimum:
      return binary_loop<float, Minimum>;
    case BinaryOp::kSquaredDifference:
      return binary_loop<float, SquaredDifference>;
    case BinaryOp::kReluGrad:
      return binary_loop<float, ReluGrad>;
    case BinaryOp::kRelu6Grad:
      return binary_loop<float, Relu6Grad>;
    case BinaryOp::kLeakyReluGrad:
      return binary_loop<float, LeakyReluGrad>;
    case BinaryOp::kEluGrad:
      return binary_loop<float, EluGrad>;
    case BinaryOp::kSeluGrad:
      return binary_loop<float, SeluGrad>;
    case BinaryOp::kTanhGrad:
      return binary_loop<float, TanhGrad>;
    case BinaryOp::kSigmoidGrad:
      return binary_loop<float, SigmoidGrad>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace caudal::inline v0::kernels
