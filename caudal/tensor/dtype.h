// Element types: TensorFlow's numbers, names and C++ representations.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// IEEE binary16, as raw bits; arithmetic happens in float.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  CAUDAL_API explicit Half(float value);  // rounds to nearest, ties to even
  CAUDAL_API explicit operator float() const;
  friend bool operator==(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }
};

// The upper half of a float; rounds to nearest, ties to even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, 4);
    if ((word & 0x7fffffffU) > 0x7f800000U) {
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40U);
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
    }
  }
  explicit operator float() const {
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  friend bool operator==(BFloat16 a, BFloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

// Quantised integers: distinct types over plain storage.
struct QInt8 {
  std::int8_t value = 0;
};
struct QUint8 {
  std::uint8_t value = 0;
};
struct QInt32 {
  std::int32_t value = 0;
};
struct QInt16 {
  std::int16_t value = 0;
};
struct QUint16 {
  std::uint16_t value = 0;
};

class ResourceHandle;
class Variant;

enum class DType : std::uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBFloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

inline constexpr DType float32 = DType::kFloat;
inline constexpr DType float64 = DType::kDouble;
inline constexpr DType float16 = DType::kHalf;
inline constexpr DType bfloat16 = DType::kBFloat16;
inline constexpr DType int8 = DType::kInt8;
inline constexpr DType int16 = DType::kInt16;
inline constexpr DType int32 = DType::kInt32;
inline constexpr DType int64 = DType::kInt64;
inline constexpr DType uint8 = DType::kUint8;
inline constexpr DType uint16 = DType::kUint16;
inline constexpr DType uint32 = DType::kUint32;
inline constexpr DType uint64 = DType::kUint64;
inline constexpr DType boolean = DType::kBool;
inline constexpr DType string = DType::kString;
inline constexpr DType complex64 = DType::kComplex64;
inline constexpr DType complex128 = DType::kComplex128;
inline constexpr DType resource = DType::kResource;
inline constexpr DType variant = DType::kVariant;

// "float32", "int64", "bool": as Python TensorFlow prints them.
CAUDAL_API std::string_view dtype_name(DType dtype);
// "DT_FLOAT": as GraphDefs in text form spell them.
CAUDAL_API std::string dtype_enum_name(DType dtype);
// From "float32", "float", "DT_FLOAT" and the like; kInvalid if unknown.
CAUDAL_API DType dtype_from_name(std::string_view name);
CAUDAL_API std::ostream& operator<<(std::ostream& out, DType dtype);

// Bytes of one element in a Tensor's buffer (string, resource and variant: of the C++ object).
CAUDAL_API std::size_t dtype_size(DType dtype);
// True if the elements are plain bytes: may lie in an arena, be copied with memcpy and written to files as they are.
CAUDAL_API bool is_plain(DType dtype);
CAUDAL_API bool is_floating(DType dtype);  // half, bfloat16, float, double
CAUDAL_API bool is_complex(DType dtype);
CAUDAL_API bool is_integer(DType dtype);  // signed and unsigned, not quantised, not bool
// True for floating and complex types: gradients flow through them.
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// dtype_of<float>() == float32.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return DType::kFloat;
  else if constexpr (std::is_same_v<U, double>)
    return DType::kDouble;
  else if constexpr (std::is_same_v<U, std::int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<U, std::uint8_t>)
    return DType::kUint8;
  else if constexpr (std::is_same_v<U, std::int16_t>)
    return DType::kInt16;
  else if constexpr (std::is_same_v<U, std::int8_t>)
    return DType::kInt8;
  else if constexpr (std::is_same_v<U, std::string>)
    return DType::kString;
  else if constexpr (std::is_same_v<U, std::complex<float>>)
    return DType::kComplex64;
  else if constexpr (std::is_same_v<U, std::int64_t>)
    return DType::kInt64;
  else if constexpr (std::is_same_v<U, long long>)
    return DType::kInt64;
  else if constexpr (std::is_same_v<U, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<U, QInt8>)
    return DType::kQint8;
  else if constexpr (std::is_same_v<U, QUint8>)
    return DType::kQuint8;
  else if constexpr (std::is_same_v<U, QInt32>)
    return DType::kQint32;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<U, QInt16>)
    return DType::kQint16;
  else if constexpr (std::is_same_v<U, QUint16>)
    return DType::kQuint16;
  else if constexpr (std::is_same_v<U, std::uint16_t>)
    return DType::kUint16;
  else if constexpr (std::is_same_v<U, std::complex<double>>)
    return DType::kComplex128;
  else if constexpr (std::is_same_v<U, Half>)
    return DType::kHalf;
  else if constexpr (std::is_same_v<U, ResourceHandle>)
    return DType::kResource;
  else if constexpr (std::is_same_v<U, Variant>)
    return DType::kVariant;
  else if constexpr (std::is_same_v<U, std::uint32_t>)
    return DType::kUint32;
  else if constexpr (std::is_same_v<U, std::uint64_t>)
    return DType::kUint64;
  else
    static_assert(sizeof(U) == 0, "no tensor element type");
}

}  // namespace caudal::inline v0
