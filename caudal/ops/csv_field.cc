#include "caudal/ops/csv_field.h"

#include <charconv>

#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

template <class T>
bool parse_number(std::string_view text, T* value) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

bool parse_csv_field(std::string_view text, Tensor& column, std::int64_t i) {
  switch (column.dtype()) {
    case DType::kFloat:
      return parse_number(text, column.data<float>() + i);
    case DType::kDouble:
      return parse_number(text, column.data<double>() + i);
    case DType::kInt32:
      return parse_number(text, column.data<std::int32_t>() + i);
    case DType::kInt64:
      return parse_number(text, column.data<std::int64_t>() + i);
    default:
      column.data<std::string>()[i] = text;
      return true;
  }
}

std::string_view csv_type_name(DType dtype) {
  return dtype == DType::kFloat ? "float" : dtype == DType::kDouble ? "double" : dtype_name(dtype);
}

}  // namespace caudal::inline v0
