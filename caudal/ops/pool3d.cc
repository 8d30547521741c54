#include "caudal/ops/pool3d.h"

#include <cstring>
#include <memory>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/pool3d.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sliding_window.h"
#include "caudal/ops/sliding_window3d.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

PartialShape pooled_shape(ShapeContext& c) {
  const SlidingWindow3d window = SlidingWindow3d::of(c.node());
  const PartialShape in = window.to_ndhwc(c.with_rank(0, 5));
  const auto pooled = [&](int d) { return window.output_size(d, in.dim(d), window.size[static_cast<std::size_t>(d)]); };
  return window.from_ndhwc({in.dim(0), pooled(1), pooled(2), pooled(3), in.dim(4)});
}

void pool_shape(ShapeContext& c) { c.set_output(0, pooled_shape(c)); }

void max_pool_grad_shape(ShapeContext& c) { c.set_output(0, c.with_rank(0, 5)); }

void max_pool_grad_grad_shape(ShapeContext& c) {
  c.merged(0, 2);
  c.set_output(0, merge_shapes(pooled_shape(c), c.input(1)));
}

void avg_pool_grad_shape(ShapeContext& c) {
  c.with_rank(1, 5);
  const auto shape = c.input_as_shape(0).merge(PartialShape::unknown_of_rank(5));
  if (!shape) throw invalid_argument("orig_input_shape must hold 5 numbers");
  c.set_output(0, *shape);
}

// --- Kernels ---

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(const SlidingWindow3d& window) : window_(window) {}

 protected:
  kernels::Window3d over(const Shape& input) const {
    return window_.over(input, {window_.size[1], window_.size[2], window_.size[3]});
  }
  static Shape output_of(const kernels::Window3d& w) {
    return {w.batch, w.out[0].out, w.out[1].out, w.out[2].out, w.channels};
  }
  static void check_shape(const Tensor& tensor, const Shape& wanted, std::string_view what) {
    if (!(tensor.shape() == wanted)) throw invalid_argument(what, " ", tensor.describe(), " must be ", wanted);
  }
  // True, and the result is zero, if there is nothing to sum.
  static bool cleared(const Tensor& from, Tensor& out) {
    if (from.num_elements() != 0 && out.num_elements() != 0) return false;
    if (out.byte_size() != 0) std::memset(out.raw(), 0, out.byte_size());
    return true;
  }

 private:
  SlidingWindow3d window_;
};

template <void (*pooling)(ThreadPool&, DType, const kernels::Window3d&, const void*, void*)>
class ForwardKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& in = c.input(0);
    const kernels::Window3d w = over(in.shape());
    Tensor& out = c.allocate_output(0, output_of(w));
    if (out.num_elements() > 0) pooling(c.pool(), in.dtype(), w, in.raw(), out.raw());
  }
};

class AvgPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor& grad = c.input(1);
    const Shape input = shape_from(c.input(0), "orig_input_shape");
    const kernels::Window3d w = over(input);
    check_shape(grad, output_of(w), "grad");
    Tensor& out = c.allocate_output(0, input);
    if (!cleared(grad, out)) kernels::avg_pool3d_grad(c.pool(), grad.dtype(), w, grad.raw(), out.raw());
  }
};

// of_input: the result has the input's shape and grad the output's; else the other way round.
template <bool of_input>
class MaxPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void run(RunContext& c) const override {
    const Tensor &in = c.input(0), &best = c.input(1), &grad = c.input(2);
    const kernels::Window3d w = over(in.shape());
    check_shape(best, output_of(w), "orig_output");
    check_shape(grad, of_input ? output_of(w) : in.shape(), "grad");
    Tensor& out = c.allocate_output(0, of_input ? in.shape() : output_of(w));
    if (cleared(grad, out)) return;
    const auto run = of_input ? kernels::max_pool3d_grad : kernels::max_pool3d_grad_grad;
    run(c.pool(), in.dtype(), w, in.raw(), best.raw(), grad.raw(), out.raw());
  }
};

template <class PoolingKernel>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  const SlidingWindow3d window = SlidingWindow3d::of(c.node());
  window.check_cpu();
  if (c.num_inputs() == 3 && c.input_type(0) != c.input_type(2)) {
    throw unimplemented("no gradient of ", c.input_type(2), " for an input of ", c.input_type(0), " on CPU");
  }
  return std::make_unique<PoolingKernel>(window);
}

// --- Gradients ---

OpBuilder relative(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  copy_attrs(c.node().info(), {"ksize", "strides", "padding", "data_format"}, builder);
  return builder;
}

void max_pool_gradient(GradientContext& c) {
  c.set_input_grad(0, relative(c, "MaxPool3DGrad").input(c.input(0)).input(c.output(0)).input(c.grad(0)).build());
}

Output zeros_like_input(GradientContext& c, int i) { return OpBuilder("ZerosLike", {}).input(c.input(i)).build(); }

// Linear in the gradient; where the maxima stand does not change with the inputs.
void max_pool_grad_gradient_with(GradientContext& c, std::string_view op) {
  c.set_input_grad(0, zeros_like_input(c, 0));
  c.set_input_grad(1, zeros_like_input(c, 1));
  c.set_input_grad(2, relative(c, op).input(c.input(0)).input(c.input(1)).input(c.grad(0)).build());
}
void max_pool_grad_gradient(GradientContext& c) { max_pool_grad_gradient_with(c, "MaxPool3DGradGrad"); }
void max_pool_grad_grad_gradient(GradientContext& c) { max_pool_grad_gradient_with(c, "MaxPool3DGrad"); }

void avg_pool_gradient(GradientContext& c) {
  c.set_input_grad(0, relative(c, "AvgPool3DGrad").input(shape_of(c.input(0))).input(c.grad(0)).build());
}

void avg_pool_grad_gradient(GradientContext& c) {
  c.set_input_grad(1, relative(c, "AvgPool3D").input(c.grad(0)).build());
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "MaxPool3D",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float}",
                    .shape = pool_shape,
                    .gradient = max_pool_gradient,
                    .cpu = prepare<ForwardKernel<kernels::max_pool3d>>});
CAUDAL_REGISTER_OP({.name = "MaxPool3DGrad",
                    .inputs = "orig_input: TInput; orig_output: TInput; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float} = DT_FLOAT; "
                             "TInput: {half, bfloat16, float} = DT_FLOAT",
                    .shape = max_pool_grad_shape,
                    .gradient = max_pool_grad_gradient,
                    .cpu = prepare<MaxPoolGradKernel<true>>});
CAUDAL_REGISTER_OP({.name = "MaxPool3DGradGrad",
                    .inputs = "orig_input: T; orig_output: T; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: realnumbertype",
                    .shape = max_pool_grad_grad_shape,
                    .gradient = max_pool_grad_grad_gradient,
                    .cpu = prepare<MaxPoolGradKernel<false>>});
CAUDAL_REGISTER_OP({.name = "AvgPool3D",
                    .inputs = "input: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float, double}",
                    .shape = pool_shape,
                    .gradient = avg_pool_gradient,
                    .cpu = prepare<ForwardKernel<kernels::avg_pool3d>>});
CAUDAL_REGISTER_OP({.name = "AvgPool3DGrad",
                    .inputs = "orig_input_shape: int32; grad: T",
                    .outputs = "output: T",
                    .attrs = "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; "
                             "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float, double}",
                    .shape = avg_pool_grad_shape,
                    .gradient = avg_pool_grad_gradient,
                    .cpu = prepare<AvgPoolGradKernel>});

// --- Public functions ---

namespace nn {
namespace {

Output pooling(std::string_view op, const Operand& input, const Pool3dOptions& options) {
  OpBuilder builder(op, {.name = options.name, .where = options.where});
  try {
    builder.input(input, DType::kFloat)
        .attr("ksize", per_dimension3d(options.ksize, options.data_format, "ksize"))
        .attr("strides", per_dimension3d(options.strides, options.data_format, "strides"));
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
  return builder.attr("padding", options.padding).attr("data_format", options.data_format).build();
}

}  // namespace

Output max_pool3d(const Operand& input, const Pool3dOptions& options) { return pooling("MaxPool3D", input, options); }
Output avg_pool3d(const Operand& input, const Pool3dOptions& options) { return pooling("AvgPool3D", input, options); }

}  // namespace nn
}  // namespace caudal::inline v0
