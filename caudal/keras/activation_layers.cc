// ReLU, LeakyReLU, ELU, Softmax, PReLU.
#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/softmax.h"

namespace caudal::inline v0::keras {
namespace {

using layers::LayerOptions;
using layers::PReLUOptions;
using layers::ReLUOptions;

// x above the threshold, limited; below it the slope times the distance to the threshold.
class ReluLayer final : public Layer {
 public:
  explicit ReluLayer(const ReLUOptions& o = {}) : Layer("ReLU", o.name), o_(o) { set_supports_masking(); }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output& x = inputs[0];
    Output y;
    bool limited = false;
    if (o_.threshold != 0) {
      y = where(greater(x, o_.threshold), x, 0.0F);
    } else if (o_.max_value == 6.0) {
      y = nn::relu6(x);
      limited = true;
    } else {
      y = nn::relu(x);
    }
    if (o_.max_value && !limited) y = clip_by_value(y, 0, *o_.max_value);
    if (o_.negative_slope != 0) y = y - nn::relu(-x + o_.threshold) * o_.negative_slope;
    return {y};
  }
  void fields(Fields& f) override {
    f("max_value", o_.max_value);
    f("negative_slope", o_.negative_slope);
    f("threshold", o_.threshold);
  }

 private:
  ReLUOptions o_;
};
CAUDAL_KERAS_LAYER(ReluLayer, "ReLU");

class LeakyReluLayer final : public Layer {
 public:
  explicit LeakyReluLayer(double slope = 0.3, const LayerOptions& o = {}) : Layer("LeakyReLU", o.name), slope_(slope) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    return {nn::leaky_relu(inputs[0], {.alpha = static_cast<float>(slope_)})};
  }
  void fields(Fields& f) override {
    if (f.reading()) f("alpha", slope_);  // Keras 2's word
    f("negative_slope", slope_);
  }

 private:
  double slope_;
};
CAUDAL_KERAS_LAYER(LeakyReluLayer, "LeakyReLU");

class EluLayer final : public Layer {
 public:
  explicit EluLayer(double alpha = 1, const LayerOptions& o = {}) : Layer("ELU", o.name), alpha_(alpha) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output y = nn::elu(inputs[0]);
    if (alpha_ == 1) return {y};
    return {where(greater(inputs[0], 0.0F), y, y * alpha_)};
  }
  void fields(Fields& f) override { f("alpha", alpha_); }

 private:
  double alpha_;
};
CAUDAL_KERAS_LAYER(EluLayer, "ELU");

class SoftmaxLayer final : public Layer {
 public:
  explicit SoftmaxLayer(std::int64_t axis = -1, const LayerOptions& o = {}) : Layer("Softmax", o.name), axis_(axis) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    Output x = inputs[0];
    // What is masked gets no share.
    if (context.mask()) x = x + (1.0F - cast(context.mask(), x.dtype())) * -3e4F;
    return {nn::softmax(x, {.axis = static_cast<int>(axis_)})};
  }
  void fields(Fields& f) override { f("axis", axis_); }

 private:
  std::int64_t axis_;
};
CAUDAL_KERAS_LAYER(SoftmaxLayer, "Softmax");

class PReluLayer final : public Layer {
 public:
  explicit PReluLayer(const PReLUOptions& o = {}) : Layer("PReLU", o.name, o.trainable), o_(o) {
    set_supports_masking();
  }

 protected:
  void build(const Shapes& inputs) override {
    std::vector<std::int64_t> shape(inputs[0].dims().begin() + 1, inputs[0].dims().end());
    for (const std::int64_t axis : o_.shared_axes) {
      if (axis < 1 || axis > static_cast<std::int64_t>(shape.size())) {
        throw invalid_argument("shared_axes: ", axis, " is no axis of ", inputs[0], " besides the batch");
      }
      shape[static_cast<std::size_t>(axis - 1)] = 1;
    }
    alpha_ = add_weight({.name = "alpha",
                         .shape = shape,
                         .initializer = o_.alpha_initializer,
                         .regularizer = o_.alpha_regularizer,
                         .constraint = o_.alpha_constraint});
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    return {nn::relu(inputs[0]) - Output(alpha_->variable()) * nn::relu(-inputs[0])};
  }
  void fields(Fields& f) override {
    f("alpha_initializer", o_.alpha_initializer);
    f("alpha_regularizer", o_.alpha_regularizer);
    f("alpha_constraint", o_.alpha_constraint);
    f("shared_axes", o_.shared_axes);
  }

 private:
  PReLUOptions o_;
  WeightRef alpha_;
};
CAUDAL_KERAS_LAYER(PReluLayer, "PReLU");

}  // namespace

namespace layers {
LayerRef ReLU(const ReLUOptions& o) { return make_layer<ReluLayer>(o); }
LayerRef LeakyReLU(double negative_slope, const LayerOptions& o) {
  return make_layer<LeakyReluLayer>(negative_slope, o);
}
LayerRef ELU(double alpha, const LayerOptions& o) { return make_layer<EluLayer>(alpha, o); }
LayerRef Softmax(std::int64_t axis, const LayerOptions& o) { return make_layer<SoftmaxLayer>(axis, o); }
LayerRef PReLU(const PReLUOptions& o) { return make_layer<PReluLayer>(o); }
}  // namespace layers

}  // namespace caudal::inline v0::keras
