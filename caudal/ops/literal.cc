#include "caudal/ops/literal.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// The type that holds both numbers: a list of 1 and 2.5 is a list of fractions.
DType joined_type(DType a, DType b) {
  if (a == b) return a;
  const auto order = {DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble};
  const auto rank = [&](DType t) { return std::ranges::find(order, t) - order.begin(); };
  if (std::max(rank(a), rank(b)) == static_cast<std::ptrdiff_t>(order.size())) {
    throw invalid_argument("a list mixes ", a, " and ", b);
  }
  return rank(a) > rank(b) ? a : b;
}

}  // namespace

Literal::Literal(std::initializer_list<Literal> items) {
  if (items.size() == 0) {
    value_ = Tensor(DType::kFloat, Shape{0});
    is_bare_ = true;
    return;
  }
  const Shape& item_shape = items.begin()->value_.shape();
  DType dtype = items.begin()->value_.dtype();
  is_bare_ = true;
  for (const Literal& item : items) {
    if (item.value_.shape() != item_shape) {
      throw invalid_argument("a list has items of different shapes: ", item_shape, " and ", item.value_.shape())
          .hint("All rows of a constant must have the same length.");
    }
    dtype = joined_type(dtype, item.value_.dtype());
    is_bare_ &= item.is_bare_;
  }
  value_ = Tensor(dtype, item_shape.insert(0, static_cast<std::int64_t>(items.size())));
  char* out = value_.raw();
  for (const Literal& item : items) {
    const Tensor part = convert_number(item.value_, dtype);
    copy_elements(dtype, part.raw(), out, part.num_elements());
    out += part.byte_size();
  }
}

Tensor Literal::to_tensor(DType dtype) const {
  if (dtype == DType::kInvalid) dtype = is_bare_ && value_.dtype() == DType::kDouble ? DType::kFloat : value_.dtype();
  if (dtype == value_.dtype()) return value_;
  if (is_floating(value_.dtype()) && !is_differentiable(dtype) && value_.num_elements() > 0) {
    throw invalid_argument("a value with fractions, ", value_.describe(), ", is given where ", dtype, " is wanted")
        .hint("Write whole numbers, or cast.");
  }
  return convert_number(value_, dtype);
}

}  // namespace caudal::inline v0
