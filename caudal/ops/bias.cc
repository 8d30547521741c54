#include "caudal/ops/bias.h"

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/kernels/reduce.h"

namespace caudal::inline v0 {
namespace {

bool channels_first(const NodeInfo& node) {
  return node.type() != "BiasAddV1" && node.attr<std::string>("data_format") == "NCHW";
}

void check_value(const Tensor& value, std::string_view name) {
  if (value.rank() < 2) throw invalid_argument(name, " is ", value.describe(), "; at least 2 dimensions are wanted");
}

// --- Shapes ---

void bias_add_shape(ShapeContext& c) {
  const PartialShape value = c.with_rank_at_least(0, 2), bias = c.with_rank(1, 1);
  if (!value.has_rank()) return c.set_output(0, value);
  const int axis = channels_first(c.node()) ? 1 : value.rank() - 1;
  c.set_output(0, value.with_dim(axis, ShapeContext::merge_dim(value[axis], bias[0], "channels of value and bias")));
}

void bias_add_grad_shape(ShapeContext& c) {
  const PartialShape shape = c.with_rank_at_least(0, 2);
  c.set_output(0, PartialShape({shape.has_rank() ? shape[channels_first(c.node()) ? 1 : -1] : PartialShape::kUnknown}));
}

// --- Kernels ---

// A value seen as [outer, channels, inner].
struct Split {
  std::int64_t outer = 1, channels = 1, inner = 1;
  Split(const Shape& shape, bool first) {
    const int axis = first ? 1 : shape.rank() - 1;
    channels = shape[axis];
    for (int d = 0; d < axis; ++d) outer *= shape[d];
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

class BiasAddKernel final : public Kernel {
 public:
  BiasAddKernel(kernels::BinaryLoop loop, bool first) : loop_(loop), first_(first) {}
  void run(RunContext& c) const override {
    const Tensor &value = c.input(0), &bias = c.input(1);
    check_value(value, "value");
    const Split split(value.shape(), first_);
    if (bias.rank() != 1 || bias.dim(0) != split.channels) {
      throw invalid_argument("bias ", bias.describe(), " does not fit the ", split.channels, " channels of value ",
                             value.describe());
    }
    Tensor& output = c.allocate_output(0, value.shape());
    const std::int64_t dims[] = {split.outer, split.channels, split.inner}, bias_dims[] = {split.channels, 1};
    // Additions have no faults to report.
    (void)kernels::broadcast_binary(c.pool(), loop_, value.raw(), dims, bias.raw(), bias_dims, output.raw(), dims);
  }

 private:
  kernels::BinaryLoop loop_;
  bool first_;
};

std::unique_ptr<Kernel> prepare_bias_add(PrepareContext& c) {
  const auto loop = kernels::find_binary(kernels::BinaryOp::kAdd, c.input_type(0));
  if (!loop) throw unimplemented("no kernel for ", c.input_type(0), " on CPU");
  c.allow_in_place(0, 0);
  return std::make_unique<BiasAddKernel>(loop, channels_first(c.node()));
}

class BiasAddGradKernel final : public Kernel {
 public:
  explicit BiasAddGradKernel(bool first) : first_(first) {}
  void run(RunContext& c) const override {
    const Tensor& grad = c.input(0);
    check_value(grad, "out_backprop");
    const Split split(grad.shape(), first_);
    const std::int64_t dims[] = {split.outer, split.channels, split.inner}, axes[] = {0, 2};
    Tensor& output = c.allocate_output(0, Shape({split.channels}));
    kernels::reduce(c.pool(), kernels::ReduceOp::kSum, grad.dtype(), grad.raw(), dims, axes, output.raw());
  }

 private:
  bool first_;
};

std::unique_ptr<Kernel> prepare_bias_add_grad(PrepareContext& c) {
  return std::make_unique<BiasAddGradKernel>(channels_first(c.node()));
}

// --- Gradients ---

std::string data_format(GradientContext& c) { return channels_first(c.node().info()) ? "NCHW" : "NHWC"; }

void bias_add_gradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  c.set_input_grad(1, raw_ops::bias_add_grad(c.grad(0), {.data_format = data_format(c)}));
}

// The gradient repeated over the other dimensions: a bias added to zeros.
void bias_add_grad_gradient(GradientContext& c) {
  const Output zeros = OpBuilder("ZerosLike", {}).input(c.input(0)).build();
  c.set_input_grad(0, nn::bias_add(zeros, c.grad(0), {.data_format = data_format(c)}));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_BIAS_TYPES                                                                                              \
  "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, " \
  "uint16, complex128, half, uint32, uint64}"
CAUDAL_REGISTER_OP({.name = "BiasAdd",
                    .inputs = "value: T; bias: T",
                    .outputs = "output: T",
                    .attrs = CAUDAL_BIAS_TYPES "; data_format: {'NHWC', 'NCHW'} = 'NHWC'",
                    .shape = bias_add_shape,
                    .gradient = bias_add_gradient,
                    .cpu = prepare_bias_add});
CAUDAL_REGISTER_OP({.name = "BiasAddV1",
                    .inputs = "value: T; bias: T",
                    .outputs = "output: T",
                    .attrs = CAUDAL_BIAS_TYPES,
                    .shape = bias_add_shape,
                    .gradient = bias_add_gradient,
                    .cpu = prepare_bias_add});
CAUDAL_REGISTER_OP({.name = "BiasAddGrad",
                    .inputs = "out_backprop: T",
                    .outputs = "output: T",
                    .attrs = CAUDAL_BIAS_TYPES "; data_format: {'NHWC', 'NCHW'} = 'NHWC'",
                    .shape = bias_add_grad_shape,
                    .gradient = bias_add_grad_gradient,
                    .cpu = prepare_bias_add_grad});

// --- Functions ---

Output nn::bias_add(const Operand& value, const Operand& bias, const BiasAddOptions& options) {
  const DType dtype = common_dtype({&value, &bias});
  return OpBuilder("BiasAdd", {.name = options.name, .where = options.where})
      .input(value, dtype)
      .input(bias, dtype)
      .attr("data_format", options.data_format)
      .build();
}

Output raw_ops::bias_add_grad(const Operand& out_backprop, const nn::BiasAddOptions& options) {
  return OpBuilder("BiasAddGrad", {.name = options.name, .where = options.where})
      .input(out_backprop)
      .attr("data_format", options.data_format)
      .build();
}

}  // namespace caudal::inline v0
