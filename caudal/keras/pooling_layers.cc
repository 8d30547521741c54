// Pooling over windows and over everything.
#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/pool.h"
#include "caudal/ops/pool3d.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::GlobalPoolingOptions;
using layers::PoolingOptions;
using Sizes = std::vector<std::int64_t>;

class Pooling : public Layer {
 public:
  Pooling(const char* class_name, std::size_t axes, bool largest, const Sizes& pool_size, const PoolingOptions& o)
      : Layer(class_name, o.name), axes_(axes), largest_(largest), o_(o) {
    pool_size_ = spread("pool_size", pool_size, axes);
    o_.strides = o.strides.empty() ? pool_size_ : spread("strides", o.strides, axes);
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const bool sequences = axes_ == 1;
    check_rank(inputs[0].shape(), static_cast<int>(axes_) + 2,
               sequences    ? "sequences [batch, steps, features]"
               : axes_ == 2 ? "images [batch, rows, columns, channels]"
                            : "volumes [batch, planes, rows, columns, channels]");
    const std::string padding = padding_name(o_.padding);
    for (std::size_t i = 0; i < axes_; ++i) {
      check_positive("pool_size", pool_size_[i]);
      const std::int64_t size = inputs[0].shape()[static_cast<int>(i) + 1];
      if (padding == "VALID" && size >= 0 && size < pool_size_[i]) {
        throw invalid_argument("the window of ", pool_size_[i], " is larger than dimension ", i + 1, " of ",
                               inputs[0].shape())
            .hint("Use padding \"same\", or less pooling before it.");
      }
    }
    if (axes_ == 3) {
      const auto five = [](const Sizes& s) { return Sizes{1, s[0], s[1], s[2], 1}; };
      const nn::Pool3dOptions options{.ksize = five(pool_size_), .strides = five(o_.strides), .padding = padding};
      return {largest_ ? nn::max_pool3d(inputs[0], options) : nn::avg_pool3d(inputs[0], options)};
    }
    nn::PoolOptions options{.ksize = pool_size_, .strides = o_.strides, .padding = padding};
    if (sequences) {
      options.ksize.insert(options.ksize.begin(), 1);
      options.strides.insert(options.strides.begin(), 1);
    }
    const Output x = sequences ? expand_dims(inputs[0], 1) : inputs[0];
    const Output y = largest_ ? nn::max_pool(x, options) : nn::avg_pool(x, options);
    return {sequences ? squeeze(y, {1}) : y};
  }
  void fields(Fields& f) override {
    if (axes_ == 1) {
      f.single("pool_size", pool_size_);
      f("padding", o_.padding);
      channels_last_field(f);
      read_strides(f);
    } else {
      f.tuple("pool_size", pool_size_, axes_);
      f("padding", o_.padding);
      read_strides(f);
      channels_last_field(f);
    }
  }

 private:
  void read_strides(Fields& f) {
    Config strides = Config::integers(o_.strides);
    f.raw("strides", strides);
    if (!f.reading()) return;
    Sizes given;
    if (strides.is_number()) given = {strides.integer()};
    if (strides.is_list()) {
      for (const Config& item : strides.list()) given.push_back(item.integer());
    }
    o_.strides = strides.is_null() ? pool_size_ : spread("strides", given, axes_);
  }

  std::size_t axes_;
  bool largest_;
  Sizes pool_size_;
  PoolingOptions o_;
};

#define CAUDAL_POOLING(name, axes, largest)                                          \
  struct name##Layer final : Pooling {                                               \
    explicit name##Layer(const Sizes& pool_size = {2}, const PoolingOptions& o = {}) \
        : Pooling(#name, axes, largest, pool_size, o) {}                             \
  };                                                                                 \
  CAUDAL_KERAS_LAYER(name##Layer, #name)
CAUDAL_POOLING(MaxPooling1D, 1, true);
CAUDAL_POOLING(AveragePooling1D, 1, false);
CAUDAL_POOLING(MaxPooling2D, 2, true);
CAUDAL_POOLING(AveragePooling2D, 2, false);
CAUDAL_POOLING(MaxPooling3D, 3, true);
CAUDAL_POOLING(AveragePooling3D, 3, false);
#undef CAUDAL_POOLING

class GlobalPooling : public Layer {
 public:
  GlobalPooling(const char* class_name, int axes, bool largest, const GlobalPoolingOptions& o)
      : Layer(class_name, o.name), axes_(axes), largest_(largest), o_(o) {
    if (axes == 1 && !largest) set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    check_rank(inputs[0].shape(), axes_ + 2,
               axes_ == 1 ? "sequences [batch, steps, features]" : "images [batch, rows, columns, channels]");
    ReduceOptions options{.axis = axes_ == 1 ? Axes(1) : Axes({1, 2}), .keepdims = o_.keepdims};
    if (largest_) return {reduce_max(inputs[0], options)};
    if (axes_ == 1 && context.mask()) {
      // Steps that are only padding do not count.
      const Output used = expand_dims(cast(context.mask(), inputs[0].dtype()), -1);
      return {reduce_sum(inputs[0] * used, options) / reduce_sum(used, options)};
    }
    return {reduce_mean(inputs[0], options)};
  }
  Outputs compute_mask(const Outputs&, const Outputs&, const Outputs&) override { return {}; }
  void fields(Fields& f) override {
    channels_last_field(f);
    f("keepdims", o_.keepdims);
  }

 private:
  int axes_;
  bool largest_;
  GlobalPoolingOptions o_;
};

#define CAUDAL_GLOBAL_POOLING(name, axes, largest)                                                       \
  struct name##Layer final : GlobalPooling {                                                             \
    explicit name##Layer(const GlobalPoolingOptions& o = {}) : GlobalPooling(#name, axes, largest, o) {} \
  };                                                                                                     \
  CAUDAL_KERAS_LAYER(name##Layer, #name)
CAUDAL_GLOBAL_POOLING(GlobalMaxPooling1D, 1, true);
CAUDAL_GLOBAL_POOLING(GlobalAveragePooling1D, 1, false);
CAUDAL_GLOBAL_POOLING(GlobalMaxPooling2D, 2, true);
CAUDAL_GLOBAL_POOLING(GlobalAveragePooling2D, 2, false);
#undef CAUDAL_GLOBAL_POOLING

}  // namespace

namespace layers {
LayerRef MaxPooling1D(std::int64_t pool_size, const PoolingOptions& o) {
  return make_layer<MaxPooling1DLayer>(Sizes{pool_size}, o);
}
LayerRef AveragePooling1D(std::int64_t pool_size, const PoolingOptions& o) {
  return make_layer<AveragePooling1DLayer>(Sizes{pool_size}, o);
}
LayerRef MaxPooling2D(Sizes pool_size, const PoolingOptions& o) { return make_layer<MaxPooling2DLayer>(pool_size, o); }
LayerRef AveragePooling2D(Sizes pool_size, const PoolingOptions& o) {
  return make_layer<AveragePooling2DLayer>(pool_size, o);
}
LayerRef MaxPooling3D(Sizes pool_size, const PoolingOptions& o) { return make_layer<MaxPooling3DLayer>(pool_size, o); }
LayerRef AveragePooling3D(Sizes pool_size, const PoolingOptions& o) {
  return make_layer<AveragePooling3DLayer>(pool_size, o);
}
LayerRef GlobalMaxPooling1D(const GlobalPoolingOptions& o) { return make_layer<GlobalMaxPooling1DLayer>(o); }
LayerRef GlobalAveragePooling1D(const GlobalPoolingOptions& o) { return make_layer<GlobalAveragePooling1DLayer>(o); }
LayerRef GlobalMaxPooling2D(const GlobalPoolingOptions& o) { return make_layer<GlobalMaxPooling2DLayer>(o); }
LayerRef GlobalAveragePooling2D(const GlobalPoolingOptions& o) { return make_layer<GlobalAveragePooling2DLayer>(o); }
}  // namespace layers

}  // namespace caudal::inline v0::keras
