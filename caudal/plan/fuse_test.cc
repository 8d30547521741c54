#include "caudal/plan/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/variable.h"
#include "caudal/plan/program.h"
#include "caudal/runtime/cpu_device.h"
#include "caudal/runtime/session.h"
#include "caudal/train/optimizer.h"
#include "tests/harness/random_tensor.h"

namespace caudal {
namespace {

using Names = std::vector<std::string>;

class FuseTest : public ::testing::Test {
 protected:
  static Tensor random(const Shape& shape) { return harness::random_tensor(float32, shape, 7); }

  // The kinds of the kernels that a specialised program runs, without reads and updates of variables.
  Names kinds(const std::vector<Output>& fetches, const std::vector<Output>& feeds, const std::vector<Shape>& shapes) {
    Names all;
    const auto program = compile({.feeds = feeds, .fetches = fetches}, {}, *device_, nullptr, shapes);
    for (const Step& step : program->steps) {
      if (step.kind == StepKind::kKernel) all.push_back(step.info->type());
    }
    return all;
  }
  static bool has(const Names& names, const std::string& name) { return std::ranges::count(names, name) > 0; }

  // The same values with and without fusion, over some runs (the first ones run node by node).
  void expect_same(const std::vector<Output>& fetches, const Feeds& feeds, const Operation& init) {
    Session plain(graph_, {.plan = {.fuse = false}}), fused(graph_);
    if (init) plain.run(init), fused.run(init);
    for (int run = 0; run < 4; ++run) {
      const auto want = plain.run(Fetches(fetches.begin(), fetches.end()), feeds);
      const auto have = fused.run(Fetches(fetches.begin(), fetches.end()), feeds);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(want[i].shape(), have[i].shape());
        for (std::int64_t e = 0; e < want[i].num_elements(); ++e) {
          const float a = want[i].data<float>()[e], b = have[i].data<float>()[e];
          ASSERT_NEAR(a, b, 2e-5 * (1 + std::abs(a))) << fetches[i].name() << " element " << e << " of run " << run;
        }
      }
    }
  }

  Graph graph_;
  GraphScope scope_{graph_};
  std::unique_ptr<Device> device_ = make_cpu_device(1, std::make_shared<MemoryAccount>());
};

TEST_F(FuseTest, ProductBiasAndReluAreOneStep) {
  const Output x = placeholder(float32, {-1, 8}, {.name = "x"}), w = placeholder(float32, {8, 5}, {.name = "w"});
  const Output b = placeholder(float32, {5}, {.name = "b"});
  const Output y = nn::relu(nn::bias_add(matmul(x, w), b));
  EXPECT_EQ(kinds({y}, {x, w, b}, {{4, 8}, {8, 5}, {5}}), Names{"_FusedMatMul"});
  const Output sum = matmul(x, w) + b;  // as the book writes it
  EXPECT_EQ(kinds({sum}, {x, w, b}, {{4, 8}, {8, 5}, {5}}), Names{"_FusedMatMul"});
  expect_same({y, sum}, {{x, random({4, 8})}, {w, random({8, 5})}, {b, random({5})}}, {});
}

TEST_F(FuseTest, WhatSomebodySeesStays) {
  const Output x = placeholder(float32, {-1, 8}), w = placeholder(float32, {8, 5}), b = placeholder(float32, {5});
  const Output product = matmul(x, w), sum = nn::bias_add(product, b), y = nn::relu(sum);
  const std::vector<Shape> shapes = {{4, 8}, {8, 5}, {5}};
  EXPECT_EQ(kinds({y, product}, {x, w, b}, shapes), (Names{"MatMul", "BiasAdd", "Relu"}));
  EXPECT_EQ(kinds({y, sum}, {x, w, b}, shapes), (Names{"_FusedMatMul", "Relu"}));
  const Output twice = y + product;  // read twice
  EXPECT_TRUE(has(kinds({twice}, {x, w, b}, shapes), "MatMul"));
}

TEST_F(FuseTest, OrderOfEffectsStays) {
  // The sum is to be made after the update, which is to be made after the product.
  const Variable v = Variable(constant({1.0F, 2.0F}), {.name = "v"});
  const Output x = placeholder(float32, {-1, 2}), w = placeholder(float32, {2, 2});
  const Output product = matmul(x, w);
  Output update;
  {
    const ControlDependencies after({product.node()});
    update = v.assign_add(constant({1.0F, 1.0F}));
  }
  Output sum;
  {
    const ControlDependencies after({update.node()});
    sum = nn::bias_add(product, v.read_value());
  }
  Session session(graph_);
  session.run(global_variables_initializer());
  const Feeds feeds = {{x, Tensor::from<float>({1, 2}, {1, 1})}, {w, Tensor::from<float>({2, 2}, {1, 0, 0, 1})}};
  for (int run = 1; run <= 4; ++run) {
    const Tensor value = session.run(sum, feeds);
    EXPECT_EQ(value.data<float>()[0], 2.0F + static_cast<float>(run));
  }
}

TEST_F(FuseTest, TrainingStepOfALenet) {
  set_random_seed(3);
  const Output x = placeholder(float32, {-1, 12, 12, 1}), labels = placeholder(int32, {-1});
  const auto conv = [](const Output& in, std::int64_t filters, std::int64_t size) {
    return layers::max_pooling2d(layers::conv2d(in, filters, {size, size}, {.padding = "same", .activation = nn::relu}),
                                 {2, 2}, {2, 2});
  };
  const Output flat = layers::flatten(conv(conv(x, 6, 5), 32, 3));
  const Output logits = layers::dense(layers::dense(flat, 20, {.activation = nn::relu}), 4);
  const Output loss = reduce_mean(nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}));
  const Operation step = train::GradientDescentOptimizer({.learning_rate = 0.1F}).minimize(loss);
  Output after;
  {
    const ControlDependencies wait({step});
    after = identity(loss);
  }
  const Names names = kinds({after}, {x, labels}, {{6, 12, 12, 1}, {6}});
  EXPECT_EQ(std::ranges::count(names, "_CaudalConv2DMaxPool"), 2);
  EXPECT_EQ(std::ranges::count(names, "_CaudalConv2DMaxPoolBackpropFilter"), 2);
  EXPECT_EQ(std::ranges::count(names, "_CaudalConv2DMaxPoolBackpropInput"), 1);
  EXPECT_EQ(std::ranges::count(names, "_FusedMatMul"), 2);
  EXPECT_EQ(std::ranges::count(names, "_CaudalMatMulReluGrad"), 1);
  EXPECT_FALSE(has(names, "Relu") || has(names, "MaxPool") || has(names, "MaxPoolGrad") || has(names, "ReluGrad"));
  Tensor classes(int32, {6});
  for (int i = 0; i < 6; ++i) classes.data<std::int32_t>()[i] = i % 4;
  expect_same({after}, {{x, random({6, 12, 12, 1})}, {labels, classes}}, global_variables_initializer());
}

TEST_F(FuseTest, GradientsThroughStridedConvolutions) {
  set_random_seed(3);
  const Output x = placeholder(float32, {2, 15, 15, 3});
  const Output hidden = layers::conv2d(x, 8, {3, 3}, {.strides = {2, 2}, .activation = nn::relu});
  const Output out = layers::conv2d(hidden, 5, {3, 3}, {.strides = {1, 1}, .activation = nn::relu});
  std::vector<Output> fetches = {out};
  for (const Gradient& gradient : gradients({reduce_sum(out)}, {x})) fetches.push_back(gradient.dense());
  EXPECT_TRUE(has(kinds(fetches, {x}, {{2, 15, 15, 3}}), "_CaudalConv2DBackpropInputReluGrad"));
  expect_same(fetches, {{x, random({2, 15, 15, 3})}}, global_variables_initializer());
}

}  // namespace
}  // namespace caudal
