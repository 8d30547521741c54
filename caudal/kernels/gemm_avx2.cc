#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "caudal/kernels/gemm_kernels.h"

#pragma GCC target("avx2,fma")

#include "caudal/kernels/gemm_tile.h"
#include "caudal/kernels/vector_avx2.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr GemmKernels<float> kFloats = make_kernels<Floats, 6>();
constexpr GemmKernels<double> kDoubles = make_kernels<Doubles, 6>();

}  // namespace

const GemmKernels<float>* gemm_kernels_avx2_float() { return &kFloats; }
const GemmKernels<double>* gemm_kernels_avx2_double() { return &kDoubles; }

}  // namespace caudal::inline v0::kernels
