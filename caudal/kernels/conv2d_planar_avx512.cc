#include <immintrin.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "caudal/kernels/conv2d_planar_tables.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/conv2d_planar_loops.h"
#include "caudal/kernels/vector_avx512.h"

namespace caudal::inline v0::kernels {

const PlanarLoops& planar_loops_avx512() {
  static constexpr PlanarLoops kLoops = {Floats::kWidth, kPixelVectors * Floats::kWidth, planar_row<Floats, 6>,
                                         planar_filter<Floats, 5, 3>, planar_sum<Floats>};
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
