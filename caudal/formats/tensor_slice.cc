#include "caudal/formats/tensor_slice.h"

#include <algorithm>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0 {

TensorSlice TensorSlice::parse(std::string_view text) {
  std::vector<Extent> extents;
  if (text.empty()) return TensorSlice(std::move(extents));
  for (const std::string_view part : split(text, ':')) {
    Extent extent;
    if (part != "-") {
      const std::vector<std::string_view> numbers = split(part, ',');
      if (numbers.size() != 2 || !parse_int64(numbers[0], &extent.start) || !parse_int64(numbers[1], &extent.length) ||
          extent.start < 0 || extent.length <= 0)
        throw invalid_argument("malformed slice '", escaped(text), "'")
            .hint("Write \"start,length\" or \"-\" per dimension, separated by \":\".");
    }
    extents.push_back(extent);
  }
  return TensorSlice(std::move(extents));
}

std::string TensorSlice::to_string() const {
  std::vector<std::string> parts;
  for (const Extent& extent : extents_)
    parts.push_back(extent.length == kWhole ? "-" : internal::concat(extent.start, ',', extent.length));
  return join(parts, ":");
}

TensorSlice TensorSlice::resolved(const Shape& full) const {
  if (rank() != full.rank())
    throw invalid_argument("slice '", to_string(), "' has ", rank(), " dimensions, its tensor ", full.to_string());
  std::vector<Extent> extents = extents_;
  for (int i = 0; i < rank(); ++i) {
    if (extents[i].length == kWhole) extents[i] = {0, full.dim(i)};
    const bool inside = extents[i].start >= 0 && extents[i].length >= 0 && extents[i].start <= full.dim(i) &&
                        extents[i].length <= full.dim(i) - extents[i].start;
    if (!inside) throw invalid_argument("slice '", to_string(), "' does not lie inside ", full.to_string());
  }
  return TensorSlice(std::move(extents));
}

Shape TensorSlice::shape() const {
  std::vector<int64_t> dims;
  for (const Extent& extent : extents_) dims.push_back(extent.length);
  return Shape(dims);
}

bool TensorSlice::intersect(const TensorSlice& other, TensorSlice* common) const {
  std::vector<Extent> extents(extents_.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    const Extent &a = extents_[i], &b = other.extents_[i];
    const int64_t start = std::max(a.start, b.start);
    const int64_t end = std::min(a.start + a.length, b.start + b.length);
    if (end <= start) return false;
    extents[i] = {start, end - start};
  }
  *common = TensorSlice(std::move(extents));
  return true;
}

ShapeAndSlice ShapeAndSlice::parse(std::string_view text) {
  ShapeAndSlice out;
  std::vector<int64_t> dims;
  std::vector<std::string_view> words = split(text, ' ');
  const std::string_view slice = words.back();
  words.pop_back();
  for (const std::string_view word : words) {
    int64_t size;
    if (!parse_int64(word, &size) || size < 0)
      throw invalid_argument("malformed shape and slice '", escaped(text), "'")
          .hint("Write the sizes of the full tensor and the slice, such as \"10 4 0,4:-\".");
    dims.push_back(size);
  }
  out.full = Shape(dims);
  out.slice = TensorSlice::parse(slice);
  out.slice.resolved(out.full);
  return out;
}

void copy_region(const TensorSlice& common, const TensorSlice& source_slice, const Tensor& source,
                 const TensorSlice& target_slice, Tensor* target) {
  const int rank = common.rank();
  const Shape region = common.shape();
  if (region.num_elements() == 0) return;
  const std::vector<int64_t> source_strides = source.shape().strides(), target_strides = target->shape().strides();
  int64_t from = 0, to = 0;
  for (int i = 0; i < rank; ++i) {
    from += (common.extents()[i].start - source_slice.extents()[i].start) * source_strides[i];
    to += (common.extents()[i].start - target_slice.extents()[i].start) * target_strides[i];
  }
  const int64_t row = rank == 0 ? 1 : region.dim(rank - 1);
  const auto element = static_cast<int64_t>(dtype_size(source.dtype()));
  std::vector<int64_t> index(std::max(rank, 1), 0);
  while (true) {
    if (source.dtype() == DType::kString) {
      std::copy_n(source.data<std::string>() + from, row, target->data<std::string>() + to);
    } else {
      std::memcpy(target->raw() + to * element, source.raw() + from * element, static_cast<size_t>(row * element));
    }
    int i = rank - 2;
    for (; i >= 0; --i) {
      from += source_strides[i];
      to += target_strides[i];
      if (++index[i] < region.dim(i)) break;
      from -= source_strides[i] * index[i];
      to -= target_strides[i] * index[i];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace caudal::inline v0
