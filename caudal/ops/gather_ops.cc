#include "caudal/ops/gather_ops.h"

#include <algorithm>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kGrainBytes = 1 << 16;

// Shape functions.

// a[from_a:to_a] + b[...] and so on: sizes of pieces one after another.
void append(Dims& to, const PartialShape& from, int begin, int end) {
  to.insert(to.end(), from.dims().begin() + begin, from.dims().begin() + end);
}

int normalized_batch_dims(std::int64_t batch_dims, int indices_rank) {
  if (batch_dims < -indices_rank || batch_dims > indices_rank) {
    throw invalid_argument("batch_dims ", batch_dims, " is outside the ", indices_rank, " dimensions of indices");
  }
  return static_cast<int>(batch_dims < 0 ? batch_dims + indices_rank : batch_dims);
}

void gather_v2_shape(ShapeContext& c) {
  const PartialShape params = c.with_rank_at_least(0, 1);
  const PartialShape& indices = c.input(1);
  c.with_rank(2, 0);
  const Tensor* axis_value = c.constant_input(2);
  if (!params.has_rank() || !indices.has_rank()) return;
  const int batch_dims = normalized_batch_dims(c.attr<std::int64_t>("batch_dims"), indices.rank());
  if (axis_value == nullptr) {
    c.set_output(0, PartialShape::unknown_of_rank(params.rank() - 1 + indices.rank() - batch_dims));
    return;
  }
  const int axis = normalized_axis(scalar_int(*axis_value, "axis"), params.rank());
  if (batch_dims > axis) throw invalid_argument("batch_dims ", batch_dims, " is above the axis ", axis);
  Dims dims;
  for (int i = 0; i < batch_dims; ++i) {
    dims.push_back(ShapeContext::merge_dim(params[i], indices[i], "batch sizes of params and indices"));
  }
  append(dims, params, batch_dims, axis);
  append(dims, indices, batch_dims, indices.rank());
  append(dims, params, axis + 1, params.rank());
  c.set_output(0, PartialShape(std::move(dims)));
}

void gather_shape(ShapeContext& c) {
  const PartialShape params = c.with_rank_at_least(0, 1);
  const PartialShape& indices = c.input(1);
  if (!params.has_rank() || !indices.has_rank()) return;
  Dims dims = indices.dims();
  append(dims, params, 1, params.rank());
  c.set_output(0, PartialShape(std::move(dims)));
}

void gather_nd_shape(ShapeContext& c) {
  const PartialShape& params = c.input(0);
  const PartialShape indices = c.with_rank_at_least(1, 1);
  if (!params.has_rank() || !indices.has_rank() || indices[-1] < 0) return;
  const auto depth = indices[-1];
  if (depth > params.rank()) {
    throw invalid_argument("indices ", indices, " have ", depth, " entries each; params ", params,
                           " has fewer dimensions");
  }
  Dims dims;
  append(dims, indices, 0, indices.rank() - 1);
  append(dims, params, static_cast<int>(depth), params.rank());
  c.set_output(0, PartialShape(std::move(dims)));
}

// Sizes of `updates` must be those of indices[:-1] and then the inner ones of the result.
void scatter_nd_shape(ShapeContext& c) {
  c.with_rank(2, 1);
  const PartialShape out = c.input_as_shape(2);
  c.set_output(0, out);
  const PartialShape indices = c.with_rank_at_least(0, 1);
  const PartialShape& updates = c.input(1);
  if (!out.has_rank() || !indices.has_rank() || indices[-1] < 0) return;
  const auto depth = indices[-1];
  if (depth > out.rank()) {
    throw invalid_argument("indices ", indices, " have ", depth, " entries each; the shape ", out, " has fewer");
  }
  Dims wanted;
  append(wanted, indices, 0, indices.rank() - 1);
  append(wanted, out, static_cast<int>(depth), out.rank());
  if (!updates.compatible(PartialShape(wanted))) {
    throw invalid_argument("updates must have shape ", PartialShape(wanted), ", not ", updates);
  }
}

void one_hot_shape(ShapeContext& c) {
  const PartialShape& indices = c.input(0);
  for (int i = 1; i < 4; ++i) c.with_rank(i, 0);
  if (!indices.has_rank()) return;
  const int axis = normalized_axis(c.attr<std::int64_t>("axis"), indices.rank() + 1);
  std::int64_t depth = -1;
  if (const Tensor* value = c.constant_input(1)) {
    depth = scalar_int(*value, "depth");
    if (depth < 0) throw invalid_argument("depth is ", depth);
  }
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  c.set_output(0, PartialShape(std::move(dims)));
}

// Kernels.

using IndexTypes = kernels::TypeList<std::int32_t, std::int64_t, std::int16_t, std::int8_t, std::uint8_t>;

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

[[noreturn]] void throw_bad_index(std::int64_t position, std::int64_t index, std::int64_t limit) {
  throw invalid_argument("indices[", position, "] = ", index, " is not in [0, ", limit, ")");
}

// Sizes of a gather: result [batch, outer, count, inner] from params [batch, outer, limit, inner].
struct GatherSizes {
  std::int64_t batch, outer, count, inner, limit;
};

template <class Index>
void gather_rows(RunContext& c, const Tensor& params, const Tensor& indices, const GatherSizes& s, Tensor& y) {
  const Index* index = indices.data<Index>();
  for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
    if (index[i] < 0 || index[i] >= s.limit) throw_bad_index(i, index[i], s.limit);
  }
  const DType dtype = params.dtype();
  const std::int64_t row_bytes = s.inner * static_cast<std::int64_t>(dtype_size(dtype));
  const std::int64_t grain = std::max<std::int64_t>(1, kGrainBytes / std::max<std::int64_t>(row_bytes, 1));
  c.pool().parallel_for(s.batch * s.outer * s.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t block = row / s.count;
      const std::int64_t from = index[block / s.outer * s.count + row % s.count];
      copy_elements(dtype, params.raw() + (block * s.limit + from) * row_bytes, y.raw() + row * row_bytes, s.inner);
    }
  });
}

void gather_along(RunContext& c, int axis, int batch_dims) {
  const Tensor &params = c.input(0), &indices = c.input(1);
  const auto sizes = params.shape().dims(), places = indices.shape().dims();
  for (int i = 0; i < batch_dims; ++i) {
    if (sizes[i] != places[i]) {
      throw invalid_argument("batch sizes differ: params ", params.shape(), ", indices ", indices.shape());
    }
  }
  Dims dims(sizes.begin(), sizes.begin() + axis);
  dims.insert(dims.end(), places.begin() + batch_dims, places.end());
  dims.insert(dims.end(), sizes.begin() + axis + 1, sizes.end());
  Tensor& y = c.allocate_output(0, Shape(dims));
  const GatherSizes s{product(sizes.first(batch_dims)), product(sizes.subspan(batch_dims, axis - batch_dims)),
                      product(places.subspan(batch_dims)), product(sizes.subspan(axis + 1)), sizes[axis]};
  kernels::dispatch(IndexTypes{}, indices.dtype(), "indices",
                    [&]<class Index>() { gather_rows<Index>(c, params, indices, s, y); });
}

void run_gather_v2(RunContext& c) {
  const Tensor& params = c.input(0);
  if (params.rank() < 1) throw invalid_argument("params must have at least one dimension");
  const int axis = normalized_axis(scalar_int(c.input(2), "axis"), params.rank());
  const int batch_dims = normalized_batch_dims(c.node().attr<std::int64_t>("batch_dims"), c.input(1).rank());
  if (batch_dims > axis) throw invalid_argument("batch_dims ", batch_dims, " is above the axis ", axis);
  gather_along(c, axis, batch_dims);
}

void run_gather(RunContext& c) {
  if (c.input(0).rank() < 1) throw invalid_argument("params must have at least one dimension");
  gather_along(c, 0, 0);
}

// Offsets, in slices, that indices [..., depth] name in a tensor of shape `shape`; -1 for an index outside it.
Dims slice_offsets(const Tensor& indices, const Shape& shape) {
  const std::int64_t depth = indices.shape()[-1];
  const auto values = indices.to_int64s();
  Dims offsets(static_cast<std::size_t>(product(indices.shape().dims().first(indices.rank() - 1))), 0);
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

// Throws for an offset of -1 unless the node ignores such.
void check_offsets(const RunContext& c, const Dims& offsets, const Tensor& indices, const Shape& shape) {
  if (c.node().attr<std::string>("bad_indices_policy") == "IGNORE") return;
  const auto bad = std::ranges::find(offsets, -1);
  if (bad == offsets.end()) return;
  const auto row = bad - offsets.begin();
  const auto depth = indices.shape()[-1];
  const auto values = indices.to_int64s();
  std::string text;
  for (std::int64_t d = 0; d < depth; ++d) text += (d > 0 ? ", " : "") + std::to_string(values[row * depth + d]);
  throw invalid_argument("indices[", row, "] = [", text, "] is outside shape ", shape);
}

int checked_depth(const Tensor& indices, const Shape& shape, const char* what) {
  if (indices.rank() < 1) throw invalid_argument("indices must have at least one dimension");
  const std::int64_t depth = indices.shape()[-1];
  if (depth > shape.rank()) {
    throw invalid_argument("indices ", indices.describe(), " have ", depth, " entries each; ", what, ' ', shape,
                           " has fewer dimensions");
  }
  return static_cast<int>(depth);
}

void run_gather_nd(RunContext& c) {
  const Tensor &params = c.input(0), &indices = c.input(1);
  const int depth = checked_depth(indices, params.shape(), "params");
  const auto places = indices.shape().dims(), sizes = params.shape().dims();
  Dims dims(places.begin(), places.end() - 1);
  dims.insert(dims.end(), sizes.begin() + depth, sizes.end());
  Tensor& y = c.allocate_output(0, Shape(dims));
  if (y.num_elements() == 0 && product(places.first(places.size() - 1)) == 0) return;
  const Dims offsets = slice_offsets(indices, params.shape());
  check_offsets(c, offsets, indices, params.shape());
  const std::int64_t inner = product(sizes.subspan(depth));
  const auto bytes = inner * static_cast<std::int64_t>(dtype_size(params.dtype()));
  const Tensor zero = Tensor::zeros(params.dtype(), Shape{});
  c.pool().parallel_for(static_cast<std::int64_t>(offsets.size()),
                        std::max<std::int64_t>(1, kGrainBytes / std::max<std::int64_t>(bytes, 1)),
                        [&](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t i = begin; i < end; ++i) {
                            char* to = y.raw() + i * bytes;
                            if (offsets[i] < 0) {
                              fill_elements(c.pool(), params.dtype(), zero.raw(), to, inner);
                            } else {
                              copy_elements(params.dtype(), params.raw() + offsets[i] * bytes, to, inner);
                            }
                          }
                        });
}

// to[i] += from[i]; flags are joined by "or", strings one after another.
template <class T>
void accumulate(const T* from, T* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      to[i] = to[i] || from[i];
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
    } else {
      to[i] += from[i];
    }
  }
}

using ScatterTypes = kernels::TypeList<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                                       std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                                       std::complex<float>, std::complex<double>, bool, std::string>;

void run_scatter_nd(RunContext& c) {
  const Tensor &indices = c.input(0), &updates = c.input(1);
  const Shape shape = shape_from(c.input(2), "shape");
  const int depth = checked_depth(indices, shape, "shape");
  const auto places = indices.shape().dims(), sizes = shape.dims();
  Dims wanted(places.begin(), places.end() - 1);
  wanted.insert(wanted.end(), sizes.begin() + depth, sizes.end());
  if (updates.shape() != Shape(wanted)) {
    throw invalid_argument("updates must have shape ", Shape(wanted), ", not ", updates.shape());
  }
  Tensor& y = c.allocate_output(0, shape);
  const Tensor zero = Tensor::zeros(y.dtype(), Shape{});
  fill_elements(c.pool(), y.dtype(), zero.raw(), y.raw(), y.num_elements());
  const Dims offsets = slice_offsets(indices, shape);
  check_offsets(c, offsets, indices, shape);
  const std::int64_t inner = product(sizes.subspan(depth));
  kernels::dispatch(ScatterTypes{}, y.dtype(), "ScatterNd", [&]<class T>() {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] >= 0) accumulate(updates.data<T>() + i * inner, y.data<T>() + offsets[i] * inner, inner);
    }
  });
}

void run_one_hot(RunContext& c) {
  const Tensor& indices = c.input(0);
  const std::int64_t depth = scalar_int(c.input(1), "depth");
  if (depth < 0) throw invalid_argument("depth is ", depth);
  const int axis = normalized_axis(c.node().attr<std::int64_t>("axis"), indices.rank() + 1);
  const Tensor &on = c.input(2), &off = c.input(3);
  if (on.num_elements() != 1 || off.num_elements() != 1)
    throw invalid_argument("on_value and off_value must be scalars");
  Tensor& y = c.allocate_output(0, indices.shape().insert(axis, depth));
  if (y.num_elements() == 0) return;
  fill_elements(c.pool(), y.dtype(), off.raw(), y.raw(), y.num_elements());
  const std::int64_t inner = product(indices.shape().dims().subspan(axis));
  const auto size = static_cast<std::int64_t>(dtype_size(y.dtype()));
  kernels::dispatch(IndexTypes{}, indices.dtype(), "indices", [&]<class Index>() {
    const Index* index = indices.data<Index>();
    for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
      const std::int64_t value = index[i];
      if (value < 0 || value >= depth) continue;
      copy_elements(y.dtype(), on.raw(), y.raw() + ((i / inner * depth + value) * inner + i % inner) * size, 1);
    }
  });
}

// Gradients.

// A vector [begin, end) of another; a constant if that one is.
Output part(const Output& vector, std::int64_t begin, std::int64_t end) {
  if (const Tensor* value = constant_value(vector)) return Operand(value->rows(begin, end).clone()).to_output();
  return OpBuilder("Slice", {})
      .input(vector)
      .input({static_cast<int>(begin)})
      .input({static_cast<int>(end - begin)})
      .build();
}

Output joined(const std::vector<Output>& vectors) { return OpBuilder("ConcatV2", {}).inputs(vectors).input(0).build(); }

Output reshaped(const Output& x, const Output& shape) { return OpBuilder("Reshape", {}).input(x).input(shape).build(); }

Output ones_vector(const std::vector<std::int64_t>& values, DType dtype) {
  return dtype == DType::kInt64 ? int64_vector(values) : int32_vector(values);
}

// The gradient of gathering rows: the rows that came back, not yet added up.
IndexedSlices row_gradient(const Output& params, const Output& indices, const Output& grad) {
  const Output shape = shape_of(params, DType::kInt64);
  Output rows;
  if (const int rank = params.shape().rank(); rank >= 0) {
    rows = joined({int64_vector({-1}), part(shape, 1, rank)});
  } else {
    const Output inner =
        OpBuilder("StridedSlice", {}).input(shape).input({1}).input({0}).input({1}).attr("end_mask", 1).build();
    rows = joined({int64_vector({-1}), inner});
  }
  if (params.shape().has_rank()) {
    // A size of 0 would leave the -1 undecided: the count is written down where it is known.
    if (const auto count = indices.shape().num_elements(); count >= 0) {
      rows = joined({int64_vector({count}), part(shape, 1, params.shape().rank())});
    }
  }
  return {reshaped(grad, rows), reshaped(indices, int32_vector({-1})), shape};
}

void gather_gradient(GradientContext& c) { c.set_input_grad(0, row_gradient(c.input(0), c.input(1), c.grad(0))); }

// Ranks and the axis, which a gradient along another axis than 0 must know.
struct GatherPlan {
  int rank, indices_rank, axis, batch_dims;
  int outer() const { return axis - batch_dims; }
  int places() const { return indices_rank - batch_dims; }

  // Order of the gradient's dimensions that puts the gathered ones behind the batch: batch, places, outer, inner.
  Dims forwards() const {
    Dims perm;
    const auto push = [&](int begin, int count) {
      for (int i = 0; i < count; ++i) perm.push_back(begin + i);
    };
    push(0, batch_dims);
    push(axis, places());
    push(batch_dims, outer());
    push(axis + places(), rank - axis - 1);
    return perm;
  }
  // From batch, axis, outer, inner back to params' order.
  Dims backwards() const {
    Dims perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    for (int i = 0; i < outer(); ++i) perm[batch_dims + i] = batch_dims + 1 + i;
    perm[axis] = batch_dims;
    return perm;
  }
};

Output make(std::string_view op, const Output& a, const Output& b) {
  return OpBuilder(op, {}).input(a).input(b).build();
}

Output product_of(const Output& sizes) { return make("Prod", sizes, int32_vector({0})); }

// Indices into params seen as [batch * limit, ...]: each batch has its own range.
Output batched_indices(const GatherPlan& plan, const Output& indices, const Output& batch, const Output& limit) {
  const Output flat = reshaped(indices, ones_vector({-1}, DType::kInt64));
  if (plan.batch_dims == 0) return flat;
  const DType dtype = indices.dtype();
  const Output count = OpBuilder("Range", {})
                           .input(Tensor(std::int64_t{0}))
                           .input(product_of(batch))
                           .input(Tensor(std::int64_t{1}))
                           .build();
  Output offsets = make("Mul", count, limit);
  if (dtype != DType::kInt64) offsets = OpBuilder("Cast", {}).input(offsets).attr("DstT", dtype).build();
  const Output table = reshaped(indices, joined({reshaped(product_of(batch), int32_vector({1})), int64_vector({-1})}));
  const Output sums = make("Add", table, reshaped(offsets, int32_vector({-1, 1})));
  return reshaped(sums, int32_vector({-1}));
}

// Along an inner axis the rows are brought to the front, added up there and brought back.
Output inner_gather_gradient(const GatherPlan& plan, const Output& params, const Output& indices, const Output& grad) {
  const Output shape = shape_of(params, DType::kInt64), places = shape_of(indices, DType::kInt64);
  const Output batch = part(shape, 0, plan.batch_dims);
  const Output limit = part(shape, plan.axis, plan.axis + 1);
  const Output rest = joined({part(shape, plan.batch_dims, plan.axis), part(shape, plan.axis + 1, plan.rank)});
  const Output count = reshaped(product_of(places), int32_vector({1}));
  const Output front = make("Transpose", grad, int32_vector(plan.forwards()));
  const Output rows = reshaped(front, joined({count, rest}));
  const Output scalar_limit = reshaped(limit, int32_vector({}));
  const Output segments = make("Mul", product_of(batch), scalar_limit);
  const Output sums = OpBuilder("UnsortedSegmentSum", {})
                          .input(rows)
                          .input(batched_indices(plan, indices, batch, scalar_limit))
                          .input(segments)
                          .build();
  const Output spread = reshaped(sums, joined({batch, limit, rest}));
  const Output result = make("Transpose", spread, int32_vector(plan.backwards()));
  result.set_shape(params.shape());
  return result;
}

void gather_v2_gradient(GradientContext& c) {
  const Output &params = c.input(0), &indices = c.input(1);
  const Tensor* axis_value = constant_value(c.input(2));
  const auto batch_dims = c.attr<std::int64_t>("batch_dims");
  if (axis_value != nullptr && axis_value->to_int64s()[0] == 0 && batch_dims == 0) return gather_gradient(c);
  if (axis_value == nullptr || !params.shape().has_rank() || !indices.shape().has_rank()) {
    throw unimplemented("the gradient of a gather along an inner axis needs the axis and both ranks while building")
        .hint("Give the axis as a number and placeholders a shape with a rank.");
  }
  const int rank = params.shape().rank(), indices_rank = indices.shape().rank();
  const int axis = normalized_axis(axis_value->to_int64s()[0], rank);
  const GatherPlan plan{rank, indices_rank, axis, normalized_batch_dims(batch_dims, indices_rank)};
  if (axis == 0) return gather_gradient(c);
  c.set_input_grad(0, inner_gather_gradient(plan, params, indices, c.grad(0)));
}

// int16 indices as int32: shapes of that type do not exist.
Output wide(const Output& indices) {
  if (indices.dtype() != DType::kInt16) return indices;
  return OpBuilder("Cast", {}).input(indices).attr("DstT", DType::kInt32).build();
}

void gather_nd_gradient(GradientContext& c) {
  const Output indices = wide(c.input(1));
  const PartialShape& places = indices.shape();
  if (places.rank() == 2 && places[-1] == 1 && c.input(0).shape().has_rank()) {
    // Whole rows: sparse, as TensorFlow keeps it.
    c.set_input_grad(
        0, IndexedSlices{c.grad(0), reshaped(indices, int32_vector({-1})), shape_of(c.input(0), DType::kInt64)});
    return;
  }
  c.set_input_grad(0, scatter_nd(indices, c.grad(0), shape_of(c.input(0), indices.dtype())));
}

void scatter_nd_gradient(GradientContext& c) { c.set_input_grad(1, gather_nd(c.grad(0), c.input(0))); }

}  // namespace

CAUDAL_REGISTER_OP({.name = "Gather",
                    .inputs = "params: Tparams; indices: Tindices",
                    .outputs = "output: Tparams",
                    .attrs = "validate_indices: bool = true; Tparams: type; Tindices: {int32, int64}",
                    .shape = gather_shape,
                    .gradient = gather_gradient,
                    .cpu = kernel_of<run_gather>});
CAUDAL_REGISTER_OP({.name = "GatherV2",
                    .inputs = "params: Tparams; indices: Tindices; axis: Taxis",
                    .outputs = "output: Tparams",
                    .attrs = "batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; Taxis: {int32, "
                             "int64}",
                    .shape = gather_v2_shape,
                    .gradient = gather_v2_gradient,
                    .cpu = kernel_of<run_gather_v2>});
CAUDAL_REGISTER_OP({.name = "GatherNd",
                    .inputs = "params: Tparams; indices: Tindices",
                    .outputs = "output: Tparams",
                    .attrs = "Tparams: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
                    .shape = gather_nd_shape,
                    .gradient = gather_nd_gradient,
                    .cpu = kernel_of<run_gather_nd>});
CAUDAL_REGISTER_OP({.name = "ScatterNd",
                    .inputs = "indices: Tindices; updates: T; shape: Tindices",
                    .outputs = "output: T",
                    .attrs = "T: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
                    .shape = scatter_nd_shape,
                    .gradient = scatter_nd_gradient,
                    .cpu = kernel_of<run_scatter_nd>});
CAUDAL_REGISTER_OP({.name = "OneHot",
                    .inputs = "indices: TI; depth: int32; on_value: T; off_value: T",
                    .outputs = "output: T",
                    .attrs = "axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = DT_INT64",
                    .shape = one_hot_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_one_hot>});

Output gather(const Operand& params, const Operand& indices, const GatherOptions& options) {
  return OpBuilder("GatherV2", {.name = options.name, .where = options.where})
      .input(params)
      .input(indices, DType::kInt32)
      .input(options.axis, DType::kInt32)
      .attr("batch_dims", options.batch_dims)
      .build();
}

Output gather_nd(const Operand& params, const Operand& indices, const OpOptions& options) {
  return OpBuilder("GatherNd", options).input(params).input(indices, DType::kInt32).build();
}

Output scatter_nd(const Operand& indices, const Operand& updates, const Operand& shape, const OpOptions& options) {
  DType index = common_dtype({&indices, &shape});
  return OpBuilder("ScatterNd", options).input(indices, index).input(updates).input(shape, index).build();
}

Output one_hot(const Operand& indices, const Operand& depth, const OneHotOptions& options) {
  DType dtype = options.dtype;
  if (dtype == DType::kInvalid) dtype = common_dtype({&options.on_value, &options.off_value});
  const auto value = [&](const Operand& operand) -> Operand {
    // The default 1.0 and 0.0 serve integer types too.
    const Tensor* number = operand.value();
    const bool is_bare = operand.fixed_dtype() == DType::kInvalid && number->num_elements() == 1;
    if (!is_bare) return operand;
    if (dtype == DType::kBool) return Tensor(number->to_double() != 0);
    return convert_number(*number, dtype);
  };
  return OpBuilder("OneHot", {.name = options.name.empty() ? "one_hot" : options.name, .where = options.where})
      .input(indices, DType::kInt32)
      .input(depth, DType::kInt32)
      .input(value(options.on_value))
      .input(value(options.off_value))
      .attr("axis", options.axis)
      .build();
}

}  // namespace caudal::inline v0
