#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "caudal/kernels/gemm_kernels.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/gemm_tile.h"
#include "caudal/kernels/gemm_transpose8.h"

namespace caudal::inline v0::kernels {
namespace {

struct Floats {
  using T = float;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kWidth = 16, kBlock = 8;
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg broadcast(const T* p) { return _mm512_set1_ps(*p); }
  static Reg load(const T* p) { return _mm512_loadu_ps(p); }
  static void store(T* p, Reg v) { _mm512_storeu_ps(p, v); }
  static Mask mask(int n) { return static_cast<Mask>((1U << n) - 1); }
  static Reg load_n(const T* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store_n(T* p, Reg v, Mask m) { _mm512_mask_storeu_ps(p, m, v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg max_zero(Reg a) { return _mm512_max_ps(zero(), a); }  // keeps NaN
  static T sum(Reg a) {
    alignas(64) T v[16];
    _mm512_store_ps(v, a);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) v[i] += v[i + width];
    }
    return v[0];
  }
  static void transpose(const T* src, int64_t s, T* dst, int64_t d) { transpose_block(src, s, dst, d); }
};

struct Doubles {
  using T = double;
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int kWidth = 8, kBlock = 4;
  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg broadcast(const T* p) { return _mm512_set1_pd(*p); }
  static Reg load(const T* p) { return _mm512_loadu_pd(p); }
  static void store(T* p, Reg v) { _mm512_storeu_pd(p, v); }
  static Mask mask(int n) { return static_cast<Mask>((1U << n) - 1); }
  static Reg load_n(const T* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store_n(T* p, Reg v, Mask m) { _mm512_mask_storeu_pd(p, m, v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_pd(a, b); }
  static Reg max_zero(Reg a) { return _mm512_max_pd(zero(), a); }
  static T sum(Reg a) {
    alignas(64) T v[8];
    _mm512_store_pd(v, a);
    for (int width = 4; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) v[i] += v[i + width];
    }
    return v[0];
  }
  static void transpose(const T* src, int64_t s, T* dst, int64_t d) { transpose_block(src, s, dst, d); }
};

constexpr GemmKernels<float> kFloats = make_kernels<Floats, 14>();
constexpr GemmKernels<double> kDoubles = make_kernels<Doubles, 14>();

}  // namespace

const GemmKernels<float>* gemm_kernels_avx512_float() { return &kFloats; }
const GemmKernels<double>* gemm_kernels_avx512_double() { return &kDoubles; }

}  // namespace caudal::inline v0::kernels
