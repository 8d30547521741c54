#include "caudal/ops/nd_index.h"

#include <algorithm>
#include <string>

#include "caudal/base/error.h"
#include "caudal/ops/position_text.h"

namespace caudal::inline v0 {

int checked_depth(const Tensor& indices, const Shape& shape, std::string_view what) {
  if (indices.rank() < 1) throw invalid_argument("indices must have at least one dimension");
  const std::int64_t depth = indices.shape()[-1];
  if (depth > shape.rank()) {
    throw invalid_argument("indices ", indices.describe(), " have ", depth, " entries each; ", what, ' ', shape,
                           " has fewer dimensions");
  }
  return static_cast<int>(depth);
}

std::vector<std::int64_t> slice_offsets(const Tensor& indices, const Shape& shape) {
  const std::int64_t depth = indices.shape()[-1];
  const auto values = indices.to_int64s();
  std::size_t count = 1;
  for (const std::int64_t size : indices.shape().dims().first(indices.rank() - 1)) count *= size;
  std::vector<std::int64_t> offsets(count, 0);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    for (std::int64_t d = 0; d < depth; ++d) {
      const std::int64_t value = values[i * depth + d], size = shape[static_cast<int>(d)];
      if (value < 0 || value >= size) {
        offsets[i] = -1;
        break;
      }
      offsets[i] = offsets[i] * size + value;
    }
  }
  return offsets;
}

namespace {

std::string joined(std::span<const std::int64_t> values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

}  // namespace

void check_offsets(const NodeInfo& node, const std::vector<std::int64_t>& offsets, const Tensor& indices,
                   const Shape& shape, std::string_view what) {
  const AttrValue* policy = find_attr(node.attrs, "bad_indices_policy");
  if (policy != nullptr && *policy->get_if<std::string>() == "IGNORE") return;
  const auto bad = std::ranges::find(offsets, -1);
  if (bad == offsets.end()) return;
  const auto row = bad - offsets.begin();
  const auto depth = indices.shape()[-1];
  const auto values = indices.to_int64s();
  const std::string place = position_text(row, indices.shape().remove(indices.rank() - 1));
  throw invalid_argument("indices", place, " = [",
                         joined(std::span(values).subspan(row * depth, static_cast<std::size_t>(depth))),
                         "] does not index into ", what, ' ', shape);
}

void check_updates(const Tensor& indices, const Shape& updates, const Shape& shape) {
  const int depth = checked_depth(indices, shape, "the shape");
  const auto places = indices.shape().dims();
  std::vector<std::int64_t> wanted(places.begin(), places.end() - 1);
  wanted.insert(wanted.end(), shape.dims().begin() + depth, shape.dims().end());
  if (updates == Shape(wanted)) return;
  throw invalid_argument("updates must have shape ", Shape(wanted), ", not ", updates, ": dimensions [0,",
                         places.size() - 1, ") of indices[shape=", indices.shape(), "] must match dimensions [0,",
                         places.size() - 1, ") of updates[shape=", updates, "], and dimensions [", depth, ",",
                         shape.rank(), ") of input[shape=", shape, "] the others");
}

}  // namespace caudal::inline v0
