#include "caudal/ops/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void check_k(std::int64_t k, std::int64_t columns) {
  if (k < 0) throw invalid_argument("k is ", k, "; it must not be negative");
  if (columns >= 0 && k > columns) throw invalid_argument("the last dimension has ", columns, " entries, but k is ", k);
}

void top_k_shape_for(ShapeContext& c, std::int64_t k) {
  const PartialShape input = c.with_rank_at_least(0, 1);
  if (k != PartialShape::kUnknown) check_k(k, input.has_rank() ? input.dim(-1) : PartialShape::kUnknown);
  const PartialShape out = input.has_rank() ? input.with_dim(input.rank() - 1, k) : PartialShape::unknown();
  c.set_output(0, out);
  c.set_output(1, out);
}

void top_k_shape(ShapeContext& c) { top_k_shape_for(c, c.attr<std::int64_t>("k")); }

void top_k_v2_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  const Tensor* k = c.constant_input(1);
  if (k != nullptr) check_k(scalar_int(*k, "k"), PartialShape::kUnknown);
  top_k_shape_for(c, k == nullptr ? PartialShape::kUnknown : scalar_int(*k, "k"));
}

void in_top_k_shape(ShapeContext& c) {
  const PartialShape predictions = c.with_rank(0, 2);
  const PartialShape targets = c.with_rank(1, 1);
  if (c.num_inputs() > 2) c.with_rank(2, 0);
  c.set_output(0, PartialShape({ShapeContext::merge_dim(predictions.dim(0), targets.dim(0),
                                                        "the batch sizes of predictions and targets")}));
}

// --- Kernels ---

// Of a row, the positions of the k greatest entries in order.
template <class T>
void select_greatest(const T* row, std::int64_t k, std::vector<std::int32_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  const auto before = [row](std::int32_t a, std::int32_t b) {
    const auto x = static_cast<kernels::Wide<T>>(row[a]);
    const auto y = static_cast<kernels::Wide<T>>(row[b]);
    if constexpr (kernels::kIsReal<T>) {
      if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    }
    return x > y || (x == y && a < b);
  };
  if (k == 1) {
    order[0] = *std::ranges::min_element(order, before);
  } else {
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
  }
}

template <class T>
void greatest(RunContext& c, const Tensor& input, std::int64_t k, Tensor& values, Tensor& indices) {
  const std::int64_t columns = input.dim(input.rank() - 1);
  const std::int64_t rows = input.num_elements() / columns;
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / columns);
  c.pool().parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(columns));
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = input.data<T>() + r * columns;
      select_greatest(row, k, order);
      for (std::int64_t j = 0; j < k; ++j) values.data<T>()[r * k + j] = row[order[j]];
      using Types = kernels::TypeList<std::int16_t, std::int32_t, std::int64_t>;
      kernels::dispatch(Types(), indices.dtype(), "an index", [&]<class Index>() {
        std::transform(order.begin(), order.begin() + k, indices.data<Index>() + r * k,
                       [](std::int32_t i) { return static_cast<Index>(i); });
      });
    }
  });
}

void run_top_k(RunContext& c, std::int64_t k) {
  const Tensor& input = c.input(0);
  if (input.rank() == 0) throw invalid_argument("input needs at least one dimension, not ", input.describe());
  const std::int64_t columns = input.dim(input.rank() - 1);
  check_k(k, columns);
  const std::int64_t most = c.node().output_types[1] == DType::kInt16 ? std::numeric_limits<std::int16_t>::max()
                                                                      : std::numeric_limits<std::int32_t>::max();
  if (columns > most) throw invalid_argument("input ", input.describe(), " has more entries in a row than ", most);
  const Shape shape = input.shape().with_dim(input.rank() - 1, k);
  Tensor& values = c.allocate_output(0, shape);
  Tensor& indices = c.allocate_output(1, shape);
  if (shape.num_elements() == 0) return;
  kernels::dispatch(kernels::RealTypes(), input.dtype(), "TopK",
                    [&]<class T>() { greatest<T>(c, input, k, values, indices); });
}

void run_top_k_v1(RunContext& c) { run_top_k(c, c.node().attr<std::int64_t>("k")); }

void run_top_k_v2(RunContext& c) {
  if (c.input(1).rank() != 0) throw invalid_argument("k must be a scalar, not ", c.input(1).describe());
  run_top_k(c, scalar_int(c.input(1), "k"));
}

// Rule of the op: any non-finite entry seen before the answer is clear makes it "no".
bool is_in_top_k(std::span<const float> row, std::int64_t target, std::int64_t k) {
  if (target < 0 || target >= static_cast<std::int64_t>(row.size()) || !std::isfinite(row[target])) return false;
  std::int64_t greater = 0;
  for (const float value : row) {
    if (!std::isfinite(value)) return false;
    if (value > row[target] && ++greater > k) break;
  }
  return greater < k;
}

void run_in_top_k(RunContext& c, std::int64_t k) {
  const Tensor& predictions = c.input(0);
  const Tensor& targets = c.input(1);
  if (predictions.rank() != 2 || targets.rank() != 1 || predictions.dim(0) != targets.dim(0)) {
    throw invalid_argument("predictions ", predictions.describe(), " must be [batch, classes] and targets ",
                           targets.describe(), " [batch]");
  }
  const auto wanted = targets.to_int64s();
  const auto classes = static_cast<std::size_t>(predictions.dim(1));
  bool* out = c.allocate_output(0, targets.shape()).data<bool>();
  for (std::size_t b = 0; b < wanted.size(); ++b) {
    out[b] = is_in_top_k(predictions.flat<float>().subspan(b * classes, classes), wanted[b], k);
  }
}

void run_in_top_k_v1(RunContext& c) { run_in_top_k(c, c.node().attr<std::int64_t>("k")); }

void run_in_top_k_v2(RunContext& c) {
  if (c.input(2).rank() != 0) throw invalid_argument("k must be a scalar, not ", c.input(2).describe());
  run_in_top_k(c, scalar_int(c.input(2), "k"));
}

// --- Gradient ---

// The gradients go back to where the values came from: scattered by flat index row * columns + position.
void top_k_gradient(GradientContext& c) {
  const Output shape = shape_of(c.input(0), DType::kInt64);
  const auto last = [](const Output& sizes) {
    return OpBuilder("GatherV2", {})
        .input(sizes)
        .input(OpBuilder("Size", {}).input(sizes).build() - 1)
        .input(0)
        .build();
  };
  const auto count = [](const Output& sizes) { return OpBuilder("Prod", {}).input(sizes).input({0}).build(); };
  const Output columns = last(shape);
  const Output positions = cast(c.output(1), DType::kInt64);
  const Output total = count(shape);
  const Output zero = Operand(0).to_output(DType::kInt64);
  const Output first = OpBuilder("Range", {}).input(zero).input(total).input(columns).build();
  const Output k = OpBuilder("ExpandDims", {}).input(last(shape_of(c.output(1), DType::kInt64))).input(0).build();
  const Output minus_one = Operand({-1}).to_output(DType::kInt64);
  const Output two = OpBuilder("ConcatV2", {}).inputs({minus_one, k}).input(0).build();
  const Output flat = reshape(positions, two) + expand_dims(first, -1);
  const Output scattered = OpBuilder("ScatterNd", {})
                               .input(reshape(flat, {-1, 1}))
                               .input(reshape(c.grad(0), {-1}))
                               .input(OpBuilder("ExpandDims", {}).input(total).input(0).build())
                               .build();
  c.set_input_grad(0, reshape(scattered, shape));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "TopK",
                    .inputs = "input: T",
                    .outputs = "values: T; indices: int32",
                    .attrs = "k: int >= 0; sorted: bool = true; T: realnumbertype",
                    .deprecated_version = 7,
                    .shape = top_k_shape,
                    .gradient = top_k_gradient,
                    .cpu = kernel_of<run_top_k_v1>});
CAUDAL_REGISTER_OP({.name = "TopKV2",
                    .inputs = "input: T; k: Tk",
                    .outputs = "values: T; indices: index_type",
                    .attrs = "sorted: bool = true; T: realnumbertype; Tk: {int16, int32, int64} = DT_INT32; "
                             "index_type: {int16, int32, int64} = DT_INT32",
                    .shape = top_k_v2_shape,
                    .gradient = top_k_gradient,
                    .cpu = kernel_of<run_top_k_v2>});
CAUDAL_REGISTER_OP({.name = "InTopK",
                    .inputs = "predictions: float; targets: T",
                    .outputs = "precision: bool",
                    .attrs = "k: int; T: {int32, int64} = DT_INT32",
                    .shape = in_top_k_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_in_top_k_v1>});
CAUDAL_REGISTER_OP({.name = "InTopKV2",
                    .inputs = "predictions: float; targets: T; k: T",
                    .outputs = "precision: bool",
                    .attrs = "T: {int32, int64} = DT_INT32",
                    .shape = in_top_k_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_in_top_k_v2>});

// --- Public functions ---

namespace nn {

TopK top_k(const Operand& input, const Operand& k, const TopKOptions& options) {
  Node& node = OpBuilder("TopKV2", {.name = options.name, .where = options.where})
                   .input(input, DType::kFloat)
                   .input(k, DType::kInt32)
                   .attr("sorted", options.sorted)
                   .attr("index_type", options.index_type)
                   .build_node();
  return {node.output(0), node.output(1)};
}

Output in_top_k(const Operand& predictions, const Operand& targets, const Operand& k, const OpOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "in_top_k" : options.name);
  const DType dtype = common_dtype({&targets, &k});
  return OpBuilder("InTopKV2", {}).input(predictions, DType::kFloat).input(targets, dtype).input(k, dtype).build();
}

}  // namespace nn
}  // namespace caudal::inline v0
