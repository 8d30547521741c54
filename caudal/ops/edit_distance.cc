#include "caudal/ops/edit_distance.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

// --- Shape function ---

List common_sizes(const List& hypothesis, const List& truth) {
  if (hypothesis.size() != truth.size() || truth.size() < 2) {
    throw invalid_argument("hypothesis and truth must have one rank of at least 2, not ", hypothesis.size(), " and ",
                           truth.size());
  }
  List dims;
  for (std::size_t d = 0; d + 1 < truth.size(); ++d) dims.push_back(std::max(hypothesis[d], truth[d]));
  return dims;
}

void edit_distance_shape(ShapeContext& c) {
  for (const int first : {0, 3}) {
    const PartialShape indices = c.with_rank(first, 2);
    ShapeContext::merge_dim(indices.dim(0), c.with_rank(first + 1, 1).dim(0), "indices and values");
    ShapeContext::merge_dim(indices.dim(1), c.with_rank(first + 2, 1).dim(0), "indices and shape");
  }
  const Tensor *hypothesis = c.constant_input(2), *truth = c.constant_input(5);
  if (hypothesis != nullptr && truth != nullptr) {
    c.set_output(0, PartialShape(common_sizes(hypothesis->to_int64s(), truth->to_int64s())));
  }
}

// --- Kernel ---

// Where the sequences of a sparse tensor begin and end among its values, by the offset of their place in the result.
struct Stretch {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
using Sequences = std::map<std::int64_t, Stretch>;

// The sparse tensor of inputs `first` and the next two.
Sequences sequences_of(const RunContext& c, int first, const Shape& result) {
  const Tensor &indices = c.input(first), &values = c.input(first + 1);
  const List sizes = c.input(first + 2).to_int64s(), strides = result.strides();
  const std::int64_t rank = indices.dim(1);
  Sequences sequences;
  for (std::int64_t i = 0; i < values.num_elements(); ++i) {
    const std::int64_t* at = indices.data<std::int64_t>() + i * rank;
    for (std::int64_t d = 0; d < rank; ++d) {
      if (at[d] < 0 || at[d] >= sizes[static_cast<std::size_t>(d)]) {
        throw invalid_argument("indices[", i, "] is outside the shape ", c.input(first + 2));
      }
    }
    if (i > 0 && !std::lexicographical_compare(at - rank, at, at, at + rank)) {
      throw invalid_argument("indices[", i, "] is out of order or repeated").hint("Sort them row by row.");
    }
    const std::int64_t place = std::inner_product(strides.begin(), strides.end(), at, std::int64_t{0});
    Stretch& stretch = sequences[place];
    if (stretch.size() == 0) stretch.begin = i;
    stretch.end = i + 1;
  }
  return sequences;
}

void check_sparse(const RunContext& c, int first) {
  const Tensor &indices = c.input(first), &values = c.input(first + 1), &shape = c.input(first + 2);
  if (indices.rank() == 2 && values.rank() == 1 && shape.rank() == 1 && indices.dim(0) == values.dim(0) &&
      indices.dim(1) == shape.dim(0)) {
    return;
  }
  throw invalid_argument("indices ", indices.describe(), ", values ", values.describe(), " and shape ",
                         shape.describe(), " are no sparse tensor");
}

// By the table of prefixes, of which one row is kept.
template <class Equal>
std::int64_t distance(const Stretch& truth, const Stretch& hypothesis, const Equal& equal) {
  List row(static_cast<std::size_t>(hypothesis.size() + 1));
  std::iota(row.begin(), row.end(), 0);
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    std::int64_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 1; j < row.size(); ++j) {
      const bool same = equal(truth.begin + i, hypothesis.begin + static_cast<std::int64_t>(j) - 1);
      const std::int64_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Equality of elements i and j of two tensors of one type.
class Equality {
 public:
  Equality(const Tensor& a, const Tensor& b) : a_(a), b_(b), size_(dtype_size(a.dtype())) {}
  bool operator()(std::int64_t i, std::int64_t j) const {
    if (a_.dtype() == DType::kString) return a_.data<std::string>()[i] == b_.data<std::string>()[j];
    if (is_floating(a_.dtype()) || is_complex(a_.dtype())) return equal_numbers(i, j);
    return bytes(a_, i) == bytes(b_, j);
  }

 private:
  std::string_view bytes(const Tensor& t, std::int64_t i) const {
    return t.raw_bytes().substr(static_cast<std::size_t>(i) * size_, size_);
  }
  bool equal_numbers(std::int64_t i, std::int64_t j) const {
    switch (a_.dtype()) {
      case DType::kFloat:
        return a_.data<float>()[i] == b_.data<float>()[j];
      case DType::kDouble:
        return a_.data<double>()[i] == b_.data<double>()[j];
      case DType::kHalf:
        return a_.data<Half>()[i] == b_.data<Half>()[j];
      case DType::kBFloat16:
        return a_.data<BFloat16>()[i] == b_.data<BFloat16>()[j];
      case DType::kComplex64:
        return a_.data<std::complex<float>>()[i] == b_.data<std::complex<float>>()[j];
      default:
        return a_.data<std::complex<double>>()[i] == b_.data<std::complex<double>>()[j];
    }
  }

  const Tensor &a_, &b_;
  std::size_t size_;
};

void run_edit_distance(RunContext& c) {
  check_sparse(c, 0);
  check_sparse(c, 3);
  const Shape shape(common_sizes(c.input(2).to_int64s(), c.input(5).to_int64s()));
  if (shape.num_elements() == 0) throw invalid_argument("the result ", shape, " has no elements");
  const Sequences hypotheses = sequences_of(c, 0, shape), truths = sequences_of(c, 3, shape);
  const bool normalize = c.node().attr<bool>("normalize");
  const Equality equal(c.input(4), c.input(1));
  float* out = c.allocate_output(0, shape).data<float>();
  std::fill_n(out, shape.num_elements(), 0.0F);
  for (const auto& [place, hypothesis] : hypotheses) {
    const auto truth = truths.find(place);
    if (truth == truths.end()) {
      out[place] = normalize ? std::numeric_limits<float>::infinity() : static_cast<float>(hypothesis.size());
    } else {
      out[place] = static_cast<float>(distance(truth->second, hypothesis, equal));
      if (normalize) out[place] /= static_cast<float>(truth->second.size());
    }
  }
  for (const auto& [place, truth] : truths) {
    if (!hypotheses.contains(place)) out[place] = normalize ? 1.0F : static_cast<float>(truth.size());
  }
}

std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const DType dtype = c.input_type(1);
  if (!is_plain(dtype) && dtype != DType::kString) throw unimplemented("no kernel for ", dtype, " on CPU");
  return kernel_of<run_edit_distance>(c);
}

}  // namespace

// --- Registration ---

CAUDAL_REGISTER_OP({.name = "EditDistance",
                    .inputs = "hypothesis_indices: int64; hypothesis_values: T; hypothesis_shape: int64; "
                              "truth_indices: int64; truth_values: T; truth_shape: int64",
                    .outputs = "output: float",
                    .attrs = "normalize: bool = true; T: type",
                    .shape = edit_distance_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare});

// --- Public function ---

Output edit_distance(const SparseTensor& hypothesis, const SparseTensor& truth, const EditDistanceOptions& options) {
  OpBuilder builder("EditDistance", {.name = options.name, .where = options.where});
  for (const SparseTensor* tensor : {&hypothesis, &truth}) {
    builder.input(tensor->indices).input(tensor->values).input(tensor->dense_shape);
  }
  return builder.attr("normalize", options.normalize).build();
}

}  // namespace caudal::inline v0
