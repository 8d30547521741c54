#include "caudal/rl/space.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0::rl {
namespace {

template <class T>
bool all_within(const Space& space, const std::byte* bytes) {
  const T* values = reinterpret_cast<const T*>(bytes);
  for (std::int64_t i = 0; i < space.shape().num_elements(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!(value >= space.low(i) && value <= space.high(i))) return false;
  }
  return true;
}

bool box_contains(const Space& space, const std::byte* bytes) {
  switch (space.dtype()) {
    case DType::kUint8:
      return all_within<std::uint8_t>(space, bytes);
    case DType::kInt8:
      return all_within<std::int8_t>(space, bytes);
    case DType::kInt16:
      return all_within<std::int16_t>(space, bytes);
    case DType::kUint16:
      return all_within<std::uint16_t>(space, bytes);
    case DType::kInt32:
      return all_within<std::int32_t>(space, bytes);
    case DType::kInt64:
      return all_within<std::int64_t>(space, bytes);
    case DType::kFloat:
      return all_within<float>(space, bytes);
    default:
      return all_within<double>(space, bytes);
  }
}

bool allowed_in_box(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat:
    case DType::kDouble:
      return true;
    default:
      return false;
  }
}

std::string bound_text(const std::vector<double>& bounds, bool of_floats) {
  std::vector<std::string> parts;
  for (const double bound : bounds) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(bound)).ptr;
    parts.emplace_back(text, end);
    if (of_floats && parts.back().find_first_not_of("-0123456789") == std::string::npos) parts.back() += ".0";
  }
  return parts.size() == 1 ? parts[0] : "[" + join(parts, " ") + "]";
}

std::string tuple_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape.dims()) sizes.push_back(std::to_string(size));
  return "(" + join(sizes, ", ") + (sizes.size() == 1 ? ",)" : ")");
}

}  // namespace

Space Space::box(DType dtype, const Shape& shape, double low, double high) {
  return box(dtype, shape, std::vector{low}, std::vector{high});
}

Space Space::box(DType dtype, const Shape& shape, std::vector<double> low, std::vector<double> high) {
  if (!allowed_in_box(dtype)) throw invalid_argument("a Box holds integers, float32 or float64, not ", dtype);
  const auto elements = static_cast<std::size_t>(shape.num_elements());
  if (low.size() != high.size() || (low.size() != 1 && low.size() != elements))
    throw invalid_argument("a Box of shape ", shape, " needs one pair of bounds or ", elements, ", not ", low.size(),
                           " lower and ", high.size(), " upper ones");
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (!(low[i] <= high[i])) throw invalid_argument("bound ", i, " of a Box is empty: from ", low[i], " to ", high[i]);
  }
  Space space;
  space.kind_ = Kind::kBox;
  space.dtype_ = dtype;
  space.shape_ = shape;
  space.low_ = std::move(low);
  space.high_ = std::move(high);
  return space;
}

Space Space::discrete(std::int64_t count, std::vector<std::string> meanings) {
  if (count < 1) throw invalid_argument("a Discrete space needs at least one value, not ", count);
  if (!meanings.empty() && static_cast<std::int64_t>(meanings.size()) != count)
    throw invalid_argument("a Discrete space of ", count, " values got ", meanings.size(), " names");
  Space space;
  space.count_ = count;
  space.meanings_ = std::move(meanings);
  return space;
}

bool Space::contains(std::span<const std::byte> bytes) const {
  if (bytes.size() != byte_size())
    throw invalid_argument(to_string(), " has values of ", byte_size(), " bytes, not of ", bytes.size());
  if (kind_ == Kind::kBox) return box_contains(*this, bytes.data());
  const auto choice = *reinterpret_cast<const std::int64_t*>(bytes.data());
  return choice >= 0 && choice < count_;
}

std::string Space::to_string() const {
  if (is_discrete()) return "Discrete(" + std::to_string(count_) + ")";
  const bool floats = is_floating(dtype_);
  return "Box(" + bound_text(low_, floats) + ", " + bound_text(high_, floats) + ", " + tuple_text(shape_) + ", " +
         std::string(dtype_name(dtype_)) + ")";
}

}  // namespace caudal::inline v0::rl
