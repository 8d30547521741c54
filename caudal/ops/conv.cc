#include "caudal/ops/conv.h"

#include <cstring>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/depthwise.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

// Channels that a depthwise filter makes.
std::int64_t depthwise_channels(std::int64_t channels, std::int64_t filter_channels, std::int64_t multiplier) {
  channels = ShapeContext::merge_dim(channels, filter_channels, "the channels of input and filter");
  if (channels < 0 || multiplier < 0) return PartialShape::kUnknown;
  const std::int64_t sizes[] = {channels, multiplier};
  const auto product = checked_num_elements(sizes);
  if (!product) throw invalid_argument(channels, " channels times ", multiplier, " are too many");
  return *product;
}

template <bool depthwise>
void forward_shape(ShapeContext& c) {
  const SlidingWindow window = SlidingWindow::of(c.node());
  const PartialShape input = window.to_nhwc(c.with_rank(0, 4));
  const PartialShape filter = c.with_rank(1, 4);
  std::int64_t channels = filter.dim(3);
  if (depthwise) {
    channels = depthwise_channels(input.dim(3), filter.dim(2), filter.dim(3));
  } else {
    group_count(input.dim(3), filter.dim(2), filter.dim(3), "third");
  }
  c.set_output(0, window.from_nhwc({input.dim(0), window.output_size(1, input.dim(1), filter.dim(0)),
                                    window.output_size(2, input.dim(2), filter.dim(1)), channels}));
}

// The shapes of the gradients follow from their inputs: windows that cannot be are the kernels' to refuse, as in
// TensorFlow, so that a graph which never runs the node may have it.
void backprop_input_shape(ShapeContext& c) {
  SlidingWindow window;
  window.channels_first = c.attr<std::string>("data_format") != "NHWC";
  const PartialShape filter = c.with_rank(1, 4);
  const PartialShape grad = window.to_nhwc(c.with_rank(2, 4));
  const PartialShape sizes = c.input_as_shape(0);
  if (sizes.rank() == 2) {
    c.set_output(0, window.from_nhwc({grad.dim(0), sizes.dim(0), sizes.dim(1), filter.dim(2)}));
    return;
  }
  const auto shape = sizes.merge(PartialShape::unknown_of_rank(4));
  if (!shape) throw invalid_argument("input_sizes must hold 4 numbers (or rows and columns), not ", sizes.rank());
  c.set_output(0, *shape);
}

void backprop_filter_shape(ShapeContext& c) {
  const auto shape = c.input_as_shape(1).merge(PartialShape::unknown_of_rank(4));
  if (!shape) throw invalid_argument("filter_sizes must hold 4 numbers");
  c.set_output(0, *shape);
}

// --- Kernels ---

// One convolution, plain or depthwise, with all sizes checked.
struct Geometry {
  kernels::Window2d window;
  std::int64_t out_channels = 0;
  std::int64_t groups = 1;      // plain
  std::int64_t multiplier = 1;  // depthwise

  kernels::Conv2dShape plain() const { return {.window = window, .out_channels = out_channels, .groups = groups}; }
  Shape output() const { return {window.batch, window.out_height(), window.out_width(), out_channels}; }
};

template <bool depthwise>
class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(const SlidingWindow& window) : window_(window) {}

 protected:
  Geometry geometry(const Shape& input, const Shape& filter) const {
    if (filter.rank() != 4) throw invalid_argument("the filter must have 4 dimensions, not ", filter);
    if (filter.num_elements() == 0) throw invalid_argument("the filter ", filter, " is empty");
    Geometry g;
    g.window = window_.over(input, filter[0], filter[1]);
    if (depthwise) {
      g.multiplier = filter[3];
      g.out_channels = depthwise_channels(input[3], filter[2], filter[3]);
    } else {
      g.groups = group_count(input[3], filter[2], filter[3], "third");
      g.out_channels = filter[3];
    }
    return g;
  }

  // The gradient of the output must have the output's shape.
  static void check_grad(const Geometry& g, const Tensor& grad) {
    if (grad.shape() == g.output()) return;
    throw invalid_argument("out_backprop ", grad.describe(), " must be ", g.output(), " for an input of ",
                           Shape{g.window.batch, g.window.height, g.window.width, g.window.channels});
  }

  // True if there is nothing to sum or nothing wanted (an input without channels has no groups): the result is zero
  // then.
  static bool cleared(const Tensor& a, const Tensor& b, Tensor& out) {
    if (a.num_elements() != 0 && b.num_elements() != 0 && out.num_elements() != 0) return false;
    if (out.byte_size() != 0) std::memset(out.raw(), 0, out.byte_size());
    return true;
  }

 private:
  SlidingWindow window_;
};

template <bool depthwise>
class ForwardKernel final : public ConvKernel<depthwise> {
 public:
  using ConvKernel<depthwise>::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor& input = c.input(0);
    const Tensor& filter = c.input(1);
    const Geometry g = this->geometry(input.shape(), filter.shape());
    Tensor& out = c.allocate_output(0, g.output());
    if (this->cleared(input, filter, out)) return;
    if constexpr (depthwise) {
      kernels::depthwise_conv2d(c.pool(), out.dtype(), g.window, g.multiplier, input.raw(), filter.raw(), out.raw());
    } else {
      kernels::conv2d(c.pool(), out.dtype(), g.plain(), input.raw(), filter.raw(), out.raw());
    }
  }
};

template <bool depthwise>
class BackpropInputKernel final : public ConvKernel<depthwise> {
 public:
  using ConvKernel<depthwise>::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor& filter = c.input(1);
    const Tensor& grad = c.input(2);
    Shape input = shape_from(c.input(0), "input_sizes");
    if (input.rank() == 2 && filter.rank() == 4 && grad.rank() == 4) {
      input = Shape{grad.dim(0), input[0], input[1], filter.dim(2)};
    }
    const Geometry g = this->geometry(input, filter.shape());
    this->check_grad(g, grad);
    Tensor& out = c.allocate_output(0, input);
    if (this->cleared(filter, grad, out)) return;
    if constexpr (depthwise) {
      kernels::depthwise_conv2d_backward_data(c.pool(), out.dtype(), g.window, g.multiplier, filter.raw(), grad.raw(),
                                              out.raw());
    } else {
      kernels::conv2d_backward_data(c.pool(), out.dtype(), g.plain(), filter.raw(), grad.raw(), out.raw());
    }
  }
};

template <bool depthwise>
class BackpropFilterKernel final : public ConvKernel<depthwise> {
 public:
  using ConvKernel<depthwise>::ConvKernel;
  void run(RunContext& c) const override {
    const Tensor& input = c.input(0);
    const Tensor& grad = c.input(2);
    const Shape filter = shape_from(c.input(1), "filter_sizes");
    const Geometry g = this->geometry(input.shape(), filter);
    this->check_grad(g, grad);
    Tensor& out = c.allocate_output(0, filter);
    if (this->cleared(input, grad, out)) return;
    if constexpr (depthwise) {
      kernels::depthwise_conv2d_backward_filter(c.pool(), out.dtype(), g.window, g.multiplier, input.raw(), grad.raw(),
                                                out.raw());
    } else {
      kernels::conv2d_backward_filter(c.pool(), out.dtype(), g.plain(), input.raw(), grad.raw(), out.raw());
    }
  }
};

template <class ConvolutionKernel>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const SlidingWindow window = SlidingWindow::of(c.node());
  window.check_cpu();
  return std::make_unique<ConvolutionKernel>(window);
}

// --- Gradients ---

// A node of the family with the attributes of the one whose gradient is asked for.
OpBuilder relative(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  copy_attrs(c.node().info(),
             {"strides", "padding", "explicit_paddings", "use_cudnn_on_gpu", "data_format", "dilations"}, builder);
  return builder;
}

struct Names {
  const char *forward, *input, *filter;
};
template <bool depthwise>
constexpr Names kNames =
    depthwise
        ? Names{"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"}
        : Names{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};

template <bool depthwise>
void forward_gradient(GradientContext& c) {
  const Output &input = c.input(0), &filter = c.input(1), grad = c.grad(0);
  c.set_input_grad(0, relative(c, kNames<depthwise>.input).input(shape_of(input)).input(filter).input(grad).build());
  c.set_input_grad(1, relative(c, kNames<depthwise>.filter).input(input).input(shape_of(filter)).input(grad).build());
}

// Both gradients are linear in their two tensors, with the third op of the family as the other one's gradient.
template <bool depthwise>
void backprop_input_gradient(GradientContext& c) {
  const Output &filter = c.input(1), &out = c.input(2), grad = c.grad(0);
  c.set_input_grad(1, relative(c, kNames<depthwise>.filter).input(grad).input(shape_of(filter)).input(out).build());
  c.set_input_grad(2, relative(c, kNames<depthwise>.forward).input(grad).input(filter).build());
}

template <bool depthwise>
void backprop_filter_gradient(GradientContext& c) {
  const Output &input = c.input(0), &out = c.input(2), grad = c.grad(0);
  c.set_input_grad(0, relative(c, kNames<depthwise>.input).input(shape_of(input)).input(grad).input(out).build());
  c.set_input_grad(2, relative(c, kNames<depthwise>.forward).input(input).input(grad).build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "Conv2D",
                    .inputs = "input: T; filter: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double, int32}; strides: list(int); "
                             "use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                             "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "dilations: list(int) = [1, 1, 1, 1]",
                    .shape = forward_shape<false>,
                    .gradient = forward_gradient<false>,
                    .cpu = prepare<ForwardKernel<false>>});
CAUDAL_REGISTER_OP({.name = "Conv2DBackpropInput",
                    .inputs = "input_sizes: int32; filter: T; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double, int32}; strides: list(int); "
                             "use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                             "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "dilations: list(int) = [1, 1, 1, 1]",
                    .shape = backprop_input_shape,
                    .gradient = backprop_input_gradient<false>,
                    .cpu = prepare<BackpropInputKernel<false>>});
CAUDAL_REGISTER_OP({.name = "Conv2DBackpropFilter",
                    .inputs = "input: T; filter_sizes: int32; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int); use_cudnn_on_gpu: bool = true; "
                             "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
                    .shape = backprop_filter_shape,
                    .gradient = backprop_filter_gradient<false>,
                    .cpu = prepare<BackpropFilterKernel<false>>});
CAUDAL_REGISTER_OP({.name = "DepthwiseConv2dNative",
                    .inputs = "input: T; filter: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int); "
                             "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
                    .shape = forward_shape<true>,
                    .gradient = forward_gradient<true>,
                    .cpu = prepare<ForwardKernel<true>>});
CAUDAL_REGISTER_OP({.name = "DepthwiseConv2dNativeBackpropInput",
                    .inputs = "input_sizes: int32; filter: T; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int); "
                             "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
                    .shape = backprop_input_shape,
                    .gradient = backprop_input_gradient<true>,
                    .cpu = prepare<BackpropInputKernel<true>>});
CAUDAL_REGISTER_OP({.name = "DepthwiseConv2dNativeBackpropFilter",
                    .inputs = "input: T; filter_sizes: int32; out_backprop: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double}; strides: list(int); "
                             "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
                    .shape = backprop_filter_shape,
                    .gradient = backprop_filter_gradient<true>,
                    .cpu = prepare<BackpropFilterKernel<true>>});

// --- Public functions ---

namespace nn {
namespace {

template <class Options>
void set_window(OpBuilder& builder, const Options& options, const std::vector<std::int64_t>& dilations) {
  try {
    builder.attr("strides", per_dimension(options.strides, options.data_format, "strides"))
        .attr("dilations", per_dimension(dilations, options.data_format, "dilations"))
        .attr("padding", options.padding.name())
        .attr("explicit_paddings", options.padding.amounts())
        .attr("data_format", options.data_format);
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
}

}  // namespace

Output conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options) {
  const DType dtype = common_dtype({&input, &filter});
  OpBuilder builder("Conv2D", {.name = options.name, .where = options.where});
  set_window(builder, options, options.dilations);
  return builder.input(input, dtype).input(filter, dtype).build();
}

Output conv2d_transpose(const Operand& value, const Operand& filter, const Operand& output_shape,
                        const Conv2dTransposeOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "conv2d_transpose" : options.name);
  const DType dtype = common_dtype({&value, &filter});
  OpBuilder builder("Conv2DBackpropInput", {.name = scope.prefix(), .where = options.where});
  set_window(builder, options, options.dilations);
  return builder.input(output_shape, DType::kInt32).input(filter, dtype).input(value, dtype).build();
}

Output depthwise_conv2d(const Operand& input, const Operand& filter, const DepthwiseConv2dOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "depthwise" : options.name);
  const DType dtype = common_dtype({&input, &filter});
  OpBuilder builder("DepthwiseConv2dNative", {.name = scope.prefix(), .where = options.where});
  set_window(builder, options, options.rate);
  return builder.input(input, dtype).input(filter, dtype).build();
}

Output separable_conv2d(const Operand& input, const Operand& depthwise_filter, const Operand& pointwise_filter,
                        const DepthwiseConv2dOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "separable_conv2d" : options.name);
  DepthwiseConv2dOptions depthwise = options;
  depthwise.name = "depthwise";
  const Output by_channel = depthwise_conv2d(input, depthwise_filter, depthwise);
  return conv2d(by_channel, pointwise_filter, {.data_format = options.data_format, .name = scope.prefix()});
}

}  // namespace nn
}  // namespace caudal::inline v0
