#include "caudal/ops/set_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using Places = std::vector<std::int64_t>;

// ---- Shape functions

void list_diff_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.with_rank(1, 1);
  c.set_output(0, PartialShape{-1});
  c.set_output(1, PartialShape{-1});
}

void unique_v2_shape(ShapeContext& c) {
  const PartialShape x = c.input(0);
  c.with_rank(1, 1);
  c.set_output(0, x.has_rank() ? PartialShape::unknown_of_rank(x.rank()) : PartialShape::unknown());
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{-1});
  const Tensor* axis = c.constant_input(1);
  if (axis == nullptr || !x.has_rank()) return;
  if (axis->num_elements() == 0) {
    c.with_rank(0, 1);
    c.set_output(1, x);
  } else if (axis->num_elements() == 1) {
    c.set_output(1, PartialShape{x[normalized_axis(axis->to_int64s()[0], x.rank())]});
  }
}

// ---- Kernels

// One or several elements as bytes, equal where TensorFlow calls them equal; nothing for those equal to nothing (NaN).
std::optional<std::string> key_of(const Tensor& x, std::int64_t begin, std::int64_t n, std::int64_t step) {
  std::string key;
  const auto size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = begin + i * step;
    if (x.dtype() == DType::kString) {
      const std::string& text = x.data<std::string>()[at];
      key += std::to_string(text.size()) + ':' + text;
      continue;
    }
    if (is_floating(x.dtype())) {
      const double value = Tensor(x.dtype(), {}, x.buffer(), x.byte_offset() + at * size).to_double();
      if (std::isnan(value)) return std::nullopt;
      if (value == 0) {
        key.append(size, '\0');
        continue;
      }
    }
    key.append(x.raw() + at * size, size);
  }
  return key;
}

void put_integers(Tensor& to, const Places& values) {
  if (to.dtype() == DType::kInt64) {
    std::ranges::copy(values, to.data<std::int64_t>());
  } else {
    std::ranges::transform(values, to.data<std::int32_t>(),
                           [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  }
}

void run_list_diff(RunContext& c) {
  const Tensor &x = c.input(0), &y = c.input(1);
  if (x.rank() != 1) throw invalid_argument("x should be a 1D vector, not ", x.describe());
  if (y.rank() != 1) throw invalid_argument("y should be a 1D vector, not ", y.describe());
  std::unordered_set<std::string> unwanted;
  for (std::int64_t i = 0; i < y.dim(0); ++i) {
    if (auto key = key_of(y, i, 1, 1)) unwanted.insert(std::move(*key));
  }
  Places kept;
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    const auto key = key_of(x, i, 1, 1);
    if (!key || !unwanted.contains(*key)) kept.push_back(i);
  }
  const auto n = static_cast<std::int64_t>(kept.size()), size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  Tensor& out = c.allocate_output(0, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    copy_elements(x.dtype(), x.raw() + kept[i] * size, out.raw() + i * size, 1);
  }
  put_integers(c.allocate_output(1, {n}), kept);
}

// x seen as [outer, size, inner] around an axis.
struct Around {
  std::int64_t outer = 1, size = 1, inner = 1;
  int axis = 0;
};

Around around_axis(const Tensor& x, const Tensor& axis) {
  if (axis.rank() != 1) throw invalid_argument("axis expects a 1D vector.");
  if (axis.dim(0) > 1) throw invalid_argument("axis does not support input tensors larger than 1 elements");
  Around a;
  if (axis.dim(0) == 0) {
    if (x.rank() != 1) throw invalid_argument("unique expects a 1D vector.");
  } else {
    a.axis = normalized_axis(axis.to_int64s()[0], x.rank());
  }
  for (int d = 0; d < a.axis; ++d) a.outer *= x.dim(d);
  a.size = x.dim(a.axis);
  for (int d = a.axis + 1; d < x.rank(); ++d) a.inner *= x.dim(d);
  return a;
}

// The elements of slice i, one after another.
std::optional<std::string> slice_key(const Tensor& x, const Around& a, std::int64_t i) {
  std::string key;
  for (std::int64_t o = 0; o < a.outer; ++o) {
    const auto part = key_of(x, (o * a.size + i) * a.inner, a.inner, 1);
    if (!part) return std::nullopt;
    key += *part;
  }
  return key;
}

void run_unique_v2(RunContext& c) {
  const Tensor& x = c.input(0);
  const Around a = around_axis(x, c.input(1));
  std::unordered_map<std::string, std::int64_t> numbers;
  Places first, place, count;
  for (std::int64_t i = 0; i < a.size; ++i) {
    const auto next = static_cast<std::int64_t>(first.size());
    const auto key = slice_key(x, a, i);
    const std::int64_t number = key ? numbers.try_emplace(*key, next).first->second : next;
    if (number == next) {
      first.push_back(i);
      count.push_back(0);
    }
    ++count[number];
    place.push_back(number);
  }
  const auto n = static_cast<std::int64_t>(first.size());
  Tensor& y = c.allocate_output(0, x.shape().with_dim(a.axis, n));
  const std::int64_t bytes = a.inner * static_cast<std::int64_t>(dtype_size(x.dtype()));
  for (std::int64_t o = 0; o < a.outer; ++o) {
    for (std::int64_t i = 0; i < n; ++i) {
      copy_elements(x.dtype(), x.raw() + (o * a.size + first[i]) * bytes, y.raw() + (o * n + i) * bytes, a.inner);
    }
  }
  put_integers(c.allocate_output(1, {a.size}), place);
  if (c.num_outputs() > 2) put_integers(c.allocate_output(2, {n}), count);
}

void run_bucketize(RunContext& c) {
  const auto& boundaries = c.node().attr<std::vector<float>>("boundaries");
  if (!std::ranges::is_sorted(boundaries)) throw invalid_argument("Expected sorted boundaries");
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate_output(0, x.shape());
  using Types = kernels::TypeList<std::int32_t, std::int64_t, float, double>;
  kernels::dispatch(Types{}, x.dtype(), "Bucketize", [&]<class T>() {
    std::ranges::transform(x.flat<T>(), y.data<std::int32_t>(), [&](T value) {
      const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), value,
                                          [](T v, float boundary) { return v < boundary; });
      return static_cast<std::int32_t>(above - boundaries.begin());
    });
  });
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "ListDiff",
                    .inputs = "x: T; y: T",
                    .outputs = "out: T; idx: out_idx",
                    .attrs = "T: type; out_idx: {int32, int64} = DT_INT32",
                    .shape = list_diff_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_list_diff>});

CAUDAL_REGISTER_OP({.name = "UniqueV2",
                    .inputs = "x: T; axis: Taxis",
                    .outputs = "y: T; idx: out_idx",
                    .attrs = "T: type; Taxis: {int32, int64} = DT_INT64; out_idx: {int32, int64} = DT_INT32",
                    .shape = unique_v2_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_unique_v2>});

CAUDAL_REGISTER_OP({.name = "UniqueWithCountsV2",
                    .inputs = "x: T; axis: Taxis",
                    .outputs = "y: T; idx: out_idx; count: out_idx",
                    .attrs = "T: type; Taxis: {int32, int64} = DT_INT64; out_idx: {int32, int64} = DT_INT32",
                    .shape = unique_v2_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_unique_v2>});

CAUDAL_REGISTER_OP({.name = "Bucketize",
                    .inputs = "input: T",
                    .outputs = "output: int32",
                    .attrs = "T: {int32, int64, float, double}; boundaries: list(float)",
                    .shape = unchanged_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_bucketize>});

// ---- Public functions

ListDiffResult setdiff1d(const Operand& x, const Operand& y, const UniqueOptions& options) {
  const DType dtype = common_dtype({&x, &y});
  OpBuilder builder("ListDiff", {.name = options.name, .where = options.where});
  Node& node = builder.input(x, dtype).input(y, dtype).attr("out_idx", options.out_idx).build_node();
  return {node.output(0), node.output(1)};
}

namespace raw_ops {

UniqueResult unique_v2(const Operand& x, const Operand& axis, const UniqueOptions& options) {
  OpBuilder builder("UniqueV2", {.name = options.name, .where = options.where});
  Node& node = builder.input(x).input(axis, int64).attr("out_idx", options.out_idx).build_node();
  return {node.output(0), node.output(1), {}};
}

UniqueResult unique_with_counts_v2(const Operand& x, const Operand& axis, const UniqueOptions& options) {
  OpBuilder builder("UniqueWithCountsV2", {.name = options.name, .where = options.where});
  Node& node = builder.input(x).input(axis, int64).attr("out_idx", options.out_idx).build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

Output bucketize(const Operand& input, const std::vector<float>& boundaries, const OpOptions& options) {
  return OpBuilder("Bucketize", options).input(input).attr("boundaries", boundaries).build();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
