#include "caudal/tensor/dtype.h"

#include <array>
#include <ostream>

#include "caudal/tensor/resource_handle.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0 {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::string_view enum_name;
  std::size_t size;
};

constexpr std::array<DTypeInfo, 24> kInfo = {{
    {"invalid", "DT_INVALID", 0},
    {"float32", "DT_FLOAT", 4},
    {"float64", "DT_DOUBLE", 8},
    {"int32", "DT_INT32", 4},
    {"uint8", "DT_UINT8", 1},
    {"int16", "DT_INT16", 2},
    {"int8", "DT_INT8", 1},
    {"string", "DT_STRING", sizeof(std::string)},
    {"complex64", "DT_COMPLEX64", 8},
    {"int64", "DT_INT64", 8},
    {"bool", "DT_BOOL", 1},
    {"qint8", "DT_QINT8", 1},
    {"quint8", "DT_QUINT8", 1},
    {"qint32", "DT_QINT32", 4},
    {"bfloat16", "DT_BFLOAT16", 2},
    {"qint16", "DT_QINT16", 2},
    {"quint16", "DT_QUINT16", 2},
    {"uint16", "DT_UINT16", 2},
    {"complex128", "DT_COMPLEX128", 16},
    {"float16", "DT_HALF", 2},
    {"resource", "DT_RESOURCE", sizeof(ResourceHandle)},
    {"variant", "DT_VARIANT", sizeof(Variant)},
    {"uint32", "DT_UINT32", 4},
    {"uint64", "DT_UINT64", 8},
}};

const DTypeInfo& info(DType dtype) {
  const auto number = static_cast<std::size_t>(dtype);
  return number < kInfo.size() ? kInfo[number] : kInfo[0];
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
std::string dtype_enum_name(DType dtype) { return std::string(info(dtype).enum_name); }

DType dtype_from_name(std::string_view name) {
  if (name == "float") return DType::kFloat;
  if (name == "double") return DType::kDouble;
  if (name == "half") return DType::kHalf;
  for (std::size_t i = 1; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name || kInfo[i].enum_name == name) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

std::size_t dtype_size(DType dtype) { return info(dtype).size; }

bool is_plain(DType dtype) {
  return dtype != DType::kInvalid && dtype != DType::kString && dtype != DType::kResource && dtype != DType::kVariant;
}

bool is_floating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBFloat16;
}

bool is_complex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

Half::Half(float value) {
  std::uint32_t word;
  std::memcpy(&word, &value, 4);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000U);
  const std::uint32_t magnitude = word & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {  // NaN: keep it quiet
    bits = static_cast<std::uint16_t>(sign | 0x7e00U);
  } else if (magnitude >= 0x477ff000U) {  // 65520 and above round to infinity
    bits = static_cast<std::uint16_t>(sign | 0x7c00U);
  } else if (magnitude < 0x38800000U) {  // subnormal: let the float adder round at 2^-24
    float shifted;
    std::memcpy(&shifted, &magnitude, 4);
    shifted += 0.5F;
    std::uint32_t rounded;
    std::memcpy(&rounded, &shifted, 4);
    bits = static_cast<std::uint16_t>(sign | (rounded - 0x3f000000U));
  } else {
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  }
}

Half::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  std::uint32_t mantissa = bits & 0x3ffU;
  std::uint32_t word;
  if (exponent == 0x1f) {
    word = sign | 0x7f800000U | (mantissa << 13);
  } else if (exponent != 0) {
    word = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else if (mantissa == 0) {
    word = sign;
  } else {
    std::uint32_t shift = 0;
    while ((mantissa & 0x400U) == 0) {
      mantissa <<= 1;
      ++shift;
    }
    word = sign | ((113 - shift) << 23) | ((mantissa & 0x3ffU) << 13);
  }
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

}  // namespace caudal::inline v0
