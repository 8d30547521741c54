#include "caudal/runtime/numerics.h"

#include <cmath>
#include <complex>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

bool is_nan(double value) { return std::isnan(value); }
bool is_finite(double value) { return std::isfinite(value); }
bool is_nan(Half value) { return std::isnan(static_cast<float>(value)); }
bool is_finite(Half value) { return std::isfinite(static_cast<float>(value)); }
bool is_nan(BFloat16 value) { return std::isnan(static_cast<float>(value)); }
bool is_finite(BFloat16 value) { return std::isfinite(static_cast<float>(value)); }
template <class T>
bool is_nan(const std::complex<T>& value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}
template <class T>
bool is_finite(const std::complex<T>& value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

template <class T>
void check_values(const Tensor& tensor, std::string_view what, int index) {
  const auto values = tensor.flat<T>();
  std::size_t bad = 0, first = 0;
  bool nan = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_finite(values[i])) continue;
    if (bad++ == 0) {
      first = i;
      nan = is_nan(values[i]);
    }
  }
  if (bad == 0) return;
  throw invalid_argument(what, ' ', index, " has ", nan ? "NaN" : "Inf", ": ", bad, " of ", values.size(),
                         " values of ", tensor.describe(), " are not finite, the first at ", first)
      .hint(
          "This is the first op of the run that made one. Look at its inputs: log or division of zero, a learning rate "
          "too large, bad data.");
}

}  // namespace

void check_finite(const Tensor& tensor, std::string_view what, int index) {
  if (!tensor.valid()) return;
  switch (tensor.dtype()) {
    case DType::kFloat:
      return check_values<float>(tensor, what, index);
    case DType::kDouble:
      return check_values<double>(tensor, what, index);
    case DType::kHalf:
      return check_values<Half>(tensor, what, index);
    case DType::kBFloat16:
      return check_values<BFloat16>(tensor, what, index);
    case DType::kComplex64:
      return check_values<std::complex<float>>(tensor, what, index);
    case DType::kComplex128:
      return check_values<std::complex<double>>(tensor, what, index);
    default:
      return;
  }
}

}  // namespace caudal::inline v0
