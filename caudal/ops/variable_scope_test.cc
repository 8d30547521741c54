#include "caudal/ops/variable_scope.h"

#include <gtest/gtest.h>

#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class VariableScopeTest : public testing::Test {
 protected:
  Variable get(std::string_view name) { return get_variable(name, {.shape = {1}, .initializer = zeros_initializer()}); }
  std::string node() { return constant(1.0F, {.name = "c"}).node()->name(); }
  static Error error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, "no error");
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

// All names below are TensorFlow 2.21's for the same program.
TEST_F(VariableScopeTest, NamesAreTensorFlows) {
  VariableScopeInfo a;
  {
    const VariableScope scope("a");
    a = scope.info();
    EXPECT_EQ(get("x").name(), "a/x:0");
    EXPECT_EQ(node(), "a/c");
    const VariableScope inner("b");
    EXPECT_EQ(get("x").name(), "a/b/x:0");
    EXPECT_EQ(node(), "a/b/c");
  }
  {
    const VariableScope scope("a");
    EXPECT_EQ(get("y").name(), "a/y:0");
    EXPECT_EQ(node(), "a_1/c");
  }
  {
    const VariableScope scope(a, {.reuse = true});
    EXPECT_EQ(get("x").name(), "a/x:0");
    EXPECT_EQ(node(), "a_2/c");
  }
  {
    const NameScope name("n");
    EXPECT_EQ(get("z").name(), "z:0");
    {
      const VariableScope scope("b");
      EXPECT_EQ(get("z").name(), "b/z:0");
      EXPECT_EQ(node(), "n/b/c");
    }
    const VariableScope scope(a);
    EXPECT_EQ(get("w").name(), "a/w:0");
    EXPECT_EQ(node(), "n/a/c");
  }
  for (const auto* expected : {"d", "d_1"}) {
    const VariableScope scope("", {.default_name = "d"});
    EXPECT_EQ(get("x").op_name(), std::string(expected) + "/x");
    EXPECT_EQ(node(), std::string(expected) + "/c");
  }
  const VariableScope path("x/y");
  EXPECT_EQ(get("q").initial_value().node()->name(), "x/y/q/Initializer/zeros");
  EXPECT_EQ(node(), "x/y/c");
}

TEST_F(VariableScopeTest, UniqueNamesStartAnewInAReenteredScope) {
  const auto make = [&] {
    const VariableScope outer("e");
    const VariableScope inner("", {.default_name = "d"});
    return get("x").op_name();
  };
  EXPECT_EQ(make(), "e/d/x");
  EXPECT_EQ(error_of(make).code(), Code::kAlreadyExists);
}

TEST_F(VariableScopeTest, SharesOnlyWhenTold) {
  Variable x;
  {
    const VariableScope scope("a");
    x = get("x");
    const Error error = error_of([&] { get("x"); });
    EXPECT_EQ(error.code(), Code::kAlreadyExists);
    EXPECT_NE(std::string(error.what()).find("variable_scope_test.cc"), std::string::npos) << error.what();
  }
  {
    VariableScope scope("a");
    scope.reuse_variables();
    EXPECT_EQ(get("x"), x);
    const VariableScope inner("b");
    EXPECT_EQ(error_of([&] { get("x"); }).code(), Code::kNotFound);
  }
  {
    const VariableScope scope("a", {.reuse = AUTO_REUSE});
    EXPECT_EQ(get("x"), x);
    EXPECT_EQ(get("new").op_name(), "a/new");
    EXPECT_EQ(get("new").op_name(), "a/new");
    EXPECT_EQ(error_of([&] { get_variable("x", {.shape = {2}}); }).code(), Code::kInvalidArgument);
    EXPECT_EQ(error_of([&] { get_variable("x", {.shape = {1}, .dtype = int32}); }).code(), Code::kInvalidArgument);
  }
}

TEST_F(VariableScopeTest, OtherGraphsAreApart) {
  const VariableScope scope("a");
  get("x");
  Graph other;
  const GraphScope there(other);
  EXPECT_EQ(get("x").op_name(), "x");
}

TEST_F(VariableScopeTest, GivesItsDefaultsToVariables) {
  const VariableScope scope("s", {.initializer = ones_initializer(),
                                  .regularizer = [](const Output& v) { return identity(v, {.name = "penalty"}); },
                                  .dtype = float64,
                                  .use_resource = true});
  const Variable v = get_variable("v", {.shape = {2}});
  EXPECT_EQ(v.dtype(), float64);
  EXPECT_TRUE(v.is_resource());
  const auto losses = graph_.collection(graph_keys::kRegularizationLosses);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].output.node()->name(), "s/v/Regularizer/penalty");
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(v).to_vector<double>(), (std::vector{1.0, 1.0}));
}

TEST_F(VariableScopeTest, InitialisesWithoutBeingTold) {
  const Variable w = get_variable("w", {.shape = {300, 100}});
  const Variable i = get_variable("i", {.shape = {2}, .dtype = int32});
  const Variable k = get_variable("k", {.initializer = Tensor(std::vector<int>{1, 2, 3})});
  EXPECT_EQ(error_of([&] { get_variable("unknown"); }).code(), Code::kInvalidArgument);
  Session session;
  session.run(global_variables_initializer());
  const Tensor value = session.run(w);
  const double limit = std::sqrt(6.0 / 400);
  double largest = 0;
  for (const float x : value.flat<float>()) largest = std::max(largest, std::abs(static_cast<double>(x)));
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.99 * limit);
  EXPECT_EQ(session.run(i).to_vector<int>(), (std::vector{0, 0}));
  EXPECT_EQ(session.run(k).to_vector<int>(), (std::vector{1, 2, 3}));
}

TEST_F(VariableScopeTest, InitialisersHaveTheirVariance) {
  const auto deviation = [&](const Initializer& initializer, const Shape& shape) {
    const Output value = initializer.function()(shape, float32);
    Session session;
    const Tensor t = session.run(value);
    double sum = 0, squares = 0;
    for (const float x : t.flat<float>()) sum += x, squares += x * x;
    const auto n = static_cast<double>(t.num_elements());
    return std::sqrt(squares / n - (sum / n) * (sum / n));
  };
  const Shape window{3, 3, 50, 200};
  EXPECT_NEAR(deviation(he_normal({.seed = 1}), window), std::sqrt(2.0 / 450), 1e-3);
  EXPECT_NEAR(deviation(he_uniform({.seed = 1}), window), std::sqrt(2.0 / 450), 1e-3);
  EXPECT_NEAR(deviation(lecun_normal({.seed = 1}), window), std::sqrt(1.0 / 450), 1e-3);
  EXPECT_NEAR(deviation(glorot_normal_initializer({.seed = 1}), window), std::sqrt(2.0 / 2250), 1e-3);
  EXPECT_NEAR(
      deviation(variance_scaling_initializer({.mode = "fan_out", .distribution = "untruncated_normal"}), window),
      std::sqrt(1.0 / 1800), 1e-3);
  EXPECT_EQ(error_of([] { variance_scaling_initializer({.mode = "fan"}); }).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
