// Vectors of float and double in AVX2 registers, for the kernels that are generic over them (what gemm_tile.h and
// pool_rows.h ask for). To be included after the file's `#pragma GCC target`; everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "caudal/kernels/vector_transpose.h"

namespace caudal::inline v0::kernels {
namespace {

alignas(32) constexpr int32_t kMask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
alignas(32) constexpr int64_t kMask64[8] = {-1, -1, -1, -1};

struct Floats {
  using T = float;
  using Reg = __m256;
  using Mask = __m256i;
  static constexpr int kWidth = 8, kBlock = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg broadcast(const T* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const T* p) { return _mm256_loadu_ps(p); }
  static void store(T* p, Reg v) { _mm256_storeu_ps(p, v); }
  static Mask mask(int n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask32 + 8 - n)); }
  static Reg load_n(const T* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store_n(T* p, Reg v, Mask m) { _mm256_maskstore_ps(p, m, v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg max_zero(Reg a) { return _mm256_max_ps(zero(), a); }  // keeps NaN
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }     // b if one is NaN
  static Reg where_positive(Reg gate, Reg value) {
    return _mm256_and_ps(_mm256_cmp_ps(gate, zero(), _CMP_GT_OQ), value);
  }
  static T sum(Reg a) {
    alignas(32) T v[8];
    _mm256_store_ps(v, a);
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
  }
  using Test = __m256;
  static Test beats(Reg a, Reg b) {
    return _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ),
                        _mm256_and_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q), _mm256_cmp_ps(b, b, _CMP_ORD_Q)));
  }
  static Test equal(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static Reg pick(Test test, Reg yes, Reg no) { return _mm256_blendv_ps(no, yes, test); }
  // Of the elements of a followed by those of b.
  static Reg evens(Reg a, Reg b) {
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0))), 0xD8));
  }
  static Reg odds(Reg a, Reg b) {
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1))), 0xD8));
  }
  // Whole numbers from 0 to 255 as bytes.
  static void store_bytes(uint8_t* p, Reg v) {
    const __m256i words = _mm256_cvtps_epi32(v);
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
  }
  static void transpose(const T* src, int64_t s, T* dst, int64_t d) { transpose_block(src, s, dst, d); }
};

struct Doubles {
  using T = double;
  using Reg = __m256d;
  using Mask = __m256i;
  static constexpr int kWidth = 4, kBlock = 4;
  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg broadcast(const T* p) { return _mm256_broadcast_sd(p); }
  static Reg load(const T* p) { return _mm256_loadu_pd(p); }
  static void store(T* p, Reg v) { _mm256_storeu_pd(p, v); }
  static Mask mask(int n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask64 + 4 - n)); }
  static Reg load_n(const T* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store_n(T* p, Reg v, Mask m) { _mm256_maskstore_pd(p, m, v); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_pd(a, b); }
  static Reg max_zero(Reg a) { return _mm256_max_pd(zero(), a); }
  static Reg max(Reg a, Reg b) { return _mm256_max_pd(a, b); }  // b if one is NaN
  static Reg where_positive(Reg gate, Reg value) {
    return _mm256_and_pd(_mm256_cmp_pd(gate, zero(), _CMP_GT_OQ), value);
  }
  static T sum(Reg a) {
    alignas(32) T v[4];
    _mm256_store_pd(v, a);
    return (v[0] + v[2]) + (v[1] + v[3]);
  }
  static void transpose(const T* src, int64_t s, T* dst, int64_t d) { transpose_block(src, s, dst, d); }
};

}  // namespace
}  // namespace caudal::inline v0::kernels
