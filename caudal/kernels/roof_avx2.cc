#include <immintrin.h>

#include <cstdint>

#include "caudal/kernels/roof.h"

#pragma GCC target("avx2,fma")

#include "caudal/kernels/roof_loops.h"
#include "caudal/kernels/vector_avx2.h"

namespace caudal::inline v0::kernels {

double multiply_adds_avx2(long n) { return multiply_adds<Floats>(n); }

}  // namespace caudal::inline v0::kernels
