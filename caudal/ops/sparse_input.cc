#include "caudal/ops/sparse_input.h"

#include <algorithm>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

std::string index_text(std::span<const std::int64_t> index) {
  std::string text = "[";
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(index[i]);
  }
  return text + ']';
}

void check_indices(const SparseView& view, IndexOrder order, std::string_view what) {
  if (order == IndexOrder::kAny) return;
  for (std::int64_t k = 0; k < view.count; ++k) {
    const auto index = view.index(k);
    for (int d = 0; d < view.rank; ++d) {
      if (index[d] >= 0 && index[d] < view.dims[d]) continue;
      throw invalid_argument(what, "[", k, "] = ", index_text(index), " is out of bounds: need 0 <= index < ",
                             index_text(view.dims));
    }
    if (order != IndexOrder::kStrict || k == 0) continue;
    if (std::ranges::lexicographical_compare(view.index(k - 1), index)) continue;
    if (std::ranges::equal(view.index(k - 1), index)) {
      throw invalid_argument(what, "[", k, "] = ", index_text(index), " is repeated");
    }
    throw invalid_argument(what, "[", k, "] = ", index_text(index), " is out of order")
        .hint("sparse::reorder sorts them.");
  }
}

SparseView sparse_view(const Tensor& indices, const Tensor& values, const Tensor& shape, IndexOrder order,
                       std::string_view what) {
  if (indices.rank() != 2) {
    throw invalid_argument(what, "indices should be a matrix but received shape ", indices.shape());
  }
  if (values.rank() != 1) {
    throw invalid_argument(what, "values should be a vector but received shape ", values.shape());
  }
  if (shape.rank() != 1) throw invalid_argument(what, "shape should be a vector but received shape ", shape.shape());
  if (indices.dim(0) != values.dim(0)) {
    throw invalid_argument("Number of elements in ", what, "indices (", indices.dim(0), ") and ", what, "values (",
                           values.dim(0), ") do not match");
  }
  if (indices.dim(1) != shape.dim(0)) {
    throw invalid_argument("Index rank (", indices.dim(1), ") of ", what, "indices and shape rank (", shape.dim(0),
                           ") do not match");
  }
  SparseView view{.indices = indices.flat<std::int64_t>(),
                  .values = &values,
                  .dims = shape.to_vector<std::int64_t>(),
                  .count = indices.dim(0),
                  .rank = static_cast<int>(shape.dim(0))};
  if (!checked_num_elements(view.dims)) {
    throw invalid_argument(what, "shape ", index_text(view.dims),
                           " is no shape: sizes are at least 0, and their "
                           "product fits int64");
  }
  check_indices(view, order, std::string(what) + "indices");
  return view;
}

SparseView sparse_input(RunContext& c, int indices, int values, int shape, IndexOrder order) {
  // "sp_", "a_", "input_": what the names of the three have in common.
  const std::string& name = c.node().op->def.inputs[indices].name;
  const std::string prefix = name.ends_with("indices") ? name.substr(0, name.size() - 7) : name + " ";
  return sparse_view(c.input(indices), c.input(values), c.input(shape), order, prefix);
}

PartialShape sparse_input_shape(ShapeContext& c, int indices, int values, int shape) {
  const PartialShape i = c.with_rank(indices, 2), v = c.with_rank(values, 1), s = c.with_rank(shape, 1);
  if (i.has_rank() && v.has_rank()) ShapeContext::merge_dim(i[0], v[0], "numbers of indices and values");
  if (i.has_rank() && s.has_rank()) ShapeContext::merge_dim(i[1], s[0], "ranks of indices and shape");
  PartialShape dense = c.input_as_shape(shape);
  if (dense.has_rank()) return dense;
  const std::int64_t rank = s.has_rank() && s[0] >= 0 ? s[0] : i.has_rank() ? i[1] : -1;
  return rank >= 0 && rank <= kMaxRank ? PartialShape::unknown_of_rank(static_cast<int>(rank))
                                       : PartialShape::unknown();
}

}  // namespace caudal::inline v0
