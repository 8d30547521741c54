#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "caudal/kernels/gemm_kernels.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/gemm_tile.h"
#include "caudal/kernels/vector_avx512.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr GemmKernels<float> kFloats = make_kernels<Floats, 14>();
constexpr GemmKernels<double> kDoubles = make_kernels<Doubles, 14>();

}  // namespace

const GemmKernels<float>* gemm_kernels_avx512_float() { return &kFloats; }
const GemmKernels<double>* gemm_kernels_avx512_double() { return &kDoubles; }

}  // namespace caudal::inline v0::kernels
