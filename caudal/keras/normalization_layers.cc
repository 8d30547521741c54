// BatchNormalization, LayerNormalization, UnitNormalization.
#include <tuple>

#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/batch_norm.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::BatchNormalizationOptions;
using layers::LayerNormalizationOptions;
using layers::LayerOptions;

int axis_of(std::int64_t axis, const PartialShape& shape) {
  const std::int64_t rank = shape.rank();
  if (!shape.has_rank() || axis < -rank || axis >= rank) throw invalid_argument("axis ", axis, " is none of ", shape);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// A vector along `axis` of a tensor of `rank` dimensions.
Output along(const Output& vector, int axis, int rank) {
  if (axis == rank - 1) return vector;
  std::vector<int> shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return reshape(vector, shape);
}

class BatchNormalizationLayer final : public Layer {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& o = {})
      : Layer("BatchNormalization", o.name, o.trainable), o_(o) {
    set_supports_masking();
  }

 protected:
  void build(const Shapes& inputs) override {
    const std::int64_t size = inputs[0][axis_of(o_.axis, inputs[0])];
    if (size < 0) throw invalid_argument("the size of axis ", o_.axis, " of ", inputs[0], " is not known");
    if (o_.scale) {
      gamma_ = add_weight({.name = "gamma",
                           .shape = {size},
                           .initializer = o_.gamma_initializer,
                           .regularizer = o_.gamma_regularizer,
                           .constraint = o_.gamma_constraint});
    }
    if (o_.center) {
      beta_ = add_weight({.name = "beta",
                          .shape = {size},
                          .initializer = o_.beta_initializer,
                          .regularizer = o_.beta_regularizer,
                          .constraint = o_.beta_constraint});
    }
    mean_ = add_weight(
        {.name = "moving_mean", .shape = {size}, .initializer = o_.moving_mean_initializer, .trainable = false});
    variance_ = add_weight({.name = "moving_variance",
                            .shape = {size},
                            .initializer = o_.moving_variance_initializer,
                            .trainable = false});
  }

  Outputs call(const Outputs& inputs, CallContext& context) override {
    const Output x = as_float(inputs[0]);
    const int axis = axis_of(o_.axis, x.shape()), rank = x.shape().rank();
    const bool by_batch = context.training() && trainable();
    if (rank == 4 && axis == 3 && !context.mask()) return {fused(x, by_batch, context)};
    Output mean = mean_->variable(), variance = variance_->variable();
    if (by_batch) {
      std::tie(mean, variance) = moments(x, axis, context.mask());
      move_averages(mean, variance, context);
    }
    const Output scale = rsqrt(variance + o_.epsilon);
    const Output factor = gamma_ ? scale * gamma_->variable() : scale;
    const Output shift = beta_ ? beta_->variable() - mean * factor : -(mean * factor);
    return {x * along(factor, axis, rank) + along(shift, axis, rank)};
  }

  void fields(Fields& f) override {
    axis_field(f);
    f("momentum", o_.momentum);
    f("epsilon", o_.epsilon);
    f("center", o_.center);
    f("scale", o_.scale);
    f("beta_initializer", o_.beta_initializer);
    f("gamma_initializer", o_.gamma_initializer);
    f("moving_mean_initializer", o_.moving_mean_initializer);
    f("moving_variance_initializer", o_.moving_variance_initializer);
    f("beta_regularizer", o_.beta_regularizer);
    f("gamma_regularizer", o_.gamma_regularizer);
    f("beta_constraint", o_.beta_constraint);
    f("gamma_constraint", o_.gamma_constraint);
    f.ignored("synchronized", false);
    bool renorm = false;
    f("renorm", renorm);
    if (renorm) throw unimplemented("BatchNormalization: renorm");
    f.ignored("renorm_clipping");
    f.ignored("renorm_momentum", 0.99);
    if (f.reading()) {
      for (const char* key : {"fused", "virtual_batch_size", "adjustment"}) f.ignored(key);
    }
  }

 private:
  // Keras 2 writes a list of one.
  void axis_field(Fields& f) {
    Config axis = o_.axis;
    f.raw("axis", axis);
    if (axis.is_list() && axis.list().size() != 1) throw unimplemented("BatchNormalization: several axes");
    o_.axis = axis.is_list() ? axis.list()[0].integer() : axis.integer();
  }

  Output fused(const Output& x, bool by_batch, CallContext& context) {
    const int channels = static_cast<int>(mean_->shape()[0]);
    const Output scale = gamma_ ? Output(gamma_->variable()) : ones({channels});
    const Output offset = beta_ ? Output(beta_->variable()) : zeros({channels});
    const auto epsilon = static_cast<float>(o_.epsilon);
    if (!by_batch) {
      return nn::fused_batch_norm(x, scale, offset,
                                  {.mean = mean_->variable(),
                                   .variance = variance_->variable(),
                                   .epsilon = epsilon,
                                   .is_training = false})
          .y;
    }
    const nn::FusedBatchNorm result = nn::fused_batch_norm(x, scale, offset, {.epsilon = epsilon});
    // The op divides by count - 1, Keras by count.
    const Output count = cast(size(x), float32) / static_cast<float>(channels);
    move_averages(result.mean, result.variance * ((count - 1.0F) / count), context);
    return result.y;
  }

  static std::pair<Output, Output> moments(const Output& x, int axis, const Output& mask) {
    std::vector<int> others;
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (i != axis) others.push_back(i);
    }
    if (mask) {
      const Output used = broadcast_to(expand_dims(cast(mask, x.dtype()), -1), shape(x));
      const Output count = reduce_sum(used, {.axis = others, .keepdims = true});
      const Output mean = div_no_nan(reduce_sum(x * used, {.axis = others, .keepdims = true}), count);
      const Output square_sum = reduce_sum(used * square(x - mean), {.axis = others, .keepdims = true});
      return {reshape(mean, {-1}), reshape(div_no_nan(square_sum, count), {-1})};
    }
    const Output mean = reduce_mean(x, {.axis = others, .keepdims = true});
    const Output variance = reduce_mean(squared_difference(x, stop_gradient(mean)), {.axis = others});
    return {reshape(mean, {-1}), variance};
  }

  void move_averages(const Output& mean, const Output& variance, CallContext& context) {
    const double momentum = o_.momentum;
    const auto move = [momentum](const WeightRef& average, const Output& value) {
      return [momentum, average, value] {
        const Output next = average->variable() * momentum + value * (1.0 - momentum);
        return raw_ops::assign_variable_op(average->variable().handle(), next, float32);
      };
    };
    context.add_update(move(mean_, mean));
    context.add_update(move(variance_, variance));
  }

  BatchNormalizationOptions o_;
  WeightRef gamma_, beta_, mean_, variance_;
};
CAUDAL_KERAS_LAYER(BatchNormalizationLayer, "BatchNormalization");

class LayerNormalizationLayer final : public Layer {
 public:
  explicit LayerNormalizationLayer(const LayerNormalizationOptions& o = {})
      : Layer("LayerNormalization", o.name, o.trainable), o_(o) {
    set_supports_masking();
  }

 protected:
  void build(const Shapes& inputs) override {
    std::vector<std::int64_t> shape;
    for (const std::int64_t axis : o_.axis) shape.push_back(inputs[0][axis_of(axis, inputs[0])]);
    if (o_.scale) {
      gamma_ = add_weight({.name = "gamma",
                           .shape = shape,
                           .initializer = o_.gamma_initializer,
                           .regularizer = o_.gamma_regularizer,
                           .constraint = o_.gamma_constraint});
    }
    if (o_.center) {
      beta_ = add_weight({.name = "beta",
                          .shape = shape,
                          .initializer = o_.beta_initializer,
                          .regularizer = o_.beta_regularizer,
                          .constraint = o_.beta_constraint});
    }
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    std::vector<int> axes;
    for (const std::int64_t axis : o_.axis) axes.push_back(axis_of(axis, x.shape()));
    const Output mean = reduce_mean(x, {.axis = axes, .keepdims = true});
    const Output variance = reduce_mean(squared_difference(x, stop_gradient(mean)), {.axis = axes, .keepdims = true});
    Output y = (x - mean) * rsqrt(variance + o_.epsilon);
    if (gamma_) y = y * spread_over(gamma_->variable(), axes, x.shape().rank());
    if (beta_) y = y + spread_over(beta_->variable(), axes, x.shape().rank());
    return {y};
  }
  void fields(Fields& f) override {
    Config axis = o_.axis.size() == 1 ? Config(o_.axis[0]) : Config::integers(o_.axis);
    f.raw("axis", axis);
    if (f.reading() && axis.is_number()) o_.axis = {axis.integer()};
    if (f.reading() && axis.is_list()) {
      o_.axis.clear();
      for (const Config& item : axis.list()) o_.axis.push_back(item.integer());
    }
    f("epsilon", o_.epsilon);
    f("center", o_.center);
    f("scale", o_.scale);
    bool rms_scaling = false;
    if (f.reading()) f("rms_scaling", rms_scaling);
    if (rms_scaling) throw unimplemented("LayerNormalization: rms_scaling");
    f("beta_initializer", o_.beta_initializer);
    f("gamma_initializer", o_.gamma_initializer);
    f("beta_regularizer", o_.beta_regularizer);
    f("gamma_regularizer", o_.gamma_regularizer);
    f("beta_constraint", o_.beta_constraint);
    f("gamma_constraint", o_.gamma_constraint);
  }

 private:
  static Output spread_over(const Output& weight, const std::vector<int>& axes, int rank) {
    if (axes.size() == 1) return along(weight, axes[0], rank);
    std::vector<int> shape(static_cast<std::size_t>(rank), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      shape[static_cast<std::size_t>(axes[i])] = static_cast<int>(weight.shape()[static_cast<int>(i)]);
    }
    return reshape(weight, shape);
  }

  LayerNormalizationOptions o_;
  WeightRef gamma_, beta_;
};
CAUDAL_KERAS_LAYER(LayerNormalizationLayer, "LayerNormalization");

class UnitNormalizationLayer final : public Layer {
 public:
  explicit UnitNormalizationLayer(std::vector<std::int64_t> axis = {-1}, const LayerOptions& o = {})
      : Layer("UnitNormalization", o.name), axis_(std::move(axis)) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const std::vector<int> axes(axis_.begin(), axis_.end());
    const Output sum = reduce_sum(square(inputs[0]), {.axis = axes, .keepdims = true});
    return {inputs[0] * rsqrt(maximum(sum, 1e-12F))};
  }
  void fields(Fields& f) override { f("axis", axis_); }

 private:
  std::vector<std::int64_t> axis_;
};
CAUDAL_KERAS_LAYER(UnitNormalizationLayer, "UnitNormalization");

}  // namespace

namespace layers {
LayerRef BatchNormalization(const BatchNormalizationOptions& o) { return make_layer<BatchNormalizationLayer>(o); }
LayerRef LayerNormalization(const LayerNormalizationOptions& o) { return make_layer<LayerNormalizationLayer>(o); }
LayerRef UnitNormalization(std::vector<std::int64_t> axis, const LayerOptions& o) {
  return make_layer<UnitNormalizationLayer>(std::move(axis), o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
