#include "caudal/ops/slice_spec.h"

#include <algorithm>
#include <bit>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxEntries = 32;

bool bit(std::int64_t mask, int i) { return ((mask >> i) & 1) != 0; }

// Entries of the specification spread over the input's dimensions, before any value is looked at.
struct Dense {
  static constexpr int kWhole = -1;
  std::vector<int> entry;  // for each input dimension the entry that speaks of it, or kWhole
  static constexpr int kNewAxis = -1;
  static constexpr int kDropped = -2;
  std::vector<int> result;  // for each result dimension its input dimension or kNewAxis; kDropped leaves none
};

Dense spread(int entries, int rank, const SliceMasks& masks) {
  Dense dense;
  const std::int64_t used = entries >= 64 ? -1 : (std::int64_t{1} << entries) - 1;
  if (std::popcount(static_cast<std::uint64_t>(masks.ellipsis & used)) > 1) {
    throw invalid_argument("a slice may have one ellipsis only");
  }
  const auto whole_until = [&](int end) {
    for (int dim = static_cast<int>(dense.entry.size()); dim < end; ++dim) {
      dense.entry.push_back(Dense::kWhole);
      dense.result.push_back(dim);
    }
  };
  for (int i = 0; i < entries; ++i) {
    if (bit(masks.ellipsis, i)) {
      int after = 0;  // dimensions that later entries take
      for (int k = i + 1; k < entries; ++k) after += bit(masks.new_axis, k) ? 0 : 1;
      whole_until(rank - after);
    } else if (bit(masks.new_axis, i)) {
      dense.result.push_back(Dense::kNewAxis);
    } else {
      const int dim = static_cast<int>(dense.entry.size());
      if (dim == rank) {
        throw invalid_argument("the slice speaks of more than the ", rank, " dimensions of its input");
      }
      dense.entry.push_back(i);
      dense.result.push_back(bit(masks.shrink_axis, i) ? Dense::kDropped : dim);
    }
  }
  whole_until(rank);
  return dense;
}

// The one element that a shrinking entry takes; its stride does not matter.
SliceDim picked(std::int64_t index, std::int64_t size, int dim) {
  const std::int64_t from_front = index < 0 ? index + size : index;
  if (from_front < 0 || from_front >= size) {
    throw invalid_argument("slice index ", index, " of dimension ", dim, " is out of bounds: its size is ", size);
  }
  return {from_front, 1, 1};
}

// numpy's rule: bounds outside the dimension are moved to its ends.
SliceDim ranged(std::int64_t begin, bool begin_masked, std::int64_t end, bool end_masked, std::int64_t stride,
                std::int64_t size) {
  const std::int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  const auto clamped = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, low, high); };
  begin = begin_masked ? (stride > 0 ? low : high) : clamped(begin);
  end = end_masked ? (stride > 0 ? high : low) : clamped(end);
  const std::int64_t length = end - begin;
  if (length == 0 || (length < 0) != (stride < 0)) return {0, 1, 0};
  const std::int64_t count = length / stride + (length % stride != 0 ? 1 : 0);
  return {begin, count == 1 ? 1 : stride, count};
}

SliceDim resolve_dim(std::int64_t size, int dim, int i, const SliceBounds& bounds, const SliceMasks& masks) {
  const std::int64_t stride = bounds.strides[i];
  const bool shrink = bit(masks.shrink_axis, i);
  if (stride == 0) throw invalid_argument("strides[", i, "] is 0");
  if (size < 0) return {0, 1, shrink ? 1 : -1};
  if (shrink && stride < 0) throw invalid_argument("strides[", i, "] is ", stride, " where one element is picked");
  const bool begin_masked = bit(masks.begin, i), end_masked = bit(masks.end, i);
  const bool known = bounds.begin != nullptr && bounds.end != nullptr;
  if (shrink) return known ? picked((*bounds.begin)[i], size, dim) : SliceDim{0, 1, 1};
  if (!known && !(begin_masked && end_masked)) return {0, stride, -1};
  if (!known) return ranged(0, true, 0, true, stride, size);
  return ranged((*bounds.begin)[i], begin_masked, (*bounds.end)[i], end_masked, stride, size);
}

}  // namespace

SliceMasks SliceMasks::from(const AttrMap& attrs) {
  const auto mask = [&](std::string_view name) { return attr_as<std::int64_t>(attrs, name); };
  return {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")};
}

std::vector<std::int64_t> ResolvedSlice::sizes() const {
  std::vector<std::int64_t> result;
  for (const SliceDim& dim : dims) result.push_back(dim.size);
  return result;
}

ResolvedSlice resolve_slice(const PartialShape& input, const SliceBounds& bounds, const SliceMasks& masks) {
  const auto entries = bounds.strides.size();
  if (entries > kMaxEntries) throw invalid_argument("a slice of ", entries, " entries; ", kMaxEntries, " are possible");
  const Dense dense = spread(static_cast<int>(entries), input.rank(), masks);
  ResolvedSlice slice;
  for (int dim = 0; dim < input.rank(); ++dim) {
    const int entry = dense.entry[dim];
    slice.dims.push_back(entry == Dense::kWhole ? SliceDim{0, 1, input[dim]}
                                                : resolve_dim(input[dim], dim, entry, bounds, masks));
  }
  std::vector<std::int64_t> shape;
  for (const int from : dense.result) {
    if (from == Dense::kDropped) continue;
    shape.push_back(from == Dense::kNewAxis ? 1 : slice.dims[from].size);
  }
  slice.shape = PartialShape(std::move(shape));
  return slice;
}

ResolvedSlice resolve_slice(const Shape& input, const Tensor& begin, const Tensor& end, const Tensor& strides,
                            const SliceMasks& masks) {
  if (begin.rank() != 1 || begin.shape() != end.shape() || begin.shape() != strides.shape()) {
    throw invalid_argument("begin, end and strides must be vectors of one length, not ", begin.describe(), ", ",
                           end.describe(), ", ", strides.describe());
  }
  const auto from = begin.to_int64s(), to = end.to_int64s();
  return resolve_slice(PartialShape(input), {&from, &to, strides.to_int64s()}, masks);
}

SliceLayout layout_of(const ResolvedSlice& slice, const Shape& input) {
  SliceLayout layout{0, input.strides()};
  for (std::size_t i = 0; i < slice.dims.size(); ++i) {
    layout.offset += slice.dims[i].begin * layout.strides[i];
    layout.strides[i] *= slice.dims[i].stride;
  }
  return layout;
}

}  // namespace caudal::inline v0
