#include <complex>
#include <vector>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/gemm.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

template <class T>
Wide<T> conjugate(Wide<T> value, bool wanted) {
  if constexpr (kIsComplex<T>) {
    if (wanted) return std::conj(value);
  }
  return value;
}

template <class T>
Wide<T> scalar(double value) {
  return static_cast<Wide<T>>(static_cast<std::conditional_t<std::is_integral_v<T>, int64_t, double>>(value));
}

template <class T>
void finish_row(const GemmShape& shape, const GemmTail& tail, const Wide<T>* sums, T* c, const T* gate) {
  using W = Wide<T>;
  const auto* bias = static_cast<const T*>(tail.bias);
  const W alpha = scalar<T>(tail.alpha), beta = scalar<T>(tail.beta);
  for (int64_t j = 0; j < shape.n; ++j) {
    W value = tail.alpha == 1 ? sums[j] : wrap_mul<W>(alpha, sums[j]);
    if (tail.beta != 0) value = wrap_add<W>(value, wrap_mul<W>(beta, static_cast<W>(c[j])));
    if (bias != nullptr) value = wrap_add<W>(value, static_cast<W>(bias[j]));
    if constexpr (!kIsComplex<T>) {
      if (tail.relu && value < W{0}) value = W{0};
      if (gate != nullptr && !(static_cast<W>(gate[j]) > W{0})) value = W{0};
    }
    c[j] = static_cast<T>(value);
  }
}

template <class T>
void rows(const GemmShape& shape, const T* a, const T* b, T* c, const GemmTail& tail, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const int64_t lda = shape.lda != 0 ? shape.lda : shape.transpose_a ? shape.m : shape.k;
  const int64_t ldb = shape.ldb != 0 ? shape.ldb : shape.transpose_b ? shape.k : shape.n;
  const int64_t ldc = shape.ldc != 0 ? shape.ldc : shape.n;
  const int64_t a_row = shape.transpose_a ? 1 : lda, a_col = shape.transpose_a ? lda : 1;
  const auto* gate = static_cast<const T*>(tail.gate);
  std::vector<W> sums(static_cast<std::size_t>(shape.n));
  for (int64_t i = begin; i < end; ++i) {
    sums.assign(sums.size(), W{});
    if (shape.transpose_b) {
      for (int64_t j = 0; j < shape.n; ++j) {
        W sum{};
        for (int64_t p = 0; p < shape.k; ++p) {
          const W left = conjugate<T>(static_cast<W>(a[i * a_row + p * a_col]), shape.conjugate_a);
          sum = wrap_add<W>(sum, wrap_mul<W>(left, conjugate<T>(static_cast<W>(b[j * ldb + p]), shape.conjugate_b)));
        }
        sums[j] = sum;
      }
    } else {
      for (int64_t p = 0; p < shape.k; ++p) {
        const W left = conjugate<T>(static_cast<W>(a[i * a_row + p * a_col]), shape.conjugate_a);
        for (int64_t j = 0; j < shape.n; ++j) {
          sums[j] =
              wrap_add<W>(sums[j], wrap_mul<W>(left, conjugate<T>(static_cast<W>(b[p * ldb + j]), shape.conjugate_b)));
        }
      }
    }
    finish_row<T>(shape, tail, sums.data(), c + i * ldc, gate != nullptr ? gate + i * ldc : nullptr);
  }
}

}  // namespace

void gemm_reference(ThreadPool& pool, DType dtype, const GemmShape& shape, const void* a, const void* b, void* c,
                    const GemmTail& tail) {
  if (shape.n == 0) return;
  dispatch(NumberTypes{}, dtype, "matrix product", [&]<class T>() {
    const int64_t grain = 1 + 65536 / (1 + shape.n * shape.k);
    pool.parallel_for(shape.m, grain, [&](int64_t begin, int64_t end) {
      rows<T>(shape, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), tail, begin, end);
    });
  });
}

}  // namespace caudal::inline v0::kernels
