// What a strided slice means: TensorFlow's begin, end, strides and five masks, resolved against a shape.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/attr.h"
#include "caudal/tensor/shape.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Bit i of a mask speaks of entry i of begin, end and strides.
struct SliceMasks {
  std::int64_t begin = 0;        // begin[i] is ignored: from the first element in the stride's direction
  std::int64_t end = 0;          // end[i] is ignored: up to the last
  std::int64_t ellipsis = 0;     // entry i stands for as many whole dimensions as are not named otherwise
  std::int64_t new_axis = 0;     // entry i takes no dimension and makes one of size 1
  std::int64_t shrink_axis = 0;  // entry i takes the one element begin[i] and drops the dimension

  static SliceMasks from(const AttrMap& attrs);
};

struct SliceBounds {
  // Unset: the values are not known yet.
  const std::vector<std::int64_t>* begin = nullptr;
  const std::vector<std::int64_t>* end = nullptr;
  std::vector<std::int64_t> strides;
};

// One dimension of the input: elements begin, begin + stride, ..., `size` of them.
struct SliceDim {
  std::int64_t begin = 0, stride = 1;
  std::int64_t size = -1;  // -1: not known
};

struct ResolvedSlice {
  std::vector<SliceDim> dims;  // one per dimension of the input
  // The result, with new dimensions and without dropped ones, and the same with one size per input dimension.
  PartialShape shape;
  std::vector<std::int64_t> sizes() const;
};

// Throws INVALID_ARGUMENT for entries that do not fit the shape, a stride of 0, an index out of range.
ResolvedSlice resolve_slice(const PartialShape& input, const SliceBounds& bounds, const SliceMasks& masks);
// With all values there, as kernels need it. Throws for tensors that are no vectors of one length too.
ResolvedSlice resolve_slice(const Shape& input, const Tensor& begin, const Tensor& end, const Tensor& strides,
                            const SliceMasks& masks);

// Where the elements of a resolved slice lie in a tensor of shape `input`: offset of the first, strides; in elements.
struct SliceLayout {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};
SliceLayout layout_of(const ResolvedSlice& slice, const Shape& input);

}  // namespace caudal::inline v0
