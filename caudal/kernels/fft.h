// Discrete Fourier transforms along one axis.
//
//   forward: y[k] = sum over j of x[j] exp(-2 pi i jk / n); the inverse has +2 pi i and divides by n.
//
// Lengths with small prime factors take n log n steps by mixed radices (Eigen's kissfft), others by Bluestein's chirp
// transform (L. Bluestein, 1970). Both types are computed in double and rounded once. Results do not depend on the
// number of threads. Thread safety: all functions.
#pragma once

#include <complex>
#include <cstdint>

#include "caudal/base/thread_pool.h"

namespace caudal::inline v0::kernels {

// Transforms the middle dimension of data[outer, n, inner] in place.
void fft(ThreadPool& pool, bool inverse, std::complex<float>* data, int64_t outer, int64_t n, int64_t inner);
void fft(ThreadPool& pool, bool inverse, std::complex<double>* data, int64_t outer, int64_t n, int64_t inner);

// The first n / 2 + 1 coefficients of rows of n real numbers. `stride`: elements between the rows of `in`.
void real_fft(ThreadPool& pool, const float* in, int64_t stride, std::complex<float>* out, int64_t rows, int64_t n);
void real_fft(ThreadPool& pool, const double* in, int64_t stride, std::complex<double>* out, int64_t rows, int64_t n);

// The inverse: rows of n real numbers from their first n / 2 + 1 coefficients. The imaginary parts of coefficient 0 and
// (for even n) n / 2 count as zero.
void real_inverse_fft(ThreadPool& pool, const std::complex<float>* in, float* out, int64_t rows, int64_t n);
void real_inverse_fft(ThreadPool& pool, const std::complex<double>* in, double* out, int64_t rows, int64_t n);

}  // namespace caudal::inline v0::kernels
