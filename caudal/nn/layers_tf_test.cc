// Layers against TensorFlow 2.21: the recorded cases of testdata/nn.
#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/nn/layers.h"
#include "caudal/nn/layers_conv.h"
#include "caudal/nn/layers_more.h"
#include "caudal/nn/layers_norm.h"
#include "caudal/nn/layers_pool.h"
#include "caudal/nn/losses.h"
#include "caudal/nn/nn_case.h"
#include "caudal/nn/normalization.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/softmax.h"
#include "tests/harness/compare.h"

namespace caudal::layers {
namespace {

Regularizer tenth_of_absolute_sum() {
  return [](const Output& w) { return reduce_sum(abs(w)) * 0.1; };
}

TEST(LayersAsTensorFlow, Dense) {
  {
    const NnCase c("dense");
    EXPECT_EQ(c.check({dense(c.input("x"), 5, {.activation = nn::elu, .name = "d"})}), "");
  }
  {
    const NnCase c("dense_3d");
    EXPECT_EQ(c.check({dense(c.input("x"), 5, {.activation = nn::tanh})}), "");
  }
  const NnCase c("dense_penalties");
  dense(c.input("x"), 5,
        {.kernel_regularizer = tenth_of_absolute_sum(),
         .bias_regularizer = tenth_of_absolute_sum(),
         .activity_regularizer = tenth_of_absolute_sum()});
  EXPECT_EQ(c.check(losses::get_regularization_losses()), "");
}

class PaddedLayers : public ::testing::TestWithParam<const char*> {
 protected:
  std::string padding_ = GetParam();
};

TEST_P(PaddedLayers, Convolutions) {
  {
    const NnCase c("conv1d_" + padding_);
    EXPECT_EQ(c.check({conv1d(c.input("x"), 4, 3, {.strides = 2, .padding = padding_})}), "");
  }
  {
    const NnCase c("conv1d_dilated_" + padding_);
    EXPECT_EQ(c.check({conv1d(c.input("x"), 4, 3, {.padding = padding_, .dilation_rate = 2})}), "");
  }
  {
    const NnCase c("conv2d_" + padding_);
    EXPECT_EQ(c.check({conv2d(c.input("x"), 4, {3, 2}, {.strides = {2, 1}, .padding = padding_})}), "");
  }
  const NnCase c("conv2d_dilated_" + padding_);
  EXPECT_EQ(c.check({conv2d(c.input("x"), 3, {3, 3}, {.padding = padding_, .dilation_rate = {2, 2}})}), "");
}

TEST_P(PaddedLayers, ConvolutionsOfThreeDimensions) {
  {
    const NnCase c("conv3d_" + padding_);
    EXPECT_EQ(c.check({conv3d(c.input("x"), 3, {2, 3, 2}, {.strides = {1, 2, 1}, .padding = padding_})}), "");
  }
  const NnCase c("conv3d_transpose_" + padding_);
  EXPECT_EQ(c.check({conv3d_transpose(c.input("x"), 2, {3, 2, 2}, {.strides = {2, 1, 3}, .padding = padding_})}), "");
}

TEST_P(PaddedLayers, TransposedConvolution) {
  const NnCase c("conv2d_transpose_" + padding_);
  const Output y = conv2d_transpose(c.input("x"), 2, {3, 2}, {.strides = {2, 3}, .padding = padding_});
  EXPECT_TRUE(y.shape().is_fully_known());
  EXPECT_EQ(c.check({y}), "");
}

TEST_P(PaddedLayers, SeparableConvolutions) {
  {
    const NnCase c("depthwise_conv2d_" + padding_);
    EXPECT_EQ(c.check({depthwise_conv2d(c.input("x"), {3, 2},
                                        {.strides = {2, 2}, .padding = padding_, .depth_multiplier = 2})}),
              "");
  }
  {
    const NnCase c("separable_conv2d_" + padding_);
    EXPECT_EQ(c.check({separable_conv2d(c.input("x"), 4, {3, 2},
                                        {.strides = {2, 2}, .padding = padding_, .depth_multiplier = 2})},
                      {.tolerance = 2e-6}),
              "");
  }
  const NnCase c("separable_conv1d_" + padding_);
  EXPECT_EQ(c.check({separable_conv1d(c.input("x"), 4, 3, {.strides = 2, .padding = padding_, .depth_multiplier = 2})}),
            "");
}

TEST_P(PaddedLayers, Pooling) {
  const NnCase c("pooling_" + padding_);
  const Output x1 = c.input("x1"), x2 = c.input("x2");
  const PoolingOptions options{.padding = padding_};
  const Pooling2DOptions options2{.padding = padding_};
  EXPECT_EQ(c.check({max_pooling1d(x1, 3, 2, options), average_pooling1d(x1, 3, 2, options),
                     max_pooling2d(x2, {3, 2}, {2, 1}, options2), average_pooling2d(x2, {3, 2}, {2, 1}, options2)}),
            "");
}

TEST_P(PaddedLayers, PoolingOfThreeDimensions) {
  const NnCase c("pooling3d_" + padding_);
  const Output x3 = c.input("x3");
  const PoolingOptions options{.padding = padding_};
  EXPECT_EQ(
      c.check({max_pooling3d(x3, {2, 2, 2}, {2, 1, 2}, options), average_pooling3d(x3, {2, 2, 2}, {2, 1, 2}, options)}),
      "");
}

INSTANTIATE_TEST_SUITE_P(LayersAsTensorFlow, PaddedLayers, ::testing::Values("valid", "same"));

TEST(LayersAsTensorFlow, BatchNormalization) {
  for (const bool fused : {false, true}) {
    for (const std::string training : {"False", "True", "tensor"}) {
      const NnCase c(std::string("batch_norm_") + (fused ? "fused_" : "plain_") + training);
      BatchNormalizationOptions options{
          .momentum = 0.9, .epsilon = 0.01, .training = training == "True", .fused = fused};
      if (training == "tensor") options.training = placeholder_with_default(true, PartialShape::scalar());
      const Output x = c.input("x");
      const Output y = batch_normalization(x, options);
      std::vector<Output> xs = {x};
      for (const Variable& variable : trainable_variables()) xs.push_back(variable.handle());
      std::vector<Output> outputs = {y};
      for (const Gradient& g : gradients({reduce_sum(y * c.input("w"))}, xs)) outputs.push_back(g.dense());
      EXPECT_EQ(c.check(outputs, {.then = update_ops(), .steps = 2, .tolerance = 4e-6}), "");
    }
  }
}

TEST(LayersAsTensorFlow, ConditionsOfTheSecondForm) {
  enable_control_flow_v2();
  const NnCase c("batch_norm_plain_tensor");
  const Output training = placeholder_with_default(true, PartialShape::scalar());
  const Output x = c.input("x");
  const Output y = batch_normalization(x, {.momentum = 0.9, .epsilon = 0.01, .training = training, .fused = false});
  const Output mask = dropout(ones({6, 5}), {.rate = 0.4, .seed = 7, .training = training});
  disable_control_flow_v2();
  Session session;
  for (const Variable& variable : global_variables()) {
    session.run(variable.initializer(), {{variable.initial_value(), c.value("var:" + variable.op_name())}});
  }
  for (int step = 0; step < 2; ++step) {
    for (const Operation& update : update_ops()) session.run(update);
  }
  EXPECT_EQ(harness::difference(c.value("out"), session.run(y), 2e-6), "");
  for (const Variable& variable : global_variables()) {
    EXPECT_EQ(harness::difference(c.value("after:" + variable.op_name()), session.run(variable), 2e-6), "");
  }
  const NnCase d("dropout");
  EXPECT_EQ(harness::difference(d.value("out"), session.run(mask), 1e-6), "");
}

TEST(LayersAsTensorFlow, BatchNormalizationForms) {
  {
    const NnCase c("batch_norm_default_image");
    const Output y = batch_normalization(c.input("x"), {.training = true});
    EXPECT_EQ(c.check({y}, {.then = update_ops()}), "");
  }
  {
    const NnCase c("batch_norm_axis1");
    const Output y = batch_normalization(c.input("x"), {.axis = 1, .center = false, .training = true});
    EXPECT_EQ(c.check({y}, {.then = update_ops()}), "");
  }
  const NnCase c("batch_norm_no_scale");
  EXPECT_EQ(c.check({batch_normalization(c.input("x"), {.scale = false})}), "");
  EXPECT_TRUE(update_ops().empty());
}

TEST(LayersAsTensorFlow, BatchRenormalization) {
  for (const bool training : {true, false}) {
    const NnCase c(training ? "batch_norm_renorm_True" : "batch_norm_renorm_tensor_off");
    BatchNormalizationOptions options{.momentum = 0.8,
                                      .training = true,
                                      .renorm = true,
                                      .renorm_clipping = {.rmax = 1.2, .rmin = 0.9, .dmax = 0.4},
                                      .renorm_momentum = 0.7};
    if (!training) options.training = placeholder_with_default(false, PartialShape::scalar());
    const Output y = batch_normalization(c.input("x"), options);
    EXPECT_EQ(c.check({y}, {.then = {group(update_ops())}}), "");
  }
}

TEST(LayersAsTensorFlow, LayerNorm) {
  {
    const NnCase c("layer_norm");
    EXPECT_EQ(c.check({layer_norm(c.input("x"))}), "");
  }
  const NnCase c("layer_norm_axes");
  EXPECT_EQ(c.check({layer_norm(c.input("x"), {.activation = nn::relu, .begin_norm_axis = 2, .begin_params_axis = 1})}),
            "");
}

TEST(LayersAsTensorFlow, MaxoutAndPrelu) {
  {
    const NnCase c("maxout");
    EXPECT_EQ(c.check({maxout(c.input("x"), 2)}), "");
  }
  const NnCase c("prelu");
  EXPECT_EQ(c.check({prelu(c.input("x"), {.shared_axes = {1}})}), "");
}

TEST(LayersAsTensorFlow, EmbeddingOfPartitions) {
  for (const auto strategy : {nn::PartitionStrategy::kMod, nn::PartitionStrategy::kDiv}) {
    const NnCase c(strategy == nn::PartitionStrategy::kMod ? "embedding_mod" : "embedding_div");
    const std::vector<Output> parts = {c.input("p0"), c.input("p1"), c.input("p2")};
    EXPECT_EQ(c.check({nn::embedding_lookup(parts, c.input("ids"), {.partition_strategy = strategy, .max_norm = 1.0F}),
                       nn::embedding_lookup(parts, c.input("ids"), {.partition_strategy = strategy})}),
              "");
  }
}

TEST(LayersAsTensorFlow, DropoutMasks) {
  const NnCase c("dropout");
  const Output x = ones({6, 5});
  const Output training = placeholder_with_default(true, PartialShape::scalar());
  std::vector<Output> y = {dropout(x, {.rate = 0.4, .seed = 7, .training = training}),
                           dropout(x, {.rate = 0.3, .noise_shape = Operand({6, 1}), .seed = 8, .training = true}),
                           nn::dropout(x, {.keep_prob = 0.75, .seed = 9}),
                           nn::dropout(x, {.noise_shape = Operand({1, 5}), .seed = 9, .rate = 0.25}),
                           dropout(x, {.rate = 0.4})};
  y.insert(y.end(), y.begin(), y.begin() + 5);  // the second masks
  EXPECT_EQ(c.check(y), "");
}

TEST(LayersAsTensorFlow, Dropconnect) {
  const NnCase c("dropconnect");
  const VariableScope top(get_variable_scope());
  const Variable kernel = get_variable("kernel", {.shape = {4, 3}});
  EXPECT_EQ(c.check({matmul(c.input("x"), nn::dropout(kernel, {.seed = 3, .rate = 0.5}))}), "");
}

TEST(LayersAsTensorFlow, Moments) {
  const NnCase c("moments");
  const Output x = c.input("x");
  const auto plain = nn::moments(x, {0, 1});
  const auto kept = nn::moments(x, {1}, {.keep_dims = true});
  const auto weighted = nn::weighted_moments(x, {0, 1}, c.input("w"));
  const auto ss = nn::sufficient_statistics(x, {0, 1}, {.shift = 0.5});
  const auto normal = nn::normalize_moments(ss.counts, ss.mean_ss, ss.variance_ss, ss.shift);
  const Output loss = reduce_sum(nn::moments(x, {0, 1}).variance * std::vector<float>{1, 2});
  EXPECT_EQ(c.check({plain.mean, plain.variance, kept.mean, kept.variance, weighted.mean, weighted.variance, ss.counts,
                     ss.mean_ss, ss.variance_ss, normal.mean, normal.variance, nn::l2_normalize(x, {1}),
                     nn::zero_fraction(nn::relu(x)), gradients({loss}, {x})[0].dense()},
                    {.tolerance = 2e-6}),
            "");
}

TEST(LayersAsTensorFlow, LowLevelBatchNormalization) {
  const NnCase c("low_level_batch_norm");
  const Output x = c.input("x");
  const auto m = nn::moments(x, {0});
  EXPECT_EQ(c.check({nn::batch_normalization(
                         x, m.mean, m.variance,
                         {.offset = c.input("beta"), .scale = c.input("gamma"), .variance_epsilon = 0.01F}),
                     nn::batch_normalization(x, m.mean, m.variance, {.variance_epsilon = 0.01F})},
                    {.tolerance = 2e-6}),
            "");
}

TEST(LayersAsTensorFlow, MaxNormClips) {
  for (const int axis : {1, 0}) {
    const NnCase c("max_norm");
    const Variable w = get_variable("w", {.shape = {3, 4}, .regularizer = max_norm_regularizer(1.0, {.axes = {axis}})});
    EXPECT_TRUE(losses::get_regularization_losses().empty());
    ASSERT_EQ(max_norm_updates().size(), 1U);
    EXPECT_EQ(max_norm_updates()[0].node()->name(), "w/Regularizer/max_norm");
    const std::string wanted = axis == 1 ? "out" : "out1";
    Session session;
    session.run(w.initializer(), {{w.initial_value(), c.value("var:w")}});
    session.run(Operation(max_norm_updates()[0]));
    const auto expected = c.value(wanted).to_vector<float>(), got = session.run(w).to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  }
}

TEST(LayersAsTensorFlow, Activations) {
  const NnCase c("activations");
  const Output x = c.input("x");
  EXPECT_EQ(c.check({nn::sigmoid(x), nn::tanh(x), nn::relu(x), nn::relu6(x), nn::leaky_relu(x), nn::elu(x), nn::selu(x),
                     nn::softplus(x), nn::softsign(x), nn::swish(x), nn::silu(x, {.beta = 1.5F}), nn::gelu(x),
                     nn::gelu(x, {.approximate = true}), nn::softmax(x), nn::log_softmax(x), nn::crelu(x),
                     nn::hard_sigmoid(x), nn::hard_tanh(x), nn::hard_swish(x)}),
            "");
}

}  // namespace
}  // namespace caudal::layers
