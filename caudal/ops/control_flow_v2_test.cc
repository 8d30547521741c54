#include "caudal/ops/control_flow_v2.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/map_fn.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class ControlFlowV2 : public ::testing::Test {
 protected:
  ControlFlowV2() { enable_control_flow_v2(); }
  ~ControlFlowV2() override { disable_control_flow_v2(); }

  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  float value(const Output& output, float x = 0, int n = 0) {
    Session session(graph_);
    return session.run(output, fed(x, n)).to_vector<float>().at(0);
  }
  Feeds fed(float x, int n = 0) const { return {{x_, Tensor(x)}, {n_, Tensor(n)}}; }
  bool has(std::string_view type) const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node* node) { return node->type() == type; });
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(float32, PartialShape::scalar(), {.name = "x"});
  Output n_ = placeholder(int32, PartialShape::scalar(), {.name = "n"});
};

TEST_F(ControlFlowV2, CondRunsOneBranch) {
  const Variable taken(constant(0.0F), {.name = "taken", .use_resource = true});
  const Output y = cond(
      greater(x_, 0.0F), [&] { return taken.assign_add(x_); }, [&] { return x_ * 10.0F; });
  EXPECT_TRUE(has("If"));
  EXPECT_FALSE(has("Switch"));
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(y, fed(-2)).item<float>(), -20);
  EXPECT_EQ(session.run(y, fed(3)).item<float>(), 3);
  EXPECT_EQ(session.run(taken).item<float>(), 3);
}

TEST_F(ControlFlowV2, CondOfOperationsIsAnOperation) {
  const Variable count(constant(0), {.name = "count", .use_resource = true});
  const Operation step = cond(
      greater(x_, 0.0F), [&] { return Operation(count.assign_add(1)); }, [] { return no_op(); });
  Session session(graph_);
  session.run(global_variables_initializer());
  for (const float x : {1.0F, -1.0F, 2.0F}) session.run(step, fed(x));
  EXPECT_EQ(session.run(count).item<int>(), 2);
}

TEST_F(ControlFlowV2, LoopsHaveGradientsOfAnyOrder) {
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] * x_};
                              },
                              {0, 1.0F})[1];
  EXPECT_TRUE(has("StatelessWhile"));
  const Output first = gradients({y}, {x_})[0].dense();
  const Output second = gradients({first}, {x_})[0].dense();
  EXPECT_EQ(value(y, 2, 4), 16);
  EXPECT_EQ(value(first, 2, 4), 32);
  EXPECT_EQ(value(second, 2, 4), 48);
  EXPECT_EQ(value(first, 2, 0), 0);
}

TEST_F(ControlFlowV2, ALoopUpdatesVariables) {
  const Variable total(constant(0.0F), {.name = "total", .use_resource = true});
  const Output done = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                                 [&](const Outputs& v) {
                                   total.assign_add(x_);
                                   return Outputs{v[0] + 1};
                                 },
                                 {0}, {.maximum_iterations = 3})[0];
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(done, fed(2, 5)).item<int>(), 3);
  EXPECT_EQ(session.run(total).item<float>(), 6);
}

TEST_F(ControlFlowV2, SwitchCaseTakesTheIndexElseTheDefault) {
  const Output y =
      switch_case(n_, {[&] { return x_; }, [&] { return x_ * x_; }}, {.default_fn = [&] { return x_ * 100.0F; }})[0];
  EXPECT_EQ(value(y, 3, 0), 3);
  EXPECT_EQ(value(y, 3, 1), 9);
  EXPECT_EQ(value(y, 3, 7), 300);
  EXPECT_EQ(value(gradients({y}, {x_})[0].dense(), 3, 1), 6);
}

TEST_F(ControlFlowV2, CaseTakesTheFirstThatHolds) {
  const Output y =
      case_of({{less(x_, 0.0F), [&] { return x_ * -1.0F; }}, {less(x_, 10.0F), [&] { return x_ * 2.0F; }}})[0];
  EXPECT_EQ(value(y, -3), 3);
  EXPECT_EQ(value(y, 3), 6);
  EXPECT_NE(error_of([&] { value(y, 30); }).find("None of conditions evaluated as True"), std::string::npos);
}

TEST_F(ControlFlowV2, ShapesMayChangeWhereTheInvariantsSaySo) {
  const Output row = constant(Tensor::from<float>({1, 2}, {1, 2}));
  const LoopBody grow = [&](const Outputs& v) { return Outputs{v[0] + 1, concat({v[1], row}, 0)}; };
  const LoopCondition below = [&](const Outputs& v) { return less(v[0], n_); };
  const Output all = while_loop(below, grow, {0, row}, {.shape_invariants = {PartialShape::scalar(), {-1, 2}}})[1];
  Session session(graph_);
  EXPECT_EQ(session.run(all, fed(0, 2)).shape(), Shape({3, 2}));
  EXPECT_NE(error_of([&] {
              while_loop(below, grow, {0, row});
            }).find("enters with shape [1,2] and has shape [2,2] after an iteration"),
            std::string::npos);
}

TEST_F(ControlFlowV2, BothFormsNestInEachOther) {
  const auto loop = [&](const Output& start, bool v2) {
    return while_loop([](const Outputs& v) { return less(v[0], 2); },
                      [&](const Outputs& v) {
                        return Outputs{v[0] + 1, v[1] * x_};
                      },
                      {0, start}, {.v2 = v2})[1];
  };
  // A v2 loop in a v1 loop, and in a v1 condition; whatever is inside of a function is v2.
  const Output y = while_loop([](const Outputs& v) { return less(v[0], 2); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, loop(v[1], true)};
                              },
                              {0, x_}, {.v2 = false})[1];
  const Output z = cond(
      greater(x_, 0.0F), [&] { return loop(x_, true); }, [&] { return x_; }, {.v2 = false});
  const Output inner = cond(
      greater(x_, 0.0F), [&] { return loop(x_, false); }, [&] { return x_; });
  EXPECT_EQ(value(y, 2), 32);
  EXPECT_EQ(value(z, 2), 8);
  EXPECT_EQ(value(inner, 2), 8);
  EXPECT_EQ(value(gradients({z}, {x_})[0].dense(), 2), 12);
  EXPECT_EQ(value(gradients({inner}, {x_})[0].dense(), 2), 12);
}

TEST_F(ControlFlowV2, AssertsInBranchesFail) {
  const Output y = cond(
      greater(x_, 0.0F),
      [&] {
        const ControlDependencies after({Assert(less(x_, 5.0F), {"x is", x_})});
        return x_ * 2.0F;
      },
      [&] { return x_; });
  EXPECT_EQ(value(y, 2), 4);
  EXPECT_NE(error_of([&] { value(y, 7); }).find("assertion failed: [x is] [7.]"), std::string::npos);
}

TEST_F(ControlFlowV2, RowsGoThroughLists) {
  const Output rows = stack({x_, x_ * 2.0F, x_ * 3.0F});
  const Output squares = map_fn([](const Output& row) { return row * row; }, rows);
  EXPECT_FALSE(has("TensorArrayV3"));
  EXPECT_EQ(squares.shape(), PartialShape({3}));
  EXPECT_EQ(value(reduce_sum(squares), 1), 14);
  EXPECT_EQ(value(gradients({squares}, {x_})[0].dense(), 1), 28);
}

TEST_F(ControlFlowV2, MistakesAreErrors) {
  EXPECT_TRUE(error_of([&] {
                cond(
                    greater(x_, 0.0F), [&] { return x_; }, [&] { return n_; });
              }).starts_with("INVALID_ARGUMENT: result 0 is float32 by cond_true and int32 by cond_false"));
  EXPECT_TRUE(error_of([&] {
                while_loop([&](const Outputs&) { return x_; }, [](const Outputs& v) { return v; }, {0});
              }).starts_with("INVALID_ARGUMENT: the condition of a loop must be a bool scalar"));
  EXPECT_TRUE(error_of([&] { switch_case(n_, {}); }).starts_with("INVALID_ARGUMENT: switch_case() without branches"));
}

}  // namespace
}  // namespace caudal
