// Parts of tensors.
//
//   index(x, {Slice{1, 3}, kEllipsis, 0})   // x[1:3, ..., 0]
//   index(x, {kAll, kNewAxis})              // x[:, newaxis]
//
// Thread safety: as building a graph.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// The block that starts at `begin` and has `size` elements in each dimension; -1 takes all that are left. Both are
// int32 or int64 vectors, one entry per dimension. INVALID_ARGUMENT if the block reaches outside.
CAUDAL_API Output slice(const Operand& input, const Operand& begin, const Operand& size, const OpOptions& options = {});

struct StridedSliceOptions {
  std::int64_t begin_mask = 0;
  std::int64_t end_mask = 0;
  std::int64_t ellipsis_mask = 0;
  std::int64_t new_axis_mask = 0;
  std::int64_t shrink_axis_mask = 0;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// Elements begin, begin + stride, ... before end, in each dimension, as numpy counts (negative: from the end; bounds
// outside are moved to the ends). What the masks mean stands in slice_spec.h.
CAUDAL_API Output strided_slice(const Operand& input, const Operand& begin, const Operand& end, const Operand& strides,
                                const StridedSliceOptions& options = {});

// A bound of a Slice: a number, a scalar integer tensor, or nothing.
class SliceBound {
 public:
  SliceBound() = default;
  template <std::integral T>
  SliceBound(T value) : number_(value) {}              // NOLINT: reads as an index
  SliceBound(const Output& value) : tensor_(value) {}  // NOLINT
  bool is_set() const { return number_.has_value() || tensor_; }
  const std::optional<std::int64_t>& number() const { return number_; }
  const Output& tensor() const { return tensor_; }

 private:
  std::optional<std::int64_t> number_;
  Output tensor_;
};

// begin:end:step of one dimension.
struct Slice {
  SliceBound begin = {}, end = {};
  SliceBound step = 1;
};

struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis kNewAxis;    // a new dimension of size 1
inline constexpr Ellipsis kEllipsis;  // all dimensions that the other items leave
inline const Slice kAll;              // the whole dimension

// One item between the brackets of x[...].
class IndexItem {
 public:
  enum class Kind { kIndex, kSlice, kNewAxis, kEllipsis };
  template <std::integral T>
  IndexItem(T index) : kind_(Kind::kIndex), slice_{index, {}, 1} {}              // NOLINT
  IndexItem(const Output& index) : kind_(Kind::kIndex), slice_{index, {}, 1} {}  // NOLINT
  IndexItem(Slice slice) : kind_(Kind::kSlice), slice_(std::move(slice)) {}      // NOLINT
  IndexItem(NewAxis) : kind_(Kind::kNewAxis) {}                                  // NOLINT
  IndexItem(Ellipsis) : kind_(Kind::kEllipsis) {}                                // NOLINT
  Kind kind() const { return kind_; }
  const Slice& slice() const { return slice_; }

 private:
  Kind kind_;
  Slice slice_;
};

// x[items]: an integer picks one element and drops the dimension. INVALID_ARGUMENT for an index out of range; bounds of
// slices may lie outside.
CAUDAL_API Output index(const Operand& x, const std::vector<IndexItem>& items, const OpOptions& options = {});

namespace raw_ops {
// Zeros of shape `shape` with `dy` where the strided slice takes its elements.
CAUDAL_API Output strided_slice_grad(const Operand& shape, const Operand& begin, const Operand& end,
                                     const Operand& strides, const Operand& dy,
                                     const StridedSliceOptions& options = {});
}  // namespace raw_ops
// `tensor` with `value`, broadcast to the slice, where the strided slice takes its elements.
CAUDAL_API Output tensor_strided_slice_update(const Operand& input, const Operand& begin, const Operand& end,
                                              const Operand& strides, const Operand& value,
                                              const StridedSliceOptions& options = {});

}  // namespace caudal::inline v0
