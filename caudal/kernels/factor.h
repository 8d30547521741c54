// Factorisations of dense square matrices and the solution of linear systems with them, for float, double, complex64
// and complex128; row-major. Blocked, the bulk of the work in gemm().
//
// Results do not depend on the number of threads. Thread safety: all functions, on different outputs. Memory is the
// caller's. G. Golub, C. Van Loan, "Matrix Computations", chapters 3 and 4.
#pragma once

#include <complex>
#include <cstdint>

#include "caudal/base/thread_pool.h"

namespace caudal::inline v0::kernels {

// How the triangle of `triangular_solve` is read.
struct Triangle {
  bool lower = true;
  bool adjoint = false;        // the conjugate transpose of the triangle is meant
  bool unit_diagonal = false;  // ones, whatever is stored
};

// a[n,n] becomes L (below the diagonal, which is 1) and U with P a = L U by partial pivoting; rows[i] is the row of `a`
// that became row i. Returns the sign of the permutation. Singular matrices have a zero on U's diagonal.
template <class T>
int lu(ThreadPool& pool, T* a, int64_t n, int64_t* rows);

// The lower triangle of a[n,n], taken as that of a Hermitian matrix, becomes L with L L^H = a; what lies above stays.
// False if the matrix is not positive definite; `a` is then unspecified.
template <class T>
[[nodiscard]] bool cholesky(ThreadPool& pool, T* a, int64_t n);

// b[n,m] becomes the solution x of A x = b, where A is the triangle of a[n,n].
template <class T>
void triangular_solve(ThreadPool& pool, const Triangle& triangle, const T* a, int64_t n, T* b, int64_t m);

// x[n,m] becomes the solution of A x = b (of A^H x = b) from the factors of lu().
template <class T>
void lu_solve(ThreadPool& pool, bool adjoint, const T* factors, const int64_t* rows, int64_t n, const T* b, T* x,
              int64_t m);

#define CAUDAL_FACTOR_TYPES(declare) \
  declare(float) declare(double) declare(std::complex<float>) declare(std::complex<double>)
#define CAUDAL_DECLARE_FACTOR(T)                                                                       \
  extern template int lu(ThreadPool&, T*, int64_t, int64_t*);                                          \
  extern template bool cholesky(ThreadPool&, T*, int64_t);                                             \
  extern template void triangular_solve(ThreadPool&, const Triangle&, const T*, int64_t, T*, int64_t); \
  extern template void lu_solve(ThreadPool&, bool, const T*, const int64_t*, int64_t, const T*, T*, int64_t);
CAUDAL_FACTOR_TYPES(CAUDAL_DECLARE_FACTOR)
#undef CAUDAL_DECLARE_FACTOR

}  // namespace caudal::inline v0::kernels
