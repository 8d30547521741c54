// The scalar operations and the loop templates behind elementwise.h. To be included by one file per instruction set,
// after its `#pragma GCC target`; everything here has internal linkage, so that no two files share code.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "caudal/kernels/elementwise.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

#define CAUDAL_UNARY(Name, expression)             \
  struct Name {                                    \
    template <class T>                             \
    static auto apply(T x, [[maybe_unused]] T p) { \
      return expression;                           \
    }                                              \
  }
CAUDAL_UNARY(Neg, wrap_sub<T>(T(0), x));
CAUDAL_UNARY(NegFloat, -x);
CAUDAL_UNARY(AbsInt, x < T(0) ? wrap_sub<T>(T(0), x) : x);
CAUDAL_UNARY(AbsFloat, std::abs(x));
CAUDAL_UNARY(Sign, x > T(0) ? T(1) : x < T(0) ? T(-1) : x != x ? x : T(0));
CAUDAL_UNARY(SignComplex, x == T(0) ? T(0) : x / std::abs(x));
CAUDAL_UNARY(Square, wrap_mul<T>(x, x));
CAUDAL_UNARY(Sqrt, std::sqrt(x));
CAUDAL_UNARY(Rsqrt, T(1) / std::sqrt(x));
CAUDAL_UNARY(Reciprocal, T(1) / x);
CAUDAL_UNARY(Exp, std::exp(x));
CAUDAL_UNARY(Expm1, std::expm1(x));
CAUDAL_UNARY(Log, std::log(x));
CAUDAL_UNARY(Log1p, std::log1p(x));
CAUDAL_UNARY(Sin, std::sin(x));
CAUDAL_UNARY(Cos, std::cos(x));
CAUDAL_UNARY(Tan, std::tan(x));
CAUDAL_UNARY(Asin, std::asin(x));
CAUDAL_UNARY(Acos, std::acos(x));
CAUDAL_UNARY(Atan, std::atan(x));
CAUDAL_UNARY(Sinh, std::sinh(x));
CAUDAL_UNARY(Cosh, std::cosh(x));
CAUDAL_UNARY(Tanh, std::tanh(x));
CAUDAL_UNARY(Asinh, std::asinh(x));
CAUDAL_UNARY(Acosh, std::acosh(x));
CAUDAL_UNARY(Atanh, std::atanh(x));
CAUDAL_UNARY(Erf, std::erf(x));
CAUDAL_UNARY(Erfc, std::erfc(x));
CAUDAL_UNARY(Floor, std::floor(x));
CAUDAL_UNARY(Ceil, std::ceil(x));
CAUDAL_UNARY(Round, std::nearbyint(x));
CAUDAL_UNARY(Same, x);
CAUDAL_UNARY(Sigmoid, T(1) / (T(1) + std::exp(-x)));
CAUDAL_UNARY(Relu, x <= T(0) ? T(0) : x);
CAUDAL_UNARY(Relu6, x <= T(0) ? T(0) : x >= T(6) ? T(6) : x);
CAUDAL_UNARY(LeakyRelu, x > T(0) ? x : T(p * x));
CAUDAL_UNARY(Elu, x < T(0) ? std::expm1(x) : x);
CAUDAL_UNARY(Selu, x < T(0) ? T(kSeluScaleAlpha) * std::expm1(x) : T(kSeluScale) * x);
CAUDAL_UNARY(Softplus, x > T(0) ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
CAUDAL_UNARY(Softsign, x / (T(1) + std::abs(x)));
CAUDAL_UNARY(IsNan, x != x);
CAUDAL_UNARY(IsInf, std::abs(x) == std::numeric_limits<T>::infinity());
CAUDAL_UNARY(IsFinite, std::abs(x) < std::numeric_limits<T>::infinity());
CAUDAL_UNARY(LogicalNot, !x);
CAUDAL_UNARY(Invert, static_cast<T>(~x));
CAUDAL_UNARY(Conj, std::conj(x));
#undef CAUDAL_UNARY

// std::lgamma writes a global; this one does not.
struct Lgamma {
  static float apply(float x, float) {
    int sign;
    return lgammaf_r(x, &sign);
  }
  static double apply(double x, double) {
    int sign;
    return lgamma_r(x, &sign);
  }
};

// std:: has no complex forms of these two.
struct Expm1Complex {
  template <class T>
  static T apply(T x, T) {
    const auto half = std::sin(x.imag() / 2), real = std::expm1(x.real());
    return T(real * std::cos(x.imag()) - 2 * half * half, (real + 1) * std::sin(x.imag()));
  }
};
struct Log1pComplex {
  template <class T>
  static T apply(T x, T) {
    const auto r = x.real(), i = x.imag();
    return T(std::log1p(r * (2 + r) + i * i) / 2, std::atan2(i, 1 + r));
  }
};

struct Xlog1pyComplex {
  template <class T>
  static T apply(T x, T y, T p) {
    return x == T(0) ? x : wrap_mul<T>(x, Log1pComplex::apply<T>(y, p));
  }
};

#define CAUDAL_BINARY(Name, expression)                 \
  struct Name {                                         \
    template <class T>                                  \
    static auto apply(T x, T y, [[maybe_unused]] T p) { \
      return expression;                                \
    }                                                   \
  }
CAUDAL_BINARY(Add, wrap_add<T>(x, y));
CAUDAL_BINARY(Sub, wrap_sub<T>(x, y));
CAUDAL_BINARY(Mul, wrap_mul<T>(x, y));
CAUDAL_BINARY(RealDiv, x / y);
CAUDAL_BINARY(DivNoNan, y == T(0) ? T(0) : x / y);
CAUDAL_BINARY(MulNoNan, y == T(0) ? T(0) : wrap_mul<T>(x, y));
CAUDAL_BINARY(FloorDivFloat, std::floor(x / y));
CAUDAL_BINARY(TruncateDivFloat, std::trunc(x / y));
CAUDAL_BINARY(ModFloat, std::fmod(x, y));
CAUDAL_BINARY(PowFloat, std::pow(x, y));
CAUDAL_BINARY(Maximum, x >= y || x != x ? x : y);
CAUDAL_BINARY(Minimum, x <= y || x != x ? x : y);
CAUDAL_BINARY(SquaredDifference, wrap_mul<T>(wrap_sub<T>(x, y), conjugate<T>(wrap_sub<T>(x, y))));
CAUDAL_BINARY(Xdivy, x == T(0) ? x : x / y);
CAUDAL_BINARY(Xlogy, x == T(0) ? x : wrap_mul<T>(x, std::log(y)));
CAUDAL_BINARY(Xlog1py, x == T(0) ? x : x * std::log1p(y));
CAUDAL_BINARY(Atan2, std::atan2(x, y));
CAUDAL_BINARY(Less, x < y);
CAUDAL_BINARY(LessEqual, x <= y);
CAUDAL_BINARY(Greater, x > y);
CAUDAL_BINARY(GreaterEqual, x >= y);
CAUDAL_BINARY(Equal, x == y);
CAUDAL_BINARY(NotEqual, x != y);
CAUDAL_BINARY(And, static_cast<T>(x& y));
CAUDAL_BINARY(Or, static_cast<T>(x | y));
CAUDAL_BINARY(Xor, static_cast<T>(x ^ y));
CAUDAL_BINARY(ReluGrad, y > T(0) ? x : T(0));
CAUDAL_BINARY(Relu6Grad, y > T(0) && y < T(6) ? x : T(0));
CAUDAL_BINARY(LeakyReluGrad, y > T(0) ? x : T(p * x));
CAUDAL_BINARY(SoftplusGrad, x / (std::exp(-y) + T(1)));
CAUDAL_BINARY(SoftsignGrad, x / ((T(1) + std::abs(y)) * (T(1) + std::abs(y))));
CAUDAL_BINARY(EluGrad, y < T(0) ? x * (y + T(1)) : x);
CAUDAL_BINARY(SeluGrad, y < T(0) ? x * (y + T(kSeluScaleAlpha)) : x * T(kSeluScale));
// These two do not conjugate: their callers do, as in TensorFlow.
CAUDAL_BINARY(TanhGrad, wrap_mul<T>(y, T(1) - wrap_mul<T>(x, x)));
CAUDAL_BINARY(SigmoidGrad, wrap_mul<T>(wrap_mul<T>(y, x), T(1) - x));
CAUDAL_BINARY(SqrtGrad, T(0.5) * y / conjugate<T>(x));
CAUDAL_BINARY(RsqrtGrad, wrap_mul<T>(T(-0.5) * wrap_mul<T>(y, conjugate<T>(x)), conjugate<T>(wrap_mul<T>(x, x))));
CAUDAL_BINARY(ReciprocalGrad, wrap_mul<T>(-y, conjugate<T>(wrap_mul<T>(x, x))));
#undef CAUDAL_BINARY

struct FloorModFloat {
  template <class T>
  static T apply(T x, T y, T) {
    const T rest = std::fmod(x, y);
    return rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest;
  }
};

// The shift count is clamped to what the type has, as TensorFlow does.
template <class T>
int shift_count(T count) {
  constexpr int kTop = std::numeric_limits<std::make_unsigned_t<T>>::digits - 1;
  return count < T(0) ? 0 : count > T(kTop) ? kTop : static_cast<int>(count);
}
struct LeftShift {
  template <class T>
  static T apply(T x, T y, T) {
    return static_cast<T>(static_cast<Wrapping<T>>(x) << shift_count(y));
  }
};
struct RightShift {
  template <class T>
  static T apply(T x, T y, T) {
    return static_cast<T>(x >> shift_count(y));
  }
};

// Integer operations that can fail: `fault` is set, the result is 0.
struct DivInt {
  template <class T>
  static T apply(T x, T y, T, bool& fault) {
    if (y == T(0)) return fault = true, T(0);
    if (std::is_signed_v<T> && y == T(-1)) return wrap_sub<T>(T(0), x);
    return static_cast<T>(x / y);
  }
};
struct ModInt {
  template <class T>
  static T apply(T x, T y, T, bool& fault) {
    if (y == T(0)) return fault = true, T(0);
    if (std::is_signed_v<T> && y == T(-1)) return T(0);
    return static_cast<T>(x % y);
  }
};
struct FloorDivInt {
  template <class T>
  static T apply(T x, T y, T p, bool& fault) {
    const T quotient = DivInt::apply<T>(x, y, p, fault);
    if (fault || (x < T(0)) == (y < T(0)) || ModInt::apply<T>(x, y, p, fault) == T(0)) return quotient;
    return static_cast<T>(quotient - 1);
  }
};
struct FloorModInt {
  template <class T>
  static T apply(T x, T y, T p, bool& fault) {
    const T rest = ModInt::apply<T>(x, y, p, fault);
    return rest != T(0) && (rest < T(0)) != (y < T(0)) ? static_cast<T>(rest + y) : rest;
  }
};
struct PowInt {
  template <class T>
  static T apply(T x, T y, T, bool& fault) {
    if (y < T(0)) return fault = true, T(0);
    T result = 1;
    for (auto n = static_cast<Wrapping<T>>(y); n != 0; n >>= 1) {
      if (n & 1) result = wrap_mul<T>(result, x);
      x = wrap_mul<T>(x, x);
    }
    return result;
  }
};

template <class T, class Op>
void unary_loop(const void* in, void* out, int64_t n, double parameter) {
  using R = decltype(Op::apply(T{}, T{}));
  const auto* x = static_cast<const T*>(in);
  auto* y = static_cast<R*>(out);
  const T p = static_cast<T>(parameter);
  // Same-index aliasing only, which is no dependence between iterations.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::apply(x[i], p);
}

template <class T, class Op, class = void>
struct Apply {
  using R = decltype(Op::apply(T{}, T{}, T{}));
  static R call(T x, T y, T p, bool&) { return Op::apply(x, y, p); }
};
template <class T, class Op>
struct Apply<T, Op, std::void_t<decltype(Op::apply(T{}, T{}, T{}, std::declval<bool&>()))>> {
  using R = T;
  // Each element's own flag: a fault must not change what later elements get.
  static R call(T x, T y, T p, bool& any) {
    bool fault = false;
    const R result = Op::apply(x, y, p, fault);
    any |= fault;
    return result;
  }
};

template <class T, class Op>
bool binary_loop(const void* a, int64_t stride_a, const void* b, int64_t stride_b, void* out, int64_t n,
                 double parameter) {
  using Call = Apply<T, Op>;
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  auto* z = static_cast<typename Call::R*>(out);
  const T p = static_cast<T>(parameter);
  bool fault = false;
  if (n <= 0) return true;
  if (stride_a != 0 && stride_b != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) z[i] = Call::call(x[i], y[i], p, fault);
  } else if (stride_a != 0) {
    const T right = *y;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) z[i] = Call::call(x[i], right, p, fault);
  } else if (stride_b != 0) {
    const T left = *x;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) z[i] = Call::call(left, y[i], p, fault);
  } else {
    const auto value = Call::call(*x, *y, p, fault);
    for (int64_t i = 0; i < n; ++i) z[i] = value;
  }
  return !fault;
}

}  // namespace
}  // namespace caudal::inline v0::kernels
