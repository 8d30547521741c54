#include "caudal/ops/function_gradients.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/functional_ops.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

using Outputs = std::vector<Output>;
using Body = std::function<Outputs(const Outputs&)>;

TracedFunction traced(const std::string& name, const Outputs& inputs, const Body& body) {
  FunctionBuilder builder(default_graph(), name);
  for (const Output& input : inputs) builder.add_argument(argument_like(input));
  builder.trace(body);
  return builder.finish();
}

class FunctionGradients : public ::testing::Test {
 protected:
  static Output gradient(const Output& y, const Output& x) { return gradients({y}, {x})[0].dense(); }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(FunctionGradients, OfCalls) {
  const Output x = placeholder(float32, {});
  const Output w = constant(5.0F);
  const auto f = traced("f", {x}, [&](const Outputs& a) { return Outputs{exp(a[0]) * w, a[0]}; });
  const Outputs y = call_function(f, {x});
  const Output dx = gradient(y[0], x), dw = gradient(y[0], w), ddx = gradient(dx, x);
  Session session;
  const float e2 = std::exp(2.0F);
  const auto run = [&](const Output& output) { return session.run(output, {{x, Tensor(2.0F)}}).item<float>(); };
  EXPECT_FLOAT_EQ(run(dx), 5 * e2);
  EXPECT_FLOAT_EQ(run(dw), e2);
  EXPECT_FLOAT_EQ(run(ddx), 5 * e2);
  EXPECT_FLOAT_EQ(run(y[0]), 5 * e2);  // the call gives more results now
}

// Random numbers are drawn once, for both directions.
TEST_F(FunctionGradients, TakeTheForwardRunsRandomNumbers) {
  const Output x = constant(std::vector<float>(20, 3.0F));
  const auto f = traced("f", {x}, [&](const Outputs& a) {
    const Output noise =
        OpBuilder("RandomUniform", {}).input(constant(std::vector<int>{20})).attr("dtype", float32).build();
    return Outputs{a[0] * noise};
  });
  const Output y = call_function(f, {x})[0];
  const Output dx = gradient(y, x);
  Session session;
  const auto results = session.run({y, dx});
  for (int i = 0; i < 20; ++i) EXPECT_FLOAT_EQ(results[0].data<float>()[i], 3 * results[1].data<float>()[i]);
}

TEST_F(FunctionGradients, OfBranches) {
  const Output p = placeholder(boolean, {});
  const Output x = placeholder(float32, {-1});
  const Output w = constant(2.0F);
  // One branch needs an intermediate and w, the other neither.
  const auto then_branch =
      traced("then", {x, w}, [](const Outputs& a) { return Outputs{exp(a[0]) * exp(a[0]) * a[1]}; });
  const auto else_branch = traced("else", {x, w}, [](const Outputs& a) { return Outputs{a[0] * 7}; });
  const Output y = raw_ops::if_else(p, {x, w}, then_branch, else_branch)[0];
  const Output dx = gradient(y, x), dw = gradient(y, w), ddx = gradient(dx, x);
  Session session;
  const auto run = [&](const Output& output, bool taken) {
    return session.run(output, {{p, Tensor(taken)}, {x, Tensor(std::vector<float>{1})}}).data<float>()[0];
  };
  const float e2 = std::exp(2.0F);
  EXPECT_FLOAT_EQ(run(dx, true), 4 * e2);
  EXPECT_FLOAT_EQ(run(dx, false), 7);
  EXPECT_FLOAT_EQ(run(dw, true), e2);
  EXPECT_FLOAT_EQ(run(dw, false), 0);
  EXPECT_FLOAT_EQ(run(ddx, true), 8 * e2);
  EXPECT_FLOAT_EQ(run(ddx, false), 0);
}

TEST_F(FunctionGradients, OfCases) {
  const Output i = placeholder(int32, {});
  const Output x = constant(3.0F);
  std::vector<TracedFunction> branches;
  branches.push_back(traced("square", {x}, [](const Outputs& a) { return Outputs{square(a[0])}; }));
  branches.push_back(traced("cube", {x}, [](const Outputs& a) { return Outputs{a[0] * a[0] * a[0]}; }));
  branches.push_back(traced("none", {x}, [](const Outputs&) { return Outputs{constant(1.0F)}; }));
  const Output dx = gradient(raw_ops::switch_case(i, {x}, branches)[0], x);
  Session session;
  const auto run = [&](int branch) { return session.run(dx, {{i, Tensor(branch)}}).item<float>(); };
  EXPECT_FLOAT_EQ(run(0), 6);
  EXPECT_FLOAT_EQ(run(1), 27);
  EXPECT_FLOAT_EQ(run(2), 0);
}

// x -> w * x^2, n times.
Output power_loop(const Output& n, const Output& x, const Output& w) {
  const Outputs inputs{constant(0), n, x, w};
  const auto cond = traced("cond", inputs, [](const Outputs& v) { return Outputs{less(v[0], v[1])}; });
  const auto body = traced("body", inputs, [](const Outputs& v) {
    return Outputs{v[0] + 1, v[1], square(v[2]) * v[3], v[3]};
  });
  return raw_ops::while_do(inputs, cond, body)[2];
}

TEST_F(FunctionGradients, OfLoops) {
  const Output n = placeholder(int32, {});
  const Output x = constant(1.5F);
  const Output w = constant(0.5F);
  const Output y = power_loop(n, x, w);
  const auto grads = gradients({y}, {x, w});
  Session session;
  const auto run = [&](const Output& output, int count) {
    return session.run(output, {{n, Tensor(count)}}).item<float>();
  };
  // y_n = w^(2^n - 1) x^(2^n)
  for (const int count : {0, 1, 2, 4}) {
    const double k = std::pow(2.0, count);
    const double value = std::pow(0.5, k - 1) * std::pow(1.5, k);
    EXPECT_NEAR(run(y, count), value, 1e-5 * value);
    EXPECT_NEAR(run(grads[0].dense(), count), value * k / 1.5, 1e-5 * value * k);
    EXPECT_NEAR(run(grads[1].dense(), count), value * (k - 1) / 0.5, 1e-5 * value * k);
  }
}

TEST_F(FunctionGradients, OfLoopsTwice) {
  const Output n = placeholder(int32, {});
  const Output x = constant(1.5F);
  const Output w = constant(0.5F);
  const Output dx = gradient(power_loop(n, x, w), x);
  const auto second = gradients({dx}, {x, w});
  Session session;
  for (const int count : {0, 1, 2, 3}) {
    const double k = std::pow(2.0, count);
    const double value = std::pow(0.5, k - 1) * std::pow(1.5, k);
    const auto run = [&](const Gradient& g) { return session.run(g.dense(), {{n, Tensor(count)}}).item<float>(); };
    EXPECT_NEAR(run(second[0]), value * k * (k - 1) / 2.25, 1e-4 * (1 + value * k * k));
    EXPECT_NEAR(run(second[1]), value * k * (k - 1) / 0.75, 1e-4 * (1 + value * k * k));
  }
}

// A branch in a loop in a branch.
TEST_F(FunctionGradients, OfNestedControlFlow) {
  const Output n = placeholder(int32, {});
  const Output x = constant(1.5F);
  const Outputs inputs{constant(0), n, x};
  const auto cond = traced("cond", inputs, [](const Outputs& v) { return Outputs{less(v[0], v[1])}; });
  const auto body = traced("body", inputs, [](const Outputs& v) {
    const auto twice = traced("twice", {v[2]}, [](const Outputs& a) { return Outputs{a[0] * 2}; });
    const auto squared = traced("squared", {v[2]}, [](const Outputs& a) { return Outputs{square(a[0])}; });
    const Output even = equal(OpBuilder("FloorMod", {}).input(v[0]).input(constant(2)).build(), constant(0));
    return Outputs{v[0] + 1, v[1], raw_ops::if_else(even, {v[2]}, twice, squared)[0]};
  });
  const auto looped = traced("looped", inputs, [&](const Outputs& v) { return raw_ops::while_do(v, cond, body); });
  const auto same = traced("same", inputs, [](const Outputs& v) { return v; });
  const Output y = raw_ops::if_else(less(constant(0), n), inputs, looped, same)[2];
  const Output dx = gradient(y, x), ddx = gradient(dx, x);
  Session session;
  const auto run = [&](const Output& output, int count) {
    return session.run(output, {{n, Tensor(count)}}).item<float>();
  };
  EXPECT_FLOAT_EQ(run(dx, 0), 1);
  EXPECT_FLOAT_EQ(run(y, 3), 18);   // 2 (2x)^2
  EXPECT_FLOAT_EQ(run(dx, 3), 24);  // 16 x
  EXPECT_FLOAT_EQ(run(ddx, 3), 16);
  EXPECT_FLOAT_EQ(run(dx, 4), 64 * 4 * 1.5F * 1.5F * 1.5F);  // 64 x^4
}

TEST_F(FunctionGradients, ReachVariablesBehindHandles) {
  const Variable v(Tensor(3.0F), {.name = "v", .use_resource = true});
  const Outputs inputs{constant(0), constant(1.0F), v.handle()};
  const auto cond = traced("cond", inputs, [](const Outputs& a) { return Outputs{less(a[0], constant(3))}; });
  const auto body = traced("body", inputs, [](const Outputs& a) {
    const Output value = OpBuilder("ReadVariableOp", {}).input(a[2]).attr("dtype", float32).build();
    return Outputs{a[0] + 1, a[1] * value, a[2]};
  });
  const Output y = raw_ops::while_do(inputs, cond, body)[1];
  const Output dv = gradient(y, v.handle());
  Session session;
  session.run(v.initializer());
  EXPECT_FLOAT_EQ(session.run(dv).item<float>(), 27);
}

TEST_F(FunctionGradients, LibraryNamesTheGradientOfAFunction) {
  const Output x = constant(3.0F);
  const auto f = traced("f", {x}, [](const Outputs& a) { return Outputs{a[0] * a[0]}; });
  traced("f_gradient", {x, x}, [](const Outputs& a) { return Outputs{a[1] * 100 + a[0]}; });
  graph_.functions().set_gradient("f", "f_gradient");
  const Output by_call = gradient(call_function(f, {x})[0], x);
  const Output by_name = gradient(OpBuilder("f", {}).input(x).build(), x);
  EXPECT_EQ(Session().run(by_call).item<float>(), 103);
  EXPECT_EQ(Session().run(by_name).item<float>(), 103);
}

}  // namespace
}  // namespace caudal
