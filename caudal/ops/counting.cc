#include "caudal/ops/counting.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/sparse_input.h"

namespace caudal::inline v0 {
namespace {

constexpr std::int64_t kUnknown = PartialShape::kUnknown;
using CountedTypes = kernels::TypeList<std::int32_t, std::int64_t, float, double>;

// --- Shapes ---

std::int64_t known_size(ShapeContext& c, int i, const char* what, std::int64_t least) {
  c.with_rank(i, 0);
  const Tensor* value = c.constant_input(i);
  if (value == nullptr) return kUnknown;
  const std::int64_t size = scalar_int(*value, what);
  if (size < least) throw invalid_argument(what, " is ", size, ", it must be ", least, " at least");
  return size;
}

void bincount_shape(ShapeContext& c) { c.set_output(0, PartialShape({known_size(c, 1, "size", 0)})); }

void dense_bincount_shape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  const std::int64_t size = known_size(c, 1, "size", 0);
  if (!input.has_rank()) return c.set_output(0, PartialShape::unknown());
  if (input.rank() > 2) throw invalid_argument("the input may be a vector or a matrix, it has shape ", input);
  c.set_output(0, input.rank() == 2 ? PartialShape({input[0], size}) : PartialShape({size}));
}

void ragged_bincount_shape(ShapeContext& c) {
  const PartialShape splits = c.with_rank(0, 1);
  c.with_rank(1, 1);
  const std::int64_t rows = splits[0] > 0 ? splits[0] - 1 : kUnknown;
  c.set_output(0, PartialShape({rows, known_size(c, 2, "size", 0)}));
}

void sparse_bincount_shape(ShapeContext& c) {
  const PartialShape indices = c.with_rank(0, 2), values = c.with_rank(1, 1), shape = c.with_rank(2, 1);
  ShapeContext::merge_dim(indices[0], values[0], "number of values");
  const std::int64_t rank = ShapeContext::merge_dim(indices[1], shape[0], "number of dimensions");
  const std::int64_t size = known_size(c, 3, "size", 0);
  if (rank == kUnknown) return c.set_output(0, PartialShape::unknown());
  const Tensor* dense = c.constant_input(2);
  if (rank == 1) return c.set_output(0, PartialShape({size}));
  if (rank != 2) throw invalid_argument("the input may have one dimension or two, it has ", rank);
  c.set_output(0, PartialShape({dense != nullptr ? dense->to_int64s()[0] : kUnknown, size}));
}

void histogram_shape(ShapeContext& c) {
  const PartialShape range = c.with_rank(1, 1);
  ShapeContext::merge_dim(range[0], 2, "number of ends of value_range");
  c.set_output(0, PartialShape({known_size(c, 2, "nbins", 1)}));
}

void bound_shape(ShapeContext& c) {
  const PartialShape sorted = c.with_rank(0, 2), values = c.with_rank(1, 2);
  const std::int64_t rows = ShapeContext::merge_dim(sorted[0], values[0], "number of rows");
  c.set_output(0, values.with_dim(0, rows));
}

void nth_element_shape(ShapeContext& c) {
  const PartialShape input = c.with_rank_at_least(0, 1);
  const std::int64_t n = known_size(c, 1, "n", 0);
  if (!input.has_rank()) return c.set_output(0, input);
  if (n != kUnknown && input[-1] != kUnknown && n >= input[-1]) {
    throw invalid_argument("n is ", n, ", the rows of ", input, " have ", input[-1], " elements");
  }
  c.set_output(0, PartialShape(std::vector<std::int64_t>(input.dims().begin(), input.dims().end() - 1)));
}

void cumulative_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  const Tensor* axis = c.constant_input(1);
  if (axis != nullptr && c.input(0).has_rank()) normalized_axis(axis->to_int64s()[0], c.input(0).rank());
  c.set_output(0, c.input(0));
}

// --- Counting ---

// bins[values[i]] += weights[i] (or 1; or set to 1). weights: null for none.
template <class Index, class T>
void count_element(const Index* values, std::int64_t i, const T* weights, bool binary, T* bins, std::int64_t size) {
  const auto value = static_cast<std::int64_t>(values[i]);
  if (value < 0) throw invalid_argument("the input must not be negative, element ", i, " is ", value);
  if (value >= size) return;
  bins[value] = binary ? T(1) : kernels::wrap_add(bins[value], weights != nullptr ? weights[i] : T(1));
}

template <class Index, class T>
void count_row(const Index* values, std::int64_t n, const T* weights, bool binary, T* bins, std::int64_t size) {
  for (std::int64_t i = 0; i < n; ++i) count_element(values, i, weights, binary, bins, size);
}

// Calls fn.operator()<Index, T>() for the types of the values and of the counts.
template <class Fn>
void with_count_types(DType values, DType counts, Fn&& fn) {
  kernels::dispatch(CountedTypes{}, counts, "counts", [&]<class T>() {
    if (values == DType::kInt64) {
      fn.template operator()<std::int64_t, T>();
    } else {
      fn.template operator()<std::int32_t, T>();
    }
  });
}

void check_weights(const Tensor& values, const Tensor& weights) {
  if (weights.num_elements() == 0 || weights.shape() == values.shape()) return;
  throw invalid_argument("the weights must have the shape of the input ", values.describe(), " or be empty, they are ",
                         weights.describe());
}

// Ragged and sparse counts take weights of any shape, in row-major order, and leave what is beyond the values.
void check_enough_weights(const Tensor& values, const Tensor& weights) {
  if (weights.num_elements() == 0 || weights.num_elements() >= values.num_elements()) return;
  throw invalid_argument("there must be a weight for each of the values ", values.describe(), " or none, they are ",
                         weights.describe());
}

std::int64_t bin_count(RunContext& c, int i = 1) {
  if (c.input(i).rank() != 0) throw invalid_argument("size must be a scalar, not ", c.input(i).describe());
  const std::int64_t size = scalar_int(c.input(i), "size");
  if (size < 0) throw invalid_argument("size is ", size, ", it must not be negative");
  return size;
}

class BincountKernel final : public Kernel {
 public:
  explicit BincountKernel(bool binary) : binary_(binary) {}

  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &weights = c.input(2);
    const bool by_row = c.node().type() == "DenseBincount" && input.rank() == 2;
    if (c.node().type() == "DenseBincount" && input.rank() > 2) {
      throw invalid_argument("the input may be a vector or a matrix, it is ", input.describe());
    }
    check_weights(input, weights);
    const std::int64_t size = bin_count(c), rows = by_row ? input.dim(0) : 1;
    Tensor& bins = c.allocate_output(0, by_row ? Shape({rows, size}) : Shape({size}));
    if (bins.num_elements() > 0) std::memset(bins.raw(), 0, bins.byte_size());
    const std::int64_t n = by_row ? input.dim(1) : input.num_elements();
    with_count_types(input.dtype(), bins.dtype(), [&]<class Index, class T>() {
      const T* w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
      for (std::int64_t r = 0; r < rows; ++r) {
        count_row(input.data<Index>() + r * n, n, w == nullptr ? w : w + r * n, binary_, bins.data<T>() + r * size,
                  size);
      }
    });
  }

 private:
  bool binary_;
};

std::unique_ptr<Kernel> prepare_bincount(PrepareContext& c) {
  const bool dense = c.node().type() == "DenseBincount";
  return std::make_unique<BincountKernel>(dense && c.attr<bool>("binary_output"));
}

// Rows of different lengths: row r has the values from splits[r] to splits[r + 1].
void run_ragged_bincount(RunContext& c) {
  const Tensor &splits = c.input(0), &values = c.input(1), &weights = c.input(3);
  if (splits.rank() != 1 || splits.num_elements() == 0 || values.rank() != 1) {
    throw invalid_argument("splits ", splits.describe(), " and values ", values.describe(), " must be vectors");
  }
  const std::span<const std::int64_t> ends = splits.flat<std::int64_t>();
  if (ends.front() != 0 || ends.back() != values.num_elements() || !std::is_sorted(ends.begin(), ends.end())) {
    throw invalid_argument("splits must grow from 0 to the number of values, ", values.num_elements());
  }
  check_enough_weights(values, weights);
  const bool binary = c.node().attr<bool>("binary_output");
  const std::int64_t size = bin_count(c, 2), rows = splits.num_elements() - 1;
  Tensor& bins = c.allocate_output(0, Shape({rows, size}));
  if (bins.num_elements() > 0) std::memset(bins.raw(), 0, bins.byte_size());
  with_count_types(values.dtype(), bins.dtype(), [&]<class Index, class T>() {
    const T* w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = ends[static_cast<std::size_t>(r)], n = ends[static_cast<std::size_t>(r) + 1] - begin;
      count_row(values.data<Index>() + begin, n, w == nullptr ? w : w + begin, binary, bins.data<T>() + r * size, size);
    }
  });
}

void run_sparse_bincount(RunContext& c) {
  const Tensor &indices = c.input(0), &values = c.input(1), &shape = c.input(2), &weights = c.input(4);
  const std::int64_t rank = shape.num_elements();
  if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 || indices.dim(1) != rank ||
      indices.dim(0) != values.dim(0) || rank < 1 || rank > 2) {
    throw invalid_argument("indices ", indices.describe(), ", values ", values.describe(), " and dense_shape ",
                           shape.describe(), " are no sparse vector or matrix");
  }
  if (rank == 1 && weights.num_elements() > 0 && weights.num_elements() != values.num_elements()) {
    throw invalid_argument("Input indices and weights must have the same size: ", values.describe(), " and ",
                           weights.describe());
  }
  check_enough_weights(values, weights);
  sparse_input(c, 0, 1, 2, IndexOrder::kInside);
  const bool binary = c.node().attr<bool>("binary_output");
  const std::int64_t size = bin_count(c, 3), rows = rank == 1 ? 1 : shape.data<std::int64_t>()[0];
  if (rows < 0) throw invalid_argument("dense_shape has ", rows, " rows");
  Tensor& bins = c.allocate_output(0, rank == 1 ? Shape({size}) : Shape({rows, size}));
  if (bins.num_elements() > 0) std::memset(bins.raw(), 0, bins.byte_size());
  with_count_types(values.dtype(), bins.dtype(), [&]<class Index, class T>() {
    const T* w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
    for (std::int64_t i = 0; i < values.num_elements(); ++i) {
      const std::int64_t row = rank == 1 ? 0 : indices.data<std::int64_t>()[2 * i];
      count_element(values.data<Index>(), i, w, binary, bins.data<T>() + row * size, size);
    }
  });
}

template <class T, class Count>
void count_in_bins(const Tensor& values, const Tensor& range, std::int64_t bins, Count* out) {
  const T low = range.data<T>()[0], high = range.data<T>()[1];
  if (!(low < high)) throw invalid_argument("value_range is [", low, ", ", high, "]: the first must be less");
  // In double throughout: the width of the range may exceed what T holds.
  const auto start = static_cast<double>(low), count = static_cast<double>(bins);
  const double step = static_cast<double>(high) / count - start / count;
  std::fill_n(out, bins, Count{0});
  for (const T value : values.flat<T>()) {
    if (value != value) throw invalid_argument("a value is NaN: it lies in no bin of a histogram");
    const double above = static_cast<double>(std::max(value, low)) - start;
    // In this order a NaN, from an infinite range, counts as the highest.
    ++out[static_cast<std::int64_t>(std::min(count - 1, above / step))];
  }
}

void run_histogram(RunContext& c) {
  const Tensor &values = c.input(0), &range = c.input(1);
  if (range.rank() != 1 || range.dim(0) != 2) {
    throw invalid_argument("value_range must be two numbers, not ", range.describe());
  }
  const std::int64_t bins = scalar_int(c.input(2), "nbins");
  if (bins <= 0) throw invalid_argument("nbins is ", bins, ", it must be positive");
  Tensor& out = c.allocate_output(0, Shape({bins}));
  kernels::dispatch(CountedTypes{}, values.dtype(), "a histogram", [&]<class T>() {
    if (out.dtype() == DType::kInt64) {
      count_in_bins<T>(values, range, bins, out.data<std::int64_t>());
    } else {
      count_in_bins<T>(values, range, bins, out.data<std::int32_t>());
    }
  });
}

// --- Order ---

template <bool upper>
void run_bound(RunContext& c) {
  const Tensor &sorted = c.input(0), &values = c.input(1);
  if (sorted.rank() != 2 || values.rank() != 2 || sorted.dim(0) != values.dim(0)) {
    throw invalid_argument("the sorted inputs ", sorted.describe(), " and the values ", values.describe(),
                           " must be matrices of as many rows");
  }
  Tensor& out = c.allocate_output(0, values.shape());
  const std::int64_t n = sorted.dim(1), k = values.dim(1);
  kernels::dispatch(kernels::RealTypes{}, values.dtype(), "a search", [&]<class T>() {
    using W = kernels::Wide<T>;
    const auto less = [](T a, T b) { return W(a) < W(b); };
    c.pool().parallel_for(values.num_elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* row = sorted.data<T>() + i / k * n;
        const T value = values.data<T>()[i];
        const T* at = upper ? std::upper_bound(row, row + n, value, less) : std::lower_bound(row, row + n, value, less);
        if (out.dtype() == DType::kInt64) {
          out.data<std::int64_t>()[i] = at - row;
        } else {
          out.data<std::int32_t>()[i] = static_cast<std::int32_t>(at - row);
        }
      }
    });
  });
}

class NthElementKernel final : public Kernel {
 public:
  explicit NthElementKernel(bool reverse) : reverse_(reverse) {}
  void run(RunContext& c) const override {
    const Tensor& input = c.input(0);
    if (input.rank() == 0) throw invalid_argument("the input must have one dimension at least");
    if (c.input(1).rank() != 0) throw invalid_argument("n must be a scalar, not ", c.input(1).describe());
    const std::int64_t size = input.shape()[-1];
    std::int64_t n = scalar_int(c.input(1), "n");
    if (n < 0 || n >= size)
      throw invalid_argument("n is ", n, ", the rows of ", input.describe(), " have ", size, " elements");
    if (reverse_) n = size - 1 - n;
    Tensor& out = c.allocate_output(0, input.shape().remove(input.rank() - 1));
    kernels::dispatch(kernels::RealTypes{}, input.dtype(), "NthElement", [&]<class T>() {
      using W = kernels::Wide<T>;
      c.pool().parallel_for(out.num_elements(), 1 + 4096 / size, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> row(static_cast<std::size_t>(size));
        for (std::int64_t i = begin; i < end; ++i) {
          std::copy_n(input.data<T>() + i * size, size, row.begin());
          std::nth_element(row.begin(), row.begin() + n, row.end(), [](T a, T b) { return W(a) < W(b); });
          out.data<T>()[i] = row[static_cast<std::size_t>(n)];
        }
      });
    });
  }

 private:
  bool reverse_;
};

std::unique_ptr<Kernel> prepare_nth_element(PrepareContext& c) {
  return std::make_unique<NthElementKernel>(c.attr<bool>("reverse"));
}

template <bool upper>
std::unique_ptr<Kernel> prepare_bound(PrepareContext& c) {
  if (!is_integer(c.input_type(0)) && !is_floating(c.input_type(0))) {
    throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  }
  return kernel_of<run_bound<upper>>(c);
}

void run_population_count(RunContext& c) {
  const Tensor& x = c.input(0);
  std::uint8_t* out = c.allocate_output(0, x.shape()).data<std::uint8_t>();
  kernels::dispatch(kernels::IntegerTypes{}, x.dtype(), "PopulationCount", [&]<class T>() {
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
      out[i] = static_cast<std::uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x.data<T>()[i])));
    }
  });
}

// --- Running log-sum-exp ---

class CumulativeLogsumexpKernel final : public Kernel {
 public:
  CumulativeLogsumexpKernel(bool exclusive, bool reverse) : exclusive_(exclusive), reverse_(reverse) {}
  void run(RunContext& c) const override {
    const Tensor& x = c.input(0);
    if (c.input(1).rank() != 0) throw invalid_argument("axis must be a scalar, not ", c.input(1).describe());
    const int axis = normalized_axis(scalar_int(c.input(1), "the axis"), x.rank());
    std::int64_t inner = 1;
    for (int d = axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
    Tensor& y = c.allocate_output(0, x.shape());
    if (y.num_elements() == 0) return;
    const std::int64_t n = x.dim(axis), lines = x.num_elements() / n;
    kernels::dispatch(kernels::FloatTypes{}, x.dtype(), "CumulativeLogsumexp", [&]<class T>() {
      c.pool().parallel_for(lines, 1 + 1024 / n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = i / inner * n * inner + i % inner;
          scan(x.data<T>() + first, y.data<T>() + first, n, inner);
        }
      });
    });
  }

 private:
  template <class T>
  void scan(const T* in, T* out, std::int64_t n, std::int64_t step) const {
    using W = kernels::Wide<T>;
    W sum = -std::numeric_limits<W>::infinity();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = (reverse_ ? n - 1 - i : i) * step;
      const W value = W(in[at]);
      if (exclusive_) out[at] = T(sum);
      const W low = std::min(sum, value), high = std::max(sum, value);
      // log(exp(a) + exp(b)) without overflow; two infinities of one sign would give NaN by the difference.
      sum = std::isnan(value) ? value
            : low == high || std::isinf(low) || std::isinf(high)
                ? (low == high && !std::isinf(low) ? high + std::log(W(2)) : high)
                : high + std::log1p(std::exp(low - high));
      if (!exclusive_) out[at] = T(sum);
    }
  }

  bool exclusive_, reverse_;
};

std::unique_ptr<Kernel> prepare_cumulative_logsumexp(PrepareContext& c) {
  return std::make_unique<CumulativeLogsumexpKernel>(c.attr<bool>("exclusive"), c.attr<bool>("reverse"));
}

// --- Gradients ---

// Shared equally among equal elements.
void nth_element_gradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const Output chosen = cast(equal(expand_dims(c.output(0), -1), c.input(0)), grad.dtype());
  const Output count = reduce_sum(chosen, {.axis = -1, .keepdims = true});
  c.set_input_grad(0, chosen / count * expand_dims(grad, -1));
}

double lowest_of(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return -65504;
    case DType::kBFloat16:
      return -3.3895314e38;
    case DType::kFloat:
      return std::numeric_limits<float>::lowest();
    default:
      return std::numeric_limits<double>::lowest();
  }
}

// sum over later i of grad_i exp(x - y_i), positive and negative parts each in logarithms.
void cumulative_logsumexp_gradient(GradientContext& c) {
  const Output x = c.input(0), y = c.output(0), grad = c.grad(0);
  const Output least = constant(convert_number(Tensor(lowest_of(x.dtype())), x.dtype()));
  const auto part = [&](const Output& g) {
    const Output logs = where(greater(g, zeros_like(g)), log(g), least);
    return exp(
        math::cumulative_logsumexp(logs - y, c.input(1),
                                   {.exclusive = c.attr<bool>("exclusive"), .reverse = !c.attr<bool>("reverse")}) +
        x);
  };
  c.set_input_grad(0, part(grad) - part(-grad));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Bincount",
                    .inputs = "arr: int32; size: int32; weights: T",
                    .outputs = "bins: T",
                    .attrs = "T: {int32, int64, float, double}",
                    .shape = bincount_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_bincount});
CAUDAL_REGISTER_OP({.name = "DenseBincount",
                    .inputs = "input: Tidx; size: Tidx; weights: T",
                    .outputs = "output: T",
                    .attrs = "Tidx: {int32, int64}; T: {int32, int64, float, double}; binary_output: bool = false",
                    .shape = dense_bincount_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_bincount});
CAUDAL_REGISTER_OP({.name = "RaggedBincount",
                    .inputs = "splits: int64; values: Tidx; size: Tidx; weights: T",
                    .outputs = "output: T",
                    .attrs = "Tidx: {int32, int64}; T: {int32, int64, float, double}; binary_output: bool = false",
                    .shape = ragged_bincount_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_ragged_bincount>});
CAUDAL_REGISTER_OP({.name = "SparseBincount",
                    .inputs = "indices: int64; values: Tidx; dense_shape: int64; size: Tidx; weights: T",
                    .outputs = "output: T",
                    .attrs = "Tidx: {int32, int64}; T: {int32, int64, float, double}; binary_output: bool = false",
                    .shape = sparse_bincount_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_sparse_bincount>});
CAUDAL_REGISTER_OP({.name = "HistogramFixedWidth",
                    .inputs = "values: T; value_range: T; nbins: int32",
                    .outputs = "out: dtype",
                    .attrs = "T: {int32, int64, float, double}; dtype: {int32, int64} = DT_INT32",
                    .shape = histogram_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_histogram>});
#define CAUDAL_BOUND_OP(op, upper)                                             \
  CAUDAL_REGISTER_OP({.name = op,                                              \
                      .inputs = "sorted_inputs: T; values: T",                 \
                      .outputs = "output: out_type",                           \
                      .attrs = "T: type; out_type: {int32, int64} = DT_INT32", \
                      .shape = bound_shape,                                    \
                      .gradient = no_gradient,                                 \
                      .cpu = prepare_bound<upper>})
CAUDAL_BOUND_OP("LowerBound", false);
CAUDAL_BOUND_OP("UpperBound", true);
CAUDAL_REGISTER_OP({.name = "NthElement",
                    .inputs = "input: T; n: int32",
                    .outputs = "values: T",
                    .attrs = "reverse: bool = false; T: {float, double, int32, uint8, int16, int8, int64, bfloat16, "
                             "uint16, half, uint32, uint64}",
                    .shape = nth_element_shape,
                    .gradient = nth_element_gradient,
                    .cpu = prepare_nth_element});
CAUDAL_REGISTER_OP({.name = "PopulationCount",
                    .inputs = "x: T",
                    .outputs = "y: uint8",
                    .attrs = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}",
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_population_count>});
CAUDAL_REGISTER_OP({.name = "CumulativeLogsumexp",
                    .inputs = "x: T; axis: Tidx",
                    .outputs = "out: T",
                    .attrs = "exclusive: bool = false; reverse: bool = false; T: {bfloat16, half, float, double}; "
                             "Tidx: {int32, int64} = DT_INT32",
                    .shape = cumulative_shape,
                    .gradient = cumulative_logsumexp_gradient,
                    .cpu = prepare_cumulative_logsumexp});

// --- Functions ---

namespace math {

Output bincount(const Operand& arr, const BincountOptions& options) {
  const LocationScope location(options.where);
  if (options.axis && *options.axis != 0 && *options.axis != -1) {
    throw invalid_argument("bincount() counts along axis -1 or everything, not along ", *options.axis)
        .made_at(short_location(options.where));
  }
  Output values = arr.to_output();
  const bool by_row = options.axis == -1;
  std::optional<Output> weights;
  if (options.weights) weights = options.weights->to_output();
  if (!by_row) {
    values = reshape(values, {-1});
    if (weights) weights = reshape(*weights, {-1});
  }
  if (!weights) weights = constant(Tensor(options.dtype, Shape({0})));
  // The greatest value and one more; 0 of nothing.
  Output size = maximum(reduce_max(values), -1) + 1;
  if (options.minlength) size = maximum(size, options.minlength->to_output(values.dtype()));
  if (options.maxlength) size = minimum(size, options.maxlength->to_output(values.dtype()));
  return OpBuilder("DenseBincount", {.name = options.name, .where = options.where})
      .input(values)
      .input(size)
      .input(*weights)
      .attr("binary_output", options.binary_output)
      .build();
}

Output cumulative_logsumexp(const Operand& x, const Operand& axis, const CumulativeLogsumexpOptions& options) {
  return OpBuilder("CumulativeLogsumexp", {.name = options.name, .where = options.where})
      .input(x)
      .input(axis, DType::kInt32)
      .attr("exclusive", options.exclusive)
      .attr("reverse", options.reverse)
      .build();
}

}  // namespace math

Output histogram_fixed_width(const Operand& values, const Operand& value_range, const HistogramOptions& options) {
  const Output x = values.to_output();
  return OpBuilder("HistogramFixedWidth", {.name = options.name, .where = options.where})
      .input(x)
      .input(value_range, x.dtype())
      .input(options.nbins, DType::kInt32)
      .attr("dtype", options.dtype)
      .build();
}

Output searchsorted(const Operand& sorted_sequence, const Operand& values, const SearchSortedOptions& options) {
  const LocationScope location(options.where);
  const DType dtype = common_dtype({&sorted_sequence, &values});
  const Output sorted = sorted_sequence.to_output(dtype), wanted = values.to_output(dtype);
  // Both as matrices, whatever their leading dimensions.
  const auto rows = [](const Output& x) { return reshape(x, stack({-1, index(shape_of(x), {-1})})); };
  const Output found = OpBuilder(options.right ? "UpperBound" : "LowerBound", {.where = options.where})
                           .input(rows(sorted))
                           .input(rows(wanted))
                           .attr("out_type", options.out_type)
                           .build();
  return reshape(found, shape_of(wanted), {.name = options.name, .where = options.where});
}

namespace raw_ops {

Output nth_element(const Operand& input, const Operand& n, const NthElementOptions& options) {
  return OpBuilder("NthElement", {.name = options.name, .where = options.where})
      .input(input)
      .input(n, DType::kInt32)
      .attr("reverse", options.reverse)
      .build();
}

Output population_count(const Operand& x, const OpOptions& options) {
  return OpBuilder("PopulationCount", options).input(x).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
