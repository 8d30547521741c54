#include <immintrin.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "caudal/kernels/conv2d_winners_tables.h"

#pragma GCC target("avx2,fma")

#include "caudal/kernels/conv2d_winners_loops.h"
#include "caudal/kernels/vector_avx2.h"

namespace caudal::inline v0::kernels {

const WinnerLoops& winner_loops_avx2() {
  static constexpr WinnerLoops kLoops = make_winner_loops<Floats, 12>();
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
