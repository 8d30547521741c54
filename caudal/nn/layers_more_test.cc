#include "caudal/nn/layers_more.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/nn/embedding_sparse.h"
#include "caudal/nn/layers_conv.h"
#include "caudal/nn/layers_norm.h"
#include "caudal/nn/layers_pool.h"
#include "caudal/nn/nn_case.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/reduction.h"
#include "caudal/train/descent_optimizers.h"

namespace caudal::layers {
namespace {

using Values = std::vector<float>;

class LayersMoreTest : public ::testing::Test {
 protected:
  Tensor run(const Output& output, const Feeds& feeds = {}) {
    session_.run(global_variables_initializer());
    return session_.run(output, feeds);
  }
  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static void expect_in(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(LayersMoreTest, DropconnectDropsWeights) {
  const Output training = placeholder_with_default(false, PartialShape::scalar());
  const Output x = constant(Tensor::from<float>({1, 100}, Values(100, 1.0F)));
  const Output y =
      dropconnect(x, 50, {.rate = 0.25, .seed = 1, .training = training, .kernel_initializer = ones_initializer()});
  for (const float value : run(y).to_vector<float>()) EXPECT_FLOAT_EQ(value, 100);
  const auto dropped = run(y, {{training, Tensor(true)}}).to_vector<float>();
  EXPECT_NEAR(std::accumulate(dropped.begin(), dropped.end(), 0.0) / 50, 100, 4);
  EXPECT_GT(*std::ranges::max_element(dropped), 100);
  expect_in(message_of([&] { dropconnect(x, 3, {.rate = 1, .name = "d"}); }), "dropconnect 'd'");
}

TEST_F(LayersMoreTest, EmbeddingTrainsOnlyItsRows) {
  const Output ids = constant(Tensor(std::vector<std::int64_t>{1, 3, 1}));
  const Output rows = embedding(ids, 5, 2, {.initializer = ones_initializer(), .name = "words"});
  EXPECT_EQ(rows.shape(), PartialShape({3, 2}));
  const Variable table = trainable_variables()[0];
  EXPECT_EQ(table.op_name(), "words/embeddings");
  EXPECT_TRUE(gradients({reduce_sum(rows)}, {table.handle()})[0].is_sparse());
  const Operation step = train::GradientDescentOptimizer({.learning_rate = 0.25F}).minimize(reduce_sum(rows));
  session_.run(global_variables_initializer());
  session_.run(step);
  EXPECT_EQ(session_.run(table).to_vector<float>(), (Values{1, 1, 0.5F, 0.5F, 1, 1, 0.75F, 0.75F, 1, 1}));
  expect_in(message_of([&] { embedding(placeholder(float32, {2}, {.name = "f"}), 5, 2); }), "float32[2] 'f:0'");
}

TEST_F(LayersMoreTest, ResidualAddsWhatItSkips) {
  const Output x = constant(Tensor::from<float>({1, 2}, {1, -2}));
  const Output same = residual(x, [](const Output& in) { return in; }, {.activation = nn::relu});
  EXPECT_EQ(run(same).to_vector<float>(), (Values{2, 0}));
  EXPECT_TRUE(global_variables().empty());
  const Output wider =
      residual(x, [](const Output& in) { return dense(in, 3, {.kernel_initializer = zeros_initializer()}); },
               {.kernel_initializer = ones_initializer(), .name = "block"});
  EXPECT_EQ(run(wider).to_vector<float>(), (Values{-1, -1, -1}));
  EXPECT_EQ(global_variables().back().op_name(), "block/shortcut/kernel");
  const Output image = placeholder(float32, {-1, 7, 8, 2});
  const Output smaller = residual(image, [](const Output& in) {
    return conv2d(in, 4, {3, 3}, {.strides = {2, 2}, .padding = "same"});
  });
  EXPECT_EQ(smaller.shape(), PartialShape({-1, 4, 4, 4}));
  expect_in(message_of([&] { residual(x, [](const Output& in) { return reduce_sum(in); }, {.name = "bad"}); }),
            "residual 'bad'");
}

TEST_F(LayersMoreTest, RandomisedSlopes) {
  const Output x = constant(Tensor::from<float>({1000}, Values(1000, -1.0F)));
  const Output training = placeholder_with_default(false, PartialShape::scalar());
  const Output y = nn::rrelu(x, {.lower = 0.2F, .upper = 0.4F, .training = training, .seed = 3});
  for (const float value : run(y).to_vector<float>()) EXPECT_FLOAT_EQ(value, -0.3F);
  const auto drawn = run(y, {{training, Tensor(true)}}).to_vector<float>();
  const auto [least, greatest] = std::ranges::minmax(drawn);
  EXPECT_GE(least, -0.4F);
  EXPECT_LE(greatest, -0.2F);
  EXPECT_GT(greatest - least, 0.19F);
  EXPECT_EQ(run(nn::rrelu(constant(2.0F))).item<float>(), 2);
}

TEST_F(LayersMoreTest, ErrorsNameTheLayer) {
  const Output x = placeholder(float32, {-1, 6}, {.name = "X"});
  expect_in(message_of([&] { maxout(x, 4, {.name = "m"}); }), "6 channels cannot be made 4 groups");
  expect_in(message_of([&] { conv1d(x, 3, 3, {.name = "c1"}); }), "conv1d 'c1': inputs are float32[?,6] 'X:0'");
  expect_in(message_of([&] { conv3d(x, 3, {1, 1, 1}, {.name = "c3"}); }), "[batch, depth, height, width, channels]");
  const Output image = placeholder(float32, {-1, 8, 8, 3});
  expect_in(message_of([&] { conv2d_transpose(image, 3, {2, 2}, {.data_format = "NHWC"}); }), "\"channels_last\"");
  expect_in(message_of([&] { separable_conv2d(image, 3, {2, 2}, {.strides = {1, 2}}); }), "strides are 1 and 2");
  expect_in(message_of([&] { max_pooling1d(image, 2, 2, {.name = "p"}); }), "max_pooling1d 'p'");
  expect_in(message_of([&] { batch_normalization(x, {.axis = 2, .name = "bn"}); }), "there is no axis 2");
  expect_in(message_of([&] { batch_normalization(x, {.name = "bn", .fused = true}); }), "float32[?,6] 'X:0'");
  expect_in(message_of([&] { prelu(placeholder(float32, {-1, -1, 2})); }), "shared_axes");
  expect_in(message_of([&] { layer_norm(placeholder(float32, {-1, -1})); }), "beta and gamma");
}

TEST_F(LayersMoreTest, UnknownSizesAreTakenWhenItRuns) {
  const Output image = placeholder(float32, {-1, -1, -1, 3});
  const Output y = conv2d_transpose(image, 2, {3, 3}, {.strides = {2, 2}, .padding = "same"});
  EXPECT_EQ(y.shape(), PartialShape({-1, -1, -1, 2}));
  EXPECT_EQ(run(y, {{image, Tensor::zeros(float32, {2, 3, 4, 3})}}).shape(), (Shape{2, 6, 8, 2}));
  EXPECT_EQ(run(maxout(image, 1), {{image, Tensor::zeros(float32, {2, 3, 4, 3})}}).shape(), (Shape{2, 3, 4, 1}));
}

TEST(EmbeddingSparse, IsTensorFlows) {
  for (const std::string combiner : {"mean", "sum", "sqrtn"}) {
    const NnCase c("embedding_sparse." + combiner);
    const std::vector<Output> params = {c.input("p0"), c.input("p1")};
    const SparseTensor ids{c.input("indices"), c.input("ids"), c.input("shape")};
    const SparseTensor weights{ids.indices, c.input("weights"), ids.dense_shape};
    EXPECT_EQ(c.check({nn::embedding_lookup_sparse(params, ids, {}, {.combiner = combiner}),
                       nn::embedding_lookup_sparse(params, ids, weights, {.combiner = combiner, .max_norm = 1.0F})}),
              "");
    EXPECT_THROW(nn::embedding_lookup_sparse(params, ids, {}, {.combiner = "max"}), Error);
  }
}

}  // namespace
}  // namespace caudal::layers
