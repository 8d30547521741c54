#include "caudal/ops/row_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace caudal::inline v0::ops {
namespace {

template <class T>
void copy_elements(const Tensor& from, Tensor& to, std::int64_t first) {
  std::copy_n(from.data<T>(), from.num_elements(), to.data<T>() + first);
}

}  // namespace

Shape stacked_shape(std::int64_t rows, const Shape& row) {
  std::vector<std::int64_t> dims{rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return Shape(dims);
}

Shape row_shape(const Shape& stack) { return Shape(stack.dims().subspan(1)); }

void put_row(const Tensor& row, Tensor& stack, std::int64_t i) {
  const std::int64_t first = i * row.num_elements();
  switch (row.dtype()) {
    case DType::kString:
      return copy_elements<std::string>(row, stack, first);
    case DType::kVariant:
      return copy_elements<Variant>(row, stack, first);
    case DType::kResource:
      return copy_elements<ResourceHandle>(row, stack, first);
    default:
      if (row.byte_size() == 0) return;
      std::memcpy(stack.raw() + static_cast<std::size_t>(i) * row.byte_size(), row.raw(), row.byte_size());
  }
}

Tensor take_row(const Tensor& stack, std::int64_t i) { return stack.rows(i, i + 1).reshape(row_shape(stack.shape())); }

}  // namespace caudal::inline v0::ops
