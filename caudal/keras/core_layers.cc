// Dense, Activation, Embedding, Masking, Lambda.
#include "caudal/base/error.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::DenseOptions;
using layers::EmbeddingOptions;
using layers::LayerOptions;

class DenseLayer final : public Layer {
 public:
  explicit DenseLayer(std::int64_t units = 0, const DenseOptions& o = {})
      : Layer("Dense", o.name, o.trainable), units_(units), o_(o) {
    set_supports_masking();
    set_activity_regularizer(o.activity_regularizer);
  }

 protected:
  void build(const Shapes& inputs) override {
    check_positive("units", units_);
    const std::int64_t width = known_last(inputs[0], 2);
    kernel_ = add_weight({.name = "kernel",
                          .shape = {width, units_},
                          .initializer = o_.kernel_initializer,
                          .regularizer = o_.kernel_regularizer,
                          .constraint = o_.kernel_constraint});
    if (!o_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .shape = {units_},
                        .initializer = o_.bias_initializer,
                        .regularizer = o_.bias_regularizer,
                        .constraint = o_.bias_constraint});
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output x = as_float(inputs[0]);
    if (const std::int64_t width = x.shape()[-1]; width >= 0 && width != kernel_->shape()[0]) {
      throw invalid_argument("the last size is ", width, ", the kernel takes ", kernel_->shape()[0])
          .hint("A shared layer needs inputs of one width.");
    }
    Output y = last_axis_product(x, kernel_->variable());
    if (bias_) y = nn::bias_add(y, bias_->variable());
    return {o_.activation(y)};
  }
  void fields(Fields& f) override {
    f("units", units_);
    f("activation", o_.activation);
    f("use_bias", o_.use_bias);
    f("kernel_initializer", o_.kernel_initializer);
    f("bias_initializer", o_.bias_initializer);
    f("kernel_regularizer", o_.kernel_regularizer);
    f("bias_regularizer", o_.bias_regularizer);
    f("kernel_constraint", o_.kernel_constraint);
    f("bias_constraint", o_.bias_constraint);
    optional_field(f, "activity_regularizer", o_.activity_regularizer);
    f.ignored("quantization_config");
    set_activity_regularizer(o_.activity_regularizer);
  }

 private:
  std::int64_t units_;
  DenseOptions o_;
  WeightRef kernel_, bias_;
};
CAUDAL_KERAS_LAYER(DenseLayer, "Dense");

class ActivationLayer final : public Layer {
 public:
  explicit ActivationLayer(keras::Activation activation = {}, const LayerOptions& o = {})
      : Layer("Activation", o.name, o.trainable), activation_(std::move(activation)) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override { return {activation_(inputs[0])}; }
  void fields(Fields& f) override { f("activation", activation_); }

 private:
  keras::Activation activation_;
};
CAUDAL_KERAS_LAYER(ActivationLayer, "Activation");

class EmbeddingLayer final : public Layer {
 public:
  explicit EmbeddingLayer(std::int64_t input_dim = 0, std::int64_t output_dim = 0, const EmbeddingOptions& o = {})
      : Layer("Embedding", o.name, o.trainable), input_dim_(input_dim), output_dim_(output_dim), o_(o) {}

 protected:
  void build(const Shapes&) override {
    check_positive("input_dim", input_dim_);
    check_positive("output_dim", output_dim_);
    table_ = add_weight({.name = "embeddings",
                         .shape = {input_dim_, output_dim_},
                         .initializer = o_.embeddings_initializer,
                         .regularizer = o_.embeddings_regularizer,
                         .constraint = o_.embeddings_constraint});
  }
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output ids = is_integer(inputs[0].dtype()) ? inputs[0] : cast(inputs[0], int32);
    return {gather(table_->variable(), ids)};
  }
  Outputs compute_mask(const Outputs& inputs, const Outputs&, const Outputs&) override {
    if (!o_.mask_zero) return {};
    return {not_equal(inputs[0], 0)};
  }
  void fields(Fields& f) override {
    f("input_dim", input_dim_);
    f("output_dim", output_dim_);
    f("embeddings_initializer", o_.embeddings_initializer);
    f("embeddings_regularizer", o_.embeddings_regularizer);
    Regularizer none;
    f("activity_regularizer", none);
    f("embeddings_constraint", o_.embeddings_constraint);
    f("mask_zero", o_.mask_zero);
    if (f.reading()) {
      for (const char* key : {"input_length", "weights", "quantization_config", "lora_rank", "lora_alpha", "sparse"}) {
        f.ignored(key);
      }
    }
  }

 private:
  std::int64_t input_dim_, output_dim_;
  EmbeddingOptions o_;
  WeightRef table_;
};
CAUDAL_KERAS_LAYER(EmbeddingLayer, "Embedding");

class MaskingLayer final : public Layer {
 public:
  explicit MaskingLayer(double value = 0, const LayerOptions& o = {})
      : Layer("Masking", o.name, o.trainable), value_(value) {}

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override {
    const Output used = reduce_any(not_equal(inputs[0], value_), {.axis = -1, .keepdims = true});
    return {inputs[0] * cast(used, inputs[0].dtype())};
  }
  Outputs compute_mask(const Outputs& inputs, const Outputs&, const Outputs&) override {
    return {reduce_any(not_equal(inputs[0], value_), {.axis = -1})};
  }
  void fields(Fields& f) override { f("mask_value", value_); }

 private:
  double value_;
};
CAUDAL_KERAS_LAYER(MaskingLayer, "Masking");

class LambdaLayer final : public Layer {
 public:
  LambdaLayer(std::function<Output(const Output&)> function, const LayerOptions& o)
      : Layer("Lambda", o.name, o.trainable), function_(std::move(function)) {
    set_supports_masking();
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override { return {function_(inputs[0])}; }
  void fields(Fields&) override {
    throw unimplemented("a Lambda layer is a function of the program and cannot be written to a file")
        .hint("Write a layer class for it.");
  }

 private:
  std::function<Output(const Output&)> function_;
};

}  // namespace

namespace layers {

LayerRef Dense(std::int64_t units, const DenseOptions& o) { return make_layer<DenseLayer>(units, o); }
LayerRef Activation(const keras::Activation& activation, const LayerOptions& o) {
  return make_layer<ActivationLayer>(activation, o);
}
LayerRef Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& o) {
  return make_layer<EmbeddingLayer>(input_dim, output_dim, o);
}
LayerRef Masking(double mask_value, const LayerOptions& o) { return make_layer<MaskingLayer>(mask_value, o); }
LayerRef Lambda(std::function<Output(const Output&)> function, const LayerOptions& o) {
  return make_layer<LambdaLayer>(std::move(function), o);
}

}  // namespace layers

}  // namespace caudal::inline v0::keras
