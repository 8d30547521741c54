// Shapes: Shape is fully known (of a value), PartialShape may lack sizes or even the rank (of a graph edge).
//
// Both are values; thread-compatible. Sizes are int64, row-major order throughout.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

inline constexpr int kMaxRank = 254;

// Sizes of a tensor. Up to six dimensions are stored inline, so that steady steps do not allocate.
class CAUDAL_API Shape {
 public:
  Shape() = default;  // scalar
  Shape(std::initializer_list<std::int64_t> dims);
  // Throws INVALID_ARGUMENT if a size is negative, the rank above kMaxRank or the element count beyond int64.
  explicit Shape(std::span<const std::int64_t> dims);
  explicit Shape(const std::vector<std::int64_t>& dims) : Shape(std::span<const std::int64_t>(dims)) {}

  int rank() const { return rank_; }
  std::int64_t dim(int i) const { return data()[i]; }
  // Counts from the end for negative i: back(-1) is the last size.
  std::int64_t operator[](int i) const { return data()[i < 0 ? rank_ + i : i]; }
  std::span<const std::int64_t> dims() const { return {data(), static_cast<std::size_t>(rank_)}; }
  std::vector<std::int64_t> to_vector() const { return {dims().begin(), dims().end()}; }
  std::int64_t num_elements() const { return elements_; }

  Shape with_dim(int i, std::int64_t size) const;
  Shape append(std::int64_t size) const;
  Shape remove(int i) const;
  Shape insert(int i, std::int64_t size) const;
  // Row-major strides in elements.
  std::vector<std::int64_t> strides() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.data()[i] != b.data()[i]) return false;
    }
    return true;
  }
  std::string to_string() const;  // "[2,3]"

 private:
  static constexpr int kInline = 6;
  const std::int64_t* data() const { return rank_ <= kInline ? inline_.data() : more_.data(); }

  int rank_ = 0;
  std::int64_t elements_ = 1;
  std::array<std::int64_t, kInline> inline_{};
  std::vector<std::int64_t> more_;
};

CAUDAL_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

// Element count of `dims`, or nothing if it is negative somewhere or beyond int64.
CAUDAL_API std::optional<std::int64_t> checked_num_elements(std::span<const std::int64_t> dims);

// A shape as far as it is known: rank unknown, or sizes with -1 for unknown ones.
class CAUDAL_API PartialShape {
 public:
  static constexpr std::int64_t kUnknown = -1;

  PartialShape() = default;  // unknown rank
  PartialShape(std::initializer_list<std::int64_t> dims) : PartialShape(std::vector<std::int64_t>(dims)) {}
  explicit PartialShape(std::vector<std::int64_t> dims);
  PartialShape(const Shape& shape);  // NOLINT: a known shape is a partial one
  static PartialShape unknown() { return {}; }
  static PartialShape scalar() { return PartialShape(std::vector<std::int64_t>{}); }
  static PartialShape unknown_of_rank(int rank);

  bool has_rank() const { return known_rank_; }
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  // REQUIRES: has_rank(). Negative i counts from the end.
  std::int64_t dim(int i) const { return dims_[i < 0 ? dims_.size() + i : i]; }
  std::int64_t operator[](int i) const { return dim(i); }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  bool is_fully_known() const;
  std::optional<Shape> to_shape() const;
  // Number of elements, or -1.
  std::int64_t num_elements() const;

  PartialShape with_dim(int i, std::int64_t size) const;
  // True if some fully known shape fits both.
  bool compatible(const PartialShape& other) const;
  // What both together tell; nothing if they contradict each other.
  std::optional<PartialShape> merge(const PartialShape& other) const;

  friend bool operator==(const PartialShape&, const PartialShape&) = default;
  std::string to_string() const;  // "[?,784]", "<unknown>"

 private:
  bool known_rank_ = false;
  std::vector<std::int64_t> dims_;
};

CAUDAL_API std::ostream& operator<<(std::ostream& out, const PartialShape& shape);

}  // namespace caudal::inline v0
