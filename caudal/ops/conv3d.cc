#include "caudal/ops/conv3d.h"

#include <cstring>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/conv3d.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sliding_window.h"
#include "caudal/ops/sliding_window3d.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void forward_shape(ShapeContext& c) {
  const SlidingWindow3d window = SlidingWindow3d::of(c.node());
  const PartialShape input = window.to_ndhwc(c.with_rank(0, 5));
  const PartialShape filter = c.with_rank(1, 5);
  group_count(input.dim(4), filter.dim(3), filter.dim(4), "fourth");
  c.set_output(0, window.from_ndhwc({input.dim(0), window.output_size(1, input.dim(1), filter.dim(0)),
                                     window.output_size(2, input.dim(2), filter.dim(1)),
                                     window.output_size(3, input.dim(3), filter.dim(2)), filter.dim(4)}));
}

template <int sizes>
void sizes_input_shape(ShapeContext& c) {
  SlidingWindow3d::of(c.node());
  const auto shape = c.input_as_shape(sizes).merge(PartialShape::unknown_of_rank(5));
  if (!shape) throw invalid_argument(c.input_name(sizes), " must hold 5 numbers");
  c.set_output(0, *shape);
}

template <int like>
void same_as_input_shape(ShapeContext& c) {
  SlidingWindow3d::of(c.node());
  c.set_output(0, c.with_rank(like, 5));
}

// --- Kernels ---

class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(const SlidingWindow3d& window) : window_(window) {}

 protected:
  kernels::Conv3dShape geometry(const Shape& input, const Shape& filter) const {
    if (filter.rank() != 5) throw invalid_argument("the filter must have 5 dimensions, not ", filter);
    if (filter.num_elements() == 0) throw invalid_argument("the filter ", filter, " is empty");
    kernels::Conv3dShape shape;
    shape.window = window_.over(input, {filter[0], filter[1], filter[2]});
    shape.groups = group_count(input[4], filter[3], filter[4], "fourth");
    shape.out_channels = filter[4];
    return shape;
  }

  static Shape output_of(const kernels::Conv3dShape& shape) {
    const auto& out = shape.window.out;
    return {shape.window.batch, out[0].out, out[1].out, out[2].out, shape.out_channels};
  }

  // The gradient of the output must have the output's shape.
  static void check_grad(const kernels::Conv3dShape& shape, const Tensor& grad) {
    if (grad.shape() == output_of(shape)) return;
    throw invalid_argument("out_backprop ", grad.describe(), " must be ", output_of(shape));
  }

  // True if there is nothing to sum or nothing wanted: the result is zero then.
  static bool cleared(const Tensor& a, const Tensor& b, Tensor& out) {
    if (a.num_elements() != 0 && b.num_elements() != 0 && out.num_elements() != 0) return false;
    if (out.byte_size() != 0) std::memset(out.raw(), 0, out.byte_size());
    return true;
  }

 private:
  SlidingWindow3d window_;
};

class ForwardKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &filter = c.input(1);
    const kernels::Conv3dShape shape = geometry(input.shape(), filter.shape());
    Tensor& out = c.allocate_output(0, output_of(shape));
    if (cleared(input, filter, out)) return;
    kernels::conv3d(c.pool(), out.dtype(), shape, input.raw(), filter.raw(), out.raw());
  }
};

// The first ops of this kind took the tensor itself where the later ones take its shape.
Shape shape_of_input(const RunContext& c, int i, bool is_shape, std::string_view what) {
  return is_shape ? shape_from(c.input(i), what) : c.input(i).shape();
}

template <bool sizes>
class BackpropInputKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor &filter = c.input(1), &grad = c.input(2);
    const Shape input = shape_of_input(c, 0, sizes, "input_sizes");
    const kernels::Conv3dShape shape = geometry(input, filter.shape());
    check_grad(shape, grad);
    Tensor& out = c.allocate_output(0, input);
    if (cleared(filter, grad, out)) return;
    kernels::conv3d_backward_data(c.pool(), out.dtype(), shape, filter.raw(), grad.raw(), out.raw());
  }
};

template <bool sizes>
class BackpropFilterKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &grad = c.input(2);
    const Shape filter = shape_of_input(c, 1, sizes, "filter_sizes");
    const kernels::Conv3dShape shape = geometry(input.shape(), filter);
    check_grad(shape, grad);
    Tensor& out = c.allocate_output(0, filter);
    if (cleared(input, grad, out)) return;
    kernels::conv3d_backward_filter(c.pool(), out.dtype(), shape, input.raw(), grad.raw(), out.raw());
  }
};

template <class ConvolutionKernel>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const SlidingWindow3d window = SlidingWindow3d::of(c.node());
  window.check_cpu();
  return std::make_unique<ConvolutionKernel>(window);
}

// --- Gradients ---

OpBuilder relative(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  copy_attrs(c.node().info(), {"strides", "padding", "data_format", "dilations"}, builder);
  return builder;
}

constexpr const char* kInputOp = "Conv3DBackpropInputV2";
constexpr const char* kFilterOp = "Conv3DBackpropFilterV2";

void forward_gradient(GradientContext& c) {
  const Output &input = c.input(0), &filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, relative(c, kInputOp).input(shape_of(input)).input(filter).input(grad).build());
  c.set_input_grad(1, relative(c, kFilterOp).input(input).input(shape_of(filter)).input(grad).build());
}

// Both gradients are linear in their two tensors, with the third op of the family as the other one's gradient.
void backprop_input_gradient(GradientContext& c) {
  const Output &filter = c.input(1), &out = c.input(2), grad = c.grad(0);
  c.set_input_grad(1, relative(c, kFilterOp).input(grad).input(shape_of(filter)).input(out).build());
  c.set_input_grad(2, relative(c, "Conv3D").input(grad).input(filter).build());
}

void backprop_filter_gradient(GradientContext& c) {
  const Output &input = c.input(0), &out = c.input(2), grad = c.grad(0);
  c.set_input_grad(0, relative(c, kInputOp).input(shape_of(input)).input(grad).input(out).build());
  c.set_input_grad(2, relative(c, "Conv3D").input(input).input(grad).build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Conv3D",
                    .inputs = "input: T; filter: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int) >= 5; "
                             "padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; "
                             "dilations: list(int) = [1, 1, 1, 1, 1]",
                    .shape = forward_shape,
                    .gradient = forward_gradient,
                    .cpu = prepare<ForwardKernel>});
CAUDAL_REGISTER_OP({.name = "Conv3DBackpropInputV2",
                    .inputs = "input_sizes: Tshape; filter: T; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int) >= 5; "
                             "padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; "
                             "dilations: list(int) = [1, 1, 1, 1, 1]; Tshape: {int32, int64} = DT_INT32",
                    .shape = sizes_input_shape<0>,
                    .gradient = backprop_input_gradient,
                    .cpu = prepare<BackpropInputKernel<true>>});
CAUDAL_REGISTER_OP({.name = "Conv3DBackpropFilterV2",
                    .inputs = "input: T; filter_sizes: int32; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int) >= 5; "
                             "padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; "
                             "dilations: list(int) = [1, 1, 1, 1, 1]",
                    .shape = sizes_input_shape<1>,
                    .gradient = backprop_filter_gradient,
                    .cpu = prepare<BackpropFilterKernel<true>>});
CAUDAL_REGISTER_OP({.name = "Conv3DBackpropInput",
                    .inputs = "input: T; filter: T; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "dilations: list(int) = [1, 1, 1, 1, 1]",
                    .deprecated_version = 10,
                    .shape = same_as_input_shape<0>,
                    .gradient = no_gradient,
                    .cpu = prepare<BackpropInputKernel<false>>});
CAUDAL_REGISTER_OP({.name = "Conv3DBackpropFilter",
                    .inputs = "input: T; filter: T; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "dilations: list(int) = [1, 1, 1, 1, 1]",
                    .deprecated_version = 10,
                    .shape = same_as_input_shape<1>,
                    .gradient = no_gradient,
                    .cpu = prepare<BackpropFilterKernel<false>>});

// --- Public functions ---

namespace nn {
namespace {

template <class Options>
void set_window(OpBuilder& builder, const Options& options) {
  try {
    builder.attr("strides", per_dimension3d(options.strides, options.data_format, "strides"))
        .attr("dilations", per_dimension3d(options.dilations, options.data_format, "dilations"))
        .attr("padding", options.padding)
        .attr("data_format", options.data_format);
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
}

}  // namespace

Output conv3d(const Operand& input, const Operand& filter, const Conv3dOptions& options) {
  const DType dtype = common_dtype({&input, &filter});
  OpBuilder builder("Conv3D", {.name = options.name, .where = options.where});
  set_window(builder, options);
  return builder.input(input, dtype).input(filter, dtype).build();
}

Output conv3d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Conv3dTransposeOptions& options) {
  const DType dtype = common_dtype({&value, &filter});
  OpBuilder builder(kInputOp,
                    {.name = options.name.empty() ? "conv3d_transpose" : options.name, .where = options.where});
  set_window(builder, options);
  return builder.input(output_shape, DType::kInt32).input(filter, dtype).input(value, dtype).build();
}

}  // namespace nn
}  // namespace caudal::inline v0
