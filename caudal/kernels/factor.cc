#include "caudal/kernels/factor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "caudal/kernels/gemm.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kBlock = 48;

template <class T>
T conj_of(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
template <class T>
auto real_of(T x) {
  if constexpr (kIsComplex<T>) {
    return x.real();
  } else {
    return x;
  }
}

// y -= factor * x.
template <class T>
void subtract_scaled(T* y, T factor, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] -= wrap_mul(factor, x[i]);
}

// c -= op(a) op(b); parts of matrices with their own distances between rows.
template <class T>
void subtract_product(ThreadPool& pool, GemmShape shape, const T* a, const T* b, T* c) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  gemm(pool, dtype_of<T>(), shape, a, b, c, {.alpha = -1, .beta = 1});
}

template <class T>
T element(const Triangle& t, const T* a, int64_t n, int64_t row, int64_t col) {
  return t.adjoint ? conj_of(a[col * n + row]) : a[row * n + col];
}

// The rows [begin, end) of the solution, once all before them are taken into account.
template <class T>
void solve_block(const Triangle& t, const T* a, int64_t n, T* b, int64_t m, int64_t begin, int64_t end) {
  const bool forward = t.lower != t.adjoint;
  for (int64_t step = 0; step < end - begin; ++step) {
    const int64_t i = forward ? begin + step : end - 1 - step;
    const int64_t first = forward ? begin : i + 1, last = forward ? i : end;
    for (int64_t j = first; j < last; ++j) subtract_scaled(b + i * m, element(t, a, n, i, j), b + j * m, m);
    if (t.unit_diagonal) continue;
    const T pivot = element(t, a, n, i, i);
    for (int64_t k = 0; k < m; ++k) b[i * m + k] /= pivot;
  }
}

// Columns [begin, end) of a[n,n], from row `begin` on; rows are exchanged over the whole width.
template <class T>
int lu_panel(T* a, int64_t n, int64_t begin, int64_t end, int64_t* rows) {
  int sign = 1;
  for (int64_t k = begin; k < end; ++k) {
    int64_t pivot = k;
    auto largest = std::abs(a[k * n + k]);
    for (int64_t i = k + 1; i < n; ++i) {
      const auto size = std::abs(a[i * n + k]);
      if (size > largest) {
        largest = size;
        pivot = i;
      }
    }
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      std::swap(rows[k], rows[pivot]);
      sign = -sign;
    }
    if (largest == 0) continue;
    const T diagonal = a[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      T& factor = a[i * n + k];
      factor /= diagonal;
      subtract_scaled(a + i * n + k + 1, factor, a + k * n + k + 1, end - k - 1);
    }
  }
  return sign;
}

// Rows and columns [begin, end) of the lower triangle, the columns before them being done.
template <class T>
bool cholesky_block(T* a, int64_t n, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    auto pivot = real_of(a[j * n + j]);
    for (int64_t k = begin; k < j; ++k) pivot -= std::norm(a[j * n + k]);
    if (pivot <= 0) return false;
    const auto root = std::sqrt(pivot);
    a[j * n + j] = root;
    for (int64_t i = j + 1; i < end; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = begin; k < j; ++k) sum -= wrap_mul(a[i * n + k], conj_of(a[j * n + k]));
      a[i * n + j] = sum / root;
    }
  }
  return true;
}

}  // namespace

template <class T>
int lu(ThreadPool& pool, T* a, int64_t n, int64_t* rows) {
  for (int64_t i = 0; i < n; ++i) rows[i] = i;
  int sign = 1;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n), width = end - begin, rest = n - end;
    sign *= lu_panel(a, n, begin, end, rows);
    // U of the panel's rows: L is the panel's triangle, with ones on the diagonal.
    for (int64_t i = begin + 1; i < end; ++i) {
      for (int64_t j = begin; j < i; ++j) subtract_scaled(a + i * n + end, a[i * n + j], a + j * n + end, rest);
    }
    subtract_product(pool, {.m = rest, .n = rest, .k = width, .lda = n, .ldb = n, .ldc = n}, a + end * n + begin,
                     a + begin * n + end, a + end * n + end);
  }
  return sign;
}

template <class T>
bool cholesky(ThreadPool& pool, T* a, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n), width = end - begin;
    // Everything left of the block, for the rows from here on.
    subtract_product(pool,
                     {.m = n - begin,
                      .n = width,
                      .k = begin,
                      .transpose_b = true,
                      .lda = n,
                      .ldb = n,
                      .ldc = n,
                      .conjugate_b = kIsComplex<T>},
                     a + begin * n, a + begin * n, a + begin * n + begin);
    if (!cholesky_block(a, n, begin, end)) return false;
    for (int64_t i = end; i < n; ++i) {
      for (int64_t j = begin; j < end; ++j) {
        T sum = a[i * n + j];
        for (int64_t k = begin; k < j; ++k) sum -= wrap_mul(a[i * n + k], conj_of(a[j * n + k]));
        a[i * n + j] = sum / real_of(a[j * n + j]);
      }
    }
  }
  return true;
}

template <class T>
void triangular_solve(ThreadPool& pool, const Triangle& triangle, const T* a, int64_t n, T* b, int64_t m) {
  const bool forward = triangle.lower != triangle.adjoint;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  for (int64_t step = 0; step < blocks; ++step) {
    const int64_t block = forward ? step : blocks - 1 - step;
    const int64_t begin = block * kBlock, end = std::min(begin + kBlock, n);
    solve_block(triangle, a, n, b, m, begin, end);
    const int64_t first = forward ? end : 0, last = forward ? n : begin;
    const T* part = triangle.adjoint ? a + begin * n + first : a + first * n + begin;
    subtract_product(pool,
                     {.m = last - first,
                      .n = m,
                      .k = end - begin,
                      .transpose_a = triangle.adjoint,
                      .lda = n,
                      .conjugate_a = triangle.adjoint && kIsComplex<T>},
                     part, b + begin * m, b + first * m);
  }
}

template <class T>
void lu_solve(ThreadPool& pool, bool adjoint, const T* factors, const int64_t* rows, int64_t n, const T* b, T* x,
              int64_t m) {
  const Triangle lower{.lower = true, .adjoint = adjoint, .unit_diagonal = true},
      upper{.lower = false, .adjoint = adjoint};
  if (!adjoint) {
    for (int64_t i = 0; i < n; ++i) std::copy_n(b + rows[i] * m, m, x + i * m);
    triangular_solve(pool, lower, factors, n, x, m);
    triangular_solve(pool, upper, factors, n, x, m);
    return;
  }
  std::vector<T> y(b, b + n * m);
  triangular_solve(pool, upper, factors, n, y.data(), m);
  triangular_solve(pool, lower, factors, n, y.data(), m);
  for (int64_t i = 0; i < n; ++i) std::copy_n(y.data() + i * m, m, x + rows[i] * m);
}

#define CAUDAL_DEFINE_FACTOR(T)                                                                 \
  template int lu(ThreadPool&, T*, int64_t, int64_t*);                                          \
  template bool cholesky(ThreadPool&, T*, int64_t);                                             \
  template void triangular_solve(ThreadPool&, const Triangle&, const T*, int64_t, T*, int64_t); \
  template void lu_solve(ThreadPool&, bool, const T*, const int64_t*, int64_t, const T*, T*, int64_t);
CAUDAL_FACTOR_TYPES(CAUDAL_DEFINE_FACTOR)
#undef CAUDAL_DEFINE_FACTOR

}  // namespace caudal::inline v0::kernels
