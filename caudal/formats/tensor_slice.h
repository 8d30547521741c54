// Rectangular parts of tensors, as partitioned variables are saved in.
//
//   TensorSlice::parse("0,4:-")          // rows 0 to 3, all columns
//   ShapeAndSlice::parse("10 4 0,4:-")   // of a tensor [10,4]: what SaveV2 and RestoreV2 take
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/shape.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API TensorSlice {
 public:
  static constexpr int64_t kWhole = -1;
  struct Extent {
    int64_t start = 0;
    int64_t length = kWhole;  // or the number of elements
    friend bool operator==(const Extent&, const Extent&) = default;
  };

  TensorSlice() = default;
  explicit TensorSlice(std::vector<Extent> extents) : extents_(std::move(extents)) {}
  static TensorSlice whole(int rank) { return TensorSlice(std::vector<Extent>(rank)); }
  // "start,length" or "-" per dimension, separated by ":". INVALID_ARGUMENT if malformed.
  static TensorSlice parse(std::string_view text);
  std::string to_string() const;

  int rank() const { return static_cast<int>(extents_.size()); }
  const std::vector<Extent>& extents() const { return extents_; }
  // The same with explicit lengths. INVALID_ARGUMENT unless it lies inside a tensor of this shape.
  TensorSlice resolved(const Shape& full) const;
  // Shape of the part. REQUIRES: resolved.
  Shape shape() const;
  // The common part; false if there is none. REQUIRES: both resolved, for the same tensor.
  bool intersect(const TensorSlice& other, TensorSlice* common) const;

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;

 private:
  std::vector<Extent> extents_;
};

struct CAUDAL_API ShapeAndSlice {
  Shape full;
  TensorSlice slice;
  // INVALID_ARGUMENT if malformed or if the slice does not fit the shape.
  static ShapeAndSlice parse(std::string_view text);
};

// Copies the region `common` (in coordinates of the full tensor) from `source`, which holds the part `source_slice`, to
// `target`, which holds `target_slice`. Plain and string elements.
// REQUIRES: all slices resolved, `common` inside both parts; same dtype.
CAUDAL_API void copy_region(const TensorSlice& common, const TensorSlice& source_slice, const Tensor& source,
                            const TensorSlice& target_slice, Tensor* target);

}  // namespace caudal::inline v0
