#include "caudal/ops/joining.h"

#include <algorithm>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/copied_text.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// Shape functions.

// The axis if it is known; a known one must be a scalar.
const Tensor* constant_axis(ShapeContext& c, int input) {
  const Tensor* axis = c.constant_input(input);
  if (axis != nullptr && axis->num_elements() != 1) {
    throw invalid_argument(c.input_name(input), " must be a scalar, not of shape ", axis->shape());
  }
  return axis;
}

// Sizes of a concatenation; `values` are positions of inputs.
PartialShape concatenated(ShapeContext& c, ArgRange values, const Tensor* axis_value) {
  int rank = -1;
  for (int i = values.begin; i < values.end; ++i) {
    if (c.input(i).has_rank()) rank = c.with_rank(i, rank >= 0 ? rank : c.input(i).rank()).rank();
  }
  if (rank < 0) return PartialShape::unknown();
  if (axis_value == nullptr) return PartialShape::unknown_of_rank(rank);
  const int axis = normalized_axis(scalar_int(*axis_value, "axis"), rank);
  std::vector<std::int64_t> dims(rank, -1);
  dims[axis] = 0;
  for (int i = values.begin; i < values.end; ++i) {
    const PartialShape shape = c.with_rank(i, rank);
    for (int d = 0; d < rank; ++d) {
      if (d == axis) {
        dims[d] = dims[d] < 0 || shape[d] < 0 ? -1 : dims[d] + shape[d];
      } else if (dims[d] >= 0 && shape[d] >= 0 && dims[d] != shape[d]) {
        throw invalid_argument("sizes of dimension ", d, " differ: ", c.input_name(i), " has shape ", shape,
                               ", the others ", dims[d])
            .hint("All dimensions but the one of the concatenation must agree.");
      } else {
        dims[d] = std::max(dims[d], shape[d]);
      }
    }
  }
  return PartialShape(std::move(dims));
}

void concat_v2_shape(ShapeContext& c) {
  const int n = c.num_inputs() - 1;
  c.set_output(0, concatenated(c, {0, n}, constant_axis(c, n)));
}

void concat_shape(ShapeContext& c) { c.set_output(0, concatenated(c, {1, c.num_inputs()}, constant_axis(c, 0))); }

void concat_offset_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.set_output(i - 1, c.with_rank(i, 1));
}

void split_shape(ShapeContext& c) {
  const int parts = c.num_outputs();
  PartialShape part = c.input(1);
  const Tensor* axis_value = constant_axis(c, 0);
  if (part.has_rank() && axis_value == nullptr) part = PartialShape::unknown_of_rank(part.rank());
  if (part.has_rank() && axis_value != nullptr) {
    const int axis = normalized_axis(scalar_int(*axis_value, "split_dim"), part.rank(), "split_dim");
    if (part[axis] >= 0 && part[axis] % parts != 0) {
      throw invalid_argument("dimension ", axis, " of ", part, " cannot be split into ", parts, " equal parts");
    }
    if (part[axis] >= 0) part = part.with_dim(axis, part[axis] / parts);
  }
  for (int i = 0; i < parts; ++i) c.set_output(i, part);
}

// Sizes of the parts with -1 replaced by the rest of `total`; unknown stay -1 if the total is.
std::vector<std::int64_t> split_sizes(const Tensor& value, std::int64_t total, int parts) {
  if (value.rank() != 1 || value.dim(0) != parts) {
    throw invalid_argument("size_splits must be a vector of ", parts, " sizes, not ", value.describe());
  }
  auto sizes = value.to_int64s();
  std::int64_t known = 0;
  int unknown = -1;
  for (int i = 0; i < parts; ++i) {
    if (sizes[i] < -1) throw invalid_argument("size_splits[", i, "] is ", sizes[i]);
    if (sizes[i] >= 0) {
      if (sizes[i] > std::numeric_limits<std::int64_t>::max() - known)
        throw invalid_argument("size_splits is too large");
      known += sizes[i];
    } else if (unknown >= 0) {
      throw invalid_argument("size_splits ", value, " has more than one -1");
    } else {
      unknown = i;
    }
  }
  if (total < 0) return sizes;
  if (unknown < 0 ? known != total : known > total) {
    throw invalid_argument("size_splits ", value, " do not add up to the dimension's ", total);
  }
  if (unknown >= 0) sizes[unknown] = total - known;
  return sizes;
}

void split_v_shape(ShapeContext& c) {
  const int parts = c.num_outputs();
  const PartialShape& in = c.input(0);
  ShapeContext::merge_dim(c.with_rank(1, 1)[0], parts, "number of sizes and of parts");
  const Tensor* axis_value = constant_axis(c, 2);
  if (!in.has_rank()) return;
  for (int i = 0; i < parts; ++i) {
    c.set_output(i, parts == 1 ? in : PartialShape::unknown_of_rank(in.rank()));
  }
  if (axis_value == nullptr) return;
  const int axis = normalized_axis(scalar_int(*axis_value, "split_dim"), in.rank(), "split_dim");
  const Tensor* sizes_value = c.constant_input(1);
  const auto sizes = sizes_value != nullptr ? split_sizes(*sizes_value, in[axis], parts)
                                            : std::vector<std::int64_t>(parts, parts == 1 ? in[axis] : -1);
  for (int i = 0; i < parts; ++i) c.set_output(i, in.with_dim(axis, sizes[i]));
}

void pack_shape(ShapeContext& c) {
  merged_inputs_shape(c);
  const PartialShape item = c.outputs()[0];
  if (!item.has_rank()) return;
  auto dims = item.dims();
  dims.insert(dims.begin() + normalized_axis(c.attr<std::int64_t>("axis"), item.rank() + 1), c.num_inputs());
  c.set_output(0, PartialShape(std::move(dims)));
}

void unpack_shape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.has_rank()) return;
  const int axis = normalized_axis(c.attr<std::int64_t>("axis"), in.rank());
  if (in[axis] >= 0 && in[axis] != c.num_outputs()) {
    throw invalid_argument("dimension ", axis, " of ", in, " has not ", c.num_outputs(), " steps");
  }
  auto dims = in.dims();
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(dims));
}

void tile_shape(ShapeContext& c) {
  c.with_rank(1, 1);
  const PartialShape multiples = c.input_as_shape(1);
  if (!multiples.has_rank()) {
    if (c.input(0).has_rank()) c.set_output(0, PartialShape::unknown_of_rank(c.input(0).rank()));
    return;
  }
  const PartialShape in = c.with_rank(0, multiples.rank());
  std::vector<std::int64_t> dims;
  for (int i = 0; i < in.rank(); ++i) {
    const bool unknown = (in[i] < 0 || multiples[i] < 0) && in[i] != 0 && multiples[i] != 0;
    dims.push_back(unknown ? -1 : in[i] * multiples[i]);
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

// Kernels.

std::int64_t product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t bytes_of(DType dtype, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(dtype_size(dtype));
}

// Copies a block of `outer` rows of `width` elements between places whose rows are from_row and to_row elements apart.
void copy_rows(RunContext& c, DType dtype, std::int64_t outer, std::int64_t width, const char* from,
               std::int64_t from_row, char* to, std::int64_t to_row) {
  const std::int64_t dims[] = {outer, width}, from_strides[] = {from_row, 1}, to_strides[] = {to_row, 1};
  strided_copy(c.pool(), dtype, dims, from, from_strides, to, to_strides);
}

void concatenate(RunContext& c, int begin, int end, const Tensor& axis_value) {
  const Tensor& first = c.input(begin);
  const int axis = normalized_axis(scalar_int(axis_value, "axis"), first.rank());
  std::int64_t total = 0;
  for (int i = begin; i < end; ++i) {
    const Shape& shape = c.input(i).shape();
    if (shape.rank() != first.rank() || shape.with_dim(axis, 0) != first.shape().with_dim(axis, 0)) {
      throw invalid_argument("shapes do not fit for a concatenation along ", axis, ": ", first.shape(), " and ", shape)
          .hint("All dimensions but the one of the concatenation must agree.");
    }
    total += shape[axis];
  }
  Tensor& y = c.allocate_output(0, first.shape().with_dim(axis, total));
  if (y.num_elements() == 0) return;
  const std::int64_t outer = product(y.shape().dims().first(axis));
  const std::int64_t row = y.num_elements() / outer;
  char* to = y.raw();
  for (int i = begin; i < end; ++i) {
    const Tensor& x = c.input(i);
    const std::int64_t width = x.num_elements() / outer;
    copy_rows(c, x.dtype(), outer, width, x.raw(), width, to, row);
    to += bytes_of(x.dtype(), width);
  }
}

void run_concat_v2(RunContext& c) {
  const int n = c.num_inputs() - 1;
  concatenate(c, 0, n, c.input(n));
}

void run_concat(RunContext& c) { concatenate(c, 1, c.num_inputs(), c.input(0)); }

template <class T>
void concat_offsets(RunContext& c) {
  const Tensor& first = c.input(1);
  if (first.rank() != 1) throw invalid_argument("shapes must be vectors, not ", first.describe());
  const int axis = normalized_axis(scalar_int(c.input(0), "concat_dim"), static_cast<int>(first.dim(0)), "concat_dim");
  T offset = 0;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Tensor& shape = c.input(i);
    if (shape.shape() != first.shape()) {
      throw invalid_argument("shapes have different ranks: ", first, " and ", shape);
    }
    for (int d = 0; d < shape.dim(0); ++d) {
      if (d != axis && shape.at<T>(d) != first.at<T>(d)) {
        throw invalid_argument("shapes ", first, " and ", shape, " do not fit for a concatenation along ", axis);
      }
    }
    Tensor& y = c.allocate_output(i - 1, first.shape());
    std::ranges::fill(y.flat<T>(), T{0});
    y.data<T>()[axis] = offset;
    offset += shape.at<T>(axis);
  }
}

void run_concat_offset(RunContext& c) {
  if (c.input(1).dtype() == DType::kInt64) {
    concat_offsets<std::int64_t>(c);
  } else {
    concat_offsets<std::int32_t>(c);
  }
}

void split_into(RunContext& c, const Tensor& x, int axis, const std::vector<std::int64_t>& sizes) {
  const std::int64_t outer = product(x.shape().dims().first(axis));
  const std::int64_t inner = product(x.shape().dims().subspan(axis + 1));
  const char* from = x.raw();
  for (int i = 0; i < c.num_outputs(); ++i) {
    Tensor& y = c.allocate_output(i, x.shape().with_dim(axis, sizes[i]));
    if (y.num_elements() == 0) continue;
    const std::int64_t width = sizes[i] * inner;
    copy_rows(c, x.dtype(), outer, width, from, x.dim(axis) * inner, y.raw(), width);
    from += bytes_of(x.dtype(), width);
  }
}

void run_split(RunContext& c) {
  const Tensor& x = c.input(1);
  if (c.input(0).rank() != 0) throw invalid_argument("split_dim must be a scalar, not ", c.input(0).describe());
  const int axis = normalized_axis(scalar_int(c.input(0), "split_dim"), x.rank(), "split_dim");
  if (x.dim(axis) % c.num_outputs() != 0) {
    throw invalid_argument("dimension ", axis, " of ", x.describe(), " cannot be split into ", c.num_outputs(),
                           " equal parts");
  }
  split_into(c, x, axis, std::vector<std::int64_t>(c.num_outputs(), x.dim(axis) / c.num_outputs()));
}

void run_split_v(RunContext& c) {
  const Tensor& x = c.input(0);
  const int axis = normalized_axis(scalar_int(c.input(2), "split_dim"), x.rank(), "split_dim");
  split_into(c, x, axis, split_sizes(c.input(1), x.dim(axis), c.num_outputs()));
}

void run_pack(RunContext& c) {
  const Tensor& first = c.input(0);
  const int n = c.num_inputs();
  for (int i = 1; i < n; ++i) {
    if (c.input(i).shape() != first.shape()) {
      throw invalid_argument("shapes differ: values[0] ", first.shape(), ", values[", i, "] ", c.input(i).shape());
    }
  }
  const int axis = normalized_axis(c.node().attr<std::int64_t>("axis"), first.rank() + 1);
  Tensor& y = c.allocate_output(0, first.shape().insert(axis, n));
  const std::int64_t inner = product(first.shape().dims().subspan(axis));
  if (first.num_elements() == 0) return;
  for (int i = 0; i < n; ++i) {
    const Tensor& x = c.input(i);
    copy_rows(c, x.dtype(), x.num_elements() / inner, inner, x.raw(), inner, y.raw() + bytes_of(x.dtype(), i * inner),
              n * inner);
  }
}

void run_unpack(RunContext& c) {
  const Tensor& x = c.input(0);
  const int n = c.num_outputs();
  const int axis = normalized_axis(c.node().attr<std::int64_t>("axis"), x.rank());
  if (x.dim(axis) != n) {
    throw invalid_argument("dimension ", axis, " of ", x.describe(), " has not ", n, " steps");
  }
  const std::int64_t inner = product(x.shape().dims().subspan(axis + 1));
  for (int i = 0; i < n; ++i) {
    Tensor& y = c.allocate_output(i, x.shape().remove(axis));
    if (y.num_elements() == 0) continue;
    copy_rows(c, x.dtype(), y.num_elements() / inner, inner, x.raw() + bytes_of(x.dtype(), i * inner), n * inner,
              y.raw(), inner);
  }
}

void run_tile(RunContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& multiples = c.input(1);
  if (multiples.rank() != 1 || multiples.dim(0) != x.rank()) {
    throw invalid_argument("multiples must be a vector of ", x.rank(), " entries for ", x.describe(), ", not ",
                           multiples.describe());
  }
  const auto counts = multiples.to_int64s();
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < x.rank(); ++i) {
    if (counts[i] < 0) throw invalid_argument("multiples[", i, "] is ", counts[i]);
    const std::int64_t factors[] = {x.dim(i), counts[i]};
    if (!checked_num_elements(factors)) throw invalid_argument("multiples[", i, "] is too large: ", counts[i]);
    sizes.push_back(x.dim(i) * counts[i]);
  }
  check_copied_text(c, x, Shape(sizes).num_elements());
  Tensor& y = c.allocate_output(0, Shape(sizes));
  if (y.num_elements() == 0) return;
  // Each dimension is two loops: over the copies, which read the same elements, and over the elements.
  const auto from = x.shape().strides(), to = y.shape().strides();
  std::vector<std::int64_t> dims, from_strides, to_strides;
  for (int i = 0; i < x.rank(); ++i) {
    dims.insert(dims.end(), {counts[i], x.dim(i)});
    from_strides.insert(from_strides.end(), {0, from[i]});
    to_strides.insert(to_strides.end(), {to[i] * x.dim(i), to[i]});
  }
  strided_copy(c.pool(), x.dtype(), dims, x.raw(), from_strides, y.raw(), to_strides);
}

// Gradients.

// Sizes along `axis` if all are known.
std::optional<std::vector<std::int64_t>> known_sizes(std::span<const Output> values, std::int64_t axis) {
  std::vector<std::int64_t> sizes;
  for (const Output& value : values) {
    const PartialShape& shape = value.shape();
    if (!shape.has_rank()) return std::nullopt;
    const std::int64_t size = shape[normalized_axis(axis, shape.rank())];
    if (size < 0) return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

// The gradient cut into the parts that were joined.
std::vector<Output> concat_gradients(const Output& grad, std::span<const Output> values, const Output& axis) {
  if (const Tensor* value = constant_value(axis)) {
    if (const auto sizes = known_sizes(values, value->to_int64s()[0])) {
      return split(grad, *sizes, convert_number(*value, DType::kInt32));
    }
  }
  const Output axis32 =
      axis.dtype() == DType::kInt32 ? axis : OpBuilder("Cast", {}).input(axis).attr("DstT", DType::kInt32).build();
  const auto shapes = outputs_of(OpBuilder("ShapeN", {}).inputs({values.begin(), values.end()}).build_node());
  const auto offsets = raw_ops::concat_offset(axis32, shapes);
  std::vector<Output> parts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parts.push_back(OpBuilder("Slice", {}).input(grad).input(offsets[i]).input(shapes[i]).build());
  }
  return parts;
}

void concat_v2_gradient(GradientContext& c) {
  const int n = c.num_inputs() - 1;
  const auto parts = concat_gradients(c.grad(0), c.node().inputs("values"), c.input(n));
  for (int i = 0; i < n; ++i) c.set_input_grad(i, parts[i]);
}

void concat_gradient(GradientContext& c) {
  const auto parts = concat_gradients(c.grad(0), c.node().inputs("values"), c.input(0));
  for (std::size_t i = 0; i < parts.size(); ++i) c.set_input_grad(static_cast<int>(i) + 1, parts[i]);
}

std::vector<Output> all_grads(GradientContext& c) {
  std::vector<Output> grads;
  for (int i = 0; i < c.num_outputs(); ++i) grads.push_back(c.grad(i));
  return grads;
}

void split_gradient(GradientContext& c) { c.set_input_grad(1, concat(all_grads(c), c.input(0))); }

void split_v_gradient(GradientContext& c) { c.set_input_grad(0, concat(all_grads(c), c.input(2))); }

void pack_gradient(GradientContext& c) {
  const auto axis = static_cast<int>(c.attr<std::int64_t>("axis"));
  const auto grads = unstack(c.grad(0), {.num = c.num_inputs(), .axis = axis});
  for (int i = 0; i < c.num_inputs(); ++i) c.set_input_grad(i, grads[i]);
}

void unpack_gradient(GradientContext& c) {
  c.set_input_grad(0, stack(all_grads(c), static_cast<int>(c.attr<std::int64_t>("axis"))));
}

// The copies of each dimension become a dimension of their own and are summed.
void tile_gradient(GradientContext& c) {
  const Output x_shape = shape_of(c.input(0), c.input(1).dtype());
  const Output pairs = stack({c.input(1), x_shape}, 1);  // [rank, 2]: multiple, size
  const Output split_shape = OpBuilder("Reshape", {}).input(pairs).input({-1}).build();
  Output axes;
  if (const int rank = c.input(0).shape().rank(); rank >= 0) {
    std::vector<std::int64_t> even(rank);
    for (int i = 0; i < rank; ++i) even[i] = 2 * i;
    axes = int32_vector(even);
  } else {
    const Output size = OpBuilder("Size", {}).input(split_shape).build();
    axes = OpBuilder("Range", {}).input(0).input(size).input(2).build();
  }
  const Output spread = OpBuilder("Reshape", {}).input(c.grad(0)).input(split_shape).build();
  const Output sum = OpBuilder("Sum", {}).input(spread).input(axes).build();
  sum.set_shape(c.input(0).shape());
  c.set_input_grad(0, sum);
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "ConcatV2",
                    .inputs = "values: N * T; axis: Tidx",
                    .outputs = "output: T",
                    .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = DT_INT32",
                    .shape = concat_v2_shape,
                    .gradient = concat_v2_gradient,
                    .cpu = kernel_of<run_concat_v2>});
CAUDAL_REGISTER_OP({.name = "Concat",
                    .inputs = "concat_dim: int32; values: N * T",
                    .outputs = "output: T",
                    .attrs = "N: int >= 2; T: type",
                    .shape = concat_shape,
                    .gradient = concat_gradient,
                    .cpu = kernel_of<run_concat>});
CAUDAL_REGISTER_OP({.name = "ConcatOffset",
                    .inputs = "concat_dim: int32; shape: N * shape_type",
                    .outputs = "offset: N * shape_type",
                    .attrs = "N: int >= 2; shape_type: {int32, int64} = DT_INT32",
                    .shape = concat_offset_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_concat_offset>});
CAUDAL_REGISTER_OP({.name = "Split",
                    .inputs = "split_dim: int32; value: T",
                    .outputs = "output: num_split * T",
                    .attrs = "num_split: int >= 1; T: type",
                    .shape = split_shape,
                    .gradient = split_gradient,
                    .cpu = kernel_of<run_split>});
CAUDAL_REGISTER_OP({.name = "SplitV",
                    .inputs = "value: T; size_splits: Tlen; split_dim: int32",
                    .outputs = "output: num_split * T",
                    .attrs = "num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = DT_INT64",
                    .shape = split_v_shape,
                    .gradient = split_v_gradient,
                    .cpu = kernel_of<run_split_v>});
CAUDAL_REGISTER_OP({.name = "Pack",
                    .inputs = "values: N * T",
                    .outputs = "output: T",
                    .attrs = "N: int >= 1; T: type; axis: int = 0",
                    .shape = pack_shape,
                    .gradient = pack_gradient,
                    .cpu = kernel_of<run_pack>});
CAUDAL_REGISTER_OP({.name = "Unpack",
                    .inputs = "value: T",
                    .outputs = "output: num * T",
                    .attrs = "num: int >= 0; T: type; axis: int = 0",
                    .shape = unpack_shape,
                    .gradient = unpack_gradient,
                    .cpu = kernel_of<run_unpack>});
CAUDAL_REGISTER_OP({.name = "Tile",
                    .inputs = "input: T; multiples: Tmultiples",
                    .outputs = "output: T",
                    .attrs = "T: type; Tmultiples: {int32, int64} = DT_INT32",
                    .shape = tile_shape,
                    .gradient = tile_gradient,
                    .cpu = kernel_of<run_tile>});

std::vector<Output> OperandList::to_outputs() const {
  DType dtype = DType::kInvalid;
  bool fraction = false;
  for (const Operand& item : items_) {
    if (dtype == DType::kInvalid) dtype = item.fixed_dtype();
    fraction |= item.has_fraction();
  }
  if (dtype == DType::kInvalid) dtype = fraction ? DType::kFloat : DType::kInt32;
  std::vector<Output> outputs;
  for (const Operand& item : items_) outputs.push_back(item.to_output(dtype));
  return outputs;
}

Output concat(const OperandList& values, const Operand& axis, const OpOptions& options) {
  const auto outputs = values.to_outputs();
  if (outputs.size() == 1) {
    const OpOptions named{.name = options.name.empty() ? "concat" : options.name, .where = options.where};
    return OpBuilder("Identity", named).input(outputs[0]).build();
  }
  return OpBuilder("ConcatV2", {.name = options.name.empty() ? "concat" : options.name, .where = options.where})
      .inputs(outputs)
      .input(axis, DType::kInt32)
      .build();
}

std::vector<Output> split(const Operand& value, int num_split, const Operand& axis, const OpOptions& options) {
  return outputs_of(OpBuilder("Split", {.name = options.name.empty() ? "split" : options.name, .where = options.where})
                        .input(axis, DType::kInt32)
                        .input(value)
                        .attr("num_split", num_split)
                        .build_node());
}

std::vector<Output> split(const Operand& value, const std::vector<std::int64_t>& sizes, const Operand& axis,
                          const OpOptions& options) {
  return outputs_of(OpBuilder("SplitV", {.name = options.name.empty() ? "split" : options.name, .where = options.where})
                        .input(value)
                        .input(sizes)
                        .input(axis, DType::kInt32)
                        .attr("num_split", static_cast<std::int64_t>(sizes.size()))
                        .build_node());
}

Output stack(const OperandList& values, int axis, const OpOptions& options) {
  return OpBuilder("Pack", {.name = options.name.empty() ? "stack" : options.name, .where = options.where})
      .inputs(values.to_outputs())
      .attr("axis", axis)
      .build();
}

std::vector<Output> unstack(const Operand& value, const UnstackOptions& options) {
  const Output x = value.to_output();
  std::optional<std::int64_t> num = options.num;
  if (!num) {
    const PartialShape& shape = x.shape();
    if (shape.has_rank()) num = shape[normalized_axis(options.axis, shape.rank())];
    if (!num || *num < 0) {
      throw invalid_argument("the size of dimension ", options.axis, " of ", x.describe(), " is not known")
          .hint("Say how many tensors you want: {.num = ...}.")
          .at_node("Unpack", options.name, current_location(options.where));
    }
  }
  const std::string name = options.name.empty() ? "unstack" : options.name;
  return outputs_of(OpBuilder("Unpack", {.name = name, .where = options.where})
                        .input(x)
                        .attr("num", *num)
                        .attr("axis", options.axis)
                        .build_node());
}

Output tile(const Operand& input, const Operand& multiples, const OpOptions& options) {
  return OpBuilder("Tile", options).input(input).input(multiples, DType::kInt32).build();
}

std::vector<Output> raw_ops::concat_offset(const Operand& concat_dim, const std::vector<Output>& shapes,
                                           const OpOptions& options) {
  return outputs_of(OpBuilder("ConcatOffset", options).input(concat_dim, DType::kInt32).inputs(shapes).build_node());
}

}  // namespace caudal::inline v0
