#include "caudal/ops/control_flow.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/map_fn.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/tensor_array.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class ControlFlow : public ::testing::Test {
 protected:
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::vector<float> floats(const Output& output, const Feeds& feeds = {}) {
    Session session(graph_);
    return session.run(output, feeds).to_vector<float>();
  }
  float value(const Output& output, const Feeds& feeds = {}) { return floats(output, feeds).at(0); }
  float gradient(const Output& y, const Output& x, const Feeds& feeds) {
    return value(gradients({y}, {x})[0].dense(), feeds);
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(float32, PartialShape::scalar(), {.name = "x"});
  Output n_ = placeholder(int32, PartialShape::scalar(), {.name = "n"});
  static Feeds fed(const Output& x, float value, const Output& n = {}, int count = 0) {
    Feeds feeds = {{x, Tensor(value)}};
    if (n) feeds.emplace_back(n, Tensor(count));
    return feeds;
  }
};

TEST_F(ControlFlow, CondRunsOneBranch) {
  const Variable taken(constant(0.0F), {.name = "taken"});
  const Output y = cond(
      greater(x_, 0.0F), [&] { return taken.assign_add(x_); }, [&] { return x_ * 10.0F; });
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(y, fed(x_, -2)).item<float>(), -20);
  EXPECT_EQ(session.run(taken).item<float>(), 0);
  EXPECT_EQ(session.run(y, fed(x_, 3)).item<float>(), 3);
  EXPECT_EQ(session.run(taken).item<float>(), 3);
}

TEST_F(ControlFlow, CondGivesWhatItsBranchesGive) {
  const Outputs two = cond(
      greater(x_, 0.0F),
      [&] {
        return Outputs{x_, x_ + 1.0F};
      },
      [&] {
        return Outputs{x_ * 2.0F, x_ * 3.0F};
      });
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(value(two[1], fed(x_, 1)), 2);
  EXPECT_EQ(value(two[1], fed(x_, -1)), -3);
  const Output number = cond(
      greater(x_, 0.0F), [] { return 1.5F; }, [] { return -1.5F; });
  EXPECT_EQ(value(number, fed(x_, 1)), 1.5F);
  const Output outside = cond(
      greater(x_, 0.0F), [&] { return x_; }, [&] { return x_ * -1.0F; });
  EXPECT_EQ(value(outside, fed(x_, -4)), 4);
}

TEST_F(ControlFlow, CondOfOperationsIsAnOperation) {
  const Variable count(constant(0), {.name = "count"});
  const Operation step = cond(
      greater(x_, 0.0F), [&] { return Operation(count.assign_add(1)); }, [] { return no_op(); });
  Session session(graph_);
  session.run(global_variables_initializer());
  session.run(step, fed(x_, 1));
  session.run(step, fed(x_, -1));
  session.run(step, fed(x_, 2));
  EXPECT_EQ(session.run(count).item<int>(), 2);
}

TEST_F(ControlFlow, CondHasTheGradientOfTheBranchTaken) {
  const Output y = cond(
      greater(x_, 1.0F), [&] { return x_ * x_; }, [&] { return x_ * 3.0F; });
  const Output z = y * 2.0F;
  EXPECT_EQ(gradient(z, x_, fed(x_, 4)), 16);
  EXPECT_EQ(gradient(z, x_, fed(x_, 0)), 6);
  const Output first = gradients({z}, {x_})[0].dense();
  EXPECT_EQ(gradient(first, x_, fed(x_, 4)), 4);
  EXPECT_EQ(gradient(first, x_, fed(x_, 0)), 0);
}

TEST_F(ControlFlow, RowsOfATableInABranchKeepASparseGradient) {
  const Output table = constant(Tensor::from<float>({3, 1}, {1, 2, 3}), {.name = "table"});
  const Output y = cond(
      greater(x_, 0.0F),
      [&] {
        return reduce_sum(gather(table, {2, 0}));
      },
      [&] { return x_ * 1.0F; });
  const Gradient grad = gradients({y}, {table})[0];
  EXPECT_TRUE(grad.is_sparse());
  EXPECT_EQ(floats(grad.dense(), fed(x_, 1)), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(floats(grad.dense(), fed(x_, -1)), (std::vector<float>{0, 0, 0}));
}

TEST_F(ControlFlow, WhileLoopCountsAndCarries) {
  const Outputs done = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                                  [&](const Outputs& v) {
                                    return Outputs{v[0] + 1, v[1] * x_};
                                  },
                                  {0, 1.0F});
  EXPECT_EQ(value(done[1], fed(x_, 3, n_, 4)), 81);
  EXPECT_EQ(value(done[1], fed(x_, 3, n_, 0)), 1);
  const Output grad = gradients({done[1]}, {x_})[0].dense();
  EXPECT_EQ(value(grad, fed(x_, 3, n_, 4)), 108);
  EXPECT_EQ(value(grad, fed(x_, 3, n_, 0)), 0);
}

TEST_F(ControlFlow, MaximumIterationsEndsALoop) {
  const Output done =
      while_loop([&](const Outputs&) { return constant(true); }, [&](const Outputs& v) { return Outputs{v[0] + x_}; },
                 {0.0F}, {.maximum_iterations = n_})[0];
  EXPECT_EQ(value(done, fed(x_, 2, n_, 7)), 14);
}

TEST_F(ControlFlow, ShapesMayChangeWhereTheInvariantsSaySo) {
  const Output rows = constant(Tensor::from<float>({1, 2}, {1, 2}));
  const LoopBody grow = [&](const Outputs& v) { return Outputs{v[0] + 1, concat({v[1], rows}, 0)}; };
  const LoopCondition below = [&](const Outputs& v) { return less(v[0], n_); };
  const Output all = while_loop(below, grow, {0, rows}, {.shape_invariants = {PartialShape::scalar(), {-1, 2}}})[1];
  EXPECT_EQ(all.shape(), PartialShape({-1, 2}));
  EXPECT_EQ(floats(all, fed(x_, 0, n_, 2)).size(), 6U);
  const std::string message = error_of([&] { while_loop(below, grow, {0, rows}, {.name = "fixed"}); });
  EXPECT_TRUE(message.starts_with("INVALID_ARGUMENT: the loop variable '" + rows.name() +
                                  "' enters with shape [1,2] and has shape [2,2] after an iteration"))
      << message;
}

TEST_F(ControlFlow, ALoopUpdatesVariables) {
  const Variable total(constant(0.0F), {.name = "total"});
  const Output done = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                                 [&](const Outputs& v) {
                                   const Output sum = total.assign_add(x_);
                                   const ControlDependencies after({sum});
                                   return Outputs{v[0] + 1};
                                 },
                                 {0})[0];
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(done, fed(x_, 2, n_, 5)).item<int>(), 5);
  EXPECT_EQ(session.run(total).item<float>(), 10);
}

TEST_F(ControlFlow, ALoopWaitsForWhatIsBeforeIt) {
  const Variable v(constant(1.0F), {.name = "v"});
  Output done;
  {
    const ControlDependencies after({Operation(v.assign(x_))});
    done = while_loop([&](const Outputs& state) { return less(state[0], 2); },
                      [&](const Outputs& state) {
                        return Outputs{state[0] + 1, state[1] + v.read_value()};
                      },
                      {0, 0.0F})[1];
  }
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(done, fed(x_, 5)).item<float>(), 10);
}

TEST_F(ControlFlow, GradientsGoThroughNestedLoopsAndConditions) {
  const auto inner = [&](const Output& start) {
    return while_loop([&](const Outputs& v) { return less(v[0], 3); },
                      [&](const Outputs& v) {
                        return Outputs{v[0] + 1,
                                       cond(
                                           equal(v[0], 1), [&] { return v[1] * x_; }, [&] { return v[1] + x_; })};
                      },
                      {0, start})[1];
  };
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, inner(v[1])};
                              },
                              {0, x_})[1];
  // One turn of the inner loop: s -> (s + x) x + x.
  const auto turn = [](double s, double x) { return (s + x) * x + x; };
  const double x = 1.5, h = 1e-6;
  const auto f = [&](double at) { return turn(turn(at, at), at); };
  EXPECT_NEAR(value(y, fed(x_, 1.5F, n_, 2)), f(x), 1e-4);
  EXPECT_NEAR(gradient(y, x_, fed(x_, 1.5F, n_, 2)), (f(x + h) - f(x - h)) / (2 * h), 1e-3);
}

TEST_F(ControlFlow, UnusedVariablesOfALoopTakePartInItsGradient) {
  // Only the second variable is asked for, but it depends on the first.
  const Outputs done = while_loop([&](const Outputs& v) { return less(v[0], 3); },
                                  [&](const Outputs& v) {
                                    return Outputs{v[0] + 1, v[1] * 2.0F, v[2] + v[1]};
                                  },
                                  {0, x_, 0.0F});
  EXPECT_EQ(value(done[2], fed(x_, 1)), 7);
  EXPECT_EQ(gradient(done[2], x_, fed(x_, 1)), 7);
}

TEST_F(ControlFlow, BackPropCanBeTurnedOff) {
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], 3); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] * x_};
                              },
                              {0, 1.0F}, {.back_prop = false})[1];
  EXPECT_TRUE(gradients({y}, {x_})[0].is_none());
}

TEST_F(ControlFlow, RowsGatheredInALoopHaveASparseGradient) {
  const Output table = constant(Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}), {.name = "table"});
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] + reduce_sum(gather(table, stack({v[0]})))};
                              },
                              {0, 0.0F})[1];
  const Gradient grad = gradients({y}, {table})[0];
  EXPECT_EQ(value(y, fed(x_, 0, n_, 2)), 10);
  EXPECT_EQ(floats(grad.dense(), fed(x_, 0, n_, 2)), (std::vector<float>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(floats(grad.dense(), fed(x_, 0, n_, 0)), (std::vector<float>{0, 0, 0, 0, 0, 0}));
}

TEST_F(ControlFlow, AGradientOfUnknownShapeComesOutOfALoop) {
  const Output rows = placeholder(float32, PartialShape::unknown(), {.name = "rows"});
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], 2); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] * rows};
                              },
                              {0, rows})[1];
  const Output grad = gradients({y}, {rows})[0].dense();
  EXPECT_EQ(floats(grad, {{rows, Tensor::from<float>({2}, {1, 2})}}), (std::vector<float>{3, 12}));
}

TEST_F(ControlFlow, ALoopMayTakeGradientsInItsBody) {
  // Newton's method for s * s = x; the slope comes from gradients().
  const auto step = [&](const Output& s) {
    const Output error = s * s - x_;
    return s - error / gradients({error}, {s})[0].dense();
  };
  const Output root = while_loop([](const Outputs& v) { return less(v[0], 8); },
                                 [&](const Outputs& v) {
                                   return Outputs{v[0] + 1, step(v[1])};
                                 },
                                 {0, 1.0F})[1];
  EXPECT_NEAR(value(root, fed(x_, 2)), 1.4142135F, 1e-6F);
}

TEST_F(ControlFlow, ALoopMayTakeGradientsOfALoopInItsBody) {
  const auto cube = [&](const Output& s) {
    return while_loop([](const Outputs& v) { return less(v[0], 2); },
                      [&](const Outputs& v) {
                        return Outputs{v[0] + 1, v[1] * s};
                      },
                      {0, s})[1];
  };
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, gradients({cube(v[1])}, {v[1]})[0].dense()};
                              },
                              {0, x_})[1];
  EXPECT_EQ(value(y, fed(x_, 2, n_, 2)), 3 * 12 * 12);
}

TEST_F(ControlFlow, GradientsMayBeTakenInABranch) {
  const Output y = while_loop([](const Outputs& v) { return less(v[0], 2); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] * x_};
                              },
                              {0, x_})[1];
  const Output slope = cond(
      greater(x_, 0.0F), [&] { return gradients({y}, {x_})[0].dense(); }, [&] { return x_ * 0.0F; });
  EXPECT_EQ(value(slope, fed(x_, 2)), 12);
  EXPECT_EQ(value(slope, fed(x_, -2)), 0);
}

TEST_F(ControlFlow, WhatIsMadeInALoopStaysThere) {
  Output inside;
  while_loop([](const Outputs& v) { return less(v[0], 2); },
             [&](const Outputs& v) {
               inside = v[0] + 1;
               return Outputs{inside};
             },
             {0}, {.name = "first"});
  const std::string message = error_of([&] { multiply(inside, 2, {.name = "late"}); });
  EXPECT_TRUE(message.starts_with("INVALID_ARGUMENT: Mul 'late': its input '" + inside.name() +
                                  "' is made inside the loop 'first/while_context' and used outside of it"))
      << message;
  EXPECT_TRUE(error_of([&] {
                while_loop([](const Outputs& v) { return less(v[0], 2); },
                           [&](const Outputs& v) { return Outputs{v[0] + inside}; }, {0});
              }).starts_with("INVALID_ARGUMENT: '" + inside.name() + "' is made inside the loop"));
}

TEST_F(ControlFlow, TheGradientOfAGradientNeedsV2) {
  const Output y = while_loop([&](const Outputs& v) { return less(v[0], 3); },
                              [&](const Outputs& v) {
                                return Outputs{v[0] + 1, v[1] * x_};
                              },
                              {0, x_})[1];
  const Output first = gradients({y}, {x_})[0].dense();
  const std::string message = error_of([&] { gradients({first}, {x_}); });
  EXPECT_TRUE(message.starts_with("UNIMPLEMENTED")) << message;
  EXPECT_NE(message.find("enable_control_flow_v2()"), std::string::npos) << message;
}

TEST_F(ControlFlow, TensorArraysGoThroughLoops) {
  const TensorArray parts(float32, n_, {.element_shape = PartialShape::scalar()});
  const Outputs done = while_loop([&](const Outputs& v) { return less(v[0], n_); },
                                  [&](const Outputs& v) {
                                    const TensorArray written = parts.with_flow(v[2]).write(v[0], v[1]);
                                    return Outputs{v[0] + 1, v[1] * x_, written.flow()};
                                  },
                                  {0, 1.0F, parts.flow()});
  const Output powers = parts.with_flow(done[2]).stack();
  EXPECT_EQ(floats(powers, fed(x_, 2, n_, 4)), (std::vector<float>{1, 2, 4, 8}));
  EXPECT_EQ(gradient(reduce_sum(powers), x_, fed(x_, 2, n_, 4)), 1 + 4 + 12);
}

TEST_F(ControlFlow, CaseTakesTheFirstThatHolds) {
  const Output y = case_of({{less(x_, 0.0F), [&] { return x_ * -1.0F; }}, {less(x_, 10.0F), [&] { return x_ * 2.0F; }}},
                           {.default_fn = [&] { return x_ * 100.0F; }})[0];
  EXPECT_EQ(value(y, fed(x_, -3)), 3);
  EXPECT_EQ(value(y, fed(x_, 3)), 6);
  EXPECT_EQ(value(y, fed(x_, 30)), 3000);
}

TEST_F(ControlFlow, CaseComplainsIfNoneOrSeveralHold) {
  const auto pairs = [&]() -> std::vector<PredicateAndFn> {
    return {{less(x_, 0.0F), [&] { return x_; }}, {less(x_, 10.0F), [&] { return x_ * 2.0F; }}};
  };
  const Output none = case_of(pairs())[0];
  EXPECT_EQ(value(none, fed(x_, 3)), 6);
  EXPECT_NE(error_of([&] { value(none, fed(x_, 30)); }).find("None of conditions evaluated as True"),
            std::string::npos);
  const Output one = case_of(pairs(), {.exclusive = true})[0];
  EXPECT_EQ(value(one, fed(x_, 3)), 6);
  EXPECT_NE(error_of([&] { value(one, fed(x_, -3)); }).find("more than 1 conditions"), std::string::npos);
}

TEST_F(ControlFlow, AssertLooksAtTensorsOnlyWhenItFails) {
  const Operation check = Assert(greater(x_, 0.0F), {"x is", x_});
  Session session(graph_);
  session.run(check, fed(x_, 1));
  const std::string message = error_of([&] { session.run(check, fed(x_, -1)); });
  EXPECT_NE(message.find("assertion failed: [x is] [-1.]"), std::string::npos) << message;
}

TEST_F(ControlFlow, TupleWaitsForAll) {
  const Variable v(constant(1.0F), {.name = "v"});
  const Outputs both = tuple({x_ * 2.0F}, {Operation(v.assign(x_))});
  Session session(graph_);
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(both[0], fed(x_, 3)).item<float>(), 6);
  EXPECT_EQ(session.run(v).item<float>(), 3);
}

TEST_F(ControlFlow, MapFnTakesAndGivesSeveral) {
  const Output rows = placeholder(float32, {-1, 2}, {.name = "rows"});
  const Outputs results = map_fn(
      [](const Outputs& row) {
        return Outputs{reduce_sum(row[0] * row[1]), row[0] - row[1]};
      },
      {rows, rows * 2.0F});
  const Feeds feeds = {{rows, Tensor::from<float>({2, 2}, {1, 2, 3, 4})}};
  EXPECT_EQ(floats(results[0], feeds), (std::vector<float>{10, 50}));
  EXPECT_EQ(floats(results[1], feeds), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_EQ(floats(gradients({results[0]}, {rows})[0].dense(), feeds), (std::vector<float>{4, 8, 12, 16}));
}

TEST_F(ControlFlow, ScanStartsWithTheFirstRowAndRunsBackwards) {
  const Output rows = constant(Tensor::from<float>({4}, {1, 2, 3, 4}));
  const FoldFn sum = [](const Output& so_far, const Output& row) { return so_far + row; };
  EXPECT_EQ(floats(scan(sum, rows)), (std::vector<float>{1, 3, 6, 10}));
  EXPECT_EQ(floats(scan(sum, rows, {.reverse = true})), (std::vector<float>{10, 9, 7, 4}));
  EXPECT_EQ(floats(scan(sum, rows, {.initializer = {10.0F}, .reverse = true})), (std::vector<float>{20, 19, 17, 14}));
  EXPECT_EQ(value(foldl([](const Output& a, const Output& row) { return a * 2.0F + row; }, rows)), 26);
  EXPECT_EQ(value(foldr([](const Output& a, const Output& row) { return a * 2.0F + row; }, rows)), 49);
}

TEST_F(ControlFlow, MistakesAreErrors) {
  const auto one = [&] { return x_; };
  EXPECT_TRUE(error_of([&] {
                cond(x_, one, one);
              }).starts_with("INVALID_ARGUMENT: the predicate of cond() must be a bool scalar, not float32[] 'x:0'"));
  EXPECT_TRUE(error_of([&] {
                cond(greater(x_, 0.0F), one, [&] { return Outputs{x_, x_}; });
              }).starts_with("INVALID_ARGUMENT: true_fn of cond() returns 1 tensors, false_fn 2"));
  EXPECT_TRUE(error_of([&] {
                cond(greater(x_, 0.0F), one, [&] { return n_; });
              }).starts_with("INVALID_ARGUMENT: result 0 is float32 by true_fn of cond() and int32 by false_fn"));
  const LoopCondition always = [](const Outputs&) { return constant(true); };
  const LoopBody same = [](const Outputs& v) { return v; };
  EXPECT_TRUE(error_of([&] { while_loop(always, same, std::vector<Operand>{}); }).starts_with("INVALID_ARGUMENT"));
  EXPECT_TRUE(error_of([&] {
                while_loop([](const Outputs& v) { return v[0]; }, same, {0});
              }).starts_with("INVALID_ARGUMENT: the condition of a loop must be a bool scalar"));
  EXPECT_TRUE(error_of([&] {
                while_loop(always, [](const Outputs& v) { return Outputs{v[0], v[0]}; }, {0});
              }).starts_with("INVALID_ARGUMENT: the body of the loop returns 2 tensors for 1 loop variables"));
  EXPECT_TRUE(error_of([&] {
                while_loop(always, [&](const Outputs&) { return Outputs{x_}; }, {0});
              }).starts_with("INVALID_ARGUMENT: the loop variable 'while"));
  EXPECT_TRUE(error_of([&] {
                while_loop(always, same, {0}, {.parallel_iterations = 0});
              }).starts_with("INVALID_ARGUMENT: parallel_iterations is 0"));
  EXPECT_TRUE(error_of([&] {
                map_fn([](const Output& row) { return row; }, x_);
              }).starts_with("INVALID_ARGUMENT: elements are the rows of tensors"));
}

}  // namespace
}  // namespace caudal
