// Rescaling, Normalization.
#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/random.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::LayerOptions;
using layers::NormalizationOptions;
using layers::SeedOptions;

class RescalingLayer final : public Layer {
 public:
  explicit RescalingLayer(double scale = 1, double offset = 0, const LayerOptions& o = {})
      : Layer("Rescaling", o.name), scale_(scale), offset_(offset) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override { return {as_float(inputs[0]) * scale_ + offset_}; }
  void fields(Fields& f) override {
    f("scale", scale_);
    f("offset", offset_);
  }

 private:
  double scale_, offset_;
};
CAUDAL_KERAS_LAYER(RescalingLayer, "Rescaling");

class NormalizationLayer final : public Layer {
 public:
  explicit NormalizationLayer(const NormalizationOptions& o = {}) : Layer("Normalization", o.name), o_(o) {
    if (o.mean.empty() != o.variance.empty()) {
      throw invalid_argument("Normalization: mean and variance must be given together");
    }
  }

  void measure(const Tensor& data) {
    const Tensor numbers = converted(data, float32);
    if (numbers.rank() < 2 || numbers.num_elements() == 0) {
      throw invalid_argument(described(), ": adapt() needs rows of features, not ", data.describe());
    }
    const std::int64_t width = numbers.shape()[-1], rows = numbers.num_elements() / width;
    std::vector<double> mean(static_cast<std::size_t>(width)), variance(static_cast<std::size_t>(width));
    const float* x = numbers.data<float>();
    for (std::int64_t i = 0; i < rows * width; ++i) mean[static_cast<std::size_t>(i % width)] += x[i];
    for (double& m : mean) m /= static_cast<double>(rows);
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const double distance = x[i] - mean[static_cast<std::size_t>(i % width)];
      variance[static_cast<std::size_t>(i % width)] += distance * distance;
    }
    for (double& v : variance) v /= static_cast<double>(rows);
    const Shape shape({width});
    ensure_variables(width);
    mean_->assign(Tensor::from(shape, std::vector<float>(mean.begin(), mean.end())));
    variance_->assign(Tensor::from(shape, std::vector<float>(variance.begin(), variance.end())));
  }

 protected:
  void build(const Shapes& inputs) override {
    if (o_.axis != -1 && o_.axis != inputs[0].rank() - 1) throw unimplemented("Normalization over axis ", o_.axis);
    if (o_.mean.empty()) ensure_variables(known_last(inputs[0], 2));
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    const Output mean = mean_ ? Output(mean_->variable()) : numbers(o_.mean);
    const Output deviation = maximum(sqrt(variance_ ? Output(variance_->variable()) : numbers(o_.variance)), 1e-7F);
    if (o_.invert) return {x * deviation + mean};
    return {(x - mean) / deviation};
  }
  void fields(Fields& f) override {
    Config axis = o_.axis;
    f.raw("axis", axis);
    if (axis.is_list()) o_.axis = axis.list().empty() ? -1 : axis.list()[0].integer();
    if (axis.is_int()) o_.axis = axis.integer();
    f("invert", o_.invert);
    f("mean", o_.mean);
    f("variance", o_.variance);
  }

 private:
  void ensure_variables(std::int64_t width) {
    if (mean_) return;
    const PathScope path(name());
    mean_ = add_weight({.name = "mean", .shape = {width}, .initializer = "zeros", .trainable = false});
    variance_ = add_weight({.name = "variance", .shape = {width}, .initializer = "ones", .trainable = false});
  }
  static Output numbers(const std::vector<double>& values) {
    return constant(Tensor(std::vector<float>(values.begin(), values.end())));
  }

  NormalizationOptions o_;
  WeightRef mean_, variance_;
};
CAUDAL_KERAS_LAYER(NormalizationLayer, "Normalization");

// While training, each picture mirrored or not, by the toss of a coin for each direction.
class RandomFlipLayer final : public Layer {
 public:
  explicit RandomFlipLayer(std::string mode = "horizontal_and_vertical", const SeedOptions& o = {})
      : Layer("RandomFlip", o.name), mode_(std::move(mode)), seed_(o.seed) {
    check_mode();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    check_rank(inputs[0].shape(), 4, "images [batch, rows, columns, channels]");
    if (!context.training()) return inputs;
    Output x = as_float(inputs[0]);
    std::int64_t seed = seed_ ? *seed_ : draw_seed();
    if (mode_ != "vertical") x = flipped(x, 2, seed++);
    if (mode_ != "horizontal") x = flipped(x, 1, seed);
    return {x};
  }
  void fields(Fields& f) override {
    f("mode", mode_);
    f("seed", seed_);
    f.ignored("data_format", "channels_last");
    check_mode();
  }

 private:
  void check_mode() const {
    const std::vector<std::string> modes = {"horizontal", "vertical", "horizontal_and_vertical"};
    if (std::ranges::find(modes, mode_) == modes.end()) throw_unknown("mode of RandomFlip", mode_, modes);
  }
  static Output flipped(const Output& x, int axis, std::int64_t seed) {
    const Output coins = concat({dim_of(x, 0), constant(Tensor(std::vector<int>{1, 1, 1}))}, 0);
    return where(less(random_uniform(coins, {.seed = seed}), 0.5F), reverse(x, {axis}), x);
  }

  std::string mode_;
  std::optional<std::int64_t> seed_;
};
CAUDAL_KERAS_LAYER(RandomFlipLayer, "RandomFlip");

}  // namespace

namespace layers {
LayerRef RandomFlip(const std::string& mode, const SeedOptions& o) { return make_layer<RandomFlipLayer>(mode, o); }
LayerRef Rescaling(double scale, double offset, const LayerOptions& o) {
  return make_layer<RescalingLayer>(scale, offset, o);
}
LayerRef Normalization(const NormalizationOptions& o) { return make_layer<NormalizationLayer>(o); }

void adapt(const LayerRef& normalization, const Tensor& data) {
  auto* const layer = dynamic_cast<NormalizationLayer*>(&*normalization);
  if (layer == nullptr) {
    throw invalid_argument("adapt() is for Normalization layers, not ", normalization->class_name());
  }
  layer->measure(data);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
