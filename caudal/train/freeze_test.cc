#include "caudal/train/freeze.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/train/optimizer.h"

namespace caudal {
namespace {

Tensor matrix() { return Tensor::from<float>({2, 2}, {1, 2, 3, 4}); }

std::vector<std::string> types_of(const Graph& graph) {
  std::vector<std::string> types;
  for (const Node* node : graph.nodes()) types.push_back(node->type());
  return types;
}

template <class Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {Code::kOk, ""};
}

// Reference variables and resources.
class FreezeTest : public ::testing::TestWithParam<bool> {
 protected:
  FreezeTest() : scope_(graph_) {}
  Variable variable(const Tensor& value, const std::string& name) const {
    return Variable(value, {.name = name, .use_resource = GetParam()});
  }

  Graph graph_;
  const GraphScope scope_;
};

TEST_P(FreezeTest, KeepsOnlyWhatOutputsNeed) {
  const Output x = placeholder(float32, {-1, 2}, {.name = "x"});
  const Variable w = variable(matrix(), "w"), b = variable(Tensor(std::vector<float>{10, 20}), "b");
  const Output y = add(matmul(x, w), b, {.name = "y"});
  train::MomentumOptimizer({.learning_rate = 0.1, .momentum = 0.9}).minimize(multiply(y, y));
  Session session;
  session.run(global_variables_initializer());
  session.run(w.assign(Tensor::from<float>({2, 2}, {1, 0, 0, 1})));

  Graph frozen;
  graph_util::convert_variables_to_constants(session, {"y"}, frozen);
  EXPECT_EQ(types_of(frozen),
            (std::vector<std::string>{"Placeholder", "Const", "Identity", "Const", "Identity", "MatMul", "AddV2"}));
  Session other(frozen);
  const Tensor input = Tensor::from<float>({1, 2}, {3, 4});
  EXPECT_EQ(other.run(Fetches{"y:0"}, {{"x", input}})[0].to_vector<float>(), (std::vector<float>{13, 24}));

  Graph partly;
  graph_util::convert_variables_to_constants(session, {"y:0"}, partly, {.keep_variables = {"b"}});
  EXPECT_EQ(partly.operation("b").type(), GetParam() ? "VarHandleOp" : "VariableV2");
  EXPECT_EQ(partly.operation("w").type(), "Const");
  EXPECT_EQ(graph_util::variables_of_nodes(partly).size(), 1);
}

TEST_P(FreezeTest, NeedsValues) {
  const Variable w = variable(matrix(), "w");
  multiply(w, 2.0F, {.name = "y"});
  Session session;
  Graph frozen;
  const Error error = error_of([&] { graph_util::convert_variables_to_constants(session, {"y"}, frozen); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_NE(std::string(error.what()).find("'w'"), std::string::npos);
  EXPECT_EQ(frozen.num_nodes(), 0);
  EXPECT_EQ(error_of([&] { graph_util::convert_variables_to_constants(session, {"yy"}, frozen); }).advice(),
            "Did you mean 'y'?");
}

TEST_P(FreezeTest, RefusesUpdates) {
  const Variable w = variable(matrix(), "w");
  w.assign_add(matrix(), {.name = "grow"});
  Session session;
  session.run(global_variables_initializer());
  Graph frozen;
  const Error error = error_of([&] { graph_util::convert_variables_to_constants(session, {"grow"}, frozen); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
}

TEST_P(FreezeTest, FindsVariablesOfAGraphWithoutCollections) {
  const Variable w = variable(matrix(), "w");
  Graph part;
  graph_util::extract_sub_graph(graph_, {"w", w.initializer().name()}, part);
  const auto variables = graph_util::variables_of_nodes(part);
  ASSERT_EQ(variables.size(), 1);
  EXPECT_EQ(variables[0].op_name(), "w");
  EXPECT_EQ(variables[0].shape(), PartialShape({2, 2}));
  Session session(part);
  session.run(variables[0].initializer());
  EXPECT_TRUE(identical(session.run(variables[0]), matrix()));
}

INSTANTIATE_TEST_SUITE_P(Variables, FreezeTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

TEST(Freeze, TurnsGathersOfResourcesIntoGathers) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable table(Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}), {.name = "table", .use_resource = true});
  const Output ids = placeholder(int32, {-1}, {.name = "ids"});
  OpBuilder("ResourceGather", {.name = "rows"}).input(table.handle()).input(ids).attr("dtype", float32).build();
  Session session;
  session.run(global_variables_initializer());
  Graph frozen;
  graph_util::convert_variables_to_constants(session, {"rows"}, frozen);
  Session other(frozen);
  EXPECT_EQ(other.run(Fetches{"rows:0"}, {{"ids", Tensor(std::vector<int>{2, 0})}})[0].to_vector<float>(),
            (std::vector<float>{5, 6, 1, 2}));
}

TEST(Freeze, WantsAnEmptyGraph) {
  Graph graph;
  const GraphScope scope(graph);
  constant(1.0F, {.name = "c"});
  EXPECT_EQ(error_of([&] { graph_util::extract_sub_graph(graph, {"c"}, graph); }).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
