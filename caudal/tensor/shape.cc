#include "caudal/tensor/shape.h"

#include <algorithm>
#include <ostream>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

std::optional<std::int64_t> checked_num_elements(std::span<const std::int64_t> dims) {
  // A zero makes the count zero whatever the others are, but a product beyond int64 on the way is refused all the same:
  // strides are computed from it.
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : dims) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

Shape::Shape(std::initializer_list<std::int64_t> dims)
    : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank)
    throw invalid_argument("a tensor has at most ", kMaxRank, " dimensions, not ", dims.size());
  const auto count = checked_num_elements(dims);
  if (!count) {
    throw invalid_argument("shape ", PartialShape(std::vector<std::int64_t>(dims.begin(), dims.end())),
                           " has a negative size or more than 2^63-1 elements");
  }
  elements_ = *count;
  if (rank_ <= kInline) {
    std::copy(dims.begin(), dims.end(), inline_.begin());
  } else {
    more_.assign(dims.begin(), dims.end());
  }
}

Shape Shape::with_dim(int i, std::int64_t size) const {
  auto dims = to_vector();
  dims[i < 0 ? rank_ + i : i] = size;
  return Shape(dims);
}

Shape Shape::append(std::int64_t size) const {
  auto dims = to_vector();
  dims.push_back(size);
  return Shape(dims);
}

Shape Shape::remove(int i) const {
  auto dims = to_vector();
  dims.erase(dims.begin() + (i < 0 ? rank_ + i : i));
  return Shape(dims);
}

Shape Shape::insert(int i, std::int64_t size) const {
  auto dims = to_vector();
  dims.insert(dims.begin() + i, size);
  return Shape(dims);
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> strides(rank_);
  std::int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    strides[i] = step;
    step *= dim(i);
  }
  return strides;
}

std::string Shape::to_string() const { return PartialShape(*this).to_string(); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

PartialShape::PartialShape(std::vector<std::int64_t> dims) : known_rank_(true), dims_(std::move(dims)) {
  for (auto& size : dims_) size = std::max<std::int64_t>(size, kUnknown);
}

PartialShape::PartialShape(const Shape& shape) : known_rank_(true), dims_(shape.to_vector()) {}

PartialShape PartialShape::unknown_of_rank(int rank) { return PartialShape(std::vector<std::int64_t>(rank, kUnknown)); }

bool PartialShape::is_fully_known() const {
  return known_rank_ && std::none_of(dims_.begin(), dims_.end(), [](std::int64_t d) { return d < 0; });
}

std::optional<Shape> PartialShape::to_shape() const {
  if (!is_fully_known()) return std::nullopt;
  return Shape(dims_);
}

std::int64_t PartialShape::num_elements() const {
  if (!is_fully_known()) return -1;
  return checked_num_elements(dims_).value_or(-1);
}

PartialShape PartialShape::with_dim(int i, std::int64_t size) const {
  PartialShape copy = *this;
  copy.dims_[i < 0 ? dims_.size() + i : i] = size;
  return copy;
}

bool PartialShape::compatible(const PartialShape& other) const { return merge(other).has_value(); }

std::optional<PartialShape> PartialShape::merge(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (dims_.size() != other.dims_.size()) return std::nullopt;
  PartialShape merged = *this;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (merged.dims_[i] < 0) {
      merged.dims_[i] = other.dims_[i];
    } else if (other.dims_[i] >= 0 && other.dims_[i] != merged.dims_[i]) {
      return std::nullopt;
    }
  }
  return merged;
}

std::string PartialShape::to_string() const {
  if (!known_rank_) return "<unknown>";
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const PartialShape& shape) { return out << shape.to_string(); }

}  // namespace caudal::inline v0
