// Convolutions with what follows them, which plan/fusion_patterns.cc makes and TensorFlow's optimiser leaves in graphs.
//
// Max-pooling behind a convolution is done while a band of its rows is in cache. What the way back needs to know of the
// windows is which pixel won each: a byte, where TensorFlow's MaxPoolGrad looks again into the whole input.
#include <algorithm>
#include <cstring>
#include <span>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/pool.h"
#include "caudal/ops/fused_tail.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0 {
namespace {

using kernels::Conv2dShape;
using kernels::Window2d;

Shape output_shape(const Window2d& w, std::int64_t channels) {
  return {w.batch, w.out_height(), w.out_width(), channels};
}

// The convolution of an input with a filter [rows, columns, input channels / groups, output channels].
class Convolution {
 public:
  explicit Convolution(const NodeInfo& node) : window_(SlidingWindow::of(node)) {}

  Conv2dShape over(const Shape& input, const Shape& filter) const {
    window_.check_cpu();
    if (filter.rank() != 4) throw invalid_argument("the filter must have 4 dimensions, not ", filter);
    if (filter.num_elements() == 0) throw invalid_argument("the filter ", filter, " is empty");
    Conv2dShape shape{.window = window_.over(input, filter[0], filter[1]), .out_channels = filter[3]};
    shape.groups = group_count(input[3], filter[2], filter[3], "third");
    return shape;
  }
  PartialShape output(ShapeContext& c) const {
    const PartialShape input = window_.to_nhwc(c.with_rank(0, 4)), filter = c.with_rank(1, 4);
    group_count(input.dim(3), filter.dim(2), filter.dim(3), "third");
    return window_.from_nhwc({input.dim(0), window_.output_size(1, input.dim(1), filter.dim(0)),
                              window_.output_size(2, input.dim(2), filter.dim(1)), filter.dim(3)});
  }

 private:
  SlidingWindow window_;
};

// The pooling of attributes pool_size, pool_strides (rows, columns) and pool_padding.
class Pooling {
 public:
  explicit Pooling(const NodeInfo& node) {
    const auto& size = node.attr<std::vector<std::int64_t>>("pool_size");
    const auto& strides = node.attr<std::vector<std::int64_t>>("pool_strides");
    for (const auto* pair : {&size, &strides}) {
      if (pair->size() != 2 || (*pair)[0] < 1 || (*pair)[1] < 1 || (*pair)[0] > kMostPixels || (*pair)[1] > kMostPixels)
        throw invalid_argument("pool_size and pool_strides must be two numbers from 1 to ", kMostPixels);
    }
    if (size[0] * size[1] > kMostPixels) throw invalid_argument("a window of more than ", kMostPixels, " pixels");
    window_.size = {1, size[0], size[1], 1};
    window_.stride = {1, strides[0], strides[1], 1};
    const bool same = node.attr<std::string>("pool_padding") == "SAME";
    window_.mode = same ? SlidingWindow::Mode::kSame : SlidingWindow::Mode::kValid;
  }

  Window2d over(const Shape& input) const { return window_.over(input, window_.size[1], window_.size[2]); }
  PartialShape output(const PartialShape& in) const {
    if (!in.has_rank()) return in;
    return {in.dim(0), window_.output_size(1, in.dim(1), window_.size[1]),
            window_.output_size(2, in.dim(2), window_.size[2]), in.dim(3)};
  }

 private:
  static constexpr std::int64_t kMostPixels = 255;  // a winner is one byte
  SlidingWindow window_;
};

bool has_no_elements(std::initializer_list<const Tensor*> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor* t) { return t->num_elements() == 0; });
}

// --- Bias and activation ---

void fused_conv_shape(ShapeContext& c) {
  const PartialShape output = Convolution(c.node()).output(c);
  check_bias(c, c.with_rank(1, 4).dim(3));
  c.set_output(0, output);
}

class FusedConvKernel final : public Kernel {
 public:
  explicit FusedConvKernel(const NodeInfo& node) : convolution_(node), tail_(node) {
    if (node.attr<std::string>("filter_format") != "HWIO") throw unimplemented("filters in another order than HWIO");
    if (node.attr<std::int64_t>("num_host_args") != 0) throw unimplemented("arguments on the host");
  }
  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &filter = c.input(1);
    const Conv2dShape shape = convolution_.over(input.shape(), filter.shape());
    const Tensor& bias = tail_.bias(c, shape.out_channels);
    if (bias.dtype() != input.dtype()) throw invalid_argument("the bias must be ", input.dtype());
    Tensor& out = c.allocate_output(0, output_shape(shape.window, shape.out_channels));
    if (has_no_elements({&input, &out})) return;  // no channels: refused by the filter's shape
    kernels::conv2d(c.pool(), out.dtype(), shape, input.raw(), filter.raw(), out.raw(),
                    {.bias = bias.raw(), .relu = tail_.relu()});
    tail_.finish(c, out);
  }

 private:
  Convolution convolution_;
  FusedTail tail_;
};

// --- Max-pooling ---

void conv_pool_shape(ShapeContext& c) {
  const PartialShape pooled = Pooling(c.node()).output(Convolution(c.node()).output(c));
  check_bias(c, c.with_rank(1, 4).dim(3));
  c.set_output(0, pooled);
  c.set_output(1, pooled);
}

class ConvMaxPoolKernel final : public Kernel {
 public:
  explicit ConvMaxPoolKernel(const NodeInfo& node)
      : convolution_(node), pooling_(node), relu_(node.attr<bool>("relu")) {}
  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &filter = c.input(1), &bias = c.input(2);
    const Conv2dShape shape = convolution_.over(input.shape(), filter.shape());
    if (bias.shape() != Shape{shape.out_channels}) {
      throw invalid_argument("bias ", bias.describe(), " must be [", shape.out_channels, "]");
    }
    const Window2d pool = pooling_.over(output_shape(shape.window, shape.out_channels));
    const Shape pooled_shape = output_shape(pool, shape.out_channels);
    Tensor& pooled = c.allocate_output(0, pooled_shape);
    Tensor& winners = c.allocate_output(1, pooled_shape);
    if (has_no_elements({&input, &pooled})) return;
    kernels::conv2d_max_pool(c.pool(), shape, pool, input.data<float>(), filter.data<float>(),
                             {.bias = bias.raw(), .relu = relu_}, pooled.data<float>(), winners.data<std::uint8_t>());
  }

 private:
  Convolution convolution_;
  Pooling pooling_;
  bool relu_;
};

// --- The way back through pooling and ReLU ---

// True if all bytes are below `limit`.
bool all_below(std::span<const std::uint8_t> bytes, std::int64_t limit) {
  std::uint64_t any = 0;  // the bits of eight bytes at a time
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    any |= word;
  }
  for (; i < bytes.size(); ++i) any |= bytes[i];
  std::uint8_t bits = 0;
  for (int byte = 0; byte < 8; ++byte) bits |= static_cast<std::uint8_t>(any >> (8 * byte));
  return bits < limit || std::ranges::all_of(bytes, [&](std::uint8_t b) { return b < limit; });
}

bool lies_inside(const Window2d& w) {
  return w.rows.before == 0 && w.columns.before == 0 &&
         (w.out_height() - 1) * w.stride_height + w.window_height <= w.height &&
         (w.out_width() - 1) * w.stride_width + w.window_width <= w.width;
}

// Winners may come from anywhere: each must be a pixel of its window and of the image.
void check_winners(const Window2d& w, const Tensor& winners) {
  if (lies_inside(w) && all_below(winners.flat<std::uint8_t>(), w.window_height * w.window_width)) return;
  const std::uint8_t* winner = winners.data<std::uint8_t>();
  for (std::int64_t pixel = 0; pixel < w.out_pixels(); ++pixel) {
    const std::int64_t y = pixel / w.out_width() % w.out_height(), x = pixel % w.out_width();
    const kernels::WindowBox box = kernels::window_box(w, y, x);
    const std::int64_t top = y * w.stride_height - w.rows.before, left = x * w.stride_width - w.columns.before;
    // By place of the window: is it in the image? At most 255 places, so one more stands for all beyond.
    bool inside[256] = {};
    for (std::int64_t row = box.top; row < box.bottom; ++row) {
      for (std::int64_t column = box.left; column < box.right; ++column) {
        inside[(row - top) * w.window_width + column - left] = true;
      }
    }
    for (std::int64_t c = 0; c < w.channels; ++c, ++winner) {
      if (!inside[*winner]) throw invalid_argument("winner ", int{*winner}, " lies outside of its window");
    }
  }
}

// A convolution with max-pooling behind it, seen from the gradient of the pooled result.
class PooledGradientKernel : public Kernel {
 public:
  explicit PooledGradientKernel(const NodeInfo& node)
      : convolution_(node), pooling_(node), relu_(node.attr<bool>("relu")) {}

 protected:
  struct Shapes {
    Conv2dShape conv;
    Window2d pool;
  };
  // Inputs 1 to 3 are the gradient, the winners and the pooled result, all of one shape.
  Shapes checked_shapes(const RunContext& c, const Shape& input, const Shape& filter) const {
    Shapes shapes{.conv = convolution_.over(input, filter), .pool = {}};
    shapes.pool = pooling_.over(output_shape(shapes.conv.window, shapes.conv.out_channels));
    const Shape pooled = output_shape(shapes.pool, shapes.conv.out_channels);
    for (int i = 1; i <= 3; ++i) {
      if (c.input(i).shape() != pooled) throw invalid_argument(c.input(i).describe(), " must be ", pooled);
    }
    check_winners(shapes.pool, c.input(2));
    return shapes;
  }
  const float* gate(const RunContext& c) const { return relu_ ? c.input(3).data<float>() : nullptr; }

 private:
  Convolution convolution_;
  Pooling pooling_;
  bool relu_;
};

void pooled_filter_grad_shape(ShapeContext& c) {
  const PartialShape& filter = c.node().attr<PartialShape>("filter_shape");
  if (filter.rank() != 4) throw invalid_argument("filter_shape must have 4 dimensions, not ", filter);
  c.with_rank(0, 4);
  c.set_output(0, filter);
  c.set_output(1, PartialShape({filter.dim(3)}));
}

class PooledFilterGradKernel final : public PooledGradientKernel {
 public:
  explicit PooledFilterGradKernel(const NodeInfo& node) : PooledGradientKernel(node) {
    const auto shape = node.attr<PartialShape>("filter_shape").to_shape();
    if (!shape || shape->rank() != 4) throw invalid_argument("filter_shape must be four known sizes");
    filter_ = *shape;
  }
  void run(RunContext& c) const override {
    const Tensor &input = c.input(0), &grad = c.input(1);
    const Shapes shapes = checked_shapes(c, input.shape(), filter_);
    Tensor& filter_grad = c.allocate_output(0, filter_);
    Tensor& bias_grad = c.allocate_output(1, Shape{filter_[3]});
    if (has_no_elements({&input, &grad})) {
      std::memset(filter_grad.raw(), 0, filter_grad.byte_size());
      std::memset(bias_grad.raw(), 0, bias_grad.byte_size());
      return;
    }
    kernels::conv2d_max_pool_backward_filter(c.pool(), shapes.conv, shapes.pool, input.data<float>(),
                                             grad.data<float>(), c.input(2).data<std::uint8_t>(), gate(c),
                                             filter_grad.data<float>(), bias_grad.data<float>());
  }

 private:
  Shape filter_;
};

void pooled_input_grad_shape(ShapeContext& c) {
  const PartialShape& input = c.node().attr<PartialShape>("input_shape");
  if (input.rank() != 4) throw invalid_argument("input_shape must have 4 dimensions, not ", input);
  c.set_output(0, input);
}

class PooledInputGradKernel final : public PooledGradientKernel {
 public:
  explicit PooledInputGradKernel(const NodeInfo& node) : PooledGradientKernel(node) {
    const auto shape = node.attr<PartialShape>("input_shape").to_shape();
    if (!shape || shape->rank() != 4) throw invalid_argument("input_shape must be four known sizes");
    input_ = *shape;
  }
  void run(RunContext& c) const override {
    const Tensor &filter = c.input(0), &grad = c.input(1);
    const Shapes shapes = checked_shapes(c, input_, filter.shape());
    const bool gated = c.num_inputs() > 4;  // by the ReLU that the convolution's input comes from
    if (gated && c.input(4).shape() != input_) throw invalid_argument(c.input(4).describe(), " must be ", input_);
    Tensor& in_grad = c.allocate_output(0, input_);
    if (has_no_elements({&in_grad})) return;
    if (has_no_elements({&grad})) {
      std::memset(in_grad.raw(), 0, in_grad.byte_size());
      return;
    }
    kernels::conv2d_max_pool_backward_data(c.pool(), shapes.conv, shapes.pool, filter.data<float>(), grad.data<float>(),
                                           c.input(2).data<std::uint8_t>(), gate(c), in_grad.data<float>(),
                                           gated ? c.input(4).data<float>() : nullptr);
  }

 private:
  Shape input_;
};

// --- The gradient of a convolution's input through the ReLU before it ---

void input_relu_grad_shape(ShapeContext& c) {
  SlidingWindow::of(c.node());
  c.with_rank(0, 4);
  c.with_rank(1, 4);
  c.set_output(0, c.with_rank(2, 4));
}

class InputReluGradKernel final : public Kernel {
 public:
  explicit InputReluGradKernel(const NodeInfo& node) : convolution_(node) {}
  void run(RunContext& c) const override {
    const Tensor &filter = c.input(0), &grad = c.input(1), &features = c.input(2);
    const Conv2dShape shape = convolution_.over(features.shape(), filter.shape());
    if (grad.shape() != output_shape(shape.window, shape.out_channels)) {
      throw invalid_argument("out_backprop ", grad.describe(), " must be ",
                             output_shape(shape.window, shape.out_channels), " for an input of ", features.shape());
    }
    Tensor& out = c.allocate_output(0, features.shape());
    if (out.num_elements() == 0) return;
    if (grad.num_elements() == 0) {
      std::memset(out.raw(), 0, out.byte_size());
      return;
    }
    kernels::conv2d_backward_data(c.pool(), out.dtype(), shape, filter.raw(), grad.raw(), out.raw(), features.raw());
  }

 private:
  Convolution convolution_;
};

template <class FusedKernel>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<FusedKernel>(c.node());
}

#define CAUDAL_CONV_ATTRS                                                                                        \
  "strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: " \
  "{'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"
#define CAUDAL_POOL_ATTRS "pool_size: list(int); pool_strides: list(int); pool_padding: {'SAME', 'VALID'}; relu: bool"

CAUDAL_REGISTER_OP({.name = "_FusedConv2D",
                    .inputs = "input: T; filter: T; args: TArgs; host_args: num_host_args * float",
                    .outputs = "output: T",
                    .attrs = "T: {half, float, double, int8, qint8}; TArgs: list(type) >= 1; num_args: int >= 0; "
                             "num_host_args: int >= 0 = 0; strides: list(int); padding: {'SAME', 'VALID', "
                             "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW', "
                             "'NCHW_VECT_C'} = 'NHWC'; filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'; "
                             "dilations: list(int) = [1, 1, 1, 1]; use_cudnn_on_gpu: bool = true; fused_ops: "
                             "list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
                    .shape = fused_conv_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<FusedConvKernel>});
CAUDAL_REGISTER_OP({.name = "_CaudalConv2DMaxPool",
                    .inputs = "input: float; filter: float; bias: float",
                    .outputs = "pooled: float; winners: uint8",
                    .attrs = CAUDAL_CONV_ATTRS "; " CAUDAL_POOL_ATTRS,
                    .shape = conv_pool_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<ConvMaxPoolKernel>});
CAUDAL_REGISTER_OP({.name = "_CaudalConv2DMaxPoolBackpropFilter",
                    .inputs = "input: float; grad: float; winners: uint8; pooled: float",
                    .outputs = "filter_grad: float; bias_grad: float",
                    .attrs = CAUDAL_CONV_ATTRS "; " CAUDAL_POOL_ATTRS "; filter_shape: shape",
                    .shape = pooled_filter_grad_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<PooledFilterGradKernel>});
CAUDAL_REGISTER_OP({.name = "_CaudalConv2DMaxPoolBackpropInput",
                    .inputs = "filter: float; grad: float; winners: uint8; pooled: float; features: num_gates * float",
                    .outputs = "input_grad: float",
                    .attrs = CAUDAL_CONV_ATTRS "; " CAUDAL_POOL_ATTRS "; input_shape: shape; num_gates: int >= 0",
                    .shape = pooled_input_grad_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<PooledInputGradKernel>});
CAUDAL_REGISTER_OP({.name = "_CaudalConv2DBackpropInputReluGrad",
                    .inputs = "filter: T; out_backprop: T; features: T",
                    .outputs = "output: T",
                    .attrs = "T: {float}; " CAUDAL_CONV_ATTRS,
                    .shape = input_relu_grad_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<InputReluGradKernel>});

}  // namespace
}  // namespace caudal::inline v0
