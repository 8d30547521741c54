#include "caudal/nn/layers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"

namespace caudal::layers {
namespace {

using Values = std::vector<float>;

class LayersTest : public ::testing::Test {
 protected:
  std::vector<std::string> variable_names() {
    std::vector<std::string> names;
    for (const Variable& variable : global_variables()) names.push_back(variable.op_name());
    return names;
  }
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

  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(LayersTest, DenseIsAnAffineMapWithActivation) {
  const Output x = constant(Tensor::from<float>({2, 2}, {1, 2, -1, 0}));
  const Output y = dense(x, 3,
                         {.activation = nn::relu,
                          .kernel_initializer = constant_initializer(Tensor::from<float>({2, 3}, {1, 0, 2, 1, 1, -1})),
                          .bias_initializer = constant_initializer(Tensor(Values{0.5F, 0, 0})),
                          .name = "d"});
  EXPECT_EQ(run(y).to_vector<float>(), (Values{3.5F, 2, 0, 0, 0, 0}));
  EXPECT_EQ(variable_names(), (std::vector<std::string>{"d/kernel", "d/bias"}));
  EXPECT_EQ(y.node()->name(), "d/Relu");
}

TEST_F(LayersTest, DenseKeepsLeadingDimensions) {
  const Output x = placeholder(float32, {-1, 3, 2});
  const Output y = dense(x, 4, {.kernel_initializer = ones_initializer()});
  EXPECT_EQ(y.shape(), PartialShape({-1, 3, 4}));
  const Tensor value = run(y, {{x, Tensor::from<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(value.shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(value.to_vector<float>(), (Values{3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11}));
}

TEST_F(LayersTest, UnnamedLayersAreNumbered) {
  const Output x = placeholder(float32, {-1, 2});
  dense(dense(x, 2), 2);
  EXPECT_EQ(variable_names(),
            (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}));
}

TEST_F(LayersTest, ReuseSharesTheVariables) {
  const Output x = placeholder(float32, {-1, 2});
  dense(x, 2, {.name = "shared"});
  dense(x, 2, {.name = "shared", .reuse = true});
  EXPECT_EQ(variable_names().size(), 2U);
}

TEST_F(LayersTest, ConvolutionAndPooling) {
  const Output x = constant(Tensor::from<float>({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Output y = conv2d(x, 1, {2, 2}, {.kernel_initializer = ones_initializer(), .name = "c"});
  EXPECT_EQ(run(y).to_vector<float>(), (Values{12, 16, 24, 28}));
  EXPECT_EQ(conv2d(x, 5, {3, 3}, {.padding = "same"}).shape(), PartialShape({1, 3, 3, 5}));
  EXPECT_EQ(run(max_pooling2d(y, {2, 2}, {2, 2})).to_vector<float>(), (Values{28}));
  EXPECT_EQ(run(average_pooling2d(y, {2, 2}, {2, 2})).to_vector<float>(), (Values{20}));
}

TEST_F(LayersTest, FlattenKeepsTheBatch) {
  const Output x = placeholder(float32, {-1, 2, 3, 4});
  EXPECT_EQ(flatten(x).shape(), PartialShape({-1, 24}));
}

TEST_F(LayersTest, DropoutIsTheIdentityUnlessTraining) {
  const Output training = placeholder_with_default(false, PartialShape::scalar());
  const Tensor ones = Tensor::from<float>({1000}, Values(1000, 1.0F));
  const Output y = dropout(constant(ones), {.rate = 0.4, .seed = 1, .training = training});
  EXPECT_TRUE(identical(run(y), ones));
  const auto dropped = run(y, {{training, Tensor(true)}}).to_vector<float>();
  const auto zeros = std::ranges::count(dropped, 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros), 400, 80);
  for (const float value : dropped) EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.6F) < 1e-6F) << value;
}

TEST_F(LayersTest, RegularizersAddToTheCollection) {
  const Output x = placeholder(float32, {-1, 2});
  const auto kernel = constant_initializer(Tensor::from<float>({2, 1}, {3, -4}));
  dense(x, 1, {.kernel_initializer = kernel, .kernel_regularizer = l1_l2_regularizer(0.1, 0.01)});
  dense(x, 1, {.kernel_initializer = kernel, .kernel_regularizer = l1_regularizer(0)});
  const auto losses = graph_.collection(graph_keys::kRegularizationLosses);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_NEAR(run(losses[0].output).item<float>(), 0.1 * 7 + 0.01 * 12.5, 1e-6);
  EXPECT_THROW(l2_regularizer(-1), Error);
}

TEST_F(LayersTest, ErrorsNameTheLayerAndItsShapes) {
  const Output unknown = placeholder(float32, {-1, -1}, {.name = "X"});
  const std::string dense_message = message_of([&] { dense(unknown, 3, {.name = "hidden1"}); });
  EXPECT_NE(dense_message.find("INVALID_ARGUMENT: dense 'hidden1'"), std::string::npos) << dense_message;
  EXPECT_NE(dense_message.find("float32[?,?] 'X:0'"), std::string::npos) << dense_message;
  EXPECT_NE(dense_message.find("layers_test.cc:"), std::string::npos) << dense_message;
  const std::string conv_message = message_of([&] { conv2d(unknown, 3, {3, 3}, {.name = "c"}); });
  EXPECT_NE(conv_message.find("conv2d 'c'"), std::string::npos) << conv_message;
  const Output image = placeholder(float32, {-1, 8, 8, 1});
  EXPECT_NE(message_of([&] {
              conv2d(image, 3, {3, 3}, {.padding = "full"});
            }).find("\"same\" or \"valid\""),
            std::string::npos);
}

}  // namespace
}  // namespace caudal::layers
