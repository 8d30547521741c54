#include <algorithm>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/ops/dataset_batch.h"

namespace caudal::inline v0::ops {
namespace {

// Elements as objects (strings, variants) or as bytes of some size.
template <class T>
struct Objects {
  explicit Objects(const Tensor&) {}
  void fill(Tensor& to, const Tensor& value) const { std::fill_n(to.data<T>(), to.num_elements(), value.item<T>()); }
  void copy(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t where, std::int64_t count) const {
    std::copy_n(from.data<T>() + at, count, to.data<T>() + where);
  }
};

struct Bytes {
  explicit Bytes(const Tensor& value) : size(static_cast<std::int64_t>(dtype_size(value.dtype()))) {}
  void fill(Tensor& to, const Tensor& value) const {
    for (std::int64_t i = 0; i < to.num_elements(); ++i) std::memcpy(to.raw() + i * size, value.raw(), size);
  }
  void copy(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t where, std::int64_t count) const {
    if (count > 0) std::memcpy(to.raw() + where * size, from.raw() + at * size, static_cast<std::size_t>(count * size));
  }
  const std::int64_t size;
};

// Copies what lies at [at, ...) of `from` to [where, ...) of `to`, from dimension d on.
template <class Copier>
void copy_block(const Copier& copier, const Tensor& from, std::int64_t at, const Shape& row, Tensor& to,
                std::int64_t where, int d) {
  if (d + 1 >= row.rank()) return copier.copy(from, at, to, where, row.rank() == 0 ? 1 : from.dim(d));
  std::int64_t from_step = 1, to_step = 1;
  for (int inner = d + 1; inner < row.rank(); ++inner) {
    from_step *= from.dim(inner);
    to_step *= row[inner];
  }
  for (std::int64_t i = 0; i < from.dim(d); ++i) {
    copy_block(copier, from, at + i * from_step, row, to, where + i * to_step, d + 1);
  }
}

template <class Copier>
Tensor stack_with(const std::vector<const Tensor*>& rows, const Shape& row, const Tensor& value, Allocator& allocator) {
  const Copier copier(value);
  Tensor stack(value.dtype(), stacked_shape(std::ssize(rows), row), allocator);
  const bool padded = std::any_of(rows.begin(), rows.end(), [&](const Tensor* from) { return from->shape() != row; });
  if (padded) copier.fill(stack, value);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t where = static_cast<std::int64_t>(i) * row.num_elements();
    if (rows[i]->num_elements() > 0) copy_block(copier, *rows[i], 0, row, stack, where, 0);
  }
  return stack;
}

}  // namespace

Tensor padded_stack(const std::vector<const Tensor*>& rows, const Shape& row, const Tensor& value,
                    Allocator& allocator) {
  switch (value.dtype()) {
    case DType::kString:
      return stack_with<Objects<std::string>>(rows, row, value, allocator);
    case DType::kVariant:
      return stack_with<Objects<Variant>>(rows, row, value, allocator);
    case DType::kResource:
      return stack_with<Objects<ResourceHandle>>(rows, row, value, allocator);
    default:
      return stack_with<Bytes>(rows, row, value, allocator);
  }
}

}  // namespace caudal::inline v0::ops
