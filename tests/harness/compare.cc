#include "tests/harness/compare.h"

#include <cmath>
#include <sstream>

#include "caudal/base/error.h"

namespace caudal::inline v0::harness {
namespace {

template <class T>
double to_double(const T& value) {
  if constexpr (requires { value.value; })
    return static_cast<double>(value.value);
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(tensor.num_elements()));
  for (const T& value : tensor.flat<T>()) result.push_back(to_double(value));
  return result;
}

// Real and imaginary parts one after the other.
template <class T>
std::vector<double> complex_parts(const Tensor& tensor) {
  std::vector<double> result;
  for (const std::complex<T>& value : tensor.flat<std::complex<T>>()) {
    result.push_back(value.real());
    result.push_back(value.imag());
  }
  return result;
}

std::vector<double> number_parts(const Tensor& tensor) {
  if (tensor.dtype() == complex64) return complex_parts<float>(tensor);
  if (tensor.dtype() == complex128) return complex_parts<double>(tensor);
  return to_doubles(tensor);
}

std::string place(const Tensor& tensor, std::int64_t flat) {
  std::ostringstream out;
  out << "[";
  const std::vector<std::int64_t> strides = tensor.shape().strides();
  for (int i = 0; i < tensor.rank(); ++i) {
    out << (i ? "," : "") << flat / strides[i];
    flat %= strides[i];
  }
  out << "]";
  return out.str();
}

std::string kind_difference(const Tensor& expected, const Tensor& got) {
  if (!got.valid()) return "expected " + expected.describe() + ", got no tensor";
  if (expected.dtype() == got.dtype() && expected.shape() == got.shape()) return {};
  return "expected " + expected.describe() + ", got " + got.describe();
}

// Relative to max(1, |expected|); infinite where one is NaN or another infinity than the other.
double distance(double expected, double got) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) == std::isnan(got) ? 0 : INFINITY;
  if (expected == got) return 0;
  if (std::isinf(expected) || std::isinf(got)) return INFINITY;
  return std::abs(expected - got) / std::max(1.0, std::abs(expected));
}

std::string number_difference(const Tensor& expected, const Tensor& got, double tolerance) {
  const std::vector<double> want = number_parts(expected), have = number_parts(got);
  const std::int64_t parts = is_complex(expected.dtype()) ? 2 : 1;
  std::int64_t first = -1, worst = -1, count = 0;
  double worst_distance = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = distance(want[i], have[i]);
    if (d <= tolerance) continue;
    ++count;
    if (first < 0) first = static_cast<std::int64_t>(i);
    if (d > worst_distance) {
      worst_distance = d;
      worst = static_cast<std::int64_t>(i);
    }
  }
  if (first < 0) return {};
  std::ostringstream out;
  out.precision(17);
  out << count << " of " << want.size() << " elements of " << expected.describe() << " differ (tolerance " << tolerance
      << "): first at " << place(expected, first / parts) << ": expected " << want[first] << ", got " << have[first];
  if (worst != first) {
    out << "; worst at " << place(expected, worst / parts) << ": expected " << want[worst] << ", got " << have[worst];
  }
  return out.str();
}

std::string integer64_difference(const Tensor& expected, const Tensor& got) {
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    const bool is_signed = expected.dtype() == int64;
    const auto show = [&](const Tensor& t) {
      return is_signed ? std::to_string(t.data<std::int64_t>()[i]) : std::to_string(t.data<std::uint64_t>()[i]);
    };
    if (show(expected) != show(got)) {
      return "at " + place(expected, i) + ": expected " + show(expected) + ", got " + show(got);
    }
  }
  return {};
}

std::string string_difference(const Tensor& expected, const Tensor& got) {
  for (std::int64_t i = 0; i < expected.num_elements(); ++i) {
    const std::string &want = expected.data<std::string>()[i], &have = got.data<std::string>()[i];
    if (want != have) return "at " + place(expected, i) + ": expected \"" + want + "\", got \"" + have + "\"";
  }
  return {};
}

}  // namespace

std::vector<double> to_doubles(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat:
      return doubles<float>(t);
    case DType::kDouble:
      return doubles<double>(t);
    case DType::kHalf:
      return doubles<Half>(t);
    case DType::kBFloat16:
      return doubles<BFloat16>(t);
    case DType::kInt8:
      return doubles<std::int8_t>(t);
    case DType::kInt16:
      return doubles<std::int16_t>(t);
    case DType::kInt32:
      return doubles<std::int32_t>(t);
    case DType::kInt64:
      return doubles<std::int64_t>(t);
    case DType::kUint8:
      return doubles<std::uint8_t>(t);
    case DType::kUint16:
      return doubles<std::uint16_t>(t);
    case DType::kUint32:
      return doubles<std::uint32_t>(t);
    case DType::kUint64:
      return doubles<std::uint64_t>(t);
    case DType::kBool:
      return doubles<bool>(t);
    case DType::kQint8:
      return doubles<QInt8>(t);
    case DType::kQuint8:
      return doubles<QUint8>(t);
    case DType::kQint16:
      return doubles<QInt16>(t);
    case DType::kQuint16:
      return doubles<QUint16>(t);
    case DType::kQint32:
      return doubles<QInt32>(t);
    default:
      throw invalid_argument("no real numbers: ", t.describe());
  }
}

double default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
    case DType::kComplex128:
      return 1e-12;
    case DType::kFloat:
    case DType::kComplex64:
      return 1e-5;
    case DType::kHalf:
      return 2e-3;
    case DType::kBFloat16:
      return 2e-2;
    default:
      return 0;
  }
}

std::string difference(const Tensor& expected, const Tensor& got, double tolerance) {
  if (std::string kind = kind_difference(expected, got); !kind.empty()) return kind;
  switch (expected.dtype()) {
    case DType::kString:
      return string_difference(expected, got);
    case DType::kInt64:
    case DType::kUint64:
      return integer64_difference(expected, got);
    case DType::kResource:
    case DType::kVariant:
      return {};
    default:
      return number_difference(expected, got, tolerance);
  }
}

std::string bit_difference(const Tensor& expected, const Tensor& got) {
  if (std::string kind = kind_difference(expected, got); !kind.empty()) return kind;
  if (expected.dtype() == resource || expected.dtype() == variant || identical(expected, got)) return {};
  const std::string values = difference(expected, got, 0);
  return values.empty() ? "zeros of " + expected.describe() + " differ in their sign" : values;
}

}  // namespace caudal::inline v0::harness
