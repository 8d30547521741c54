// Against TensorFlow 2.21 (testdata/training/schedules.json).
#include "caudal/train/moving_averages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/clipping.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"
#include "caudal/train/global_step.h"
#include "caudal/train/saver.h"

namespace caudal::train {
namespace {

using Json = nlohmann::json;
using Values = std::vector<float>;

const Json& expected() {
  static const Json all =
      Json::parse(read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/training/schedules.json"));
  return all;
}

void expect_near(const Tensor& got, const Values& want) {
  const auto values = got.to_vector<float>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-6 * (1 + std::abs(want[i])));
}

class MovingAverages : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(MovingAverages, AreTensorFlows) {
  const auto [counts_updates, use_resource] = GetParam();
  const Json& facts = expected().at(counts_updates ? "averages_num_updates" : "averages");
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(Tensor(Values{1, -2}), {.name = "w", .use_resource = use_resource});
  const Variable step(0, {.trainable = false, .name = "step"});
  const Output tensor = multiply(w, 3, {.name = "tripled"});
  ExponentialMovingAverageOptions options{.decay = 0.9};
  if (counts_updates) options.num_updates = step;
  options.zero_debias = true;
  ExponentialMovingAverage ema(options);
  EXPECT_EQ(ema.average_name(w), "w/ExponentialMovingAverage");
  EXPECT_FALSE(ema.average(w).handle());
  const Operation apply_w = ema.apply({w}), apply_tensor = ema.apply_to_tensors({tensor});
  EXPECT_EQ(apply_w.name(), facts.at("op"));
  EXPECT_EQ(ema.average_name(w), "w/ExponentialMovingAverage");
  std::vector<std::string> names;
  for (const Variable& variable : global_variables()) names.push_back(variable.op_name());
  std::ranges::sort(names);
  EXPECT_EQ(names, facts.at("variables").get<std::vector<std::string>>());
  std::map<std::string, std::string> restore;
  for (const auto& [key, variable] : ema.variables_to_restore()) restore[key] = variable.op_name();
  EXPECT_EQ(restore, (facts.at("restore").get<std::map<std::string, std::string>>()));

  const Operation move = group({w.assign_add(Tensor(Values{0.5, 1})), step.assign_add(1)});
  Session session;
  session.run(global_variables_initializer());
  for (const Json& row : facts.at("rows")) {
    session.run(move);
    session.run({apply_w, apply_tensor});
    expect_near(session.run(ema.average(w)), {row[0], row[1]});
    expect_near(session.run(ema.average_of(tensor)), {row[2], row[3]});
  }
}

INSTANTIATE_TEST_SUITE_P(, MovingAverages, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "Counted" : "Constant") +
                                  (std::get<1>(info.param) ? "Resource" : "Reference");
                         });

TEST(MovingAverage, IsRestoredInPlaceOfTheValue) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(Tensor(Values{0, 0}), {.name = "w"});
  ExponentialMovingAverage ema({.decay = 0.5});
  const Operation averaged = ema.apply();
  const Output moved = w.assign_add(Tensor(Values{4, 8}));
  Saver saver, evaluation({.variables = ema.variables_to_restore(), .name = "evaluation"});
  Session session;
  session.run(global_variables_initializer());
  session.run(Operation(moved));
  session.run(averaged);
  const TempDir folder;
  const std::string prefix = saver.save(session, join_path(folder.path(), "model.ckpt"));
  evaluation.restore(session, prefix);
  EXPECT_EQ(session.run(w).to_vector<float>(), (Values{2, 4}));
}

TEST(MovingAverage, TakesInWhatTheUpdateBeforeItMade) {
  for (const bool use_resource : {false, true}) {
    Graph graph;
    const GraphScope scope(graph);
    const Variable w(0.0F, {.name = "w", .use_resource = use_resource});
    const Output used = multiply(w, 2);  // an earlier read of the same step
    const Output update = w.assign_add(used + 8);
    ExponentialMovingAverage ema({.decay = 0.5});
    Operation both;
    {
      const ControlDependencies after({update});
      both = ema.apply();
    }
    Session session;
    session.run(global_variables_initializer());
    session.run(both);
    EXPECT_EQ(session.run(ema.average(w)).item<float>(), 4);
  }
}

TEST(MovingAverage, RefusesWhatHasNone) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable count(1, {.name = "count"});
  EXPECT_THROW(ExponentialMovingAverage().apply({count}), Error);
  EXPECT_THROW(ExponentialMovingAverage().apply_to_tensors({placeholder(float32)}), Error);
}

TEST(GlobalStep, IsMadeOnceAndFound) {
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_FALSE(get_global_step().handle());
  const NameScope inner("inner");
  const Variable step = create_global_step();
  EXPECT_EQ(step.op_name(), "global_step");
  EXPECT_EQ(step.dtype(), int64);
  EXPECT_EQ(get_or_create_global_step().op_name(), "global_step");
  EXPECT_THROW(create_global_step(), Error);
  Session session;
  session.run(step.initializer());
  session.run(Operation(step.assign_add(Tensor(std::int64_t{3}))));
  EXPECT_EQ(global_step(session, step), 3);
  EXPECT_THROW(assert_global_step(Variable(Tensor(Values{1}))), Error);
}

TEST(Clipping, OfRowsAndByTheAverageNorm) {
  Graph graph;
  const GraphScope scope(graph);
  const Json& facts = expected().at("clips");
  const Output x = constant(Tensor::from<float>({2, 2}, {3, -4, 0.5, 12}));
  const IndexedSlices slices{.values = x, .indices = constant(Tensor(std::vector<int>{2, 2})), .dense_shape = {}};
  const std::map<std::string, Output> clipped = {
      {"average_norm", clip_by_average_norm(x, 0.5)},     {"average_norm_large", clip_by_average_norm(x, 50.0)},
      {"slices_norm", clip_by_norm(slices, 5.0).values},  {"slices_value", clip_by_value(slices, -1.0, 2.0).values},
      {"norm_axes", clip_by_norm(x, 5.0, {.axes = {1}})},
  };
  Session session;
  for (const auto& [name, output] : clipped) {
    SCOPED_TRACE(name);
    expect_near(session.run(output).reshape({4}), facts.at(name).get<Values>());
  }
  EXPECT_TRUE(clip_gradient_by_norm(Gradient(slices), 1.0).is_sparse());
  EXPECT_TRUE(clip_gradient_by_value(Gradient(), -1.0, 1.0).is_none());
  EXPECT_FALSE(clip_gradient_by_average_norm(Gradient(x), 1.0).is_sparse());
}

}  // namespace
}  // namespace caudal::train
