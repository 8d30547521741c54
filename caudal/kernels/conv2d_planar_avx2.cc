#include <immintrin.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "caudal/kernels/conv2d_planar_tables.h"

#pragma GCC target("avx2,fma")

#include "caudal/kernels/conv2d_planar_loops.h"
#include "caudal/kernels/vector_avx2.h"

namespace caudal::inline v0::kernels {

const PlanarLoops& planar_loops_avx2() {
  static constexpr PlanarLoops kLoops = {Floats::kWidth, kPixelVectors * Floats::kWidth, planar_row<Floats, 2>,
                                         planar_filter<Floats, 4, 2>, planar_sum<Floats>};
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
