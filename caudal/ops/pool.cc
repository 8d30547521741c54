#include "caudal/ops/pool.h"

#include <cstring>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/pool.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

// --- Geometry ---

// V2 ops have window size and strides as inputs; these set them.
void set_sizes(SlidingWindow& window, const Tensor& ksize, const Tensor& strides) {
  window.size = window.sizes(ksize.to_int64s(), "ksize");
  window.stride = window.sizes(strides.to_int64s(), "strides");
}

PartialShape pooled_shape(const SlidingWindow& window, const PartialShape& input) {
  const PartialShape in = window.to_nhwc(input);
  const auto divided = [&](int i) {
    const auto d = static_cast<std::size_t>(i);
    return in.dim(i) < 0 ? PartialShape::kUnknown : (in.dim(i) + window.stride[d] - 1) / window.stride[d];
  };
  return window.from_nhwc({divided(0), window.output_size(1, in.dim(1), window.size[1]),
                           window.output_size(2, in.dim(2), window.size[2]), divided(3)});
}

// What the kernels see: windows over pixels, or windows over channels as rows of one-channel images.
struct Geometry {
  kernels::Window2d window;
  Shape output;
};

Geometry geometry(const SlidingWindow& window, const Shape& input) {
  if (window.size[3] == 1 && window.stride[3] == 1) {
    const kernels::Window2d w = window.over(input, window.size[1], window.size[2]);
    return {w, {w.batch, w.out_height(), w.out_width(), w.channels}};
  }
  if (input.rank() != 4) throw invalid_argument("images must be [batch, rows, columns, channels], not ", input);
  const std::int64_t depth = window.size[3];
  if (window.size[1] != 1 || window.size[2] != 1 || window.stride[1] != 1 || window.stride[2] != 1 ||
      window.stride[3] != depth || input[3] % depth != 0) {
    throw unimplemented("a window over ", depth, " channels with stride ", window.stride[3], " of an input ", input)
        .hint("A window over channels must be one pixel large, its stride its size, and divide the channels.");
  }
  kernels::Window2d w;
  w.batch = input[0] * input[1] * input[2];
  w.height = 1;
  w.width = input[3];
  w.channels = 1;
  w.window_width = w.stride_width = depth;
  w.rows = {1, 0, 0};
  w.columns = {input[3] / depth, 0, 0};
  return {w, input.with_dim(3, input[3] / depth)};
}

void check_shape(const Tensor& tensor, const Shape& wanted, std::string_view what) {
  if (!(tensor.shape() == wanted)) throw invalid_argument(what, " ", tensor.describe(), " must be ", wanted);
}

void clear(Tensor& tensor) {
  if (tensor.byte_size() != 0) std::memset(tensor.raw(), 0, tensor.byte_size());
}

// --- Shape functions ---

void pool_shape(ShapeContext& c) {
  const SlidingWindow window = SlidingWindow::of(c.node());
  if (window.vector_channels) {
    c.set_output(0, PartialShape::unknown_of_rank(5));
    return;
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, pooled_shape(window, c.with_rank(0, 4)));
}

// The window of a V2 op whose sizes are inputs `first` and `first` + 1; false if they are not known yet.
bool known_window(ShapeContext& c, int first, SlidingWindow& window) {
  window = SlidingWindow::of(c.node());
  c.with_rank(first, 1);
  c.with_rank(first + 1, 1);
  const Tensor* ksize = c.constant_input(first);
  const Tensor* strides = c.constant_input(first + 1);
  if (ksize == nullptr || strides == nullptr) return false;
  set_sizes(window, *ksize, *strides);
  return true;
}

void pool_v2_shape(ShapeContext& c) {
  SlidingWindow window;
  const bool known = known_window(c, 1, window);
  if (window.vector_channels) {
    c.set_output(0, PartialShape::unknown_of_rank(5));
  } else {
    c.set_output(0, known ? pooled_shape(window, c.with_rank(0, 4)) : PartialShape::unknown_of_rank(4));
  }
}

void max_pool_grad_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 4)); }

// orig_output and grad_grad of one shape.
void max_pool_grad_grad_shape(ShapeContext& c) {
  const PartialShape pooled = pooled_shape(SlidingWindow::of(c.node()), c.with_rank(0, 4));
  const auto merged = pooled.merge(c.with_rank(1, 4));
  if (!merged) throw invalid_argument("orig_output ", c.input(1), " must be ", pooled);
  c.set_output(0, *merged);
}

void max_pool_grad_grad_v2_shape(ShapeContext& c) {
  c.with_rank(0, 4);
  c.set_output(0, c.with_rank(1, 4));
}

void grad_with_argmax_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 4)); }
void grad_grad_with_argmax_shape(ShapeContext& c) {
  c.merged(0, 1);
  c.set_output(0, c.with_rank(2, 4));
}

void avg_pool_grad_shape(ShapeContext& c) {
  c.with_rank(1, 4);
  const auto shape = c.input_as_shape(0).merge(PartialShape::unknown_of_rank(4));
  if (!shape) throw invalid_argument("orig_input_shape must hold 4 numbers");
  c.set_output(0, *shape);
}

// --- Kernels ---

// Kernels that have the window; V2 ops read its sizes from inputs `sizes_at` and the next.
class PoolKernel : public Kernel {
 public:
  PoolKernel(const SlidingWindow& window, int sizes_at) : window_(window), sizes_at_(sizes_at) {}

 protected:
  Geometry geometry_for(const RunContext& c, const Shape& input) const {
    if (sizes_at_ < 0) return geometry(window_, input);
    SlidingWindow window = window_;
    set_sizes(window, c.input(sizes_at_), c.input(sizes_at_ + 1));
    window.check_cpu(true);
    return geometry(window, input);
  }

 private:
  SlidingWindow window_;
  int sizes_at_;
};

template <class PoolingKernel, int sizes_at = -1>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const SlidingWindow window = SlidingWindow::of(c.node());
  window.check_cpu(true);
  return std::make_unique<PoolingKernel>(window, sizes_at);
}

class MaxPoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Geometry g = geometry_for(c, in.shape());
    Tensor& out = c.allocate_output(0, g.output);
    if (out.num_elements() > 0) kernels::max_pool(c.pool(), in.dtype(), g.window, in.raw(), out.raw());
  }
};

class AvgPoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Geometry g = geometry_for(c, in.shape());
    Tensor& out = c.allocate_output(0, g.output);
    if (out.num_elements() > 0) kernels::avg_pool(c.pool(), in.dtype(), g.window, in.raw(), out.raw());
  }
};

class AvgPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& grad = c.input(1);
    const Shape input = shape_from(c.input(0), "orig_input_shape");
    const Geometry g = geometry_for(c, input);
    check_shape(grad, g.output, "grad");
    Tensor& out = c.allocate_output(0, input);
    if (grad.num_elements() == 0) return clear(out);
    kernels::avg_pool_grad(c.pool(), grad.dtype(), g.window, grad.raw(), out.raw());
  }
};

class MaxPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Tensor& grad = c.input(2);
    const Geometry g = geometry_for(c, in.shape());
    check_shape(c.input(1), g.output, "orig_output");
    check_shape(grad, g.output, "grad");
    Tensor& out = c.allocate_output(0, in.shape());
    if (grad.num_elements() == 0) return clear(out);
    kernels::max_pool_grad(c.pool(), in.dtype(), g.window, in.raw(), grad.raw(), out.raw());
  }
};

// to[i] = from[index[i]], each image apart; false if an index is outside its image.
template <class Index>
bool gather_elements(const char* from, std::int64_t image_size, bool batch_in_index, std::size_t element,
                     const Index* index, std::int64_t images, std::int64_t per_image, char* to) {
  for (std::int64_t b = 0; b < images; ++b) {
    const std::int64_t offset = b * image_size;
    for (std::int64_t i = b * per_image; i < (b + 1) * per_image; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(index[i]) - (batch_in_index ? offset : 0);
      if (at < 0 || at >= image_size) return false;
      std::memcpy(to + static_cast<std::size_t>(i) * element, from + static_cast<std::size_t>(offset + at) * element,
                  element);
    }
  }
  return true;
}

// Takes from `grad`, shaped as the input, what stands where the maxima stood.
class MaxPoolGradGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Tensor& grad = c.input(2);
    const Geometry g = geometry_for(c, in.shape());
    check_shape(c.input(1), g.output, "orig_output");
    check_shape(grad, in.shape(), "grad");
    Tensor& out = c.allocate_output(0, g.output);
    if (out.num_elements() == 0) return;
    Tensor maximum = c.allocate_temporary(in.dtype(), g.output);
    Tensor argmax = c.allocate_temporary(DType::kInt64, g.output);
    kernels::max_pool_with_argmax(c.pool(), in.dtype(), g.window, in.raw(), maximum.raw(), DType::kInt64, false,
                                  argmax.raw());
    const std::int64_t images = g.window.batch;
    gather_elements(grad.raw(), in.num_elements() / images, false, dtype_size(in.dtype()), argmax.data<std::int64_t>(),
                    images, out.num_elements() / images, out.raw());
  }
};

class MaxPoolWithArgmaxKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Geometry g = geometry_for(c, in.shape());
    const bool batch_in_index = c.node().attr<bool>("include_batch_in_index");
    Tensor& out = c.allocate_output(0, g.output);
    Tensor& argmax = c.allocate_output(1, g.output);
    if (out.num_elements() == 0) return;
    kernels::max_pool_with_argmax(c.pool(), in.dtype(), g.window, in.raw(), out.raw(), argmax.dtype(), batch_in_index,
                                  argmax.raw());
  }
};

[[noreturn]] void throw_bad_argmax() {
  throw invalid_argument("argmax holds an index outside the input")
      .hint("Use the argmax, and include_batch_in_index, of the op whose gradient this is.");
}

class MaxPoolGradWithArgmaxKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Tensor& grad = c.input(1);
    const Tensor& argmax = c.input(2);
    const Geometry g = geometry_for(c, in.shape());
    check_shape(grad, g.output, "grad");
    check_shape(argmax, g.output, "argmax");
    Tensor& out = c.allocate_output(0, in.shape());
    if (grad.num_elements() == 0) return clear(out);
    if (kernels::max_pool_grad_with_argmax(c.pool(), in.dtype(), g.window, grad.raw(), argmax.dtype(),
                                           c.node().attr<bool>("include_batch_in_index"), argmax.raw(),
                                           out.raw()) >= 0) {
      throw_bad_argmax();
    }
  }
};

class MaxPoolGradGradWithArgmaxKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const Tensor& grad = c.input(1);
    const Tensor& argmax = c.input(2);
    const Geometry g = geometry_for(c, in.shape());
    check_shape(grad, in.shape(), "grad");
    check_shape(argmax, g.output, "argmax");
    Tensor& out = c.allocate_output(0, g.output);
    if (out.num_elements() == 0) return;
    const bool batch_in_index = c.node().attr<bool>("include_batch_in_index");
    const std::int64_t images = g.window.batch, image_size = in.num_elements() / images;
    const std::int64_t per_image = out.num_elements() / images;
    const std::size_t element = dtype_size(in.dtype());
    const bool inside = argmax.dtype() == DType::kInt32
                            ? gather_elements(grad.raw(), image_size, batch_in_index, element,
                                              argmax.data<std::int32_t>(), images, per_image, out.raw())
                            : gather_elements(grad.raw(), image_size, batch_in_index, element,
                                              argmax.data<std::int64_t>(), images, per_image, out.raw());
    if (!inside) throw_bad_argmax();
  }
};

// --- Gradients ---

OpBuilder relative(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  copy_attrs(c.node().info(),
             {"ksize", "strides", "padding", "explicit_paddings", "data_format", "include_batch_in_index"}, builder);
  return builder;
}

void max_pool_gradient(GradientContext& c) {
  c.set_input_grad(0, relative(c, "MaxPoolGrad").input(c.input(0)).input(c.output(0)).input(c.grad(0)).build());
}

void max_pool_v2_gradient(GradientContext& c) {
  c.set_input_grad(0, relative(c, "MaxPoolGradV2")
                          .input(c.input(0))
                          .input(c.output(0))
                          .input(c.grad(0))
                          .input(c.input(1))
                          .input(c.input(2))
                          .build());
}

// Which element wins does not change with small steps of input and output.
void no_gradient_of_originals(GradientContext& c) {
  c.set_input_grad(0, zeros_like(c.input(0)));
  c.set_input_grad(1, zeros_like(c.input(1)));
}

template <bool to_output>
void max_pool_grad_gradient(GradientContext& c) {
  no_gradient_of_originals(c);
  OpBuilder builder(to_output ? "MaxPoolGradGrad" : "MaxPoolGrad", {});
  copy_attrs(c.node().info(), {"ksize", "strides", "padding", "data_format"}, builder);
  c.set_input_grad(2, builder.input(c.input(0)).input(c.input(1)).input(c.grad(0)).build());
}

void max_pool_grad_v2_gradient(GradientContext& c) {
  no_gradient_of_originals(c);
  c.set_input_grad(2, relative(c, "MaxPoolGradGradV2")
                          .input(c.input(0))
                          .input(c.input(1))
                          .input(c.grad(0))
                          .input(c.input(3))
                          .input(c.input(4))
                          .build());
}

void max_pool_with_argmax_gradient(GradientContext& c) {
  c.set_input_grad(0,
                   relative(c, "MaxPoolGradWithArgmax").input(c.input(0)).input(c.grad(0)).input(c.output(1)).build());
}

void avg_pool_gradient(GradientContext& c) {
  c.set_input_grad(0, relative(c, "AvgPoolGrad").input(shape_of(c.input(0))).input(c.grad(0)).build());
}

void avg_pool_grad_gradient(GradientContext& c) {
  c.set_input_grad(1, relative(c, "AvgPool").input(c.grad(0)).build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "MaxPool",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = "
                             "DT_FLOAT; ksize: list(int) >= 4; strides: list(int) >= 4; "
                             "padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
                             "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
                    .shape = pool_shape,
                    .gradient = max_pool_gradient,
                    .cpu = prepare<MaxPoolKernel>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGrad",
                    .inputs = "orig_input: T; orig_output: T; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                             "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "T: realnumbertype = DT_FLOAT",
                    .shape = max_pool_grad_shape,
                    .gradient = max_pool_grad_gradient<true>,
                    .cpu = prepare<MaxPoolGradKernel>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGradGrad",
                    .inputs = "orig_input: T; orig_output: T; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: realnumbertype",
                    .shape = max_pool_grad_grad_shape,
                    .gradient = max_pool_grad_gradient<false>,
                    .cpu = prepare<MaxPoolGradGradKernel>});
CAUDAL_REGISTER_OP({.name = "MaxPoolV2",
                    .inputs = "input: T; ksize: int32; strides: int32",
                    .outputs = "output: T",
                    .attrs = "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = "
                             "DT_FLOAT; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
                    .shape = pool_v2_shape,
                    .gradient = max_pool_v2_gradient,
                    .cpu = prepare<MaxPoolKernel, 1>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGradV2",
                    .inputs = "orig_input: T; orig_output: T; grad: T; ksize: int32; strides: int32",
                    .outputs = "output: T",
                    .attrs = "padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "T: realnumbertype = DT_FLOAT",
                    .shape = max_pool_grad_shape,
                    .gradient = max_pool_grad_v2_gradient,
                    .cpu = prepare<MaxPoolGradKernel, 3>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGradGradV2",
                    .inputs = "orig_input: T; orig_output: T; grad: T; ksize: int32; strides: int32",
                    .outputs = "output: T",
                    .attrs = "padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: realnumbertype",
                    .shape = max_pool_grad_grad_v2_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<MaxPoolGradGradKernel, 3>});
CAUDAL_REGISTER_OP({.name = "MaxPoolWithArgmax",
                    .inputs = "input: T",
                    .outputs = "output: T; argmax: Targmax",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; Targmax: {int32, int64} = DT_INT64; "
                             "padding: {'SAME', 'VALID'}; include_batch_in_index: bool = false; T: realnumbertype",
                    .shape = pool_shape,
                    .gradient = max_pool_with_argmax_gradient,
                    .cpu = prepare<MaxPoolWithArgmaxKernel>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGradWithArgmax",
                    .inputs = "input: T; grad: T; argmax: Targmax",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
                             "include_batch_in_index: bool = false; Targmax: {int32, int64}; T: realnumbertype",
                    .shape = grad_with_argmax_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<MaxPoolGradWithArgmaxKernel>});
CAUDAL_REGISTER_OP({.name = "MaxPoolGradGradWithArgmax",
                    .inputs = "input: T; grad: T; argmax: Targmax",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
                             "include_batch_in_index: bool = false; Targmax: {int32, int64}; T: realnumbertype",
                    .shape = grad_grad_with_argmax_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<MaxPoolGradGradWithArgmaxKernel>});
CAUDAL_REGISTER_OP({.name = "AvgPool",
                    .inputs = "value: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {half, bfloat16, float, double}",
                    .shape = pool_shape,
                    .gradient = avg_pool_gradient,
                    .cpu = prepare<AvgPoolKernel>});
CAUDAL_REGISTER_OP({.name = "AvgPoolGrad",
                    .inputs = "orig_input_shape: int32; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {half, bfloat16, float, double}",
                    .shape = avg_pool_grad_shape,
                    .gradient = avg_pool_grad_gradient,
                    .cpu = prepare<AvgPoolGradKernel>});

// --- Public functions ---

namespace nn {
namespace {

OpBuilder pooling(std::string_view op, const Operand& value, const std::vector<std::int64_t>& ksize,
                  const std::vector<std::int64_t>& strides, std::string_view data_format, const OpOptions& options) {
  OpBuilder builder(op, options);
  try {
    builder.input(value, DType::kFloat)
        .attr("ksize", per_dimension(ksize, data_format, "ksize"))
        .attr("strides", per_dimension(strides, data_format, "strides"));
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
  return builder;
}

}  // namespace

Output max_pool(const Operand& value, const PoolOptions& options) {
  return pooling("MaxPool", value, options.ksize, options.strides, options.data_format,
                 {.name = options.name, .where = options.where})
      .attr("padding", options.padding.name())
      .attr("explicit_paddings", options.padding.amounts())
      .attr("data_format", options.data_format)
      .build();
}

Output avg_pool(const Operand& value, const PoolOptions& options) {
  return pooling("AvgPool", value, options.ksize, options.strides, options.data_format,
                 {.name = options.name, .where = options.where})
      .attr("padding", options.padding.name())
      .attr("data_format", options.data_format)
      .build();
}

MaxPoolWithArgmax max_pool_with_argmax(const Operand& input, const MaxPoolWithArgmaxOptions& options) {
  Node& node = pooling("MaxPoolWithArgmax", input, options.ksize, options.strides, "NHWC",
                       {.name = options.name, .where = options.where})
                   .attr("padding", options.padding)
                   .attr("Targmax", options.targmax)
                   .attr("include_batch_in_index", options.include_batch_in_index)
                   .build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace nn
}  // namespace caudal::inline v0
