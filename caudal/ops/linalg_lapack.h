// The module of decompositions as kernels call it. Internal to the families of linear algebra.
// Thread safety: all functions.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "caudal/ops/linalg_module.h"

namespace caudal::inline v0 {

// The table. Throws UNIMPLEMENTED, naming the package, where the module is not installed.
const LinalgModule& lapack();
// A size as LAPACK takes it. Throws UNIMPLEMENTED where its 32 bit indices do not reach.
int lapack_size(std::int64_t n);

template <class T>
constexpr char lapack_type() {
  if constexpr (std::is_same_v<T, float>) return 's';
  if constexpr (std::is_same_v<T, double>) return 'd';
  if constexpr (std::is_same_v<T, std::complex<float>>) return 'c';
  return 'z';
}

}  // namespace caudal::inline v0
