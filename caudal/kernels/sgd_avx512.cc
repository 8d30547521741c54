#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "caudal/kernels/numeric.h"
#include "caudal/kernels/sgd_tables.h"

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2")

#include "caudal/kernels/sgd_loops.h"

namespace caudal::inline v0::kernels {

const SgdLoops& sgd_loops_avx512() {
  static constexpr SgdLoops kLoops = make_sgd_loops<float>();
  return kLoops;
}

}  // namespace caudal::inline v0::kernels
