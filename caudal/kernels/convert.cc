#include "caudal/kernels/convert.h"

#include <immintrin.h>

#include "caudal/kernels/isa.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kGrain = 16384;

template <class T>
void widen_plain(const void* in, float* out, int64_t n) {
  const auto* source = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(source[i]);
}

template <class T>
void narrow_plain(const float* in, void* out, int64_t n) {
  auto* target = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) target[i] = T(in[i]);
}

// The conversion instructions round as Half does, NaN payloads apart.
__attribute__((target("avx2,f16c"))) void widen_f16c(const void* in, float* out, int64_t n) {
  const auto* source = static_cast<const Half*>(in);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
  }
  widen_plain<Half>(source + i, out + i, n - i);
}

__attribute__((target("avx2,f16c"))) void narrow_f16c(const float* in, void* out, int64_t n) {
  auto* target = static_cast<Half*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  narrow_plain<Half>(in + i, target + i, n - i);
}

}  // namespace

void widen(DType dtype, const void* in, float* out, int64_t n) {
  if (dtype == DType::kBFloat16) return widen_plain<BFloat16>(in, out, n);
  return kernel_isa() >= Isa::kAvx2 ? widen_f16c(in, out, n) : widen_plain<Half>(in, out, n);
}

void narrow(DType dtype, const float* in, void* out, int64_t n) {
  if (dtype == DType::kBFloat16) return narrow_plain<BFloat16>(in, out, n);
  return kernel_isa() >= Isa::kAvx2 ? narrow_f16c(in, out, n) : narrow_plain<Half>(in, out, n);
}

void widen(ThreadPool& pool, DType dtype, const void* in, float* out, int64_t n) {
  pool.parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    widen(dtype, static_cast<const uint16_t*>(in) + begin, out + begin, end - begin);
  });
}

void narrow(ThreadPool& pool, DType dtype, const float* in, void* out, int64_t n) {
  pool.parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    narrow(dtype, in + begin, static_cast<uint16_t*>(out) + begin, end - begin);
  });
}

}  // namespace caudal::inline v0::kernels
