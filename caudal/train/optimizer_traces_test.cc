// Every optimiser on a model with an embedding: six steps as TensorFlow 2.21 makes them
// (testdata/training/traces.json), the same bits with one thread and two, and memory that stays as it is over a
// thousand steps.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/schedules.h"
#include "tests/harness/compare.h"
#include "tests/harness/json_data.h"

namespace caudal::train {
namespace {

using Json = nlohmann::json;

struct Case {
  const char* name;  // in the file
  std::function<std::unique_ptr<Optimizer>(const Variable& step)> make;
};

template <class Optimizer>
std::unique_ptr<Optimizer> made(const Optimizer& optimizer) {
  return std::make_unique<Optimizer>(optimizer);
}

const Case kCases[] = {
    {"GradientDescent", [](const Variable&) { return made(GradientDescentOptimizer({.learning_rate = 0.05})); }},
    {"Momentum", [](const Variable&) { return made(MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.9})); }},
    {"Nesterov",
     [](const Variable&) {
       return made(MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.9, .use_nesterov = true}));
     }},
    {"ProximalGradientDescent",
     [](const Variable&) {
       return made(ProximalGradientDescentOptimizer(
           {.learning_rate = 0.05, .l1_regularization_strength = 0.02, .l2_regularization_strength = 0.03}));
     }},
    {"Adagrad",
     [](const Variable&) { return made(AdagradOptimizer({.learning_rate = 0.2, .initial_accumulator_value = 0.3F})); }},
    {"AdagradDA",
     [](const Variable& step) {
       return made(AdagradDAOptimizer({.learning_rate = 0.2,
                                       .global_step = step,
                                       .initial_gradient_squared_accumulator_value = 0.2F,
                                       .l1_regularization_strength = 0.05,
                                       .l2_regularization_strength = 0.03}));
     }},
    {"ProximalAdagrad",
     [](const Variable&) {
       return made(ProximalAdagradOptimizer({.learning_rate = 0.2,
                                             .initial_accumulator_value = 0.1F,
                                             .l1_regularization_strength = 0.05,
                                             .l2_regularization_strength = 0.03}));
     }},
    {"Adadelta",
     [](const Variable&) { return made(AdadeltaOptimizer({.learning_rate = 1.0, .rho = 0.9, .epsilon = 1e-4})); }},
    {"RMSProp",
     [](const Variable&) {
       return made(RMSPropOptimizer({.learning_rate = 0.05, .decay = 0.8, .momentum = 0.5, .epsilon = 1e-3}));
     }},
    {"RMSPropCentered",
     [](const Variable&) {
       return made(
           RMSPropOptimizer({.learning_rate = 0.05, .decay = 0.8, .momentum = 0.5, .epsilon = 1e-3, .centered = true}));
     }},
    {"Adam",
     [](const Variable&) {
       return made(AdamOptimizer({.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}));
     }},
    {"AdaMax", [](const Variable&) { return made(AdaMaxOptimizer({.learning_rate = 0.1})); }},
    {"Nadam", [](const Variable&) { return made(NadamOptimizer({.learning_rate = 0.1})); }},
    {"Ftrl",
     [](const Variable&) {
       return made(FtrlOptimizer(
           {.learning_rate = 0.3, .l1_regularization_strength = 0.02F, .l2_regularization_strength = 0.03F}));
     }},
    {"FtrlPower",
     [](const Variable&) {
       return made(FtrlOptimizer({.learning_rate = 0.3,
                                  .learning_rate_power = -0.7F,
                                  .l1_regularization_strength = 0.02F,
                                  .l2_regularization_strength = 0.03F,
                                  .accum_name = "sum",
                                  .linear_name = "lin",
                                  .beta = 0.2F}));
     }},
    {"FtrlShrinkage",
     [](const Variable&) {
       return made(FtrlOptimizer(
           {.learning_rate = 0.3, .l1_regularization_strength = 0.02F, .l2_shrinkage_regularization_strength = 0.1F}));
     }},
    {"AdagradDecayed",
     [](const Variable& step) {
       return made(AdagradOptimizer({.learning_rate = exponential_decay(0.3, step, 2, 0.5, {.staircase = true})}));
     }},
};

const Json& traces() {
  static const Json all =
      Json::parse(read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/training/traces.json"));
  return all;
}

Tensor tensor_of(const Json& json) { return harness::parse_tensor(json.dump()); }

class OptimizerTraces : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  const Case& optimizer_case() const { return kCases[std::get<0>(GetParam())]; }
  bool use_resource() const { return std::get<1>(GetParam()); }
};

TEST_P(OptimizerTraces, AreTensorFlows) {
  const Json& facts = traces().at("traces").at(optimizer_case().name);
  Graph graph;
  const GraphScope scope(graph);
  const Variable table(tensor_of(traces().at("table")), {.name = "table", .use_resource = use_resource()});
  const Variable w(tensor_of(traces().at("w")), {.name = "w", .use_resource = use_resource()});
  const Variable b(0.1F, {.name = "b", .use_resource = use_resource()});
  const Variable step(std::int64_t{0}, {.trainable = false, .name = "step"});
  const Output ids = placeholder(int32, {3}), more = placeholder(int32, {3});
  const Output rows = add(nn::embedding_lookup({table}, ids), nn::embedding_lookup({table}, more));
  const Output target = constant(Tensor::from<float>({3, 1}, {0.5F, -0.25F, 1.0F}));
  const Output loss = reduce_sum(square(subtract(add(matmul(rows, w), b), target)));
  const auto optimizer = optimizer_case().make(step);
  const Operation train = optimizer->minimize(loss, {.global_step = step});
  EXPECT_EQ(train.name(), facts.at("train_op"));
  Session session;
  session.run(global_variables_initializer());
  for (std::size_t i = 0; i < facts.at("losses").size(); ++i) {
    const Feeds feeds = {{ids, Tensor(traces().at("ids")[i].get<std::vector<int>>())},
                         {more, Tensor(traces().at("more")[i].get<std::vector<int>>())}};
    const double expected = facts.at("losses")[i];
    EXPECT_NEAR(session.run({loss, train}, feeds)[0].item<float>(), expected, 1e-6 * (1 + expected)) << "step " << i;
  }
  EXPECT_EQ(global_variables().size(), facts.at("variables").size());
  for (const Variable& variable : global_variables()) {
    ASSERT_TRUE(facts.at("variables").contains(variable.op_name())) << variable.op_name();
    EXPECT_EQ(harness::difference(tensor_of(facts.at("variables").at(variable.op_name())), session.run(variable), 1e-6),
              "")
        << variable.op_name();
  }
}

// A larger model, so that threads share the work inside of ops.
struct Model {
  Model(const Case& which, bool use_resource) {
    const GraphScope scope(graph);
    const auto random = [](const Shape& shape, int seed) {
      Tensor values(float32, shape);
      for (std::int64_t i = 0; i < values.num_elements(); ++i) {
        values.data<float>()[i] = std::sin(static_cast<float>((i + 1) * (seed + 3)) * 0.7F) * 0.3F;
      }
      return values;
    };
    const Variable table(random({500, 64}, 1), {.use_resource = use_resource});
    const Variable w(random({64, 300}, 2), {.use_resource = use_resource});
    const Variable out(random({300, 1}, 3), {.use_resource = use_resource});
    const Variable step(std::int64_t{0}, {.trainable = false});
    ids = placeholder(int32, {16});
    const Output hidden = tanh(matmul(nn::embedding_lookup({table}, ids), w));
    loss = reduce_mean(square(subtract(matmul(hidden, out), 0.25F)));
    optimizer = which.make(step);
    train = optimizer->minimize(loss, {.global_step = step});
    init = global_variables_initializer();
  }

  Feeds feeds(int step) const {
    std::vector<int> rows(16);
    for (int i = 0; i < 16; ++i) rows[i] = (step * 37 + i * i * 11) % 500;
    return {{ids, Tensor(rows)}};
  }

  Graph graph;
  Output ids, loss;
  Operation train, init;
  std::unique_ptr<Optimizer> optimizer;
};

TEST_P(OptimizerTraces, DoNotDependOnThreads) {
  Model model(optimizer_case(), use_resource());
  std::vector<std::vector<float>> losses;
  for (const int threads : {1, 2}) {
    Session session(model.graph, {.intra_op_threads = threads});
    session.run(model.init);
    losses.emplace_back();
    for (int i = 0; i < 20; ++i) {
      losses.back().push_back(session.run({model.loss, model.train}, model.feeds(i))[0].item<float>());
    }
  }
  EXPECT_EQ(std::memcmp(losses[0].data(), losses[1].data(), losses[0].size() * sizeof(float)), 0);
  EXPECT_TRUE(std::isfinite(losses[0].back()));
}

TEST_P(OptimizerTraces, KeepMemoryFlat) {
  Model model(optimizer_case(), use_resource());
  Session session(model.graph, {.intra_op_threads = 1});
  session.run(model.init);
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) session.run(model.train, model.feeds(i));
  };
  train(100);
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = in_use();
  train(1000);
  const std::size_t after = in_use();
  // Less than a few bytes a step.
  EXPECT_LT(after, before + 4096);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTraces,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kCases))),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(kCases[std::get<0>(info.param)].name) +
                                  (std::get<1>(info.param) ? "Resource" : "Reference");
                         });

}  // namespace
}  // namespace caudal::train
