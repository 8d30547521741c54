// Vectors of float and double in AVX-512 registers, for the kernels that are generic over them (what gemm_tile.h and
// pool_rows.h ask for). To be included after the file's `#pragma GCC target`; everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "caudal/kernels/vector_transpose.h"

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
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }     // b if one is NaN
  static Reg where_positive(Reg gate, Reg value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, zero(), _CMP_GT_OQ), value);
  }
  static T sum(Reg a) {
    alignas(64) T v[16];
    _mm512_store_ps(v, a);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) v[i] += v[i + width];
    }
    return v[0];
  }
  using Test = __mmask16;
  static Test beats(Reg a, Reg b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) |
           (_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q) & _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q));
  }
  static Test equal(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static Reg pick(Test test, Reg yes, Reg no) { return _mm512_mask_blend_ps(test, no, yes); }
  // Of the elements of a followed by those of b.
  static Reg evens(Reg a, Reg b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
  }
  static Reg odds(Reg a, Reg b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
  }
  // Whole numbers from 0 to 255 as bytes.
  static void store_bytes(uint8_t* p, Reg v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
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
  static Reg max(Reg a, Reg b) { return _mm512_max_pd(a, b); }  // b if one is NaN
  static Reg where_positive(Reg gate, Reg value) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(gate, zero(), _CMP_GT_OQ), value);
  }
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

}  // namespace
}  // namespace caudal::inline v0::kernels
