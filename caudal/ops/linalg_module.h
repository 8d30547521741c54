// What the library and its module of decompositions (modules/linalg) say to each other: a table of LAPACK's drivers,
// each for 's' (float), 'd' (double), 'c' (complex64) and 'z' (complex128).
//
// Matrices are row-major and dense. The functions return LAPACK's info: 0, below 0 for a NaN in the input, above 0
// where an iteration did not converge. Thread safety: all functions, on different memory.
#pragma once

#include <cstdint>

namespace caudal::inline v0 {

struct LinalgModule {
  // a[m,n] becomes R above and Householder's vectors below the diagonal; tau has min(m, n) elements.
  int (*qr)(char type, int m, int n, void* a, void* tau);
  // a[m,k], of which the first `reflectors` columns are the vectors of qr(), becomes the first k columns of Q.
  int (*form_q)(char type, int m, int k, int reflectors, void* a, const void* tau);
  // The eigenvalues w[n] (real, ascending) of a Hermitian a[n,n], of which the lower triangle is read; with vectors,
  // `a` becomes them, as columns.
  int (*eigh)(char type, bool vectors, int n, void* a, void* w);
  // a[m,n] = u diag(s) vt; `job` as LAPACK's jobz: 'A' all of u[m,m] and vt[n,n], 'S' u[m,k], vt[k,n] with
  // k = min(m, n), 'N' neither. `a` is overwritten.
  int (*svd)(char type, char job, int m, int n, void* a, void* s, void* u, void* vt);
  // The complex eigenvalues w[n] and, as columns of v[n,n], vectors of a general a[n,n]; without vectors v is null.
  int (*eig)(char type, int n, void* a, void* w, void* v);
  // a[n,n] (complex) becomes the upper triangular T and v[n,n] the unitary matrix with a = v T v^H; w[n] is scratch.
  int (*schur)(char type, int n, void* a, void* w, void* v);
  // x of least norm among those that make |a x - b| least, for a[m,n] of any rank; b[max(m, n), k] holds b and then x.
  int (*least_squares)(char type, int m, int n, int k, void* a, void* b, double rank_tolerance);
};

// The module's only function: the table, which lives as long as the program.
inline constexpr const char* kLinalgModule = "caudal_linalg_1";
using GetLinalgModule = const LinalgModule*();

}  // namespace caudal::inline v0
