// LAPACK's drivers behind one table (caudal/ops/linalg_module.h).
#include <complex>
#include <vector>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "caudal/ops/linalg_module.h"

namespace caudal::inline v0 {
namespace {

using C = std::complex<float>;
using Z = std::complex<double>;

template <class T>
T* as(void* p) {
  return static_cast<T*>(p);
}
template <class T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}

constexpr int kRows = LAPACK_ROW_MAJOR;
constexpr int kUnknownType = 1;

int qr(char type, int m, int n, void* a, void* tau) {
  switch (type) {
    case 's':
      return LAPACKE_sgeqrf(kRows, m, n, as<float>(a), n, as<float>(tau));
    case 'd':
      return LAPACKE_dgeqrf(kRows, m, n, as<double>(a), n, as<double>(tau));
    case 'c':
      return LAPACKE_cgeqrf(kRows, m, n, as<C>(a), n, as<C>(tau));
    case 'z':
      return LAPACKE_zgeqrf(kRows, m, n, as<Z>(a), n, as<Z>(tau));
  }
  return kUnknownType;
}

int form_q(char type, int m, int k, int reflectors, void* a, const void* tau) {
  switch (type) {
    case 's':
      return LAPACKE_sorgqr(kRows, m, k, reflectors, as<float>(a), k, as<float>(tau));
    case 'd':
      return LAPACKE_dorgqr(kRows, m, k, reflectors, as<double>(a), k, as<double>(tau));
    case 'c':
      return LAPACKE_cungqr(kRows, m, k, reflectors, as<C>(a), k, as<C>(tau));
    case 'z':
      return LAPACKE_zungqr(kRows, m, k, reflectors, as<Z>(a), k, as<Z>(tau));
  }
  return kUnknownType;
}

int eigh(char type, bool vectors, int n, void* a, void* w) {
  const char job = vectors ? 'V' : 'N';
  switch (type) {
    case 's':
      return LAPACKE_ssyevd(kRows, job, 'L', n, as<float>(a), n, as<float>(w));
    case 'd':
      return LAPACKE_dsyevd(kRows, job, 'L', n, as<double>(a), n, as<double>(w));
    case 'c':
      return LAPACKE_cheevd(kRows, job, 'L', n, as<C>(a), n, as<float>(w));
    case 'z':
      return LAPACKE_zheevd(kRows, job, 'L', n, as<Z>(a), n, as<double>(w));
  }
  return kUnknownType;
}

int svd(char type, char job, int m, int n, void* a, void* s, void* u, void* vt) {
  const int least = m < n ? m : n;
  const int u_columns = job == 'A' ? m : job == 'S' ? least : 1;
  switch (type) {
    case 's':
      return LAPACKE_sgesdd(kRows, job, m, n, as<float>(a), n, as<float>(s), as<float>(u), u_columns, as<float>(vt), n);
    case 'd':
      return LAPACKE_dgesdd(kRows, job, m, n, as<double>(a), n, as<double>(s), as<double>(u), u_columns, as<double>(vt),
                            n);
    case 'c':
      return LAPACKE_cgesdd(kRows, job, m, n, as<C>(a), n, as<float>(s), as<C>(u), u_columns, as<C>(vt), n);
    case 'z':
      return LAPACKE_zgesdd(kRows, job, m, n, as<Z>(a), n, as<double>(s), as<Z>(u), u_columns, as<Z>(vt), n);
  }
  return kUnknownType;
}

// LAPACK gives real matrices' conjugate pairs as the real and imaginary parts of one vector in two columns.
template <class T, class Driver>
int real_eig(Driver driver, int n, T* a, std::complex<T>* w, std::complex<T>* v) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<T> real(size), imag(size), packed(v != nullptr ? size * size : 1);
  const int info =
      driver(kRows, 'N', v != nullptr ? 'V' : 'N', n, a, n, real.data(), imag.data(), nullptr, n, packed.data(), n);
  if (info != 0) return info;
  for (std::size_t j = 0; j < size; ++j) w[j] = {real[j], imag[j]};
  if (v == nullptr) return 0;
  for (std::size_t j = 0; j < size; ++j) {
    const bool pair = imag[j] != 0 && j + 1 < size;
    for (std::size_t i = 0; i < size; ++i) {
      const T x = packed[i * size + j], y = pair ? packed[i * size + j + 1] : T{};
      v[i * size + j] = {x, y};
      if (pair) v[i * size + j + 1] = {x, -y};
    }
    if (pair) ++j;
  }
  return 0;
}

int eig(char type, int n, void* a, void* w, void* v) {
  const char job = v != nullptr ? 'V' : 'N';
  switch (type) {
    case 's':
      return real_eig(LAPACKE_sgeev, n, as<float>(a), as<C>(w), as<C>(v));
    case 'd':
      return real_eig(LAPACKE_dgeev, n, as<double>(a), as<Z>(w), as<Z>(v));
    case 'c':
      return LAPACKE_cgeev(kRows, 'N', job, n, as<C>(a), n, as<C>(w), nullptr, n, as<C>(v), n);
    case 'z':
      return LAPACKE_zgeev(kRows, 'N', job, n, as<Z>(a), n, as<Z>(w), nullptr, n, as<Z>(v), n);
  }
  return kUnknownType;
}

int schur(char type, int n, void* a, void* w, void* v) {
  int sorted = 0;
  switch (type) {
    case 'c':
      return LAPACKE_cgees(kRows, 'V', 'N', nullptr, n, as<C>(a), n, &sorted, as<C>(w), as<C>(v), n);
    case 'z':
      return LAPACKE_zgees(kRows, 'V', 'N', nullptr, n, as<Z>(a), n, &sorted, as<Z>(w), as<Z>(v), n);
  }
  return kUnknownType;
}

int least_squares(char type, int m, int n, int k, void* a, void* b, double rank_tolerance) {
  std::vector<int> pivots(static_cast<std::size_t>(n), 0);
  int rank = 0;
  const auto tolerance = static_cast<float>(rank_tolerance);
  switch (type) {
    case 's':
      return LAPACKE_sgelsy(kRows, m, n, k, as<float>(a), n, as<float>(b), k, pivots.data(), tolerance, &rank);
    case 'd':
      return LAPACKE_dgelsy(kRows, m, n, k, as<double>(a), n, as<double>(b), k, pivots.data(), rank_tolerance, &rank);
    case 'c':
      return LAPACKE_cgelsy(kRows, m, n, k, as<C>(a), n, as<C>(b), k, pivots.data(), tolerance, &rank);
    case 'z':
      return LAPACKE_zgelsy(kRows, m, n, k, as<Z>(a), n, as<Z>(b), k, pivots.data(), rank_tolerance, &rank);
  }
  return kUnknownType;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const LinalgModule* caudal_linalg_1() {
  static constexpr LinalgModule kTable = {qr, form_q, eigh, svd, eig, schur, least_squares};
  return &kTable;
}

}  // namespace caudal::inline v0
