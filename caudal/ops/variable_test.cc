#include "caudal/ops/variable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->name());
  return names;
}

using Strings = std::vector<std::string>;

class VariableTest : public testing::TestWithParam<bool> {
 protected:
  Variable make(const Operand& value, std::string name = {}) {
    return Variable(value, {.name = std::move(name), .use_resource = GetParam()});
  }
  Graph graph_;
  GraphScope scope_{graph_};
};
INSTANTIATE_TEST_SUITE_P(, VariableTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

TEST(Variable, HasTensorFlowsNodeNames) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(zeros({2, 3}), {.name = "w"});
  const Variable b(1.5, {.name = "w"});
  {
    const NameScope name("layer");
    const Variable c(b.initial_value(), {});
  }
  EXPECT_EQ(node_names(graph), (Strings{"zeros", "w", "w/Assign", "w/read", "w_1/initial_value", "w_1", "w_1/Assign",
                                        "w_1/read", "layer/Variable", "layer/Variable/Assign", "layer/Variable/read"}));
  EXPECT_EQ(w.name(), "w:0");
  EXPECT_EQ(w.dtype(), float32);
  EXPECT_EQ(w.shape(), (PartialShape{2, 3}));
  EXPECT_EQ(w.initializer().node()->attr<std::vector<std::string>>("_class"), Strings{"loc:@w"});
}

TEST(Variable, OfAResourceHasTensorFlowsNodeNames) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable r([] { return constant(1.0F, {.name = "initial_value"}); }, {.name = "r", .use_resource = true});
  EXPECT_EQ(node_names(graph), (Strings{"r/Initializer/initial_value", "r", "r/Assign", "r/Read/ReadVariableOp"}));
  EXPECT_EQ(r.handle().node()->attr<std::string>("shared_name"), "r");
}

TEST_P(VariableTest, GoesThroughItsLife) {
  const Variable v = make({1, 2}, "v");
  const Output ready = v.is_initialized();
  const Output more = v.assign_add({10, 20});
  const Output less = v.assign_sub({1, 1});
  const Output other = v.assign({7, 8});
  Session session;
  EXPECT_FALSE(session.run(ready).item<bool>());
  EXPECT_EQ(code_of([&] { session.run(v); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([&] { session.run(more); }), Code::kFailedPrecondition);
  session.run(global_variables_initializer());
  EXPECT_TRUE(session.run(ready).item<bool>());
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{1, 2}));
  EXPECT_EQ(session.run(more).to_vector<int>(), (std::vector{11, 22}));
  EXPECT_EQ(session.run(less).to_vector<int>(), (std::vector{10, 21}));
  EXPECT_EQ(session.run(other).to_vector<int>(), (std::vector{7, 8}));
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{7, 8}));
}

TEST_P(VariableTest, PassesGradientsOn) {
  const Variable v = make(Tensor(std::vector<float>{1, 2}));
  const Output weights = constant(Tensor(std::vector<float>{5, 7}));
  const auto gradient = gradients({v}, {v.handle()}, {.grad_ys = {weights}});
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(gradient[0].dense()).to_vector<float>(), (std::vector<float>{5, 7}));
}

TEST_P(VariableTest, IsKeptPerSession) {
  const Variable v = make(1.0F);
  const Output more = v.assign_add(1.0F);
  const Operation init = global_variables_initializer();
  Session a, b;
  a.run(init);
  a.run(more);
  EXPECT_EQ(code_of([&] { b.run(v); }), Code::kFailedPrecondition);
  b.run(init);
  EXPECT_EQ(a.run(v).item<float>(), 2);
  EXPECT_EQ(b.run(v).item<float>(), 1);
}

TEST_P(VariableTest, FetchedAndFedValuesStayAsTheyWere) {
  const Variable v = make({1, 2});
  const Output x = placeholder(int32, {2});
  const Output set = v.assign(x);
  const Output more = v.assign_add({1, 1});
  Session session;
  session.run(global_variables_initializer());
  const Tensor before = session.run(v);
  const Tensor feed(std::vector<int>{5, 6});
  session.run(set, {{x, feed}});
  session.run(more);
  EXPECT_EQ(before.to_vector<int>(), (std::vector{1, 2}));
  EXPECT_EQ(feed.to_vector<int>(), (std::vector{5, 6}));
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{6, 7}));
  // The constant that initialised it did not change either.
  session.run(v.initializer());
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{1, 2}));
}

TEST_P(VariableTest, RefusesAnotherShape) {
  const Variable v = make({1, 2});
  EXPECT_EQ(code_of([&] { v.assign({1, 2, 3}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { v.assign_add(1); }), Code::kInvalidArgument);
  const Output x = placeholder(int32);
  const Output set = v.assign(x);
  const Output more = v.assign_add(x);
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(code_of([&] { session.run(set, {{x, Tensor(3)}}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { session.run(more, {{x, Tensor(3)}}); }), Code::kInvalidArgument);
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{1, 2}));
}

TEST_P(VariableTest, CountsUpToItsLimit) {
  const Variable v = make(Tensor(std::int64_t{0}));
  const Output next = v.count_up_to(2);
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(next).item<std::int64_t>(), 0);
  EXPECT_EQ(session.run(next).item<std::int64_t>(), 1);
  EXPECT_EQ(code_of([&] { session.run(next); }), Code::kOutOfRange);
  EXPECT_EQ(session.run(v).item<std::int64_t>(), 2);
}

// A read beside an update may be old or new, never a mixture; an ordered one is exactly one of both.
TEST_P(VariableTest, ReadsAreNeverTorn) {
  constexpr int kSize = 20000;
  const Variable v = make(Tensor(std::vector<float>(kSize, 0.0F)));
  const Output more = v.assign_add(Tensor(std::vector<float>(kSize, 1.0F)));
  Output after;
  {
    const ControlDependencies order({more});
    after = v.read_value();
  }
  Session session;
  session.run(global_variables_initializer());
  std::atomic<bool> torn{false};
  const auto whole = [&](const Tensor& t) {
    for (const float x : t.flat<float>()) torn = torn || x != t.item<float>();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        const auto both = session.run({v, more});
        whole(both[0]);
        whole(both[1]);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(session.run(v).item<float>(), 120);
  EXPECT_EQ(session.run(after).item<float>(), 121);
}

TEST(Variable, MayChangeItsShapeWithoutValidation) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor(std::vector<float>{1, 2}), {.validate_shape = false});
  EXPECT_FALSE(v.shape().has_rank());
  const Output set = raw_ops::assign(v.handle(), constant(Tensor(3.0F)), {.validate_shape = false});
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(set).shape(), Shape{});
  EXPECT_EQ(session.run(v).shape(), Shape{});
}

TEST(Variable, WantsAKnownShape) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {-1, 2});
  EXPECT_EQ(code_of([&] { Variable v(x, {.name = "v"}); }), Code::kInvalidArgument);
}

TEST(Variable, LiesInItsCollections) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(1.0F, {.name = "hidden/w"});
  const Variable s(0, {.trainable = false, .name = "step"});
  const Variable l(0, {.trainable = false, .collections = {"local_variables"}, .name = "local"});
  const auto names = [](const std::vector<Variable>& variables) {
    Strings names;
    for (const Variable& v : variables) names.push_back(v.op_name());
    return names;
  };
  EXPECT_EQ(names(global_variables()), (Strings{"hidden/w", "step"}));
  EXPECT_EQ(names(trainable_variables()), Strings{"hidden/w"});
  EXPECT_EQ(names(local_variables()), Strings{"local"});
  EXPECT_EQ(names(global_variables("hid+en")), Strings{"hidden/w"});
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run(s).item<int>(), 0);
  EXPECT_EQ(code_of([&] { session.run(l); }), Code::kFailedPrecondition);
}

TEST(Variable, StringsWork) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(std::string("a"), {.trainable = false});
  const Output set = v.assign("b");
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(v).item<std::string>(), "a");
  EXPECT_EQ(session.run(set).item<std::string>(), "b");
}

TEST(VariableOps, OneNameOneVariable) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = raw_ops::variable_v2({}, float32, {.shared_name = "x"});
  const Output b = raw_ops::variable_v2({}, float32, {.shared_name = "x"});
  const Output other = raw_ops::variable_v2({}, int32, {.shared_name = "x"});
  const Output set = raw_ops::assign(a, 3.0F);
  Session session;
  session.run(set);
  EXPECT_EQ(session.run(b).item<float>(), 3);
  EXPECT_EQ(code_of([&] { session.run(other); }), Code::kInvalidArgument);
}

TEST(VariableOps, AHandleThatIsDestroyedHasNoValue) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable r(4.0F, {.use_resource = true});
  const Operation destroy = OpBuilder("DestroyResourceOp", {}).input(r.handle()).build_operation();
  const Operation strict =
      OpBuilder("DestroyResourceOp", {}).input(r.handle()).attr("ignore_lookup_error", false).build_operation();
  Session session;
  session.run(r.initializer());
  session.run(destroy);
  session.run(destroy);
  EXPECT_EQ(code_of([&] { session.run(strict); }), Code::kNotFound);
  EXPECT_EQ(code_of([&] { session.run(r); }), Code::kFailedPrecondition);
}

TEST(VariableOps, HandlesTellShapes) {
  Graph graph;
  const GraphScope scope(graph);
  const Output handle = raw_ops::var_handle_op(float32, {3, -1});
  EXPECT_EQ(raw_ops::read_variable_op(handle, float32).shape(), (PartialShape{3, -1}));
  EXPECT_EQ(code_of([&] { raw_ops::read_variable_op(handle, float64); }), Code::kInvalidArgument);
  EXPECT_EQ(raw_ops::variable_shape(handle).shape(), PartialShape{2});
}

const std::vector<DType> kNumbers = {float32, float64, float16, bfloat16, int8,   int16,     int32,
                                     int64,   uint8,   uint16,  uint32,   uint64, complex64, complex128};

const std::vector<DType> kStored = {
    float32,    float64, float16,       bfloat16,       int8,           int16,          int32,
    int64,      uint8,   uint16,        uint32,         uint64,         boolean,        complex64,
    complex128, string,  DType::kQint8, DType::kQuint8, DType::kQint32, DType::kQint16, DType::kQuint16};

TEST(VariableOps, TheFirstVersionHasNoShapeForScalars) {
  Graph graph;
  const GraphScope scope(graph);
  for (const DType type : kStored) {
    const Tensor value = harness::random_tensor(type, {2});
    const Output v = OpBuilder("Variable", {}).attr("shape", PartialShape::scalar()).attr("dtype", type).build();
    EXPECT_EQ(v.shape(), PartialShape::unknown());
    const Output set = raw_ops::assign(v, constant(value));
    Session session;
    EXPECT_TRUE(identical(session.run(set), value)) << type;
  }
}

using harness::Samples;

// Variables themselves are in the samples of all ops below.
CAUDAL_OP_SAMPLES(VariableV2) { samples.covered_by("VariableTest.GoesThroughItsLife/Reference"); }
CAUDAL_OP_SAMPLES(Variable) { samples.covered_by("VariableOps.TheFirstVersionHasNoShapeForScalars"); }
CAUDAL_OP_SAMPLES(VarHandleOp) { samples.covered_by("VariableTest.GoesThroughItsLife/Resource"); }
CAUDAL_OP_SAMPLES(DestroyResourceOp) { samples.covered_by("VariableOps.AHandleThatIsDestroyedHasNoValue"); }
CAUDAL_OP_SAMPLES(ReadVariableOp) {
  samples.covered_by("VariableTest.PassesGradientsOn/Resource");
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3}, Shape{2, 1, 3, 2}}) {
    samples.add({.inputs = {samples.resource_variable(samples.random(float64, shape))}, .attrs = {{"dtype", float64}}});
  }
  samples.add({.inputs = {samples.resource_variable(samples.random(string, {3}))}, .attrs = {{"dtype", string}}});
  samples.error({samples.uninitialized(samples.resource_variable(samples.random(float32, {3})))},
                Code::kFailedPrecondition, {{"dtype", float32}});
  samples.error({samples.resource_variable(samples.random(float32, {3}))}, Code::kInvalidArgument,
                {{"dtype", float64}});
}
CAUDAL_OP_SAMPLES(Assign) {
  for (const DType type : kStored) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{2, 3, 2, 2}}) {
      const Tensor value = samples.random(type, shape);
      samples.add({.inputs = {samples.variable(samples.random(type, shape)), value}, .expected = {value}});
      samples.add({.inputs = {samples.uninitialized(samples.variable(value)), value}, .expected = {value}});
    }
  }
  samples.error({samples.variable(samples.random(float32, {3})), samples.random(float32, {2})}, Code::kInvalidArgument,
                {}, "[2]");
}
CAUDAL_OP_SAMPLES(AssignVariableOp) {
  for (const DType type : kStored) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{2, 3, 2, 2}}) {
      samples.add({.inputs = {samples.resource_variable(samples.random(type, shape)), samples.random(type, shape)}});
    }
  }
  samples.error({samples.resource_variable(samples.random(float32, {3})), samples.random(float32, {2})},
                Code::kInvalidArgument, {{"validate_shape", true}});
}

void add_updates(Samples& samples, bool resource) {
  const auto variable = resource ? Samples::resource_variable : Samples::variable;
  for (const DType type : kNumbers) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{33}, Shape{2, 3, 2, 2}}) {
      samples.add({.inputs = {variable(samples.random(type, shape)), samples.random(type, shape)}});
    }
  }
  samples.add({.inputs = {variable(samples.random(float32, {70000})), samples.random(float32, {70000})}});
  samples.error({variable(samples.random(float32, {3})), samples.random(float32, {1})}, Code::kInvalidArgument);
  samples.error({Samples::uninitialized(variable(samples.random(float32, {3}))), samples.random(float32, {3})},
                Code::kFailedPrecondition);
}
CAUDAL_OP_SAMPLES(AssignAdd) { add_updates(samples, false); }
CAUDAL_OP_SAMPLES(AssignSub) { add_updates(samples, false); }
CAUDAL_OP_SAMPLES(AssignAddVariableOp) { add_updates(samples, true); }
CAUDAL_OP_SAMPLES(AssignSubVariableOp) { add_updates(samples, true); }

CAUDAL_OP_SAMPLES(IsVariableInitialized) {
  const auto v = samples.variable(samples.random(float32, {2}));
  samples.add({.inputs = {v}, .expected = {Tensor(true)}});
  samples.add({.inputs = {samples.uninitialized(v)}, .expected = {Tensor(false)}});
  for (const DType type : kStored) {
    samples.add({.inputs = {samples.variable(samples.random(type, {}))}, .expected = {Tensor(true)}});
  }
}
CAUDAL_OP_SAMPLES(VarIsInitializedOp) {
  const auto v = samples.resource_variable(samples.random(float32, {2}));
  samples.add({.inputs = {v}, .expected = {Tensor(true)}});
  samples.add({.inputs = {samples.uninitialized(v)}, .expected = {Tensor(false)}});
}
CAUDAL_OP_SAMPLES(CountUpTo) {
  samples.add({.inputs = {samples.variable(Tensor(std::int64_t{3}))},
               .attrs = {{"limit", 4}},
               .expected = {Tensor(std::int64_t{3})}});
  samples.add({.inputs = {samples.variable(Tensor(3))}, .attrs = {{"limit", 4}}, .expected = {Tensor(3)}});
  samples.error({samples.variable(Tensor(std::int64_t{4}))}, Code::kOutOfRange, {{"limit", 4}}, "Reached limit of 4");
  samples.error({samples.variable(Tensor(std::vector<int>{4}))}, Code::kInvalidArgument, {{"limit", 4}});
}
CAUDAL_OP_SAMPLES(ResourceCountUpTo) {
  samples.add({.inputs = {samples.resource_variable(Tensor(std::int64_t{3}))},
               .attrs = {{"limit", 4}, {"T", int64}},
               .expected = {Tensor(std::int64_t{3})}});
  samples.add({.inputs = {samples.resource_variable(Tensor(3))},
               .attrs = {{"limit", 4}, {"T", int32}},
               .expected = {Tensor(3)}});
  samples.error({samples.resource_variable(Tensor(4))}, Code::kOutOfRange, {{"limit", 4}, {"T", int32}});
}
CAUDAL_OP_SAMPLES(VariableShape) {
  const auto v = samples.resource_variable(samples.random(float32, {2, 0, 3}));
  samples.add({.inputs = {v}, .expected = {Tensor(std::vector<int>{2, 0, 3})}});
  samples.add(
      {.inputs = {v}, .attrs = {{"out_type", int64}}, .expected = {Tensor(std::vector<std::int64_t>{2, 0, 3})}});
}

}  // namespace
}  // namespace caudal
