// Counts of values as sparse tensors: only what occurs takes room, so the values may be large.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sparse_input.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;
using CountedTypes = kernels::TypeList<std::int32_t, std::int64_t, float, double>;

// --- Shapes ---

void set_sparse_outputs(ShapeContext& c, std::int64_t rank) {
  c.set_output(0, PartialShape({kUnknown, rank}));
  c.set_output(1, PartialShape({kUnknown}));
  c.set_output(2, PartialShape({rank}));
}

void dense_count_shape(ShapeContext& c) {
  const bool weighted = c.input(1).num_elements() > 0;
  const PartialShape values = weighted ? c.merged(0, 1) : c.input(0);
  set_sparse_outputs(c, values.has_rank() ? values.rank() : kUnknown);
}

void sparse_count_shape(ShapeContext& c) {
  const PartialShape indices = c.with_rank(0, 2);
  set_sparse_outputs(c, indices.has_rank() ? indices[1] : kUnknown);
}

void ragged_count_shape(ShapeContext& c) {
  set_sparse_outputs(c, c.input(1).has_rank() ? c.input(1).rank() + 1 : kUnknown);
}

// --- Kernels ---

// The counts of one call, ordered by row and value.
template <class T>
class Counts {
 public:
  // weights: null for none.
  Counts(const NodeInfo& node, const T* weights)
      : minlength_(node.attr<std::int64_t>("minlength")),
        maxlength_(node.attr<std::int64_t>("maxlength")),
        binary_(node.attr<bool>("binary_output")),
        weights_(weights) {}

  // Element i of the input, which has this value, stands in `row`.
  void add(std::int64_t row, std::int64_t value, std::int64_t i) {
    if (value < 0 || (maxlength_ > 0 && value >= maxlength_)) return;
    T& count = counts_[{row, value}];
    count = binary_ ? T(1) : kernels::wrap_add(count, weights_ != nullptr ? weights_[i] : T(1));
    greatest_ = std::max(greatest_, value);
  }

  // rows: of the dense shape; none for a vector of counts.
  void put(RunContext& c, bool vector, std::int64_t rows) const {
    const auto n = static_cast<std::int64_t>(counts_.size());
    auto* indices = c.allocate_output(0, {n, vector ? 1 : 2}).template data<std::int64_t>();
    T* values = c.allocate_output(1, {n}).template data<T>();
    for (const auto& [place, count] : counts_) {
      if (!vector) *indices++ = place.first;
      *indices++ = place.second;
      *values++ = count;
    }
    auto* shape = c.allocate_output(2, {vector ? 1 : 2}).template data<std::int64_t>();
    if (!vector) *shape++ = rows;
    *shape = maxlength_ > 0 ? maxlength_ : std::max(kernels::wrap_add(greatest_, std::int64_t{1}), minlength_);
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, T> counts_;
  std::int64_t minlength_, maxlength_, greatest_ = 0;
  bool binary_;
  const T* weights_;
};

// Counts all of `values`, element i in row row_of(i).
template <class RowOf>
void count(RunContext& c, const Tensor& values, const Tensor& weights, bool vector, std::int64_t rows, RowOf&& row_of) {
  if (weights.num_elements() > 0 && !(weights.shape() == values.shape())) {
    throw invalid_argument("Weights and values must have the same shape: weights ", weights.describe(), ", values ",
                           values.describe());
  }
  const bool wide = values.dtype() == DType::kInt64;
  kernels::dispatch(CountedTypes{}, weights.dtype(), "counts", [&]<class T>() {
    Counts<T> counts(c.node(), weights.num_elements() > 0 ? weights.data<T>() : nullptr);
    for (std::int64_t i = 0; i < values.num_elements(); ++i) {
      const std::int64_t value = wide ? values.data<std::int64_t>()[i] : values.data<std::int32_t>()[i];
      counts.add(row_of(i), value, i);
    }
    counts.put(c, vector, rows);
  });
}

void run_dense_count(RunContext& c) {
  const Tensor& values = c.input(0);
  if (values.rank() < 1 || values.rank() > 2) {
    throw invalid_argument("Input must be a 1 or 2-dimensional tensor. Got: ", values.describe());
  }
  const bool vector = values.rank() == 1;
  const std::int64_t rows = vector ? 1 : values.dim(0);
  if (rows == 0) throw invalid_argument("a matrix of values must have rows, it is ", values.describe());
  const std::int64_t columns = values.num_elements() / rows;
  count(c, values, c.input(1), vector, rows, [&](std::int64_t i) { return i / columns; });
}

void run_sparse_count(RunContext& c) {
  const SparseView input = sparse_input(c, 0, 1, 2, IndexOrder::kInside);
  if (input.rank == 0) throw invalid_argument("The shape argument requires at least one element.");
  const bool vector = input.rank == 1;
  const std::int64_t rows = vector ? 1 : input.dims[0];
  if (rows == 0 || rows >= std::numeric_limits<std::int32_t>::max()) {
    throw invalid_argument("Cannot allocate ", rows, " batches, is the dense shape too wide?");
  }
  count(c, *input.values, c.input(3), vector, rows, [&](std::int64_t i) { return vector ? 0 : input.index(i)[0]; });
}

void run_ragged_count(RunContext& c) {
  const std::span<const std::int64_t> splits = c.input(0).flat<std::int64_t>();
  const Tensor& values = c.input(1);
  if (splits.size() < 2) throw invalid_argument("Must provide at least 2 elements for the splits argument");
  if (splits.front() != 0) throw invalid_argument("Splits must start with 0, not with ", splits.front());
  if (splits.back() != values.num_elements()) {
    throw invalid_argument("Splits must end with the number of values, got ", splits.back(), " instead of ",
                           values.num_elements());
  }
  // The last split lies behind every element, so that the search ends even if the splits do not grow.
  std::size_t next = 0;
  count(c, values, c.input(2), false, static_cast<std::int64_t>(splits.size()) - 1, [&](std::int64_t i) {
    while (i >= splits[next]) ++next;
    return static_cast<std::int64_t>(next) - 1;
  });
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "DenseCountSparseOutput",
                    .inputs = "values: T; weights: output_type",
                    .outputs = "output_indices: int64; output_values: output_type; output_dense_shape: int64",
                    .attrs = "T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; "
                             "binary_output: bool; output_type: {int32, int64, float, double}",
                    .shape = dense_count_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_dense_count>});
CAUDAL_REGISTER_OP({.name = "SparseCountSparseOutput",
                    .inputs = "indices: int64; values: T; dense_shape: int64; weights: output_type",
                    .outputs = "output_indices: int64; output_values: output_type; output_dense_shape: int64",
                    .attrs = "T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; "
                             "binary_output: bool; output_type: {int32, int64, float, double}",
                    .shape = sparse_count_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_sparse_count>});
CAUDAL_REGISTER_OP({.name = "RaggedCountSparseOutput",
                    .inputs = "splits: int64; values: T; weights: output_type",
                    .outputs = "output_indices: int64; output_values: output_type; output_dense_shape: int64",
                    .attrs = "T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; "
                             "binary_output: bool; output_type: {int32, int64, float, double}",
                    .shape = ragged_count_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_ragged_count>});

}  // namespace caudal::inline v0
