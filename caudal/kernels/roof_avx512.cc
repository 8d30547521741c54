#include <immintrin.h>

#include <cstdint>

#include "caudal/kernels/roof.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/roof_loops.h"
#include "caudal/kernels/vector_avx512.h"

namespace caudal::inline v0::kernels {

double multiply_adds_avx512(long n) { return multiply_adds<Floats>(n); }

}  // namespace caudal::inline v0::kernels
