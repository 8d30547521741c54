#include "caudal/kernels/reduce_kernels.h"

#include <complex>
#include <limits>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

template <class T>
using SumType = std::conditional_t<kIsComplex<T>, std::complex<double>, std::conditional_t<kIsReal<T>, double, T>>;

struct SumOf {
  template <class T>
  using Acc = SumType<T>;
  template <class A>
  static A neutral() {
    return A(0);
  }
  template <class A>
  static A apply(A a, A b) {
    return wrap_add<A>(a, b);
  }
};
// Means of integers do not wrap on the way, as TensorFlow's do not.
struct MeanSumOf : SumOf {
  template <class T>
  using Acc =
      std::conditional_t<std::is_integral_v<T>, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>, SumType<T>>;
};
struct ProductOf {
  template <class T>
  using Acc = SumType<T>;
  template <class A>
  static A neutral() {
    return A(1);
  }
  template <class A>
  static A apply(A a, A b) {
    return wrap_mul<A>(a, b);
  }
};
struct MaxOf {
  template <class T>
  using Acc = Wide<T>;
  template <class A>
  static A neutral() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class A>
  static A apply(A a, A b) {
    return b > a || b != b ? b : a;
  }
};
struct MinOf {
  template <class T>
  using Acc = Wide<T>;
  template <class A>
  static A neutral() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class A>
  static A apply(A a, A b) {
    return b < a || b != b ? b : a;
  }
};
struct AllOf {
  template <class T>
  using Acc = bool;
  template <class A>
  static A neutral() {
    return true;
  }
  template <class A>
  static A apply(A a, A b) {
    return a & b;
  }
};
struct AnyOf {
  template <class T>
  using Acc = bool;
  template <class A>
  static A neutral() {
    return false;
  }
  template <class A>
  static A apply(A a, A b) {
    return a | b;
  }
};

template <class T, class Op>
struct Loops {
  using A = typename Op::template Acc<T>;

  static void init(void* acc, int64_t n) {
    for (int64_t j = 0; j < n; ++j) static_cast<A*>(acc)[j] = Op::template neutral<A>();
  }

  // Sixteen running values, halves of long stretches apart: fast, and rounding errors grow with log n.
  static A range(const T* in, int64_t n) {
    constexpr int kLanes = 16;
    if (n > 4096) {
      const int64_t half = n / 2 / kLanes * kLanes;
      return Op::template apply<A>(range(in, half), range(in + half, n - half));
    }
    A lanes[kLanes];
    for (A& lane : lanes) lane = Op::template neutral<A>();
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int u = 0; u < kLanes; ++u)
        lanes[u] = Op::template apply<A>(lanes[u], static_cast<A>(static_cast<Wide<T>>(in[i + u])));
    }
    for (int u = 0; i < n; ++i, ++u)
      lanes[u] = Op::template apply<A>(lanes[u], static_cast<A>(static_cast<Wide<T>>(in[i])));
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int u = 0; u < width; ++u) lanes[u] = Op::template apply<A>(lanes[u], lanes[u + width]);
    }
    return lanes[0];
  }

  static void row(const void* in, int64_t n, void* acc) {
    A& total = *static_cast<A*>(acc);
    total = Op::template apply<A>(total, range(static_cast<const T*>(in), n));
  }
  static void column(const void* in, int64_t n, void* acc) {
    auto* total = static_cast<A*>(acc);
    const auto* source = static_cast<const T*>(in);
    for (int64_t j = 0; j < n; ++j)
      total[j] = Op::template apply<A>(total[j], static_cast<A>(static_cast<Wide<T>>(source[j])));
  }
  static void combine(const void* partial, int64_t n, void* acc) {
    auto* total = static_cast<A*>(acc);
    const auto* source = static_cast<const A*>(partial);
    for (int64_t j = 0; j < n; ++j) total[j] = Op::template apply<A>(total[j], source[j]);
  }
  static void finish(const void* acc, int64_t n, int64_t, void* out) {
    for (int64_t j = 0; j < n; ++j) static_cast<T*>(out)[j] = static_cast<T>(static_cast<const A*>(acc)[j]);
  }
  static void finish_mean(const void* acc, int64_t n, int64_t count, void* out) {
    const auto* total = static_cast<const A*>(acc);
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (std::is_integral_v<T>) {
        static_cast<T*>(out)[j] = count == 0 ? T(0) : static_cast<T>(total[j] / static_cast<A>(count));
      } else {
        // The mean of no complex numbers is 0 in TensorFlow, that of no real ones NaN.
        const bool none = kIsComplex<T> && count == 0;
        static_cast<T*>(out)[j] = none ? T(0) : static_cast<T>(total[j] / static_cast<double>(count));
      }
    }
  }

  static ReduceKernels kernels() {
    if constexpr (std::is_same_v<Op, MeanSumOf>) {
      return {sizeof(T), sizeof(A), sizeof(T), init, row, column, combine, finish_mean};
    }
    return {sizeof(T), sizeof(A), sizeof(T), init, row, column, combine, finish};
  }
};

}  // namespace

ReduceKernels reduce_kernels(ReduceOp op, DType dtype) {
  ReduceKernels kernels;
  switch (op) {
    case ReduceOp::kSum:
      dispatch(NumberTypes{}, dtype, "sum", [&]<class T>() { kernels = Loops<T, SumOf>::kernels(); });
      break;
    case ReduceOp::kMean:
      dispatch(NumberTypes{}, dtype, "mean", [&]<class T>() { kernels = Loops<T, MeanSumOf>::kernels(); });
      break;
    case ReduceOp::kProd:
      dispatch(NumberTypes{}, dtype, "product", [&]<class T>() { kernels = Loops<T, ProductOf>::kernels(); });
      break;
    case ReduceOp::kMax:
      dispatch(RealTypes{}, dtype, "maximum", [&]<class T>() { kernels = Loops<T, MaxOf>::kernels(); });
      break;
    case ReduceOp::kMin:
      dispatch(RealTypes{}, dtype, "minimum", [&]<class T>() { kernels = Loops<T, MinOf>::kernels(); });
      break;
    case ReduceOp::kAll:
      dispatch(TypeList<bool>{}, dtype, "all", [&]<class T>() { kernels = Loops<T, AllOf>::kernels(); });
      break;
    case ReduceOp::kAny:
      dispatch(TypeList<bool>{}, dtype, "any", [&]<class T>() { kernels = Loops<T, AnyOf>::kernels(); });
      break;
  }
  return kernels;
}

}  // namespace caudal::inline v0::kernels
