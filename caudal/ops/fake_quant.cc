#include "caudal/ops/fake_quant.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sliding_window.h"

namespace caudal::inline v0 {
namespace {

// --- Shape functions ---

void vars_shape(ShapeContext& c) {
  c.with_rank(1, 0);
  c.with_rank(2, 0);
  c.set_output(0, c.input(0));
}

void gradient_shape(ShapeContext& c) {
  c.set_output(0, c.merged(0, 1));
  for (int i = 1; i < c.num_outputs(); ++i) {
    c.with_rank(i + 1, 0);
    c.set_output(i, PartialShape::scalar());
  }
}

// The shape `inputs` with what min and max, inputs `first` and the next, say of its last dimension.
PartialShape per_channel(ShapeContext& c, PartialShape inputs, int first) {
  std::int64_t channels = PartialShape::kUnknown;
  for (int i = first; i <= first + 1; ++i) {
    channels = ShapeContext::merge_dim(channels, c.with_rank(i, 1).dim(0), "min and max");
  }
  if (!inputs.has_rank()) return inputs;
  if (inputs.rank() == 0) throw invalid_argument("inputs must have a dimension of channels");
  channels = ShapeContext::merge_dim(inputs.dim(-1), channels, "the channels of inputs");
  return inputs.with_dim(inputs.rank() - 1, channels);
}

void per_channel_shape(ShapeContext& c) { c.set_output(0, per_channel(c, c.input(0), 1)); }

void per_channel_gradient_shape(ShapeContext& c) {
  const PartialShape inputs = per_channel(c, c.merged(0, 1), 2);
  const PartialShape vector({inputs.has_rank() ? inputs.dim(-1) : PartialShape::kUnknown});
  c.set_output(0, inputs);
  c.set_output(1, vector);
  c.set_output(2, vector);
}

// --- Kernels ---

// The steps of one channel.
class Steps {
 public:
  Steps(float min, float max, float lowest, float highest) : off_(min == 0 && max == 0) {
    scale_ = (max - min) / (highest - lowest);
    inverse_scale_ = (highest - lowest) / (max - min);
    const float zero = lowest - min / scale_;
    const float nudged_zero = std::isnan(zero) ? 0 : std::clamp(std::round(zero), lowest, highest);
    min_ = (lowest - nudged_zero) * scale_;
    max_ = (highest - nudged_zero) * scale_;
    zero_ = std::floor(-min_ * inverse_scale_ + 0.5F);
  }

  float round(float x) const {
    if (off_) return 0;
    const float shifted = std::max(std::min(x, max_), min_) - min_;
    return std::floor(shifted * inverse_scale_ - zero_ + 0.5F) * scale_;
  }
  bool passes(float x) const { return off_ || (x >= min_ && x <= max_); }
  bool below(float x) const { return !off_ && x < min_; }
  bool above(float x) const { return !off_ && x > max_; }

 private:
  bool off_;
  float scale_, inverse_scale_, min_, max_, zero_;
};

struct Grid {
  float lowest, highest;

  static Grid of(const NodeInfo& node) {
    const auto bits = node.attr<std::int64_t>("num_bits");
    if (bits < 2 || bits > 16) throw invalid_argument("num_bits is ", bits, "; it must be from 2 to 16");
    return {node.attr<bool>("narrow_range") ? 1.0F : 0.0F, static_cast<float>((1 << bits) - 1)};
  }
};

void check_range_size(const Tensor& tensor, bool per_channel, std::int64_t channels, std::string_view what) {
  const bool fits = per_channel ? tensor.rank() == 1 && tensor.dim(0) == channels : tensor.rank() == 0;
  if (fits) return;
  if (!per_channel) throw invalid_argument(what, " must be a scalar, not ", tensor.describe());
  throw invalid_argument(what, " must be [", channels, "], one for each channel, not ", tensor.describe());
}

// The steps of each channel; one for all, without per_channel. Inputs `first` and the next are min and max; -1: they
// are attributes.
class FakeQuantKernel : public Kernel {
 public:
  FakeQuantKernel(const NodeInfo& node, int first, bool per_channel)
      : grid_(Grid::of(node)), first_(first), per_channel_(per_channel) {
    if (first >= 0) return;
    const float min = node.attr<float>("min"), max = node.attr<float>("max");
    if (!(min < max)) throw invalid_argument("min ", min, " must be less than max ", max);
    fixed_.emplace_back(min, max, grid_.lowest, grid_.highest);
  }

 protected:
  std::vector<Steps> steps(const RunContext& c, const Tensor& inputs) const {
    if (first_ < 0) return fixed_;
    const Tensor &min = c.input(first_), &max = c.input(first_ + 1);
    if (per_channel_ && inputs.rank() == 0) throw invalid_argument("inputs must have a dimension of channels");
    const std::int64_t channels = per_channel_ ? inputs.shape()[-1] : 1;
    check_range_size(min, per_channel_, channels, "min");
    check_range_size(max, per_channel_, channels, "max");
    std::vector<Steps> all;
    for (std::int64_t i = 0; i < channels; ++i) {
      all.emplace_back(min.data<float>()[i], max.data<float>()[i], grid_.lowest, grid_.highest);
    }
    return all;
  }

 private:
  Grid grid_;
  int first_;
  bool per_channel_;
  std::vector<Steps> fixed_;
};

constexpr std::int64_t kGrain = 1 << 14;

class ForwardKernel final : public FakeQuantKernel {
 public:
  using FakeQuantKernel::FakeQuantKernel;
  void run(RunContext& c) const override {
    const Tensor in = c.input(0);
    const std::vector<Steps> all = steps(c, in);
    Tensor& out = c.allocate_output(0, in.shape());
    if (in.num_elements() == 0) return;
    const float* x = in.data<float>();
    float* y = out.data<float>();
    const auto channels = static_cast<std::int64_t>(all.size());
    c.pool().parallel_for(in.num_elements() / channels, std::max<std::int64_t>(1, kGrain / channels),
                          [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t i = begin * channels; i < end * channels; i += channels) {
                              for (std::int64_t k = 0; k < channels; ++k) {
                                y[i + k] = all[static_cast<std::size_t>(k)].round(x[i + k]);
                              }
                            }
                          });
  }
};

class BackwardKernel final : public FakeQuantKernel {
 public:
  using FakeQuantKernel::FakeQuantKernel;
  void run(RunContext& c) const override {
    const Tensor grad = c.input(0), in = c.input(1);
    if (!(grad.shape() == in.shape())) {
      throw invalid_argument("gradients ", grad.describe(), " and inputs ", in.describe(), " must have one shape");
    }
    const std::vector<Steps> all = steps(c, in);
    Tensor& out = c.allocate_output(0, in.shape());
    const float *slope = grad.data<float>(), *x = in.data<float>();
    float* y = out.data<float>();
    const std::size_t channels = all.size();
    std::vector<double> below(channels, 0), above(channels, 0);
    for (std::int64_t i = 0, k = 0; i < in.num_elements(); ++i) {
      const auto channel = static_cast<std::size_t>(k);
      const Steps& steps = all[channel];
      if (steps.below(x[i])) below[channel] += static_cast<double>(slope[i]);
      if (steps.above(x[i])) above[channel] += static_cast<double>(slope[i]);
      y[i] = slope[i] * (steps.passes(x[i]) ? 1.0F : 0.0F);
      if (++k == static_cast<std::int64_t>(channels)) k = 0;
    }
    if (c.num_outputs() == 1) return;
    Tensor& min_grad = c.allocate_output(1, c.input(2).shape());
    Tensor& max_grad = c.allocate_output(2, c.input(3).shape());
    for (std::size_t k = 0; k < channels; ++k) {
      min_grad.data<float>()[k] = static_cast<float>(below[k]);
      max_grad.data<float>()[k] = static_cast<float>(above[k]);
    }
  }
};

template <class FakeQuant, int first, bool per_channel = false>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<FakeQuant>(c.node(), first, per_channel);
}

// --- Gradients ---

void args_gradient(GradientContext& c) {
  OpBuilder builder("FakeQuantWithMinMaxArgsGradient", {});
  copy_attrs(c.node().info(), {"min", "max", "num_bits", "narrow_range"}, builder);
  c.set_input_grad(0, builder.input(c.grad(0)).input(c.input(0)).build());
}

void vars_gradient_by(GradientContext& c, std::string_view op) {
  OpBuilder builder(op, {});
  copy_attrs(c.node().info(), {"num_bits", "narrow_range"}, builder);
  Node& node = builder.input(c.grad(0)).input(c.input(0)).input(c.input(1)).input(c.input(2)).build_node();
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, node.output(i));
}
void vars_gradient(GradientContext& c) { vars_gradient_by(c, "FakeQuantWithMinMaxVarsGradient"); }
void per_channel_gradient(GradientContext& c) { vars_gradient_by(c, "FakeQuantWithMinMaxVarsPerChannelGradient"); }

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxArgs",
                    .inputs = "inputs: float",
                    .outputs = "outputs: float",
                    .attrs = "min: float = -6.0; max: float = 6.0; num_bits: int = 8; narrow_range: bool = false",
                    .shape = unchanged_shape,
                    .gradient = args_gradient,
                    .cpu = prepare<ForwardKernel, -1>});
CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxArgsGradient",
                    .inputs = "gradients: float; inputs: float",
                    .outputs = "backprops: float",
                    .attrs = "min: float = -6.0; max: float = 6.0; num_bits: int = 8; narrow_range: bool = false",
                    .shape = gradient_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<BackwardKernel, -1>});
CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxVars",
                    .inputs = "inputs: float; min: float; max: float",
                    .outputs = "outputs: float",
                    .attrs = "num_bits: int = 8; narrow_range: bool = false",
                    .shape = vars_shape,
                    .gradient = vars_gradient,
                    .cpu = prepare<ForwardKernel, 1>});
CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxVarsGradient",
                    .inputs = "gradients: float; inputs: float; min: float; max: float",
                    .outputs = "backprops_wrt_input: float; backprop_wrt_min: float; backprop_wrt_max: float",
                    .attrs = "num_bits: int = 8; narrow_range: bool = false",
                    .shape = gradient_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<BackwardKernel, 2>});
CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxVarsPerChannel",
                    .inputs = "inputs: float; min: float; max: float",
                    .outputs = "outputs: float",
                    .attrs = "num_bits: int = 8; narrow_range: bool = false",
                    .shape = per_channel_shape,
                    .gradient = per_channel_gradient,
                    .cpu = prepare<ForwardKernel, 1, true>});
CAUDAL_REGISTER_OP({.name = "FakeQuantWithMinMaxVarsPerChannelGradient",
                    .inputs = "gradients: float; inputs: float; min: float; max: float",
                    .outputs = "backprops_wrt_input: float; backprop_wrt_min: float; backprop_wrt_max: float",
                    .attrs = "num_bits: int = 8; narrow_range: bool = false",
                    .shape = per_channel_gradient_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare<BackwardKernel, 2, true>});

// --- Public functions ---

namespace quantization {

Output fake_quant_with_min_max_args(const Operand& inputs, const FakeQuantArgsOptions& options) {
  return OpBuilder("FakeQuantWithMinMaxArgs", {.name = options.name, .where = options.where})
      .input(inputs, DType::kFloat)
      .attr("min", options.min)
      .attr("max", options.max)
      .attr("num_bits", options.num_bits)
      .attr("narrow_range", options.narrow_range)
      .build();
}

namespace {

Output with_vars(std::string_view op, const Operand& inputs, const Operand& min, const Operand& max,
                 const FakeQuantOptions& options) {
  return OpBuilder(op, {.name = options.name, .where = options.where})
      .input(inputs, DType::kFloat)
      .input(min, DType::kFloat)
      .input(max, DType::kFloat)
      .attr("num_bits", options.num_bits)
      .attr("narrow_range", options.narrow_range)
      .build();
}

}  // namespace

Output fake_quant_with_min_max_vars(const Operand& inputs, const Operand& min, const Operand& max,
                                    const FakeQuantOptions& options) {
  return with_vars("FakeQuantWithMinMaxVars", inputs, min, max, options);
}

Output fake_quant_with_min_max_vars_per_channel(const Operand& inputs, const Operand& min, const Operand& max,
                                                const FakeQuantOptions& options) {
  return with_vars("FakeQuantWithMinMaxVarsPerChannel", inputs, min, max, options);
}

}  // namespace quantization
}  // namespace caudal::inline v0
