// Arithmetic of element types, as all plain loops do it: half and bfloat16 in float, integers modulo 2^n.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "caudal/tensor/dtype.h"

namespace caudal::inline v0::kernels {

template <class T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
// float, double, half, bfloat16.
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsNarrowFloat<T>;

// The type in which one operation on T is computed.
template <class T>
using Wide = std::conditional_t<kIsNarrowFloat<T>, float, T>;

// The functions below are static because files for different instruction sets must not share one copy.

// Integers as unsigned of at least 32 bits, so that overflow wraps and small types do not promote to signed int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
static T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
static T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
static T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else if constexpr (kIsComplex<T>) {
    // The textbook form: std::complex's own operator adds recovery of infinities, which costs a call per element.
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

}  // namespace caudal::inline v0::kernels
