#include "caudal/ops/batch_norm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/batch_norm.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

// --- Geometry ---

bool channels_first(const NodeInfo& node) { return node.attr<std::string>("data_format").starts_with("NC"); }

// Dimensions that x has: 5 where the data format says so.
int image_rank(const NodeInfo& node) { return node.attr<std::string>("data_format").size() == 5 ? 5 : 4; }

kernels::ChannelLayout layout_of(const NodeInfo& node, const Shape& x) {
  if (x.rank() != image_rank(node)) {
    throw invalid_argument("x must have ", image_rank(node), " dimensions for data_format ",
                           node.attr<std::string>("data_format"), ", not ", x);
  }
  kernels::ChannelLayout layout = {.outer = 1, .channels = 0, .inner = 1};
  const int axis = channels_first(node) ? 1 : x.rank() - 1;
  layout.channels = x[axis];
  for (int i = 0; i < axis; ++i) layout.outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) layout.inner *= x[i];
  return layout;
}

// --- Shape functions ---

// The size that x's channels and vectors [first, end) agree on; sets `x` to x with it.
std::int64_t channel_count(ShapeContext& c, PartialShape& x, int first, int end) {
  const int axis = channels_first(c.node()) ? 1 : x.rank() - 1;
  std::int64_t channels = x.dim(axis);
  for (int i = first; i < end; ++i) {
    channels = ShapeContext::merge_dim(channels, c.with_rank(i, 1).dim(0), "the channels of x and " + c.input_name(i));
  }
  x = x.with_dim(axis, channels);
  return channels;
}

void batch_norm_shape(ShapeContext& c) {
  PartialShape x = c.with_rank(0, image_rank(c.node()));
  // The running statistics may be left out (empty) in training.
  const std::int64_t channels = channel_count(c, x, 1, c.attr<bool>("is_training") ? 3 : 5);
  c.set_output(0, x);
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape({channels}));
  if (c.num_outputs() > 5) c.set_output(5, PartialShape::scalar());
}

void batch_norm_grad_shape(ShapeContext& c) {
  PartialShape x = c.with_rank(0, image_rank(c.node()));
  if (const auto merged = x.merge(c.with_rank(1, image_rank(c.node())))) {
    x = *merged;
  } else {
    throw invalid_argument("shapes differ: y_backprop ", c.input(0), ", x ", c.input(1));
  }
  const std::int64_t channels = channel_count(c, x, 2, 5);
  c.set_output(0, x);
  c.set_output(1, PartialShape({channels}));
  c.set_output(2, PartialShape({channels}));
  c.set_output(3, PartialShape({0}));
  c.set_output(4, PartialShape({0}));
}

// --- Kernels ---

void check_vector(const Tensor& vector, std::int64_t channels, std::string_view what) {
  if (vector.rank() != 1 || vector.dim(0) != channels) {
    throw invalid_argument(what, " ", vector.describe(), " must be [", channels, "], one number per channel of x");
  }
}

// new = (1 - factor) * old + factor * batch; the old one does not matter for factor 1.
void move_towards(const Tensor& old, const float* batch, float factor, std::span<float> result) {
  for (std::size_t c = 0; c < result.size(); ++c) {
    result[c] = factor == 1 ? batch[c] : (1 - factor) * old.flat<float>()[c] + factor * batch[c];
  }
}

void normalize_batch(RunContext& c, const kernels::ChannelLayout& layout) {
  const Tensor& x = c.input(0);
  const float factor = c.node().attr<float>("exponential_avg_factor");
  if (factor != 1) {
    check_vector(c.input(3), layout.channels, "mean");
    check_vector(c.input(4), layout.channels, "variance");
  }
  const Shape vector{layout.channels};
  float* mean = c.allocate_output(3, vector).data<float>();
  float* variance = c.allocate_output(4, vector).data<float>();
  kernels::batch_statistics(c.pool(), x.dtype(), layout, x.raw(), mean, variance);
  // Running variances estimate that of the population.
  const auto count = static_cast<float>(layout.count());
  std::vector<float> population(variance, variance + layout.channels);
  for (float& value : population) value *= count / std::max(count - 1, 1.0F);
  move_towards(c.input(3), mean, factor, c.allocate_output(1, vector).flat<float>());
  move_towards(c.input(4), population.data(), factor, c.allocate_output(2, vector).flat<float>());
  kernels::batch_normalize(c.pool(), x.dtype(), layout, x.raw(), mean, variance, c.input(1).data<float>(),
                           c.input(2).data<float>(), c.node().attr<float>("epsilon"),
                           c.allocate_output(0, x.shape()).raw());
}

void normalize_with_given(RunContext& c, const kernels::ChannelLayout& layout) {
  const Tensor& x = c.input(0);
  check_vector(c.input(3), layout.channels, "mean");
  check_vector(c.input(4), layout.channels, "variance");
  for (int i = 0; i < 2; ++i) {
    for (const int output : {1 + i, 3 + i}) {
      Tensor& copy = c.allocate_output(output, c.input(3 + i).shape());
      std::ranges::copy(c.input(3 + i).flat<float>(), copy.data<float>());
    }
  }
  kernels::batch_normalize(c.pool(), x.dtype(), layout, x.raw(), c.input(3).data<float>(), c.input(4).data<float>(),
                           c.input(1).data<float>(), c.input(2).data<float>(), c.node().attr<float>("epsilon"),
                           c.allocate_output(0, x.shape()).raw());
}

void run_batch_norm(RunContext& c) {
  const kernels::ChannelLayout layout = layout_of(c.node(), c.input(0).shape());
  check_vector(c.input(1), layout.channels, "scale");
  check_vector(c.input(2), layout.channels, "offset");
  if (c.node().attr<bool>("is_training")) {
    normalize_batch(c, layout);
  } else {
    normalize_with_given(c, layout);
  }
  if (c.num_outputs() > 5) c.allocate_output(5, Shape{}).data<float>()[0] = 0;
}

void run_batch_norm_grad(RunContext& c) {
  const Tensor& dy = c.input(0);
  const Tensor& x = c.input(1);
  const kernels::ChannelLayout layout = layout_of(c.node(), x.shape());
  if (!(dy.shape() == x.shape())) {
    throw invalid_argument("y_backprop ", dy.describe(), " and x ", x.describe(), " must have one shape");
  }
  static constexpr std::array kNames = {"scale", "reserve_space_1", "reserve_space_2"};
  for (int i = 0; i < 3; ++i) check_vector(c.input(2 + i), layout.channels, kNames[static_cast<std::size_t>(i)]);
  const Shape vector{layout.channels};
  Tensor& dx = c.allocate_output(0, x.shape());
  float* dscale = c.allocate_output(1, vector).data<float>();
  float* doffset = c.allocate_output(2, vector).data<float>();
  c.allocate_output(3, Shape{0});
  c.allocate_output(4, Shape{0});
  kernels::batch_normalize_grad(c.pool(), x.dtype(), layout, dy.raw(), x.raw(), c.input(2).data<float>(),
                                c.input(3).data<float>(), c.input(4).data<float>(), c.node().attr<float>("epsilon"),
                                c.node().attr<bool>("is_training"), dx.raw(), dscale, doffset);
}

template <void (*run)(RunContext&)>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  if (const AttrValue* type = find_attr(c.node().attrs, "U"); type && *type->get_if<DType>() != DType::kFloat) {
    throw unimplemented("no kernel for statistics of type ", *type->get_if<DType>(), " on CPU");
  }
  return kernel_of<run>(c);
}

// --- Gradients ---

void batch_norm_gradient(GradientContext& c) {
  const std::string op = c.node().type();
  const std::string version = op.substr(std::string_view("FusedBatchNorm").size());  // "", "V2", "V3"
  const bool training = c.attr<bool>("is_training");
  OpBuilder builder("FusedBatchNormGrad" + version, {});
  builder.input(c.grad(0)).input(c.input(0)).input(c.input(1));
  // The statistics that were used: the batch's, or the given ones.
  builder.input(training ? c.output(3) : c.input(3)).input(training ? c.output(4) : c.input(4));
  if (c.num_outputs() > 5) builder.input(c.output(5));
  Node& node = builder.attr("epsilon", c.attr<float>("epsilon"))
                   .attr("data_format", c.attr<std::string>("data_format"))
                   .attr("is_training", training)
                   .build_node();
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, node.output(i));
}

// FusedBatchNormGrad from differentiable ops (formulas: tensorflow/python/ops/nn_grad.py): the gradients of x, scale
// and offset. In training the statistics are those of x again, so that its influence on them counts.
std::vector<Output> composed_grads(GradientContext& c, const Output& dy_as_given, const Output& x_as_given,
                                   const Output& scale) {
  const bool first = channels_first(c.node().info());
  const int rank = image_rank(c.node().info());
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != (first ? 1 : rank - 1)) axes.push_back(i);
  }
  std::vector<std::int64_t> per_channel(static_cast<std::size_t>(first ? rank - 1 : 1), 1);
  per_channel[0] = -1;
  const auto aligned = [&](const Output& vector) { return reshape(vector, int32_vector(per_channel)); };
  const auto mean = [&](const Output& value) { return reduce_mean(value, {.axis = axes, .keepdims = true}); };

  const Output dy = cast(dy_as_given, DType::kFloat), x = cast(x_as_given, DType::kFloat);
  const float epsilon = c.attr<float>("epsilon");
  Output deviation, inverse, centred = dy;
  if (c.attr<bool>("is_training")) {
    deviation = x - mean(x);
    inverse = rsqrt(mean(square(deviation)) + epsilon);
    centred = dy - mean(dy) - square(inverse) * mean(dy * deviation) * deviation;
  } else {
    deviation = x - aligned(c.input(3));
    inverse = rsqrt(aligned(c.input(4)) + epsilon);
  }
  return {cast(aligned(scale) * inverse * centred, x_as_given.dtype()),
          reduce_sum(dy * deviation * inverse, {.axis = axes}), reduce_sum(dy, {.axis = axes})};
}

void batch_norm_grad_gradient(GradientContext& c) {
  // Copies, so that the three count as independent even where one is made from another.
  std::vector<Output> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(identity(c.input(i)));
  const std::vector<Gradient> result =
      gradients(composed_grads(c, inputs[0], inputs[1], inputs[2]), inputs,
                {.grad_ys = {c.grad(0), c.grad(1), c.grad(2)}, .stop_gradients = inputs, .name = "second_order"});
  for (int i = 0; i < 3; ++i) c.set_input_grad(i, result[static_cast<std::size_t>(i)]);
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "FusedBatchNorm",
                    .inputs = "x: T; scale: T; offset: T; mean: T; variance: T",
                    .outputs = "y: T; batch_mean: T; batch_variance: T; reserve_space_1: T; reserve_space_2: T",
                    .attrs = "T: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true",
                    .shape = batch_norm_shape,
                    .gradient = batch_norm_gradient,
                    .cpu = prepare<run_batch_norm>});
CAUDAL_REGISTER_OP({.name = "FusedBatchNormV2",
                    .inputs = "x: T; scale: U; offset: U; mean: U; variance: U",
                    .outputs = "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U",
                    .attrs = "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; "
                             "exponential_avg_factor: float = 1; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "is_training: bool = true",
                    .shape = batch_norm_shape,
                    .gradient = batch_norm_gradient,
                    .cpu = prepare<run_batch_norm>});
CAUDAL_REGISTER_OP({.name = "FusedBatchNormV3",
                    .inputs = "x: T; scale: U; offset: U; mean: U; variance: U",
                    .outputs = "y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U; "
                               "reserve_space_3: U",
                    .attrs = "T: {half, bfloat16, float}; U: {bfloat16, float}; epsilon: float = 0.0001; "
                             "exponential_avg_factor: float = 1; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = "
                             "'NHWC'; is_training: bool = true",
                    .shape = batch_norm_shape,
                    .gradient = batch_norm_gradient,
                    .cpu = prepare<run_batch_norm>});
CAUDAL_REGISTER_OP({.name = "FusedBatchNormGrad",
                    .inputs = "y_backprop: T; x: T; scale: T; reserve_space_1: T; reserve_space_2: T",
                    .outputs = "x_backprop: T; scale_backprop: T; offset_backprop: T; reserve_space_3: T; "
                               "reserve_space_4: T",
                    .attrs = "T: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
                             "is_training: bool = true",
                    .shape = batch_norm_grad_shape,
                    .gradient = batch_norm_grad_gradient,
                    .cpu = prepare<run_batch_norm_grad>});
CAUDAL_REGISTER_OP({.name = "FusedBatchNormGradV2",
                    .inputs = "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U",
                    .outputs = "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_3: U; "
                               "reserve_space_4: U",
                    .attrs = "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; "
                             "data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true",
                    .shape = batch_norm_grad_shape,
                    .gradient = batch_norm_grad_gradient,
                    .cpu = prepare<run_batch_norm_grad>});
CAUDAL_REGISTER_OP({.name = "FusedBatchNormGradV3",
                    .inputs = "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U; "
                              "reserve_space_3: U",
                    .outputs = "x_backprop: T; scale_backprop: U; offset_backprop: U; reserve_space_4: U; "
                               "reserve_space_5: U",
                    .attrs = "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; "
                             "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true",
                    .shape = batch_norm_grad_shape,
                    .gradient = batch_norm_grad_gradient,
                    .cpu = prepare<run_batch_norm_grad>});

// --- Public function ---

namespace nn {

FusedBatchNorm fused_batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                                const FusedBatchNormOptions& options) {
  const LocationScope where(options.where);
  const bool needed = !options.is_training || options.exponential_avg_factor != 1;
  if (needed && (!options.mean || !options.variance)) {
    throw invalid_argument("fused_batch_norm needs mean and variance ",
                           options.is_training ? "for an exponential_avg_factor other than 1" : "when not training")
        .made_at(short_location(options.where));
  }
  const Operand none = std::vector<float>();
  Node& node = OpBuilder("FusedBatchNormV3", {.name = options.name})
                   .input(x, DType::kFloat)
                   .input(scale, DType::kFloat)
                   .input(offset, DType::kFloat)
                   .input(options.mean.value_or(none), DType::kFloat)
                   .input(options.variance.value_or(none), DType::kFloat)
                   .attr("epsilon", options.epsilon)
                   .attr("exponential_avg_factor", options.exponential_avg_factor)
                   .attr("data_format", options.data_format)
                   .attr("is_training", options.is_training)
                   .build_node();
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace nn
}  // namespace caudal::inline v0
