#include "caudal/ops/shape_ops.h"

#include <algorithm>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/copied_text.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

// Shape functions.

void shape_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{c.input(i).rank()});
}

// Known sizes multiplied, and where the only unknown one is.
struct KnownSizes {
  std::int64_t product = 1;
  int unknown = -1;
  bool several_unknown = false;
};

KnownSizes known_sizes(const PartialShape& shape) {
  KnownSizes result;
  std::vector<std::int64_t> known;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] >= 0) {
      known.push_back(shape[i]);
    } else {
      result.several_unknown |= result.unknown >= 0;
      result.unknown = i;
    }
  }
  const auto product = checked_num_elements(known);
  if (!product) throw invalid_argument("shape ", shape, " has more elements than can be counted");
  result.product = *product;
  return result;
}

void reshape_shape(ShapeContext& c) {
  if (c.input(1).rank() == 0) return;  // a scalar, as old programs write [-1]
  c.with_rank(1, 1);
  const PartialShape& in = c.input(0);
  PartialShape out = c.input_as_shape(1);
  c.set_output(0, out);
  if (!in.has_rank() || !out.has_rank()) return;
  const KnownSizes have = known_sizes(in), want = known_sizes(out);
  if (have.several_unknown || want.several_unknown) return;
  const auto fail = [&] {
    return invalid_argument("cannot reshape ", in, " to ", out, ": ", have.product, have.unknown < 0 ? "" : "*?",
                            " elements do not fill ", want.product, want.unknown < 0 ? "" : "*?");
  };
  if (have.unknown < 0 && want.unknown < 0) {
    if (have.product != want.product) throw fail();
  } else if (have.unknown < 0 && want.product > 0) {
    if (have.product % want.product != 0) throw fail();
    c.set_output(0, out.with_dim(want.unknown, have.product / want.product));
  } else if (have.unknown >= 0 && want.unknown < 0 && have.product > 0) {
    if (want.product % have.product != 0) throw fail();
  }
}

void quantized_reshape_shape(ShapeContext& c) {
  reshape_shape(c);
  for (const int i : {1, 2}) {
    c.with_rank(i + 1, 0);
    c.set_output(i, PartialShape({}));
  }
}

void expand_dims_shape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  const Tensor* axis = c.constant_input(1);
  if (c.input(1).num_elements() >= 0 && c.input(1).num_elements() != 1) {
    throw invalid_argument("dim must have one element, not shape ", c.input(1));
  }
  if (!in.has_rank()) return;
  if (axis == nullptr) return c.set_output(0, PartialShape::unknown_of_rank(in.rank() + 1));
  auto dims = in.dims();
  dims.insert(dims.begin() + normalized_axis(scalar_int(*axis, "dim"), in.rank() + 1, "dim"), 1);
  c.set_output(0, PartialShape(std::move(dims)));
}

// Which dimensions Squeeze removes from a tensor of this rank; of size 1 (or unknown size) if none are named.
std::vector<bool> named_dims(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<bool> named(rank);
  for (const auto axis : axes) named[normalized_axis(axis, rank, "squeeze dimension")] = true;
  return named;
}

[[noreturn]] void throw_no_unit_size(int dim, const std::string& shape) {
  throw invalid_argument("dimension ", dim, " of ", shape, " cannot be squeezed: its size is not 1");
}

void squeeze_shape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  const auto& axes = c.attr<std::vector<std::int64_t>>("squeeze_dims");
  if (!in.has_rank()) return;
  const auto named = named_dims(axes, in.rank());
  std::vector<std::int64_t> dims;
  for (int i = 0; i < in.rank(); ++i) {
    if (axes.empty()) {
      if (in[i] < 0) return;  // it may be 1 or not: the rank is open
      if (in[i] != 1) dims.push_back(in[i]);
    } else if (!named[i]) {
      dims.push_back(in[i]);
    } else if (in[i] >= 0 && in[i] != 1) {
      throw_no_unit_size(i, in.to_string());
    }
  }
  c.set_output(0, PartialShape(std::move(dims)));
}

void broadcast_to_shape(ShapeContext& c) {
  c.with_rank(1, 1);
  const PartialShape& in = c.input(0);
  const PartialShape out = c.input_as_shape(1);
  c.set_output(0, out);
  if (!in.has_rank() || !out.has_rank()) return;
  if (in.rank() > out.rank()) throw invalid_argument("input ", in, " has more dimensions than ", out);
  for (int i = 1; i <= in.rank(); ++i) {
    if (in[-i] >= 0 && out[-i] >= 0 && in[-i] != 1 && in[-i] != out[-i]) {
      throw invalid_argument("input ", in, " cannot be broadcast to ", out);
    }
  }
}

void ensure_shape_shape(ShapeContext& c) {
  const auto& shape = c.attr<PartialShape>("shape");
  const auto merged = c.input(0).merge(shape);
  if (!merged) throw invalid_argument("input has shape ", c.input(0), ", which does not fit ", shape);
  c.set_output(0, *merged);
}

// Kernels.

// Stores integers in output i, a tensor of int32 or int64.
void put_integers(RunContext& c, int i, const Shape& shape, std::span<const std::int64_t> values) {
  Tensor& out = c.allocate_output(i, shape);
  if (out.dtype() == DType::kInt64) {
    std::ranges::copy(values, out.data<std::int64_t>());
    return;
  }
  auto* to = out.data<std::int32_t>();
  for (const auto value : values) {
    if (value > std::numeric_limits<std::int32_t>::max()) {
      throw invalid_argument("size ", value, " does not fit int32").hint("Ask for out_type int64.");
    }
    *to++ = static_cast<std::int32_t>(value);
  }
}

void run_shape(RunContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& shape = c.input(i).shape();
    put_integers(c, i, {shape.rank()}, shape.dims());
  }
}

void run_size(RunContext& c) {
  const std::int64_t n = c.input(0).num_elements();
  put_integers(c, 0, {}, {&n, 1});
}

void run_rank(RunContext& c) { c.allocate_output(0, {}).data<std::int32_t>()[0] = c.input(0).rank(); }

// The shape asked for, with -1 replaced. A zero beside the -1 counts as 1 on both sides, as TensorFlow does it:
// [0,3] as [-1,0] is [3,0].
Shape resolved(const Tensor& tensor, const Tensor& sizes) {
  if (sizes.rank() > 1) throw invalid_argument("shape must be a vector, not ", sizes.describe());
  std::vector<std::int64_t> dims = sizes.to_int64s();
  int unknown = -1;
  bool has_zero = false;
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) throw invalid_argument("shape ", sizes, " has more than one -1");
      unknown = static_cast<int>(i);
    } else if (dims[i] < 0) {
      throw invalid_argument("shape ", sizes, " has the negative size ", dims[i]);
    } else if (dims[i] == 0) {
      has_zero = true;
    } else {
      known.push_back(dims[i]);
    }
  }
  const auto product = checked_num_elements(known);
  if (!product) throw invalid_argument("shape ", sizes, " has more elements than can be counted");
  if (unknown >= 0) {
    std::int64_t elements = 1;
    for (const auto dim : tensor.shape().dims()) {
      if (dim > 0 || !has_zero) elements *= dim;
    }
    dims[unknown] = elements / *product;
  }
  const Shape shape(dims);
  if (shape.num_elements() != tensor.num_elements()) {
    throw invalid_argument("cannot reshape ", tensor.describe(), " (", tensor.num_elements(), " elements) to ", sizes);
  }
  return shape;
}

void run_reshape(RunContext& c) { c.set_output(0, c.input(0).reshape(resolved(c.input(0), c.input(1)))); }

void run_quantized_reshape(RunContext& c) {
  run_reshape(c);
  for (const int i : {1, 2}) {
    const Tensor& bound = c.input(i + 1);
    if (bound.rank() > 1 || bound.num_elements() != 1) {
      throw invalid_argument("input_min and input_max must be scalars, not ", bound.describe());
    }
    c.allocate_output(i, {}).data<float>()[0] = bound.data<float>()[0];
  }
}

void run_expand_dims(RunContext& c) {
  const Tensor& x = c.input(0);
  const int axis = normalized_axis(scalar_int(c.input(1), "dim"), x.rank() + 1, "dim");
  c.set_output(0, x.reshape(x.shape().insert(axis, 1)));
}

void run_squeeze(RunContext& c) {
  const Tensor& x = c.input(0);
  const auto& axes = c.node().attr<std::vector<std::int64_t>>("squeeze_dims");
  const auto named = named_dims(axes, x.rank());
  std::vector<std::int64_t> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (named[i] && x.dim(i) != 1) throw_no_unit_size(i, x.describe());
    if (axes.empty() ? x.dim(i) != 1 : !named[i]) dims.push_back(x.dim(i));
  }
  c.set_output(0, x.reshape(Shape(dims)));
}

void run_ensure_shape(RunContext& c) {
  const Tensor& x = c.input(0);
  const auto& shape = c.node().attr<PartialShape>("shape");
  if (!shape.compatible(x.shape())) throw invalid_argument("input is ", x.describe(), ", which does not fit ", shape);
  c.set_output(0, x);
}

// The output is the input under another shape.
template <void (*run_fn)(RunContext&)>
std::unique_ptr<Kernel> prepare_view(PrepareContext& c) {
  c.alias(0, 0);
  return kernel_of<run_fn>(c);
}

void run_broadcast_to(RunContext& c) {
  const Tensor& x = c.input(0);
  const Shape shape = shape_from(c.input(1), "shape");
  const int shift = shape.rank() - x.rank();
  if (shift < 0) throw invalid_argument("input ", x.describe(), " has more dimensions than ", shape);
  const auto strides = x.shape().strides();
  std::vector<std::int64_t> from(shape.rank(), 0);
  for (int i = 0; i < x.rank(); ++i) {
    if (x.dim(i) != 1 && x.dim(i) != shape[i + shift]) {
      throw invalid_argument("input ", x.describe(), " cannot be broadcast to ", shape);
    }
    if (x.dim(i) != 1) from[i + shift] = strides[i];
  }
  check_copied_text(c, x, shape.num_elements());
  Tensor& y = c.allocate_output(0, shape);
  strided_copy(c.pool(), x.dtype(), shape.dims(), x.raw(), from, y.raw(), shape.strides());
}

// Gradients.

// Of all that only change the shape.
void view_gradient(GradientContext& c) { c.set_input_grad(0, reshape(c.grad(0), shape_of(c.input(0)))); }

void ensure_shape_gradient(GradientContext& c) { c.set_input_grad(0, c.grad(0)); }

void broadcast_to_gradient(GradientContext& c) {
  const Output x_shape = shape_of(c.input(0), c.input(1).dtype());
  Node& axes = OpBuilder("BroadcastGradientArgs", {}).input(c.input(1)).input(x_shape).build_node();
  const Output sum = OpBuilder("Sum", {}).input(c.grad(0)).input(axes.output(1)).build();
  c.set_input_grad(0, reshape(sum, x_shape));
}

}  // namespace

CAUDAL_REGISTER_OP({.name = "Shape",
                    .inputs = "input: T",
                    .outputs = "output: out_type",
                    .attrs = "T: type; out_type: {int32, int64} = DT_INT32",
                    .reads_only_shapes = true,
                    .shape = shape_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_shape>});
CAUDAL_REGISTER_OP({.name = "ShapeN",
                    .inputs = "input: N * T",
                    .outputs = "output: N * out_type",
                    .attrs = "N: int >= 1; T: type; out_type: {int32, int64} = DT_INT32",
                    .reads_only_shapes = true,
                    .shape = shape_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_shape>});
CAUDAL_REGISTER_OP({.name = "Size",
                    .inputs = "input: T",
                    .outputs = "output: out_type",
                    .attrs = "T: type; out_type: {int32, int64} = DT_INT32",
                    .reads_only_shapes = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_size>});
CAUDAL_REGISTER_OP({.name = "Rank",
                    .inputs = "input: T",
                    .outputs = "output: int32",
                    .attrs = "T: type",
                    .reads_only_shapes = true,
                    .shape = scalar_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_rank>});
CAUDAL_REGISTER_OP({.name = "Reshape",
                    .inputs = "tensor: T; shape: Tshape",
                    .outputs = "output: T",
                    .attrs = "T: type; Tshape: {int32, int64} = DT_INT32",
                    .shape = reshape_shape,
                    .gradient = view_gradient,
                    .cpu = prepare_view<run_reshape>});
CAUDAL_REGISTER_OP({.name = "QuantizedReshape",
                    .inputs = "tensor: T; shape: Tshape; input_min: float; input_max: float",
                    .outputs = "output: T; output_min: float; output_max: float",
                    .attrs = "T: type; Tshape: {int32, int64} = DT_INT32",
                    .shape = quantized_reshape_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_view<run_quantized_reshape>});
CAUDAL_REGISTER_OP({.name = "ExpandDims",
                    .inputs = "input: T; dim: Tdim",
                    .outputs = "output: T",
                    .attrs = "T: type; Tdim: {int32, int64} = DT_INT32",
                    .shape = expand_dims_shape,
                    .gradient = view_gradient,
                    .cpu = prepare_view<run_expand_dims>});
CAUDAL_REGISTER_OP({.name = "Squeeze",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: type; squeeze_dims: list(int) >= 0 = []",
                    .shape = squeeze_shape,
                    .gradient = view_gradient,
                    .cpu = prepare_view<run_squeeze>});
CAUDAL_REGISTER_OP({.name = "BroadcastTo",
                    .inputs = "input: T; shape: Tidx",
                    .outputs = "output: T",
                    .attrs = "T: type; Tidx: {int32, int64} = DT_INT32",
                    .shape = broadcast_to_shape,
                    .gradient = broadcast_to_gradient,
                    .cpu = kernel_of<run_broadcast_to>});
CAUDAL_REGISTER_OP({.name = "EnsureShape",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "shape: shape; T: type",
                    .shape = ensure_shape_shape,
                    .gradient = ensure_shape_gradient,
                    .cpu = prepare_view<run_ensure_shape>});

Output shape(const Operand& input, const ShapeOptions& options) {
  return OpBuilder("Shape", {.name = options.name, .where = options.where})
      .input(input)
      .attr("out_type", options.out_type)
      .build();
}

std::vector<Output> shape_n(const std::vector<Output>& input, const ShapeOptions& options) {
  return outputs_of(OpBuilder("ShapeN", {.name = options.name, .where = options.where})
                        .inputs(input)
                        .attr("out_type", options.out_type)
                        .build_node());
}

Output size(const Operand& input, const ShapeOptions& options) {
  return OpBuilder("Size", {.name = options.name, .where = options.where})
      .input(input)
      .attr("out_type", options.out_type)
      .build();
}

Output rank(const Operand& input, const OpOptions& options) { return OpBuilder("Rank", options).input(input).build(); }

Output reshape(const Operand& tensor, const Operand& shape, const OpOptions& options) {
  return OpBuilder("Reshape", options).input(tensor).input(shape, DType::kInt32).build();
}

Output expand_dims(const Operand& input, const Operand& axis, const OpOptions& options) {
  return OpBuilder("ExpandDims", options).input(input).input(axis, DType::kInt32).build();
}

Output squeeze(const Operand& input, const std::vector<std::int64_t>& axis, const OpOptions& options) {
  return OpBuilder("Squeeze", options).input(input).attr("squeeze_dims", axis).build();
}

Output broadcast_to(const Operand& input, const Operand& shape, const OpOptions& options) {
  return OpBuilder("BroadcastTo", options).input(input).input(shape, DType::kInt32).build();
}

Output ensure_shape(const Operand& input, const PartialShape& shape, const OpOptions& options) {
  return OpBuilder("EnsureShape", options).input(input).attr("shape", shape).build();
}

}  // namespace caudal::inline v0
