#include "caudal/ops/functional_ops.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Outputs = std::vector<Output>;
using Body = std::function<Outputs(const Outputs&)>;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A function of arguments like `inputs`, without captures.
TracedFunction traced(const std::string& name, const Outputs& inputs, const Body& body) {
  FunctionBuilder builder(default_graph(), name);
  for (const Output& input : inputs) builder.add_argument(argument_like(input));
  builder.trace(body);
  return builder.finish();
}

class FunctionalOpsTest : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(FunctionalOpsTest, CallsGiveTheBodysResults) {
  const Output x = placeholder(float32, {-1});
  const Output bias = constant(10.0F);
  const auto f = traced("f", {x}, [&](const Outputs& a) { return Outputs{a[0] + bias, a[0], bias}; });
  const Outputs y = call_function(f, {x});
  EXPECT_EQ(y[0].node()->type(), "PartitionedCall");
  EXPECT_EQ(y[0].shape(), PartialShape({-1}));
  Session session;
  for (int run = 0; run < 4; ++run) {  // the plan specialises in between
    const auto results = session.run({y[0], y[1], y[2]}, {{x, Tensor(std::vector<float>{1, 2})}});
    EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{11, 12}));
    EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{1, 2}));
    EXPECT_EQ(results[2].item<float>(), 10);
  }
  EXPECT_EQ(session.run(y[0], {{x, Tensor(std::vector<float>{5})}}).to_vector<float>(), std::vector<float>{15});
}

TEST_F(FunctionalOpsTest, FunctionsAreOpsByTheirName) {
  const Output x = constant(3.0F);
  const auto square = traced("square_it", {x}, [](const Outputs& a) { return Outputs{a[0] * a[0]}; });
  const Output y = OpBuilder("square_it", {}).input(x).build();
  const Output dx = gradients({y}, {x})[0].dense();
  EXPECT_EQ(Session().run(y).item<float>(), 9);
  EXPECT_EQ(Session().run(dx).item<float>(), 6);
}

TEST_F(FunctionalOpsTest, IfRunsOneBranch) {
  const Output p = placeholder(boolean, {});
  const Output x = constant(4.0F);
  const auto half = traced("half", {x}, [](const Outputs& a) { return Outputs{a[0] / 2}; });
  const auto more = traced("more", {x}, [](const Outputs& a) { return Outputs{a[0] + 100}; });
  const Output y = raw_ops::if_else(p, {x}, half, more)[0];
  EXPECT_EQ(y.node()->type(), "StatelessIf");
  Session session;
  EXPECT_EQ(session.run(y, {{p, Tensor(true)}}).item<float>(), 2);
  EXPECT_EQ(session.run(y, {{p, Tensor(false)}}).item<float>(), 104);
}

TEST_F(FunctionalOpsTest, ConditionsOfOtherTypes) {
  const Output x = constant(1);
  const auto yes = traced("yes", {x}, [](const Outputs&) { return Outputs{constant(true)}; });
  const auto no = traced("no", {x}, [](const Outputs&) { return Outputs{constant(false)}; });
  const auto holds = [&](const Tensor& value) {
    const Output cond = constant(value);
    const bool by_if = Session().run(raw_ops::if_else(cond, {x}, yes, no)[0]).item<bool>();
    EXPECT_EQ(Session().run(raw_ops::to_bool(cond)).item<bool>(), by_if);
    return by_if;
  };
  EXPECT_TRUE(holds(Tensor(0.5)));
  EXPECT_FALSE(holds(Tensor(std::int64_t{0})));
  EXPECT_TRUE(holds(Tensor("x")));
  EXPECT_FALSE(holds(Tensor("")));
  EXPECT_TRUE(holds(Tensor(std::vector<float>{0})));
  EXPECT_FALSE(holds(Tensor(std::vector<float>{})));
  EXPECT_EQ(error_of([&] { holds(Tensor::zeros(complex64, Shape())); }).substr(0, 16), "INVALID_ARGUMENT");
}

TEST_F(FunctionalOpsTest, CaseTakesTheLastBranchOtherwise) {
  const Output i = placeholder(int32, {});
  const Output x = constant(2.0F);
  std::vector<TracedFunction> branches;
  for (const float factor : {1.0F, 10.0F, 100.0F}) {
    branches.push_back(traced("branch", {x}, [&](const Outputs& a) { return Outputs{a[0] * factor}; }));
  }
  const Output y = raw_ops::switch_case(i, {x}, branches)[0];
  Session session;
  const auto run = [&](int index) { return session.run(y, {{i, Tensor(index)}}).item<float>(); };
  EXPECT_EQ(run(0), 2);
  EXPECT_EQ(run(1), 20);
  EXPECT_EQ(run(2), 200);
  EXPECT_EQ(run(7), 200);
  EXPECT_EQ(run(-1), 200);
}

// i = 0; while (i < n) x = 2x + 1, ++i.
Outputs counted_loop(const Output& n, const Output& x) {
  const Outputs inputs{constant(0), n, x};
  const auto cond = traced("cond", inputs, [](const Outputs& v) { return Outputs{less(v[0], v[1])}; });
  const auto body = traced("body", inputs, [](const Outputs& v) { return Outputs{v[0] + 1, v[1], v[2] * 2 + 1}; });
  return raw_ops::while_do(inputs, cond, body);
}

TEST_F(FunctionalOpsTest, WhileRepeatsTheBody) {
  const Output n = placeholder(int32, {});
  const Output x = placeholder(float32, {-1});
  const Outputs y = counted_loop(n, x);
  Session session;
  const Tensor start(std::vector<float>{0, 1});
  for (int run = 0; run < 3; ++run) {
    const auto results = session.run({y[0], y[2]}, {{n, Tensor(5)}, {x, start}});
    EXPECT_EQ(results[0].item<std::int32_t>(), 5);
    EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{31, 63}));
  }
  EXPECT_EQ(session.run(y[2], {{n, Tensor(0)}, {x, start}}).to_vector<float>(), (std::vector<float>{0, 1}));
  EXPECT_EQ(start.to_vector<float>(), (std::vector<float>{0, 1}));  // what was fed is as it was
}

TEST_F(FunctionalOpsTest, LoopsSeeCancellationAndDeadlines) {
  const Output x = constant(true);
  const auto same = traced("same", {x}, [](const Outputs& v) { return v; });  // no node at all
  const auto negated = traced("negated", {x}, [](const Outputs& v) { return Outputs{logical_not(logical_not(v[0]))}; });
  for (const auto& body : {same, negated}) {
    const Output forever = raw_ops::while_do({x}, same, body)[0];
    Session session;
    const RunOptions options{.timeout_ms = 20};
    EXPECT_EQ(error_of([&] { session.run(forever, {}, options); }).substr(0, 17), "DEADLINE_EXCEEDED");
  }
}

TEST_F(FunctionalOpsTest, ForCountsByDelta) {
  const Output x = constant(1.0F);
  const auto body = traced("for_body", {constant(0), x}, [](const Outputs& v) {
    return Outputs{v[1] * 10 + OpBuilder("Cast", {}).input(v[0]).attr("DstT", float32).build()};
  });
  const auto loop = [&](int start, int limit, int delta) {
    return OpBuilder("For", {})
        .input(constant(start))
        .input(constant(limit))
        .input(constant(delta))
        .inputs({x})
        .attr("body", body.function)
        .build();
  };
  EXPECT_EQ(Session().run(loop(1, 4, 1)).item<float>(), 1123);
  EXPECT_EQ(Session().run(loop(4, 0, -2)).item<float>(), 142);
  EXPECT_EQ(Session().run(loop(2, 2, 0)).item<float>(), 1);
  EXPECT_EQ(error_of([&] { Session().run(loop(0, 2, -1)); }).substr(0, 16), "INVALID_ARGUMENT");
}

TEST_F(FunctionalOpsTest, SideEffectsHappenWithoutAResultThatNeedsThem) {
  const Variable v(Tensor(1.0F), {.name = "v", .use_resource = true});
  const Output x = constant(5.0F);
  const auto f = traced("f", {x}, [&](const Outputs& a) {
    OpBuilder("AssignAddVariableOp", {}).input(v.handle()).input(a[0]).build_node();
    return Outputs{a[0]};
  });
  EXPECT_TRUE(f.stateful);
  const Output y = call_function(f, {x})[0];
  EXPECT_EQ(y.node()->type(), "StatefulPartitionedCall");
  Session session;
  session.run(v.initializer());
  session.run(y);
  session.run(y);
  EXPECT_EQ(session.run(v.value()).item<float>(), 11);
}

TEST_F(FunctionalOpsTest, EveryInstantiationHasStatesOfItsOwn) {
  const Output x = constant(std::vector<int>{3});
  graph_.set_seed(7);
  const auto f = traced("f", {x}, [](const Outputs& a) {
    return Outputs{OpBuilder("RandomUniform", {}).input(a[0]).attr("dtype", float32).attr("seed", 1).build()};
  });
  const auto g = traced("g", {x}, [](const Outputs& a) {
    return Outputs{OpBuilder("RandomUniform", {}).input(a[0]).attr("dtype", float32).attr("seed", 1).build()};
  });
  const Output a = call_function(f, {x})[0], b = call_function(g, {x})[0];
  Session session;
  const auto first = session.run(a).to_vector<float>();
  const auto second = session.run(a).to_vector<float>();
  EXPECT_NE(first, second);
  EXPECT_EQ(session.run(b).to_vector<float>(), first);
}

TEST_F(FunctionalOpsTest, ErrorsNameFunctionAndNode) {
  const Output x = placeholder(int32, {});
  const auto f = traced("divides", {x}, [](const Outputs& a) {
    return Outputs{OpBuilder("FloorDiv", {.name = "quotient"}).input(constant(1)).input(a[0]).build()};
  });
  const Output y = call_function(f, {x})[0];
  const std::string error = error_of([&] { Session().run(y, {{x, Tensor(0)}}); });
  EXPECT_NE(error.find("INVALID_ARGUMENT: FloorDiv 'quotient': function 'divides': "), std::string::npos) << error;
  const Output unknown = OpBuilder("PartitionedCall", {})
                             .inputs({x})
                             .attr("Tout", std::vector{int32})
                             .attr("f", make_function_attr("divide"))
                             .build();
  const std::string missing = error_of([&] { Session().run(unknown, {{x, Tensor(0)}}); });
  EXPECT_NE(missing.find("NOT_FOUND"), std::string::npos) << missing;
  EXPECT_NE(missing.find("'divides'"), std::string::npos) << missing;
}

// f(n, x) = n <= 0 ? x : f(n - 1, x + 1), by name.
Output recursive(Graph& graph, const Output& n, const Output& x) {
  const auto stop = traced("stop", {n, x}, [](const Outputs& a) { return Outputs{a[1]}; });
  TracedFunction again;
  {
    Function step;
    step.signature.name = "again";
    step.signature.inputs = {{.name = "n", .type = int32}, {.name = "x", .type = float32}};
    step.signature.outputs = {{.name = "y", .type = float32}};
    step.nodes = {{"one", "Const", "", {}, {{"dtype", int32}, {"value", Tensor(1)}}},
                  {"unit", "Const", "", {}, {{"dtype", float32}, {"value", Tensor(1.0F)}}},
                  {"less", "Sub", "", {"n", "one:output:0"}, {{"T", int32}}},
                  {"more", "Add", "", {"x", "unit:output:0"}, {{"T", float32}}},
                  {"call", "recurse", "", {"less:z:0", "more:z:0"}, {}}};
    step.returns = {{"y", "call:y:0"}};
    graph.functions().add(std::make_shared<Function>(step));
    Function recurse;
    recurse.signature = step.signature;
    recurse.signature.name = "recurse";
    recurse.nodes = {{"zero", "Const", "", {}, {{"dtype", int32}, {"value", Tensor(0)}}},
                     {"ends", "LessEqual", "", {"n", "zero:output:0"}, {{"T", int32}}},
                     {"if",
                      "If",
                      "",
                      {"ends:z:0", "n", "x"},
                      {{"Tcond", boolean},
                       {"Tin", std::vector{int32, float32}},
                       {"Tout", std::vector{float32}},
                       {"then_branch", make_function_attr("stop")},
                       {"else_branch", make_function_attr("again")}}}};
    recurse.returns = {{"y", "if:output:0"}};
    graph.functions().add(std::make_shared<Function>(recurse));
  }
  return OpBuilder("recurse", {}).input(n).input(x).build();
}

TEST_F(FunctionalOpsTest, RecursionGoesAsDeepAsTheLimit) {
  const Output n = placeholder(int32, {});
  const Output x = constant(0.5F);
  const Output y = recursive(graph_, n, x);
  Session session;
  EXPECT_EQ(session.run(y, {{n, Tensor(3)}}).item<float>(), 3.5F);
  EXPECT_EQ(session.run(y, {{n, Tensor(300)}}).item<float>(), 300.5F);  // three calls a level
  const std::string error = error_of([&] { session.run(y, {{n, Tensor(1 << 30)}}); });
  EXPECT_EQ(error.substr(0, 18), "RESOURCE_EXHAUSTED") << error;
  EXPECT_NE(error.find("is called inside 1000 other calls"), std::string::npos) << error;
  EXPECT_EQ(session.run(y, {{n, Tensor(2)}}).item<float>(), 2.5F);
}

TEST_F(FunctionalOpsTest, FunctionsAddedToARunningSessionAreSeen) {
  const Output x = constant(3.0F);
  Session session;
  EXPECT_EQ(session.run(x).item<float>(), 3);
  const auto f = traced("late", {x}, [](const Outputs& a) { return Outputs{a[0] * 2}; });
  EXPECT_EQ(session.run(call_function(f, {x})[0]).item<float>(), 6);
}

TEST_F(FunctionalOpsTest, BadCallsAreRefused) {
  const Output x = constant(3.0F);
  const auto f = traced("f", {x}, [](const Outputs& a) { return Outputs{a[0] * 2}; });
  const auto two = traced("two", {x}, [](const Outputs& a) { return Outputs{a[0], a[0]}; });
  const auto ints = traced("ints", {constant(1)}, [](const Outputs& a) { return Outputs{a[0]}; });
  EXPECT_EQ(error_of([&] { raw_ops::if_else(constant(true), {x}, f, two); }),
            "INVALID_ARGUMENT: branches differ in their results: 'f' gives [float32], 'two' [float32, float32]. Let "
            "both give the same number of tensors of the same types.");
  const std::string error = error_of([&] { Session().run(call_function(ints, {x})[0]); });
  EXPECT_NE(error.find("function 'ints' has arguments of types [int32]; the node has [float32]"), std::string::npos)
      << error;
  EXPECT_EQ(Session().run(raw_ops::fake_param(float32, {2, -1})).shape(), Shape({2, 0}));
}

}  // namespace

CAUDAL_OP_SAMPLES(PartitionedCall) { samples.covered_by("FunctionalOpsTest.CallsGiveTheBodysResults"); }
CAUDAL_OP_SAMPLES(StatefulPartitionedCall) {
  samples.covered_by("FunctionalOpsTest.SideEffectsHappenWithoutAResultThatNeedsThem");
}
CAUDAL_OP_SAMPLES(If) { samples.covered_by("FunctionalOpsTest.RecursionGoesAsDeepAsTheLimit"); }
CAUDAL_OP_SAMPLES(StatelessIf) { samples.covered_by("FunctionalOpsTest.IfRunsOneBranch"); }
CAUDAL_OP_SAMPLES(Case) { samples.covered_by("FunctionalOpsTest.CaseTakesTheLastBranchOtherwise"); }
CAUDAL_OP_SAMPLES(StatelessCase) { samples.covered_by("FunctionalOpsTest.CaseTakesTheLastBranchOtherwise"); }
CAUDAL_OP_SAMPLES(While) { samples.covered_by("FunctionalOpsTest.WhileRepeatsTheBody"); }
CAUDAL_OP_SAMPLES(StatelessWhile) { samples.covered_by("FunctionalOpsTest.WhileRepeatsTheBody"); }
CAUDAL_OP_SAMPLES(_If) { samples.covered_by("FunctionalOpsTest.IfRunsOneBranch"); }
CAUDAL_OP_SAMPLES(_While) { samples.covered_by("FunctionalOpsTest.WhileRepeatsTheBody"); }
CAUDAL_OP_SAMPLES(For) { samples.covered_by("FunctionalOpsTest.ForCountsByDelta"); }
CAUDAL_OP_SAMPLES(RemoteCall) { samples.covered_by("FunctionalOpsTest.RemoteCallsStayInTheProcess"); }
CAUDAL_OP_SAMPLES(SymbolicGradient) { samples.covered_by("FunctionalOpsTest.FunctionsAreOpsByTheirName"); }
CAUDAL_OP_SAMPLES(MapDefun) { samples.covered_by("FunctionalOpsTest.MapDefunCallsForEveryRow"); }
CAUDAL_OP_SAMPLES(ToBool) { samples.covered_by("FunctionalOpsTest.ConditionsOfOtherTypes"); }
CAUDAL_OP_SAMPLES(FakeParam) { samples.covered_by("FunctionalOpsTest.BadCallsAreRefused"); }
CAUDAL_OP_SAMPLES(DeviceIndex) { samples.covered_by("FunctionalOpsTest.RemoteCallsStayInTheProcess"); }
CAUDAL_OP_SAMPLES(_Arg) { samples.covered_by("FunctionalOpsTest.ArgumentsAreGivenByCalls"); }
CAUDAL_OP_SAMPLES(_DeviceArg) { samples.covered_by("FunctionalOpsTest.ArgumentsAreGivenByCalls"); }
CAUDAL_OP_SAMPLES(_Retval) { samples.covered_by("FunctionalOpsTest.RemoteCallsStayInTheProcess"); }
CAUDAL_OP_SAMPLES(_DeviceRetval) { samples.covered_by("FunctionalOpsTest.RemoteCallsStayInTheProcess"); }

namespace {

TEST_F(FunctionalOpsTest, ArgumentsAreGivenByCalls) {
  for (const char* type : {"_Arg", "_DeviceArg"}) {
    const Output argument = OpBuilder(type, {})
                                .attr("T", DType::kResource)
                                .attr("index", 0)
                                .attr("_handle_dtypes", std::vector{float32})
                                .attr("_handle_shapes", std::vector{PartialShape({3})})
                                .build();
    EXPECT_EQ(argument.shape(), PartialShape(Shape()));
    ASSERT_EQ(argument.node()->output_handle(0).size(), 1);
    EXPECT_EQ(argument.node()->output_handle(0)[0].shape, PartialShape({3}));
    const Output shaped = OpBuilder(type, {})
                              .attr("T", float32)
                              .attr("index", 1)
                              .attr("_output_shapes", std::vector{PartialShape({2, -1})})
                              .build();
    EXPECT_EQ(shaped.shape(), PartialShape({2, -1}));
    EXPECT_EQ(error_of([&] { Session().run(shaped); }).substr(0, 16), "INVALID_ARGUMENT");
  }
}

// A function that calls another, and so on: planning one plans all.
TEST_F(FunctionalOpsTest, ChainsOfCallsEndAtALimit) {
  const Output x = constant(1.0F);
  traced("link_0", {x}, [](const Outputs& a) { return Outputs{a[0] + 1}; });
  for (int i = 1; i < 250; ++i) {
    const std::string before = internal::concat("link_", i - 1);
    traced(internal::concat("link_", i), {x},
           [&](const Outputs& a) { return Outputs{OpBuilder(before, {}).input(a[0]).build()}; });
  }
  Session session;
  EXPECT_EQ(session.run(OpBuilder("link_150", {}).input(x).build()).item<float>(), 2);
  Session fresh;
  const std::string error = error_of([&] { fresh.run(OpBuilder("link_249", {}).input(x).build()); });
  EXPECT_EQ(error.substr(0, 18), "RESOURCE_EXHAUSTED") << error;
}

TEST_F(FunctionalOpsTest, MapDefunCallsForEveryRow) {
  const Output x = placeholder(float32, {-1, 2});
  const Output row = placeholder(float32, {2});
  const Output scale = constant(10.0F);
  const auto f = traced("f", {row, scale}, [](const Outputs& a) {
    return Outputs{a[0] * a[1], OpBuilder("AsString", {}).input(reduce_sum(a[0])).build()};
  });
  Node& node = OpBuilder("MapDefun", {})
                   .inputs({x})
                   .inputs({scale})
                   .attr("output_types", std::vector{float32, string})
                   .attr("output_shapes", std::vector{PartialShape({2}), PartialShape(Shape())})
                   .attr("f", f.function)
                   .build_node();
  EXPECT_EQ(node.output_shape(0), PartialShape({-1, 2}));
  Session session;
  const auto results = session.run({node.output(0), node.output(1)}, {{x, Tensor::from<float>({2, 2}, {1, 2, 3, 4})}});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{10, 20, 30, 40}));
  EXPECT_EQ(results[1].shape(), Shape({2}));
  EXPECT_EQ(results[1].at<std::string>(1).substr(0, 1), "7");
  EXPECT_EQ(session.run(node.output(0), {{x, Tensor::zeros(float32, {0, 2})}}).shape(), Shape({0, 2}));
}

TEST_F(FunctionalOpsTest, RemoteCallsStayInTheProcess) {
  const Output x = constant(3.0F);
  const auto f = traced("f", {x}, [](const Outputs& a) { return Outputs{a[0] * 2}; });
  const auto remote = [&](const std::string& target) {
    return OpBuilder("RemoteCall", {})
        .input(constant(target))
        .inputs({x})
        .attr("Tout", std::vector{float32})
        .attr("f", f.function)
        .build();
  };
  EXPECT_EQ(Session().run(remote("/job:localhost/replica:0/task:0/device:CPU:0")).item<float>(), 6);
  EXPECT_EQ(error_of([&] { Session().run(remote("/device:GPU:0")); }).substr(0, 16), "INVALID_ARGUMENT");
  const Output index =
      OpBuilder("DeviceIndex", {}).attr("device_names", std::vector<std::string>{"GPU", "CPU"}).build();
  EXPECT_EQ(Session().run(index).item<std::int32_t>(), 1);
  Session().run(OpBuilder("_Retval", {}).input(x).attr("index", 0).build_operation());
}

}  // namespace
}  // namespace caudal
