#include "tests/harness/random_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "caudal/base/error.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::harness {
namespace {

// splitmix64: as deterministic as can be, unlike the distributions of <random>.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

// Away from integers where the range leaves room; three decimals, so that failures are readable.
double draw_real(Draw& draw, const ValueRange& range) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const double value = std::round(draw.uniform(range.low, range.high) * 1000) / 1000;
    if (value < range.low || value > range.high) continue;
    if (std::abs(value - std::round(value)) >= range.clear) return value;
  }
  return draw.uniform(range.low, range.high);
}

struct IntegerLimits {
  double low, high;
};
IntegerLimits integer_limits(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kQuint8:
      return {0, 255};
    case DType::kUint16:
    case DType::kQuint16:
      return {0, 65535};
    case DType::kUint32:
    case DType::kUint64:
      return {0, 4294967295.0};
    case DType::kInt8:
    case DType::kQint8:
      return {-128, 127};
    case DType::kInt16:
    case DType::kQint16:
      return {-32768, 32767};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

// The plain integer type with the same bytes, which convert_number understands.
DType storage_type(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return int8;
    case DType::kQuint8:
      return uint8;
    case DType::kQint16:
      return int16;
    case DType::kQuint16:
      return uint16;
    case DType::kQint32:
      return int32;
    default:
      return dtype;
  }
}

Tensor random_complex(DType dtype, const Shape& shape, Draw& draw, const ValueRange& range) {
  Tensor wide(complex128, shape);
  for (auto& value : wide.flat<std::complex<double>>()) {
    const double real = draw_real(draw, range);
    value = {real, draw_real(draw, range)};
  }
  if (dtype == complex128) return wide;
  Tensor narrow(complex64, shape);
  std::transform(wide.flat<std::complex<double>>().begin(), wide.flat<std::complex<double>>().end(),
                 narrow.flat<std::complex<float>>().begin(), [](auto z) { return std::complex<float>(z); });
  return narrow;
}

Tensor random_strings(const Shape& shape, Draw& draw) {
  Tensor result(string, shape);
  for (std::string& word : result.flat<std::string>()) {
    word.resize(static_cast<std::size_t>(draw.integer(0, 20)));
    for (char& letter : word) letter = static_cast<char>(draw.integer('a', 'z'));
  }
  return result;
}

template <class T>
std::vector<double> special_integers() {
  using Limits = std::numeric_limits<T>;
  const auto top = static_cast<double>(Limits::max()), bottom = static_cast<double>(Limits::min());
  if constexpr (sizeof(T) == 8) return {0, 1, 2, 3, 7, 1e9, -1e9};
  return {0, 1, 2, top, top - 1, bottom, bottom + 1, std::floor(top / 2)};
}

std::vector<double> special_list(DType dtype) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::kFloat:
      return {0.0, -0.0, 1, -1, inf, -inf, nan, 3.4028235e38, -3.4028235e38, 1.17549435e-38, 1e-45, -1e-45, 0.5, -2.5};
    case DType::kDouble:
      return {0.0, -0.0, 1, -1, inf, -inf, nan, 1.7976931348623157e308, -1.7e308, 2.2250738585072014e-308, 5e-324, 0.5};
    case DType::kHalf:
      return {0.0, -0.0, 1, -1, inf, -inf, nan, 65504, -65504, 6.1035156e-5, 5.9604645e-8, 0.5};
    case DType::kBFloat16:
      return {0.0, -0.0, 1, -1, inf, -inf, nan, 3.3895314e38, -3.3895314e38, 1.17549435e-38, 0.5};
    case DType::kInt8:
      return special_integers<std::int8_t>();
    case DType::kInt16:
      return special_integers<std::int16_t>();
    case DType::kInt32:
      return special_integers<std::int32_t>();
    case DType::kInt64:
      return special_integers<std::int64_t>();
    case DType::kUint8:
      return special_integers<std::uint8_t>();
    case DType::kUint16:
      return special_integers<std::uint16_t>();
    case DType::kUint32:
      return special_integers<std::uint32_t>();
    case DType::kUint64:
      return {0, 1, 2, 3, 1e9, 1e18};
    default:
      return {0, 1, 2, 3};
  }
}

}  // namespace

Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  const Tensor wide = Tensor::from<double>(shape, values);
  if (is_complex(dtype)) {
    Tensor result(complex128, shape);
    std::copy(values.begin(), values.end(), result.flat<std::complex<double>>().begin());
    if (dtype == complex128) return result;
    Tensor narrow(complex64, shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
      narrow.flat<std::complex<float>>()[i] = static_cast<float>(values[i]);
    }
    return narrow;
  }
  if (dtype == boolean) {
    Tensor result(boolean, shape);
    std::transform(values.begin(), values.end(), result.flat<bool>().begin(), [](double v) { return v != 0; });
    return result;
  }
  const DType storage = storage_type(dtype);
  const Tensor result = convert_number(wide, storage);
  return storage == dtype ? result : result.bitcast(dtype);
}

Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t seed, const ValueRange& range) {
  Draw draw(seed * 1000003 + static_cast<std::uint64_t>(dtype));
  if (dtype == string) return random_strings(shape, draw);
  if (is_complex(dtype)) return random_complex(dtype, shape, draw, range);
  std::vector<double> values(static_cast<std::size_t>(shape.num_elements()));
  if (dtype == boolean) {
    for (double& value : values) value = static_cast<double>(draw.integer(0, 1));
  } else if (is_floating(dtype)) {
    for (double& value : values) value = draw_real(draw, range);
  } else {
    const IntegerLimits limits = integer_limits(dtype);
    const auto low = static_cast<std::int64_t>(std::ceil(std::max(range.low, limits.low)));
    const auto high = static_cast<std::int64_t>(std::floor(std::min(range.high, limits.high)));
    if (low > high) throw invalid_argument("no ", dtype, " lies between ", range.low, " and ", range.high);
    for (double& value : values) value = static_cast<double>(draw.integer(low, high));
  }
  return tensor_of(dtype, shape, values);
}

Tensor special_values(DType dtype) {
  const std::vector<double> list = special_list(dtype);
  std::vector<double> values(37);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = list[i % list.size()];
  return tensor_of(dtype, {37}, values);
}

Tensor offset_view(const Tensor& tensor) {
  constexpr std::int64_t kBefore = 1;
  const std::int64_t count = tensor.num_elements();
  Tensor larger(tensor.dtype(), {count + 2 * kBefore});
  if (is_plain(tensor.dtype())) {
    std::fill_n(larger.raw(), larger.byte_size(), '\x55');
    std::copy_n(tensor.raw(), tensor.byte_size(), larger.raw() + kBefore * dtype_size(tensor.dtype()));
  } else if (tensor.dtype() == string) {
    std::copy(tensor.flat<std::string>().begin(), tensor.flat<std::string>().end(),
              larger.data<std::string>() + kBefore);
  } else {
    return tensor;
  }
  return larger.rows(kBefore, kBefore + count).reshape(tensor.shape());
}

}  // namespace caudal::inline v0::harness
