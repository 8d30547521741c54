#include "caudal/graph/function_body.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/shape_ops.h"

namespace caudal {
namespace {

using Names = std::vector<std::string>;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

NodeRecord record(std::string name, std::string op, Names inputs, AttrMap attrs = {}) {
  return {std::move(name), std::move(op), "", std::move(inputs), std::move(attrs)};
}

// y = x + x of type T.
Function twice() {
  Function function;
  function.signature.name = "twice";
  function.signature.inputs = {{.name = "x", .type_attr = "T"}};
  function.signature.outputs = {{.name = "y", .type_attr = "T"}};
  function.signature.attrs = {{.name = "T", .kind = "type"}};
  function.nodes = {record("sum", "AddV2", {"x", "x"}, {{"T", AttrPlaceholder{"T"}}})};
  function.returns = {{"y", "sum:z:0"}};
  return function;
}

class FunctionBodyTest : public ::testing::Test {
 protected:
  std::shared_ptr<FunctionLibrary> library_ = std::make_shared<FunctionLibrary>();
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(FunctionBodyTest, AttributesTakeTheirPlaces) {
  const FunctionBody body = instantiate_function(twice(), {{"T", float64}}, library_);
  ASSERT_EQ(body.arguments.size(), 1);
  EXPECT_EQ(body.arguments[0].name(), "x:0");
  EXPECT_EQ(body.results[0].name(), "sum:0");
  EXPECT_EQ(body.results[0].dtype(), float64);
  EXPECT_FALSE(body.stateful);
  EXPECT_EQ(function_types(twice(), {{"T", int32}}).results, std::vector<DType>{int32});
  EXPECT_EQ(error_of([&] { instantiate_function(twice(), {}, library_); }),
            "INVALID_ARGUMENT: function 'twice': attribute 'T' of kind type is missing");
}

TEST_F(FunctionBodyTest, ListsAreNamedAsAWholeOrByElement) {
  Function function;
  function.signature.name = "joined";
  function.signature.inputs = {{.name = "parts", .type = float32, .number_attr = "N"}};
  function.signature.outputs = {{.name = "whole", .type = float32}, {.name = "last", .type = float32}};
  function.signature.attrs = {{.name = "N", .kind = "int"}};
  function.nodes = {record("join", "Pack", {"parts"}, {{"N", AttrPlaceholder{"N"}}, {"T", float32}}),
                    record("split", "Unpack", {"join:output:0"}, {{"num", 2}, {"T", float32}})};
  function.returns = {{"last", "split:output:1"}, {"whole", "join:output"}};
  const FunctionBody body = instantiate_function(function, {{"N", 2}}, library_);
  EXPECT_EQ(body.arguments[0].name(), "parts_0:0");
  EXPECT_EQ(body.arguments[1].name(), "parts_1:0");
  EXPECT_EQ(body.results[0].name(), "join:0");
  EXPECT_EQ(body.results[1].name(), "split:1");
}

TEST_F(FunctionBodyTest, NodesComeInAnyOrder) {
  Function function = twice();
  function.nodes.insert(function.nodes.begin(), record("again", "AddV2", {"sum:z", "x:0"}, {{"T", float32}}));
  function.returns = {{"y", "again:z:0"}};
  const FunctionBody body = instantiate_function(function, {{"T", float32}}, library_);
  EXPECT_EQ(body.results[0].name(), "again:0");
}

TEST_F(FunctionBodyTest, WhatDoesNotFitIsNamed) {
  const auto instantiated = [&](NodeRecord node, const std::string& result) {
    Function function = twice();
    function.nodes = {std::move(node)};
    function.returns = {{"y", result}};
    return error_of([&] { instantiate_function(function, {{"T", float32}}, library_); });
  };
  EXPECT_EQ(instantiated(record("n", "AddV2", {"x", "nobody:z:0"}, {{"T", float32}}), "n:z:0"),
            "INVALID_ARGUMENT: AddV2 'n': function 'twice': 'nobody:z:0' is not in the function");
  EXPECT_EQ(instantiated(record("n", "NoSuchOp", {"x"}), "n:z:0"),
            "UNIMPLEMENTED: NoSuchOp 'n': function 'twice': the op is not registered");
  EXPECT_EQ(instantiated(record("n", "AddV2", {"n:z:0", "x"}, {{"T", float32}}), "n:z:0"),
            "INVALID_ARGUMENT: function 'twice': there is a cycle that is no loop, through 'n'");
  EXPECT_EQ(instantiated(record("n", "Shape", {"x"}, {{"T", float32}}), "n:output:0"),
            "INVALID_ARGUMENT: function 'twice': result 'y' is int32[?] 'n:0'; the signature says [float32]");
  EXPECT_EQ(instantiated(record("n", "AddV2", {"x", "x"}, {{"T", AttrPlaceholder{"S"}}}), "n:z:0"),
            "INVALID_ARGUMENT: AddV2 'n': function 'twice': attribute 'S' of the function is not given");
}

TEST_F(FunctionBodyTest, ArgumentsKnowShapesAndWhatHandlesHold) {
  Function function = twice();
  function.arg_attrs[0] = {{"_output_shapes", std::vector{PartialShape({2, -1})}}};
  EXPECT_EQ(instantiate_function(function, {{"T", float32}}, library_).results[0].shape(), PartialShape({2, -1}));
  function.signature.inputs[0] = {.name = "x", .type = DType::kResource};
  function.signature.outputs[0] = {.name = "y", .type = float32};
  function.signature.attrs.clear();
  function.arg_attrs[0] = {{"_handle_dtypes", std::vector{float32}},
                           {"_handle_shapes", std::vector{PartialShape({3})}}};
  function.nodes = {record("read", "ReadVariableOp", {"x"}, {{"dtype", float32}})};
  function.returns = {{"y", "read:value:0"}};
  const FunctionBody body = instantiate_function(function, {}, library_);
  EXPECT_EQ(body.results[0].shape(), PartialShape({3}));
  EXPECT_TRUE(body.stateful);
  EXPECT_EQ(body.targets.size(), 1);
}

TEST_F(FunctionBodyTest, CallsByNameAreNodes) {
  auto function = std::make_shared<Function>(twice());
  graph_.functions().add(function);
  EXPECT_EQ(graph_.find_op("nobody"), nullptr);
  const Output x = constant(1.5F);
  const Output y = OpBuilder("twice", {}).input(x).build();
  EXPECT_EQ(y.node()->type(), "twice");
  EXPECT_EQ(y.dtype(), float32);
}

TEST_F(FunctionBodyTest, LibraryKeepsNamesApart) {
  FunctionLibrary& library = graph_.functions();
  library.add(std::make_shared<Function>(twice()));
  library.add(std::make_shared<Function>(twice()));
  Function other = twice();
  other.nodes[0].op = "Mul";
  EXPECT_EQ(error_of([&] { library.add(std::make_shared<Function>(other)); }),
            "INVALID_ARGUMENT: function 'twice' cannot be added: a different function of this name is in the library");
  other.signature.name = "Mul";
  EXPECT_EQ(error_of([&] { library.add(std::make_shared<Function>(other)); }),
            "INVALID_ARGUMENT: function 'Mul' cannot be added: an op is called so. Give the function another name.");
  EXPECT_EQ(library.unique_name("twice"), "twice_1");
  EXPECT_EQ(library.unique_name("twice"), "twice_2");
  EXPECT_EQ(library.unique_name("free"), "free");
  EXPECT_EQ(library.unique_name("free"), "free_1");
}

TEST_F(FunctionBodyTest, TracingCapturesWhatIsOutside) {
  const Output bias = constant(std::vector<float>{1, 2});
  const Output axis = constant(0);
  const NameScope names("outer");
  FunctionBuilder builder(graph_, "affine");
  builder.add_argument({.dtype = float32, .shape = Shape({2}), .name = "x"});
  builder.trace([&](const std::vector<Output>& x) {
    const NameScope inner("layer");
    return std::vector<Output>{x[0] * 2 + bias, expand_dims(x[0], axis)};
  });
  const TracedFunction traced = builder.finish();
  EXPECT_EQ(traced.function.name, "affine");
  EXPECT_EQ(traced.captures, std::vector<Output>{bias});  // the integer became a constant of the body
  EXPECT_EQ(traced.result_shapes[1], PartialShape({1, 2}));
  const auto function = graph_.functions().find("affine");
  Names nodes, inputs;
  for (const NodeRecord& node : function->nodes) nodes.push_back(node.name);
  EXPECT_EQ(nodes, (Names{"layer/Const", "layer/Mul", "layer/AddV2", "Const_1", "layer/ExpandDims"}));
  for (const ArgDef& arg : function->signature.inputs) inputs.push_back(arg.name);
  EXPECT_EQ(inputs, (Names{"x", "const"}));
  EXPECT_EQ(function->nodes[2].inputs, (Names{"layer/Mul:z:0", "const"}));
  EXPECT_EQ(function->returns[0].second, "layer/AddV2:z:0");
  EXPECT_EQ(graph_.num_nodes(), 2);
}

TEST_F(FunctionBodyTest, CapturesPassThroughEveryFunctionAround) {
  const Output outside = constant(3.0F);
  FunctionBuilder outer(graph_, "outer");
  outer.trace([&](const std::vector<Output>&) {
    FunctionBuilder inner(default_graph(), "inner");
    inner.trace([&](const std::vector<Output>&) { return std::vector<Output>{outside * outside}; });
    const TracedFunction traced = inner.finish();
    EXPECT_EQ(traced.captures.size(), 1);
    EXPECT_EQ(&traced.captures[0].graph(), &outer.graph());
    return traced.captures;
  });
  EXPECT_EQ(outer.captures(), std::vector<Output>{outside});
  Graph unrelated;
  const GraphScope scope(unrelated);
  FunctionBuilder other(unrelated, "other");
  EXPECT_EQ(error_of([&] { other.capture(outside); }),
            "INVALID_ARGUMENT: function 'other': 'Const:0' belongs to an unrelated graph");
}

TEST_F(FunctionBodyTest, TracedFunctionsComeBackAsTheyWere) {
  const Output bias = constant(std::vector<float>{1, 2});
  FunctionBuilder builder(graph_, "f");
  builder.add_argument({.dtype = float32, .shape = Shape({2})});
  builder.trace([&](const std::vector<Output>& x) { return std::vector<Output>{x[0] + bias, x[0], bias}; });
  const TracedFunction traced = builder.finish();
  const FunctionBody body = instantiate_function(*graph_.functions().find("f"), {}, graph_.shared_functions());
  ASSERT_EQ(body.results.size(), 3);
  EXPECT_EQ(body.results[0].shape(), PartialShape({2}));
  EXPECT_EQ(body.results[1], body.arguments[0]);
  EXPECT_EQ(body.results[2], body.arguments[1]);
}

TEST_F(FunctionBodyTest, InliningPutsABodyIntoAGraph) {
  const Output x = constant(1.5F);
  const InlinedFunction inlined = inline_function(twice(), {{"T", float32}}, graph_, "call/", {x});
  EXPECT_EQ(inlined.results[0].name(), "call/sum:0");
  EXPECT_EQ(inlined.results[0].node()->input(0), x);
  EXPECT_EQ(error_of([&] {
              inline_function(twice(), {{"T", float32}}, graph_, "b/", {});
            }),
            "INVALID_ARGUMENT: function 'twice': 0 arguments for 1");
  EXPECT_EQ(error_of([&] {
              inline_function(twice(), {{"T", int32}}, graph_, "b/", {x});
            }),
            "INVALID_ARGUMENT: function 'twice': argument 'x' is float32[] 'Const:0'; int32 is wanted");
}

}  // namespace
}  // namespace caudal
