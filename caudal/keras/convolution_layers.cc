// Conv1D, Conv2D, Conv2DTranspose, DepthwiseConv2D, SeparableConv2D.
#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/conv3d.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::ConvOptions;
using layers::DepthwiseConvOptions;
using Sizes = std::vector<std::int64_t>;

constexpr char kImages[] = "images [batch, rows, columns, channels]";

// What convolutions have in common: settings, kernel, bias.
class ConvBase : public Layer {
 protected:
  ConvBase(const char* class_name, std::size_t axes, std::int64_t filters, const Sizes& kernel_size,
           const ConvOptions& o)
      : Layer(class_name, o.name, o.trainable), axes_(axes), filters_(filters), o_(o) {
    kernel_size_ = spread("kernel_size", kernel_size.empty() ? Sizes{1} : kernel_size, axes);
    o_.strides = spread("strides", o.strides, axes);
    o_.dilation_rate = spread("dilation_rate", o.dilation_rate, axes);
    set_activity_regularizer(o.activity_regularizer);
  }

  void make_weights(std::int64_t in, std::int64_t out) {
    check_positive("filters", filters_);
    for (const std::int64_t size : kernel_size_) check_positive("kernel_size", size);
    for (const std::int64_t stride : o_.strides) check_positive("strides", stride);
    Sizes shape = kernel_size_;
    shape.insert(shape.end(), {in, out});
    kernel_ = add_weight({.name = "kernel",
                          .shape = shape,
                          .initializer = o_.kernel_initializer,
                          .regularizer = o_.kernel_regularizer,
                          .constraint = o_.kernel_constraint});
    if (!o_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .shape = {filters_},
                        .initializer = o_.bias_initializer,
                        .regularizer = o_.bias_regularizer,
                        .constraint = o_.bias_constraint});
  }

  void make_grouped_weights(const PartialShape& input) {
    const std::int64_t channels = known_last(input, static_cast<int>(axes_) + 2);
    check_positive("groups", o_.groups);
    if (channels % o_.groups != 0 || filters_ % o_.groups != 0) {
      throw invalid_argument(channels, " channels and ", filters_, " filters cannot be divided into ", o_.groups,
                             " groups");
    }
    make_weights(channels / o_.groups, filters_);
  }

  Output finished(Output y) const {
    if (bias_) y = nn::bias_add(y, bias_->variable());
    return o_.activation(y);
  }

  void fields(Fields& f) override {
    f("filters", filters_);
    axes_ == 1 ? f.single("kernel_size", kernel_size_) : f.tuple("kernel_size", kernel_size_, axes_);
    axes_ == 1 ? f.single("strides", o_.strides) : f.tuple("strides", o_.strides, axes_);
    f("padding", o_.padding);
    channels_last_field(f);
    axes_ == 1 ? f.single("dilation_rate", o_.dilation_rate) : f.tuple("dilation_rate", o_.dilation_rate, axes_);
    extra_fields(f);
    f("activation", o_.activation);
    f("use_bias", o_.use_bias);
    f("kernel_initializer", o_.kernel_initializer);
    f("bias_initializer", o_.bias_initializer);
    f("kernel_regularizer", o_.kernel_regularizer);
    f("bias_regularizer", o_.bias_regularizer);
    f("activity_regularizer", o_.activity_regularizer);
    f("kernel_constraint", o_.kernel_constraint);
    f("bias_constraint", o_.bias_constraint);
    set_activity_regularizer(o_.activity_regularizer);
  }
  virtual void extra_fields(Fields& f) { f("groups", o_.groups); }

  std::size_t axes_;
  std::int64_t filters_;
  Sizes kernel_size_;
  ConvOptions o_;
  WeightRef kernel_, bias_;
};

void check_window(const PartialShape& shape, int axis, std::int64_t kernel, std::int64_t dilation,
                  const std::string& padding) {
  const std::int64_t size = shape[axis], reach = (kernel - 1) * dilation + 1;
  if (padding != "valid" || size < 0 || size >= reach) return;
  throw invalid_argument("the window of ", reach, " is larger than dimension ", axis, " of ", shape)
      .hint("Use padding \"same\", a smaller window, or less pooling before it.");
}

class Conv1DLayer final : public ConvBase {
 public:
  explicit Conv1DLayer(std::int64_t filters = 1, const Sizes& kernel_size = {}, const ConvOptions& o = {})
      : ConvBase("Conv1D", 1, filters, kernel_size, o) {}

 protected:
  void build(const Shapes& inputs) override {
    check_rank(inputs[0], 3, "sequences [batch, steps, features]");
    make_grouped_weights(inputs[0]);
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    Output x = as_float(inputs[0]);
    std::string padding = o_.padding;
    if (padding == "causal") {
      const int before = static_cast<int>((kernel_size_[0] - 1) * o_.dilation_rate[0]);
      x = pad(x, Tensor::from<int>({3, 2}, {0, 0, before, 0, 0, 0}));
      padding = "valid";
    }
    check_window(x.shape(), 1, kernel_size_[0], o_.dilation_rate[0], padding);
    // A sequence is an image of one row.
    const Output y = nn::conv2d(
        expand_dims(x, 1), expand_dims(Output(kernel_->variable()), 0),
        {.strides = {1, o_.strides[0]}, .padding = padding_name(padding), .dilations = {1, o_.dilation_rate[0]}});
    return {finished(squeeze(y, {1}))};
  }
};
CAUDAL_KERAS_LAYER(Conv1DLayer, "Conv1D");

class Conv2DLayer final : public ConvBase {
 public:
  explicit Conv2DLayer(std::int64_t filters = 1, const Sizes& kernel_size = {}, const ConvOptions& o = {})
      : ConvBase("Conv2D", 2, filters, kernel_size, o) {}

 protected:
  void build(const Shapes& inputs) override {
    check_rank(inputs[0], 4, kImages);
    make_grouped_weights(inputs[0]);
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    for (int i = 0; i < 2; ++i) check_window(x.shape(), i + 1, kernel_size_[i], o_.dilation_rate[i], o_.padding);
    return {finished(
        nn::conv2d(x, kernel_->variable(),
                   {.strides = o_.strides, .padding = padding_name(o_.padding), .dilations = o_.dilation_rate}))};
  }
};
CAUDAL_KERAS_LAYER(Conv2DLayer, "Conv2D");

class Conv3DLayer final : public ConvBase {
 public:
  explicit Conv3DLayer(std::int64_t filters = 1, const Sizes& kernel_size = {}, const ConvOptions& o = {})
      : ConvBase("Conv3D", 3, filters, kernel_size, o) {}

 protected:
  void build(const Shapes& inputs) override {
    check_rank(inputs[0], 5, "volumes [batch, planes, rows, columns, channels]");
    if (o_.groups != 1) throw unimplemented("Conv3D: groups");
    make_grouped_weights(inputs[0]);
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    const auto five = [](const Sizes& s) { return Sizes{1, s[0], s[1], s[2], 1}; };
    for (int i = 0; i < 3; ++i) check_window(x.shape(), i + 1, kernel_size_[i], o_.dilation_rate[i], o_.padding);
    Output y = nn::conv3d(
        x, kernel_->variable(),
        {.strides = five(o_.strides), .padding = padding_name(o_.padding), .dilations = five(o_.dilation_rate)});
    return {finished(y)};
  }
};
CAUDAL_KERAS_LAYER(Conv3DLayer, "Conv3D");

class Conv2DTransposeLayer final : public ConvBase {
 public:
  explicit Conv2DTransposeLayer(std::int64_t filters = 1, const Sizes& kernel_size = {}, const ConvOptions& o = {})
      : ConvBase("Conv2DTranspose", 2, filters, kernel_size, o) {}

 protected:
  void build(const Shapes& inputs) override {
    check_rank(inputs[0], 4, kImages);
    const std::int64_t channels = known_last(inputs[0], 4);
    make_weights(filters_, channels);
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    const std::string padding = padding_name(o_.padding);
    std::vector<Output> sizes = {dim_of(x, 0)};
    for (int i = 0; i < 2; ++i) {
      const std::int64_t stride = o_.strides[i];
      const std::int64_t reach = (kernel_size_[i] - 1) * o_.dilation_rate[i] + 1;
      // Keras: "same" is size * stride, "valid" adds what the window reaches over.
      const Output grown = dim_of(x, i + 1) * static_cast<int>(stride);
      sizes.push_back(padding == "SAME" ? grown : grown + static_cast<int>(std::max<std::int64_t>(reach - stride, 0)));
    }
    sizes.push_back(constant(Tensor(std::vector<int>{static_cast<int>(filters_)})));
    const Output y = nn::conv2d_transpose(x, kernel_->variable(), concat(sizes, 0),
                                          {.strides = o_.strides, .padding = padding, .dilations = o_.dilation_rate});
    std::vector<std::int64_t> dims = {x.shape()[0]};
    for (int i = 0; i < 2; ++i) {
      const std::int64_t reach = (kernel_size_[i] - 1) * o_.dilation_rate[i] + 1;
      const std::int64_t size = x.shape()[i + 1];
      dims.push_back(size < 0 ? -1
                              : size * o_.strides[i] +
                                    (padding == "SAME" ? 0 : std::max<std::int64_t>(reach - o_.strides[i], 0)));
    }
    dims.push_back(filters_);
    y.set_shape(PartialShape(dims));
    return {finished(y)};
  }
  void extra_fields(Fields& f) override {
    Config output_padding;
    if (f.reading()) f.ignored("groups");
    f.raw("output_padding", output_padding);
    if (!output_padding.is_null()) throw unimplemented("Conv2DTranspose: output_padding");
  }
};
CAUDAL_KERAS_LAYER(Conv2DTransposeLayer, "Conv2DTranspose");

class DepthwiseBase : public Layer {
 protected:
  DepthwiseBase(const char* class_name, const Sizes& kernel_size, const DepthwiseConvOptions& o)
      : Layer(class_name, o.name, o.trainable), o_(o) {
    kernel_size_ = spread("kernel_size", kernel_size.empty() ? Sizes{1} : kernel_size, 2);
    o_.strides = spread("strides", o.strides, 2);
    o_.dilation_rate = spread("dilation_rate", o.dilation_rate, 2);
    set_activity_regularizer(o.activity_regularizer);
  }

  // Returns the number of channels that come out.
  std::int64_t make_depthwise(const PartialShape& input, const char* name) {
    check_rank(input, 4, kImages);
    check_positive("depth_multiplier", o_.depth_multiplier);
    const std::int64_t channels = known_last(input, 4);
    kernel_ = add_weight({.name = name,
                          .shape = {kernel_size_[0], kernel_size_[1], channels, o_.depth_multiplier},
                          .initializer = o_.depthwise_initializer,
                          .regularizer = o_.depthwise_regularizer,
                          .constraint = o_.depthwise_constraint});
    return channels * o_.depth_multiplier;
  }

  void make_bias(std::int64_t size) {
    if (!o_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .shape = {size},
                        .initializer = o_.bias_initializer,
                        .regularizer = o_.bias_regularizer,
                        .constraint = o_.bias_constraint});
  }

  nn::DepthwiseConv2dOptions op_options() const {
    return {
        .strides = {1, o_.strides[0], o_.strides[1], 1}, .padding = padding_name(o_.padding), .rate = o_.dilation_rate};
  }

  Output finished(Output y) const {
    if (bias_) y = nn::bias_add(y, bias_->variable());
    return o_.activation(y);
  }

  void common_fields(Fields& f) {
    f.tuple("kernel_size", kernel_size_, 2);
    f.tuple("strides", o_.strides, 2);
    f("padding", o_.padding);
    channels_last_field(f);
    f.tuple("dilation_rate", o_.dilation_rate, 2);
    f("depth_multiplier", o_.depth_multiplier);
    f("activation", o_.activation);
    f("use_bias", o_.use_bias);
    f("depthwise_initializer", o_.depthwise_initializer);
    f("bias_initializer", o_.bias_initializer);
    f("depthwise_regularizer", o_.depthwise_regularizer);
    f("bias_regularizer", o_.bias_regularizer);
    f("activity_regularizer", o_.activity_regularizer);
    f("depthwise_constraint", o_.depthwise_constraint);
    f("bias_constraint", o_.bias_constraint);
    if (f.reading()) {
      // Keras 2 writes the base class's settings too.
      for (const char* key : {"groups", "kernel_initializer", "kernel_regularizer", "kernel_constraint"})
        f.ignored(key);
    }
    set_activity_regularizer(o_.activity_regularizer);
  }

  Sizes kernel_size_;
  DepthwiseConvOptions o_;
  WeightRef kernel_, bias_;
};

class DepthwiseConv2DLayer final : public DepthwiseBase {
 public:
  explicit DepthwiseConv2DLayer(const Sizes& kernel_size = {}, const DepthwiseConvOptions& o = {})
      : DepthwiseBase("DepthwiseConv2D", kernel_size, o) {}

 protected:
  void build(const Shapes& inputs) override { make_bias(make_depthwise(inputs[0], "kernel")); }
  Outputs call(const Outputs& inputs, CallContext&) override {
    return {finished(nn::depthwise_conv2d(as_float(inputs[0]), kernel_->variable(), op_options()))};
  }
  void fields(Fields& f) override {
    if (f.reading()) f.ignored("filters");
    common_fields(f);
  }
};
CAUDAL_KERAS_LAYER(DepthwiseConv2DLayer, "DepthwiseConv2D");

class SeparableConv2DLayer final : public DepthwiseBase {
 public:
  explicit SeparableConv2DLayer(std::int64_t filters = 1, const Sizes& kernel_size = {},
                                const DepthwiseConvOptions& o = {})
      : DepthwiseBase("SeparableConv2D", kernel_size, o), filters_(filters) {}

 protected:
  void build(const Shapes& inputs) override {
    check_positive("filters", filters_);
    const std::int64_t between = make_depthwise(inputs[0], "depthwise_kernel");
    pointwise_ = add_weight({.name = "pointwise_kernel",
                             .shape = {1, 1, between, filters_},
                             .initializer = o_.pointwise_initializer,
                             .regularizer = o_.pointwise_regularizer,
                             .constraint = o_.pointwise_constraint});
    make_bias(filters_);
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    return {
        finished(nn::separable_conv2d(as_float(inputs[0]), kernel_->variable(), pointwise_->variable(), op_options()))};
  }
  void fields(Fields& f) override {
    f("filters", filters_);
    common_fields(f);
    f("pointwise_initializer", o_.pointwise_initializer);
    f("pointwise_regularizer", o_.pointwise_regularizer);
    f("pointwise_constraint", o_.pointwise_constraint);
  }

 private:
  std::int64_t filters_;
  WeightRef pointwise_;
};
CAUDAL_KERAS_LAYER(SeparableConv2DLayer, "SeparableConv2D");

}  // namespace

namespace layers {
LayerRef Conv1D(std::int64_t filters, Sizes kernel_size, const ConvOptions& o) {
  return make_layer<Conv1DLayer>(filters, kernel_size, o);
}
LayerRef Conv2D(std::int64_t filters, Sizes kernel_size, const ConvOptions& o) {
  return make_layer<Conv2DLayer>(filters, kernel_size, o);
}
LayerRef Conv3D(std::int64_t filters, Sizes kernel_size, const ConvOptions& o) {
  return make_layer<Conv3DLayer>(filters, kernel_size, o);
}
LayerRef Conv2DTranspose(std::int64_t filters, Sizes kernel_size, const ConvOptions& o) {
  return make_layer<Conv2DTransposeLayer>(filters, kernel_size, o);
}
LayerRef DepthwiseConv2D(Sizes kernel_size, const DepthwiseConvOptions& o) {
  return make_layer<DepthwiseConv2DLayer>(kernel_size, o);
}
LayerRef SeparableConv2D(std::int64_t filters, Sizes kernel_size, const DepthwiseConvOptions& o) {
  return make_layer<SeparableConv2DLayer>(filters, kernel_size, o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
