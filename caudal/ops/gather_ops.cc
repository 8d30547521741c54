#include "caudal/ops/gather_ops.h"

#include <algorithm>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/gather_kernel.h"
#include "caudal/ops/nd_index.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/position_text.h"
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

[[noreturn]] void throw_bad_index(const Shape& indices, std::int64_t position, std::int64_t index, std::int64_t limit) {
  throw invalid_argument("indices", position_text(position, indices), " = ", index, " is not in [0, ", limit, ")");
}

// Sizes of a gather: result [batch, outer, count, inner] from params [batch, outer, limit, inner].
struct GatherSizes {
  std::int64_t batch, outer, count, inner, limit;
};

template <class Index>
void gather_rows(RunContext& c, const Tensor& params, const Tensor& indices, const GatherSizes& s, Tensor& y) {
  const Index* index = indices.data<Index>();
  for (std::int64_t i = 0; i < indices.num_elements(); ++i) {
    if (index[i] < 0 || index[i] >= s.limit) throw_bad_index(indices.shape(), i, index[i], s.limit);
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

void gather_slices(RunContext& c, const Tensor& params, int axis, int batch_dims) {
  const Tensor& indices = c.input(1);
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
  gather_slices(c, params, axis, batch_dims);
}

void run_gather(RunContext& c) {
  if (c.input(0).rank() < 1) throw invalid_argument("params must have at least one dimension");
  gather_slices(c, c.input(0), 0, 0);
}

void gather_places(RunContext& c, const Tensor& params) {
  const Tensor& indices = c.input(1);
  const int depth = checked_depth(indices, params.shape(), "params");
  const auto places = indices.shape().dims(), sizes = params.shape().dims();
  Dims dims(places.begin(), places.end() - 1);
  dims.insert(dims.end(), sizes.begin() + depth, sizes.end());
  Tensor& y = c.allocate_output(0, Shape(dims));
  if (y.num_elements() == 0 && product(places.first(places.size() - 1)) == 0) return;
  const Dims offsets = slice_offsets(indices, params.shape());
  check_offsets(c.node(), offsets, indices, params.shape(), "param shape");
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

void run_gather_nd(RunContext& c) { gather_places(c, c.input(0)); }

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
  check_updates(indices, updates.shape(), shape);
  const auto sizes = shape.dims();
  Tensor& y = c.allocate_output(0, shape);
  const Tensor zero = Tensor::zeros(y.dtype(), Shape{});
  fill_elements(c.pool(), y.dtype(), zero.raw(), y.raw(), y.num_elements());
  const Dims offsets = slice_offsets(indices, shape);
  check_offsets(c.node(), offsets, indices, shape, "shape");
  const std::int64_t inner = product(sizes.subspan(depth));
  kernels::dispatch(ScatterTypes{}, y.dtype(), "ScatterNd", [&]<class T>() {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] >= 0) accumulate(updates.data<T>() + i * inner, y.data<T>() + offsets[i] * inner, inner);
    }
  });
}

void run_one_hot(RunContext& c) {
  const Tensor& indices = c.input(0);
  for (int i = 1; i < 4; ++i) {
    if (c.input(i).rank() == 0) continue;
    throw invalid_argument("depth, on_value and off_value must be scalars, not ", c.input(1).describe(), ", ",
                           c.input(2).describe(), " and ", c.input(3).describe());
  }
  const std::int64_t depth = scalar_int(c.input(1), "depth");
  if (depth < 0) throw invalid_argument("depth is ", depth);
  const int axis = normalized_axis(c.node().attr<std::int64_t>("axis"), indices.rank() + 1);
  const Tensor &on = c.input(2), &off = c.input(3);
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

Output joined(const std::vector<Output>& vectors) { return OpBuilder("ConcatV2", {}).inputs(vectors).input(0).build(); }

Output reshaped(const Output& x, const Output& shape) { return OpBuilder("Reshape", {}).input(x).input(shape).build(); }

// The gradient of gathering rows: the rows that came back, not yet added up.
IndexedSlices row_gradient(const Output& params, const Output& indices, const Output& grad) {
  const Output shape = shape_of(params, DType::kInt64);
  const PartialShape &sizes = params.shape(), &places = indices.shape();
  Output rows;
  if (sizes.is_fully_known() && places.num_elements() >= 0) {
    Dims dims = sizes.dims();
    dims[0] = places.num_elements();
    rows = int64_vector(dims);
  } else {
    // Not -1 for the count: beside a size of 0 it would be undecided.
    const Output count = OpBuilder("Size", {}).input(indices).attr("out_type", DType::kInt64).build();
    const Output inner =
        OpBuilder("StridedSlice", {}).input(shape).input({1}).input({0}).input({1}).attr("end_mask", 1).build();
    rows = joined({reshaped(count, int32_vector({1})), inner});
  }
  return {reshaped(grad, rows), reshaped(indices, int32_vector({-1})), shape};
}

void gather_gradient(GradientContext& c) { c.set_input_grad(0, row_gradient(c.input(0), c.input(1), c.grad(0))); }

Output make(std::string_view op, const Output& a, const Output& b) {
  return OpBuilder(op, {}).input(a).input(b).build();
}

Output make(std::string_view op, const Output& a, int b) { return make(op, a, Operand(b).to_output(a.dtype())); }

Output product_of(const Output& sizes) { return make("Prod", sizes, int32_vector({0})); }

Output as_vector(const Output& scalar) { return reshaped(scalar, int32_vector({1})); }

Output rank_of(const Output& x) {
  const int rank = x.shape().rank();
  return rank >= 0 ? Operand(rank).to_output() : OpBuilder("Rank", {}).input(x).build();
}

Output cast_to(const Output& x, DType dtype) {
  return x.dtype() == dtype ? x : OpBuilder("Cast", {}).input(x).attr("DstT", dtype).build();
}

// Numbers begin, begin + 1, ... before end, of int32 scalars.
Output numbers(const Output& begin, const Output& end) {
  return OpBuilder("Range", {}).input(begin).input(end).input(1).build();
}

// The gradient of a gather along an inner axis or with batches. Rows are brought to the front of their batch, added up
// there and brought back. Ranks and axis may be known at run time only: all members are int32 scalars.
class InnerGatherGradient {
 public:
  InnerGatherGradient(const Output& params, const Output& indices, const Output& axis, std::int64_t batch_dims)
      : params_(params), indices_(indices), rank_(rank_of(params)) {
    // A negative axis counts from the end.
    axis_ = make("FloorMod", cast_to(axis, DType::kInt32), rank_);
    const Output indices_rank = rank_of(indices);
    const int given = static_cast<int>(batch_dims);
    batch_ = given >= 0 ? Operand(given).to_output() : make("Add", indices_rank, given);
    places_ = make("Sub", indices_rank, batch_);
    zero_ = Operand(0).to_output();
    shape_ = shape_of(params, DType::kInt64);
    batch_shape_ = part(shape_, zero_, batch_);
    limit_ = part(shape_, axis_, make("Add", axis_, 1));
    const Output inner = part(shape_, make("Add", axis_, 1), rank_);
    rest_shape_ = joined({part(shape_, batch_, axis_), inner});
  }

  Output operator()(const Output& grad) const {
    const Output count = as_vector(product_of(shape_of(indices_, DType::kInt64)));
    const Output rows = reshaped(make("Transpose", grad, to_front()), joined({count, rest_shape_}));
    const Output batches = product_of(batch_shape_), limit = reshaped(limit_, int32_vector({}));
    const Output sums = OpBuilder("UnsortedSegmentSum", {})
                            .input(rows)
                            .input(row_numbers(batches, limit))
                            .input(make("Mul", batches, limit))
                            .build();
    const Output spread = reshaped(sums, joined({batch_shape_, limit_, rest_shape_}));
    const Output result = make("Transpose", spread, to_place());
    result.set_shape(params_.shape());
    return result;
  }

 private:
  static Output part(const Output& vector, const Output& begin, const Output& end) {
    return OpBuilder("StridedSlice", {}).input(vector).input(as_vector(begin)).input(as_vector(end)).input({1}).build();
  }

  // Order of the gradient's dimensions: batch, places of the indices, outer, inner.
  Output to_front() const {
    const Output places_end = make("Add", axis_, places_), end = make("Sub", make("Add", rank_, places_), 1);
    return joined(
        {numbers(zero_, batch_), numbers(axis_, places_end), numbers(batch_, axis_), numbers(places_end, end)});
  }

  // From batch, axis, outer, inner back to the order of params.
  Output to_place() const {
    const Output after = make("Add", axis_, 1);
    return joined(
        {numbers(zero_, batch_), numbers(make("Add", batch_, 1), after), as_vector(batch_), numbers(after, rank_)});
  }

  // Indices into [batches * limit, ...]: each batch has a range of its own.
  Output row_numbers(const Output& batches, const Output& limit) const {
    const Output count =
        OpBuilder("Range", {}).input(Tensor(std::int64_t{0})).input(batches).input(Tensor(std::int64_t{1})).build();
    const Output offsets = reshaped(make("Mul", count, limit), int32_vector({-1, 1}));
    const Output per_batch = product_of(part(shape_of(indices_, DType::kInt64), batch_, rank_of(indices_)));
    const Output table = reshaped(cast_to(indices_, DType::kInt64), joined({as_vector(batches), as_vector(per_batch)}));
    return reshaped(make("Add", table, offsets), int32_vector({-1}));
  }

  Output params_, indices_, rank_, axis_, batch_, places_, zero_;
  Output shape_, batch_shape_, limit_, rest_shape_;  // int64 vectors: sizes of params and of their pieces
};

void gather_v2_gradient(GradientContext& c) {
  const Tensor* axis = constant_value(c.input(2));
  const auto batch_dims = c.attr<std::int64_t>("batch_dims");
  if (axis != nullptr && axis->to_int64s()[0] == 0 && batch_dims == 0) return gather_gradient(c);
  c.set_input_grad(0, InnerGatherGradient(c.input(0), c.input(1), c.input(2), batch_dims)(c.grad(0)));
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

void internal::gather_nd_of(RunContext& c, const Tensor& params) { gather_places(c, params); }

void internal::gather_along(RunContext& c, const Tensor& params, int axis, int batch_dims) {
  gather_slices(c, params, axis, batch_dims);
}

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
