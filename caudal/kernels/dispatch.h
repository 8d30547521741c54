// From a DType to code for its C++ type:
//
//   dispatch<Half, BFloat16, float, double>(dtype, [&]<class T>() { run<T>(...); });
#pragma once

#include <complex>
#include <cstdint>

#include "caudal/base/error.h"
#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

template <class... Types>
struct TypeList {};

using FloatTypes = TypeList<float, double, Half, BFloat16>;
using ComplexTypes = TypeList<std::complex<float>, std::complex<double>>;
using IntegerTypes = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using RealTypes =
    TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using NumberTypes = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                             uint32_t, uint64_t, std::complex<float>, std::complex<double>>;

// Calls fn.operator()<T>() for the type of the list that is `dtype`; false if none is.
template <class... Types, class Fn>
bool try_dispatch(TypeList<Types...>, DType dtype, Fn&& fn) {
  return ((dtype == dtype_of<Types>() && (fn.template operator()<Types>(), true)) || ...);
}

// The same; UNIMPLEMENTED, naming `what`, if none is.
template <class List, class Fn>
void dispatch(List list, DType dtype, const char* what, Fn&& fn) {
  if (!try_dispatch(list, dtype, fn)) throw unimplemented(what, " of ", dtype_name(dtype), " has no kernel");
}

}  // namespace caudal::inline v0::kernels
