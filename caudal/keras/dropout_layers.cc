// Dropout in its forms, noise, activity regularisation.
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::DropoutOptions;
using layers::LayerOptions;
using layers::SeedOptions;

void check_rate(double rate) {
  if (!(rate >= 0 && rate <= 1)) throw invalid_argument("rate must lie between 0 and 1, not ", rate);
}

// The seed of a layer without one of its own.
std::int64_t seed_or_drawn(const std::optional<std::int64_t>& seed) { return seed ? *seed : draw_seed(); }

class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(double rate = 0, const DropoutOptions& o = {}) : Layer("Dropout", o.name), rate_(rate), o_(o) {
    check_rate(rate);
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    if (!context.training() || rate_ == 0) return inputs;
    if (rate_ == 1) return {zeros_like(inputs[0])};
    nn::DropoutOptions options{.seed = seed_or_drawn(o_.seed), .rate = rate_};
    if (!o_.noise_shape.empty()) {
      std::vector<Output> dims;
      for (std::size_t i = 0; i < o_.noise_shape.size(); ++i) {
        const std::int64_t size = o_.noise_shape[i];
        dims.push_back(size < 0 ? dim_of(inputs[0], static_cast<int>(i))
                                : constant(Tensor(std::vector<int>{static_cast<int>(size)})));
      }
      options.noise_shape = concat(dims, 0);
    }
    return {nn::dropout(inputs[0], options)};
  }
  void fields(Fields& f) override {
    f("rate", rate_);
    f("seed", o_.seed);
    f("noise_shape", o_.noise_shape);
    check_rate(rate_);
  }

 private:
  double rate_;
  DropoutOptions o_;
};
CAUDAL_KERAS_LAYER(DropoutLayer, "Dropout");

// The same mask for all places of a feature map.
class SpatialDropoutLayer : public Layer {
 public:
  SpatialDropoutLayer(const char* class_name, int rank, double rate, const SeedOptions& o)
      : Layer(class_name, o.name), rank_(rank), rate_(rate), o_(o) {
    check_rate(rate);
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    check_rank(inputs[0].shape(), rank_, "feature maps");
    if (!context.training() || rate_ == 0) return inputs;
    std::vector<Output> dims = {dim_of(inputs[0], 0)};
    dims.push_back(constant(Tensor(std::vector<int>(static_cast<std::size_t>(rank_ - 2), 1))));
    dims.push_back(dim_of(inputs[0], rank_ - 1));
    return {nn::dropout(inputs[0], {.noise_shape = concat(dims, 0), .seed = seed_or_drawn(o_.seed), .rate = rate_})};
  }
  void fields(Fields& f) override {
    f("rate", rate_);
    f("seed", o_.seed);
    if (f.reading()) f.ignored("noise_shape");
    if (rank_ > 3) channels_last_field(f);
    check_rate(rate_);
  }

 private:
  int rank_;
  double rate_;
  SeedOptions o_;
};
struct SpatialDropout1DLayer final : SpatialDropoutLayer {
  explicit SpatialDropout1DLayer(double rate = 0, const SeedOptions& o = {})
      : SpatialDropoutLayer("SpatialDropout1D", 3, rate, o) {}
};
struct SpatialDropout2DLayer final : SpatialDropoutLayer {
  explicit SpatialDropout2DLayer(double rate = 0, const SeedOptions& o = {})
      : SpatialDropoutLayer("SpatialDropout2D", 4, rate, o) {}
};
struct SpatialDropout3DLayer final : SpatialDropoutLayer {
  explicit SpatialDropout3DLayer(double rate = 0, const SeedOptions& o = {})
      : SpatialDropoutLayer("SpatialDropout3D", 5, rate, o) {}
};
CAUDAL_KERAS_LAYER(SpatialDropout1DLayer, "SpatialDropout1D");
CAUDAL_KERAS_LAYER(SpatialDropout2DLayer, "SpatialDropout2D");
CAUDAL_KERAS_LAYER(SpatialDropout3DLayer, "SpatialDropout3D");

class GaussianNoiseLayer final : public Layer {
 public:
  explicit GaussianNoiseLayer(double stddev = 0, const SeedOptions& o = {})
      : Layer("GaussianNoise", o.name), stddev_(stddev), o_(o) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    if (!context.training() || stddev_ == 0) return inputs;
    return {inputs[0] + random_normal(shape(inputs[0]), {.stddev = stddev_, .seed = seed_or_drawn(o_.seed)})};
  }
  void fields(Fields& f) override {
    f("stddev", stddev_);
    f("seed", o_.seed);
  }

 private:
  double stddev_;
  SeedOptions o_;
};
CAUDAL_KERAS_LAYER(GaussianNoiseLayer, "GaussianNoise");

class GaussianDropoutLayer final : public Layer {
 public:
  explicit GaussianDropoutLayer(double rate = 0, const SeedOptions& o = {})
      : Layer("GaussianDropout", o.name), rate_(rate), o_(o) {
    check_rate(rate);
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    if (!context.training() || rate_ == 0) return inputs;
    const double stddev = std::sqrt(rate_ / (1 - rate_));
    return {inputs[0] *
            random_normal(shape(inputs[0]), {.mean = 1.0F, .stddev = stddev, .seed = seed_or_drawn(o_.seed)})};
  }
  void fields(Fields& f) override {
    f("rate", rate_);
    f("seed", o_.seed);
    check_rate(rate_);
  }

 private:
  double rate_;
  SeedOptions o_;
};
CAUDAL_KERAS_LAYER(GaussianDropoutLayer, "GaussianDropout");

// Klambauer et al. 2017: dropped values go to where SELU saturates, and mean and variance are kept.
class AlphaDropoutLayer final : public Layer {
 public:
  explicit AlphaDropoutLayer(double rate = 0, const SeedOptions& o = {})
      : Layer("AlphaDropout", o.name), rate_(rate), o_(o) {
    check_rate(rate);
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    if (!context.training() || rate_ == 0) return inputs;
    const double dropped = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
    const Output random = random_uniform(shape(inputs[0]), {.seed = seed_or_drawn(o_.seed)});
    const Output kept = cast(greater_equal(random, rate_), inputs[0].dtype());
    const double a = 1 / std::sqrt((1 - rate_) * (1 + rate_ * dropped * dropped));
    const double b = -a * dropped * rate_;
    return {(inputs[0] * kept + (1.0F - kept) * dropped) * a + b};
  }
  void fields(Fields& f) override {
    f("rate", rate_);
    f("seed", o_.seed);
    if (f.reading()) f.ignored("noise_shape");
    check_rate(rate_);
  }

 private:
  double rate_;
  SeedOptions o_;
};
CAUDAL_KERAS_LAYER(AlphaDropoutLayer, "AlphaDropout");

class ActivityRegularizationLayer final : public Layer {
 public:
  explicit ActivityRegularizationLayer(double l1 = 0, double l2 = 0, const LayerOptions& o = {})
      : Layer("ActivityRegularization", o.name), l1_(l1), l2_(l2) {
    set_supports_masking();
    set_activity_regularizer(regularizers::L1L2(l1, l2));
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override { return inputs; }
  void fields(Fields& f) override {
    f("l1", l1_);
    f("l2", l2_);
    set_activity_regularizer(regularizers::L1L2(l1_, l2_));
  }

 private:
  double l1_, l2_;
};
CAUDAL_KERAS_LAYER(ActivityRegularizationLayer, "ActivityRegularization");

}  // namespace

namespace layers {
LayerRef Dropout(double rate, const DropoutOptions& o) { return make_layer<DropoutLayer>(rate, o); }
LayerRef SpatialDropout1D(double rate, const SeedOptions& o) { return make_layer<SpatialDropout1DLayer>(rate, o); }
LayerRef SpatialDropout2D(double rate, const SeedOptions& o) { return make_layer<SpatialDropout2DLayer>(rate, o); }
LayerRef SpatialDropout3D(double rate, const SeedOptions& o) { return make_layer<SpatialDropout3DLayer>(rate, o); }
LayerRef GaussianNoise(double stddev, const SeedOptions& o) { return make_layer<GaussianNoiseLayer>(stddev, o); }
LayerRef GaussianDropout(double rate, const SeedOptions& o) { return make_layer<GaussianDropoutLayer>(rate, o); }
LayerRef AlphaDropout(double rate, const SeedOptions& o) { return make_layer<AlphaDropoutLayer>(rate, o); }
LayerRef ActivityRegularization(double l1, double l2, const LayerOptions& o) {
  return make_layer<ActivityRegularizationLayer>(l1, l2, o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
