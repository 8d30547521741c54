#include <immintrin.h>

#include <cstdint>
#include <limits>

#include "caudal/kernels/pool_tables.h"

#pragma GCC target("avx2,fma")

#include "caudal/kernels/pool_rows.h"
#include "caudal/kernels/vector_avx2.h"

namespace caudal::inline v0::kernels {

const PoolLoops& pool_loops_avx2() {
  static constexpr PoolLoops kLoops = {max_row<Floats>, max_winners_row<Floats>, max_grad_row<Floats>};
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
