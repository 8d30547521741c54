#include "caudal/ops/partition_ops.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/position_text.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using Dims = std::vector<std::int64_t>;

// Shape functions.

void where_shape(ShapeContext& c) { c.set_output(0, PartialShape{-1, c.input(0).rank()}); }

void unique_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{-1});
  c.with_rank(0, 1);
  c.set_output(1, c.input(0));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape{-1});
}

// The sizes of `data` behind those that it shares with `indices`; nothing if a rank is unknown.
std::optional<Dims> inner_sizes(const PartialShape& data, const PartialShape& indices) {
  if (!data.has_rank() || !indices.has_rank()) return std::nullopt;
  if (data.rank() < indices.rank()) throw invalid_argument("data ", data, " has fewer dimensions than ", indices);
  for (int i = 0; i < indices.rank(); ++i)
    ShapeContext::merge_dim(data[i], indices[i], "first sizes of data and indices");
  return Dims(data.dims().begin() + indices.rank(), data.dims().end());
}

void dynamic_partition_shape(ShapeContext& c) {
  const auto inner = inner_sizes(c.input(0), c.input(1));
  if (!inner) return;
  Dims dims{-1};
  dims.insert(dims.end(), inner->begin(), inner->end());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(dims));
}

void dynamic_stitch_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  PartialShape inner;
  std::int64_t rows = 0;
  for (int i = 0; i < n; ++i) {
    if (const auto sizes = inner_sizes(c.input(n + i), c.input(i))) {
      const auto merged = inner.merge(PartialShape(*sizes));
      if (!merged) throw invalid_argument("inner sizes of data differ: ", inner, " and ", PartialShape(*sizes));
      inner = *merged;
    }
    const Tensor* indices = c.constant_input(i);
    if (indices == nullptr) {
      rows = -1;
    } else if (rows >= 0) {
      for (const auto index : indices->to_int64s()) rows = std::max(rows, index + 1);
    }
  }
  if (!inner.has_rank()) return;
  Dims dims{rows};
  dims.insert(dims.end(), inner.dims().begin(), inner.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
}

// Kernels.

template <class T>
bool is_set(const T& value) {
  return value != T(0);
}
template <>
bool is_set(const Half& value) {
  return static_cast<float>(value) != 0;
}
template <>
bool is_set(const BFloat16& value) {
  return static_cast<float>(value) != 0;
}

using WhereTypes = kernels::TypeList<bool, float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                                     std::complex<float>, std::complex<double>>;

template <class T>
void find_set(RunContext& c) {
  const Tensor& x = c.input(0);
  const auto values = x.flat<T>();
  const auto count = std::ranges::count_if(values, is_set<T>);
  auto* out = c.allocate_output(0, {count, x.rank()}).template data<std::int64_t>();
  const auto strides = x.shape().strides();
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    if (!is_set(values[i])) continue;
    std::int64_t rest = i;
    for (int d = 0; d < x.rank(); ++d) {
      *out++ = rest / strides[d];
      rest %= strides[d];
    }
  }
}

void run_where(RunContext& c) {
  if (c.input(0).rank() == 0) {
    throw invalid_argument("WhereOp : Unhandled input dimensions: 0: the condition must not be a scalar");
  }
  kernels::dispatch(WhereTypes{}, c.input(0).dtype(), "Where", [&]<class T>() { find_set<T>(c); });
}

// The key under which equal values of a type meet; NaN is equal to nothing.
template <class T>
std::optional<std::uint64_t> unique_key(const T& value) {
  const auto wide = static_cast<kernels::Wide<T>>(value);
  if constexpr (std::is_floating_point_v<decltype(wide)>) {
    if (std::isnan(wide)) return std::nullopt;
    return wide == 0 ? 0 : std::bit_cast<std::uint64_t>(static_cast<double>(wide));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}
std::optional<std::string_view> unique_key(const std::string& value) { return value; }

struct UniquePlaces {
  Dims first;  // for each different value where it first appears
  Dims place;  // for each element the number of its value
  Dims count;
};

template <class T>
UniquePlaces find_unique(const Tensor& x) {
  using Key = typename decltype(unique_key(std::declval<const T&>()))::value_type;
  std::unordered_map<Key, std::int64_t> numbers;
  UniquePlaces result;
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    const auto next = static_cast<std::int64_t>(result.first.size());
    const auto key = unique_key(x.data<T>()[i]);
    const std::int64_t number = key ? numbers.try_emplace(*key, next).first->second : next;
    if (number == next) {
      result.first.push_back(i);
      result.count.push_back(0);
    }
    ++result.count[number];
    result.place.push_back(number);
  }
  return result;
}

void put_integers(Tensor& to, const Dims& values) {
  if (to.dtype() == DType::kInt64) {
    std::ranges::copy(values, to.data<std::int64_t>());
  } else {
    std::ranges::transform(values, to.data<std::int32_t>(),
                           [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  }
}

using UniqueTypes =
    kernels::TypeList<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                      std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string>;

void run_unique(RunContext& c) {
  const Tensor& x = c.input(0);
  if (x.rank() != 1) throw invalid_argument("x must be a vector, not ", x.describe());
  UniquePlaces places;
  kernels::dispatch(UniqueTypes{}, x.dtype(), "Unique", [&]<class T>() { places = find_unique<T>(x); });
  const auto n = static_cast<std::int64_t>(places.first.size());
  const auto size = static_cast<std::int64_t>(dtype_size(x.dtype()));
  Tensor& y = c.allocate_output(0, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    copy_elements(x.dtype(), x.raw() + places.first[i] * size, y.raw() + i * size, 1);
  }
  put_integers(c.allocate_output(1, x.shape()), places.place);
  if (c.num_outputs() > 2) put_integers(c.allocate_output(2, {n}), places.count);
}

// Elements of one slice of `data`, whose first dimensions are those of `indices`.
std::int64_t slice_elements(const Tensor& data, const Tensor& indices) {
  const int rank = indices.rank();
  if (data.rank() < rank || !std::ranges::equal(data.shape().dims().first(rank), indices.shape().dims())) {
    throw invalid_argument("the shape of data, ", data.shape(), ", must begin with that of its indices, ",
                           indices.shape());
  }
  std::int64_t elements = 1;
  for (const auto size : data.shape().dims().subspan(rank)) elements *= size;
  return elements;
}

Shape with_rows(std::int64_t rows, const Tensor& data, const Tensor& indices) {
  Dims dims{rows};
  const auto inner = data.shape().dims().subspan(indices.rank());
  dims.insert(dims.end(), inner.begin(), inner.end());
  return Shape(dims);
}

void run_dynamic_partition(RunContext& c) {
  const Tensor &data = c.input(0), &partitions = c.input(1);
  const std::int64_t elements = slice_elements(data, partitions);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(dtype_size(data.dtype()));
  const auto to = partitions.flat<std::int32_t>();
  Dims counts(c.num_outputs());
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0 || to[i] >= c.num_outputs()) {
      throw invalid_argument("partitions", position_text(static_cast<std::int64_t>(i), partitions.shape()), " = ",
                             to[i], " is not in [0, ", c.num_outputs(), ")");
    }
    ++counts[to[i]];
  }
  std::vector<char*> next;
  for (int i = 0; i < c.num_outputs(); ++i) {
    next.push_back(c.allocate_output(i, with_rows(counts[i], data, partitions)).raw());
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    copy_elements(data.dtype(), data.raw() + static_cast<std::int64_t>(i) * bytes, next[to[i]], elements);
    next[to[i]] += bytes;
  }
}

void run_dynamic_stitch(RunContext& c) {
  const int n = c.num_inputs() / 2;
  std::int64_t rows = 0;
  for (int i = 0; i < n; ++i) {
    for (const std::int32_t index : c.input(i).flat<std::int32_t>()) {
      if (index < 0) throw invalid_argument("indices[", i, "] is out of range: it has the negative entry ", index);
      rows = std::max<std::int64_t>(rows, std::int64_t{index} + 1);
    }
  }
  const Shape shape = with_rows(rows, c.input(n), c.input(0));
  for (int i = 0; i < n; ++i) {
    slice_elements(c.input(n + i), c.input(i));
    if (with_rows(rows, c.input(n + i), c.input(i)) != shape) {
      throw invalid_argument("inner sizes of data differ: ", c.input(n).shape(), " and ", c.input(n + i).shape());
    }
  }
  Tensor& y = c.allocate_output(0, shape);
  const Tensor zero = Tensor::zeros(y.dtype(), Shape{});
  fill_elements(c.pool(), y.dtype(), zero.raw(), y.raw(), y.num_elements());
  for (int i = 0; i < n; ++i) {
    const Tensor& data = c.input(n + i);
    const std::int64_t elements = slice_elements(data, c.input(i));
    const std::int64_t bytes = elements * static_cast<std::int64_t>(dtype_size(y.dtype()));
    const char* from = data.raw();
    for (const std::int32_t index : c.input(i).flat<std::int32_t>()) {
      copy_elements(y.dtype(), from, y.raw() + index * bytes, elements);
      from += bytes;
    }
  }
}

// Gradients.

void dynamic_stitch_gradient(GradientContext& c) {
  const int n = c.num_inputs() / 2;
  for (int i = 0; i < n; ++i) {
    c.set_input_grad(n + i, OpBuilder("GatherV2", {}).input(c.grad(0)).input(c.input(i)).input(0).build());
  }
}

// The numbers of the slices, distributed as the slices were, tell where each gradient belongs.
void dynamic_partition_gradient(GradientContext& c) {
  const Output &data = c.input(0), &partitions = c.input(1);
  const Output shape = shape_of(partitions);
  const Output count = OpBuilder("Size", {}).input(partitions).build();
  const Output range = OpBuilder("Range", {}).input(0).input(count).input(1).build();
  const Output numbers = OpBuilder("Reshape", {}).input(range).input(shape).build();
  const auto places = dynamic_partition(numbers, partitions, c.num_outputs());
  std::vector<Output> grads;
  for (int i = 0; i < c.num_outputs(); ++i) grads.push_back(c.grad(i));
  const Output rows = OpBuilder("ParallelDynamicStitch", {}).inputs(places).inputs(grads).build();
  c.set_input_grad(0, OpBuilder("Reshape", {}).input(rows).input(shape_of(data)).build());
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Where",
                    .inputs = "input: T",
                    .outputs = "index: int64",
                    .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = DT_BOOL",
                    .shape = where_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_where>});
CAUDAL_REGISTER_OP({.name = "Unique",
                    .inputs = "x: T",
                    .outputs = "y: T; idx: out_idx",
                    .attrs = "T: type; out_idx: {int32, int64} = DT_INT32",
                    .shape = unique_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_unique>});
CAUDAL_REGISTER_OP({.name = "UniqueWithCounts",
                    .inputs = "x: T",
                    .outputs = "y: T; idx: out_idx; count: out_idx",
                    .attrs = "T: type; out_idx: {int32, int64} = DT_INT32",
                    .shape = unique_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_unique>});
CAUDAL_REGISTER_OP({.name = "DynamicPartition",
                    .inputs = "data: T; partitions: int32",
                    .outputs = "outputs: num_partitions * T",
                    .attrs = "num_partitions: int >= 1; T: type",
                    .shape = dynamic_partition_shape,
                    .gradient = dynamic_partition_gradient,
                    .cpu = kernel_of<run_dynamic_partition>});
CAUDAL_REGISTER_OP({.name = "DynamicStitch",
                    .inputs = "indices: N * int32; data: N * T",
                    .outputs = "merged: T",
                    .attrs = "N: int >= 1; T: type",
                    .shape = dynamic_stitch_shape,
                    .gradient = dynamic_stitch_gradient,
                    .cpu = kernel_of<run_dynamic_stitch>});
CAUDAL_REGISTER_OP({.name = "ParallelDynamicStitch",
                    .inputs = "indices: N * int32; data: N * T",
                    .outputs = "merged: T",
                    .attrs = "N: int >= 1; T: type",
                    .shape = dynamic_stitch_shape,
                    .gradient = dynamic_stitch_gradient,
                    .cpu = kernel_of<run_dynamic_stitch>});

Output where(const Operand& condition, const OpOptions& options) {
  return OpBuilder("Where", options).input(condition).build();
}

namespace {

UniqueResult make_unique_op(std::string_view op, const Operand& x, const UniqueOptions& options) {
  Node& node = OpBuilder(op, {.name = options.name, .where = options.where})
                   .input(x)
                   .attr("out_idx", options.out_idx)
                   .build_node();
  return {node.output(0), node.output(1), node.num_outputs() > 2 ? node.output(2) : Output()};
}

}  // namespace

UniqueResult unique(const Operand& x, const UniqueOptions& options) { return make_unique_op("Unique", x, options); }

UniqueResult unique_with_counts(const Operand& x, const UniqueOptions& options) {
  return make_unique_op("UniqueWithCounts", x, options);
}

std::vector<Output> dynamic_partition(const Operand& data, const Operand& partitions, int num_partitions,
                                      const OpOptions& options) {
  return outputs_of(OpBuilder("DynamicPartition", options)
                        .input(data)
                        .input(partitions, DType::kInt32)
                        .attr("num_partitions", num_partitions)
                        .build_node());
}

Output dynamic_stitch(const std::vector<Output>& indices, const std::vector<Output>& data, const OpOptions& options) {
  return OpBuilder("DynamicStitch", options).inputs(indices).inputs(data).build();
}

}  // namespace caudal::inline v0
