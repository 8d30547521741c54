#include <immintrin.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "caudal/kernels/conv2d_winners_tables.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/conv2d_winners_loops.h"
#include "caudal/kernels/vector_avx512.h"

namespace caudal::inline v0::kernels {

const WinnerLoops& winner_loops_avx512() {
  static constexpr WinnerLoops kLoops = make_winner_loops<Floats, 28>();
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
