#include "caudal/train/optimizer.h"

#include <gtest/gtest.h>

#include <memory>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/partitioned_variable.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal::train {
namespace {

using Values = std::vector<float>;

// loss = sum(w * w * [.5, 1.5, 2]) + 3 b; w from [1, -2, .5], b from .25. Expected values are TensorFlow 2.21's
// (tf.compat.v1.train) after three steps.
class OptimizerTest : public ::testing::TestWithParam<bool> {
 protected:
  OptimizerTest()
      : w_(Tensor(Values{1, -2, 0.5F}), {.name = "w", .use_resource = GetParam()}),
        b_(0.25F, {.name = "b", .use_resource = GetParam()}),
        global_step_(std::int64_t{0}, {.trainable = false, .name = "gs"}),
        loss_(reduce_sum(w_ * w_ * Tensor(Values{0.5F, 1.5F, 2})) + b_ * 3) {}

  void train(Optimizer& optimizer, int steps = 3) {
    const Operation step = optimizer.minimize(loss_, {.global_step = global_step_});
    session_.run(global_variables_initializer());
    for (int i = 0; i < steps; ++i) session_.run(step);
    EXPECT_EQ(session_.run(global_step_).item<std::int64_t>(), steps);
  }
  void expect_near(const Output& output, const Values& expected) {
    const auto actual = session_.run(output).to_vector<float>();
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 2e-6F * (1 + std::abs(expected[i])));
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Variable w_, b_, global_step_;
  Output loss_;
  Session session_{graph_};
};

TEST_P(OptimizerTest, GradientDescent) {
  GradientDescentOptimizer optimizer({.learning_rate = 0.1});
  train(optimizer);
  expect_near(w_, {0.729F, -0.686F, 0.108F});
  expect_near(b_, {-0.65000004F});
  EXPECT_TRUE(optimizer.slot_names().empty());
}

TEST_P(OptimizerTest, Momentum) {
  MomentumOptimizer optimizer({.learning_rate = 0.1, .momentum = 0.9});
  train(optimizer);
  expect_near(w_, {0.48599997F, 0.55599993F, -0.26999998F});
  expect_near(b_, {-1.4329998F});
  expect_near(optimizer.slot(w_, "momentum"), {2.34F, -9.959999F, 2.6999998F});
  EXPECT_EQ(optimizer.slot(w_, "momentum").op_name(), "w/Momentum");
}

TEST_P(OptimizerTest, Nesterov) {
  MomentumOptimizer optimizer({.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = true});
  train(optimizer);
  expect_near(w_, {0.327321F, 0.69634587F, -0.21664797F});
  expect_near(b_, {-2.1646998F});
}

TEST_P(OptimizerTest, Adam) {
  AdamOptimizer optimizer({.learning_rate = 0.1});
  train(optimizer);
  expect_near(w_, {0.7015874F, -1.7006245F, 0.20487225F});
  expect_near(b_, {-0.049998946F});
  expect_near(optimizer.slot(w_, "m"), {0.24204132F, -1.5390502F, 0.4264752F});
  expect_near(optimizer.slot(w_, "v"), {0.00244782F, 0.09754969F, 0.00800077F});
  EXPECT_EQ(optimizer.slot(w_, "m").op_name(), "w/Adam");
  EXPECT_EQ(optimizer.slot(w_, "v").op_name(), "w/Adam_1");
  std::vector<std::string> names;
  for (const Variable& variable : global_variables()) names.push_back(variable.op_name());
  EXPECT_EQ(names, (std::vector<std::string>{"w", "b", "gs", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1",
                                             "b/Adam", "b/Adam_1"}));
}

INSTANTIATE_TEST_SUITE_P(Variables, OptimizerTest, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Resource" : "Reference"; });

class OptimizerErrorTest : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(OptimizerErrorTest, TheOperationHasTheOptimisersName) {
  const Variable w(1.0F, {.name = "w"});
  EXPECT_EQ(MomentumOptimizer().minimize(w * w).name(), "Momentum");
  EXPECT_EQ(AdamOptimizer().minimize(w * w).name(), "Adam");
}

TEST_F(OptimizerErrorTest, NothingToTrain) {
  const Output x = placeholder(float32, {});
  EXPECT_THROW(GradientDescentOptimizer().minimize(x * x), Error);
}

TEST_F(OptimizerErrorTest, NoVariableHasAGradient) {
  const Variable w(1.0F, {.name = "lonely"});
  const Output x = placeholder(float32, {});
  try {
    GradientDescentOptimizer().minimize(x * x);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("'lonely'"), std::string::npos) << error.what();
  }
}

TEST_F(OptimizerErrorTest, RowsOfASparseGradientThatRepeatAddUp) {
  const Variable table(Tensor::from<float>({3, 2}, {0, 0, 0, 0, 0, 0}), {.name = "table"});
  const Output rows = gather(table, Tensor(std::vector<int>{2, 0, 2}));
  const Operation step = GradientDescentOptimizer({.learning_rate = 0.5}).minimize(reduce_sum(rows));
  Session session;
  session.run(global_variables_initializer());
  session.run(step);
  EXPECT_EQ(session.run(table).to_vector<float>(), (Values{-0.5F, -0.5F, 0, 0, -1, -1}));
}

// A partitioned table trained by Adagrad restores, slots included, under another partitioning.
TEST_F(OptimizerErrorTest, SlotsOfPartsAreSavedAsOne) {
  const TempDir folder;
  std::string prefix;
  const auto check = [&](int parts) {
    Graph graph;
    const GraphScope scope(graph);
    const auto table = get_partitioned_variable("table", {.shape = {10, 2}, .initializer = ones_initializer()},
                                                fixed_size_partitioner(parts));
    std::vector<Output> values;
    for (const Variable& part : table.parts()) values.push_back(part);
    const Output rows = nn::embedding_lookup(values, {1, 9, 1}, {.partition_strategy = nn::PartitionStrategy::kDiv});
    AdagradOptimizer optimizer({.learning_rate = 0.5});
    const Operation train = optimizer.minimize(reduce_sum(rows * rows));
    Saver saver;
    Session session;
    session.run(global_variables_initializer());
    if (prefix.empty()) {
      session.run(train);
      prefix = saver.save(session, join_path(folder.path(), "model.ckpt"));
    } else {
      saver.restore(session, prefix);
    }
    std::vector<float> slot;
    for (const Variable& part : table.parts()) {
      const auto more = session.run(optimizer.slot(part, "accumulator")).to_vector<float>();
      slot.insert(slot.end(), more.begin(), more.end());
    }
    // Row 1 has the gradient 4, row 9 the gradient 2.
    Values expected(20, 0.1F);
    expected[2] = expected[3] = 16.1F;
    expected[18] = expected[19] = 4.1F;
    EXPECT_EQ(slot, expected) << parts;
  };
  for (const int parts : {3, 1, 2}) check(parts);
  for (const CheckpointEntry& entry : list_variables(prefix)) {
    EXPECT_TRUE(entry.name == "table" || entry.name == "table/Adagrad") << entry.name;
    EXPECT_EQ(entry.shape, (Shape{10, 2}));
  }
}

TEST_F(OptimizerErrorTest, AShapeThatIsKnownLaterIsEnough) {
  const Output initial = placeholder(float32);
  const Variable w(initial, {.validate_shape = false, .name = "w"});
  MomentumOptimizer optimizer({.learning_rate = 0.5, .momentum = 0.5});
  const Operation train = optimizer.minimize(reduce_sum(w * w));
  Session session;
  session.run(global_variables_initializer(), {{initial, Tensor(Values{1, 2})}});
  session.run(train);
  EXPECT_EQ(session.run(w).to_vector<float>(), (Values{0, 0}));
  EXPECT_EQ(session.run(optimizer.slot(w, "momentum")).to_vector<float>(), (Values{2, 4}));
}

TEST_F(OptimizerErrorTest, GradientsMayBeGatedAndWeighted) {
  const Variable w(Tensor(Values{1, 2}), {.name = "w"}), unused(1.0F, {.name = "unused"});
  const Variable table(Tensor::from<float>({3, 1}, {1, 1, 1}), {.name = "table"});
  const Output loss = reduce_sum(w * w) + reduce_sum(gather(table, {0, 2}));
  GradientDescentOptimizer optimizer({.learning_rate = 0.5});
  const auto pairs =
      optimizer.compute_gradients(loss, {.gate_gradients = GateGradients::kGraph, .grad_loss = constant(2.0F)});
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_TRUE(pairs[1].gradient.is_none());
  EXPECT_TRUE(pairs[2].gradient.is_sparse());
  const Operation train = optimizer.apply_gradients(pairs);
  Session session;
  session.run(global_variables_initializer());
  session.run(train);
  EXPECT_EQ(session.run(w).to_vector<float>(), (Values{-1, -2}));
  EXPECT_EQ(session.run(table).to_vector<float>(), (Values{0, 1, 0}));
  EXPECT_THROW(optimizer.compute_gradients(constant(1)), Error);
}

// A hyper-parameter is a float32; variables may be of another type.
TEST_F(OptimizerErrorTest, OtherTypesOfVariables) {
  for (const DType type : {float16, bfloat16, float64}) {
    Graph graph;
    const GraphScope scope(graph);
    const Variable w(convert_number(Tensor(Values{1, -2}), type), {.name = "w"});
    const Variable table(convert_number(Tensor::from<float>({3, 1}, {1, 1, 1}), type), {.name = "table"});
    const Output loss = reduce_sum(w * w) + reduce_sum(gather(table, {0, 2, 0}));
    std::vector<Operation> steps;
    steps.push_back(AdamOptimizer().minimize(loss));
    steps.push_back(NadamOptimizer().minimize(loss));
    steps.push_back(AdaMaxOptimizer().minimize(loss));
    steps.push_back(RMSPropOptimizer({.centered = true}).minimize(loss));
    steps.push_back(FtrlOptimizer({.beta = 1}).minimize(loss));
    steps.push_back(AdadeltaOptimizer().minimize(loss));
    Session session;
    session.run(global_variables_initializer());
    for (const Operation& step : steps) session.run(step);
    EXPECT_EQ(session.run(w).dtype(), type);
    EXPECT_LT(session.run(cast(loss, float32)).item<float>(), 8.0F) << dtype_name(type);
  }
}

TEST_F(OptimizerErrorTest, HyperParametersOutOfRange) {
  EXPECT_THROW(AdagradOptimizer({.initial_accumulator_value = 0}), Error);
  EXPECT_THROW(AdagradDAOptimizer({.learning_rate = 0.1}), Error);
  EXPECT_THROW(FtrlOptimizer({.learning_rate_power = 0.5}), Error);
  try {
    FtrlOptimizer({.l1_regularization_strength = -1});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Ftrl: l1_regularization_strength is -1"), std::string::npos);
  }
}

}  // namespace
}  // namespace caudal::train
