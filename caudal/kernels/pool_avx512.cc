#include <immintrin.h>

#include <cstdint>
#include <limits>

#include "caudal/kernels/pool_tables.h"

// GCC 12 warns about its own _mm512_undefined_ps (bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")

#include "caudal/kernels/pool_rows.h"
#include "caudal/kernels/vector_avx512.h"

namespace caudal::inline v0::kernels {

const PoolLoops& pool_loops_avx512() {
  static constexpr PoolLoops kLoops = {max_row<Floats>, max_winners_row<Floats>, max_grad_row<Floats>};
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
