#include "caudal/proto/served_graph.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/proto/graph.pb.h"

namespace caudal {
namespace {

pb::NodeDef& add_node(pb::GraphDef& def, const std::string& name, const std::string& op,
                      const std::vector<std::string>& inputs = {}) {
  pb::NodeDef& node = *def.add_node();
  node.set_name(name);
  node.set_op(op);
  for (const auto& input : inputs) node.add_input(input);
  return node;
}

void add_constant(pb::GraphDef& def, const std::string& name, std::int64_t size) {
  auto& attrs = *add_node(def, name, "Const").mutable_attr();
  attrs["dtype"].set_type(pb::DT_FLOAT);
  attrs["value"].mutable_tensor()->set_dtype(pb::DT_FLOAT);
  attrs["value"].mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(size);
  attrs["value"].mutable_tensor()->add_float_val(1);
}

void add_negation(pb::GraphDef& def, const std::string& name, const std::string& input) {
  (*add_node(def, name, "Neg", {input}).mutable_attr())["T"].set_type(pb::DT_FLOAT);
}

void add_function(pb::GraphDef& def, const std::string& name, const std::string& callee) {
  auto& function = *def.mutable_library()->add_function();
  function.mutable_signature()->set_name(name);
  auto& node = *function.add_node_def();
  node.set_name("call");
  node.set_op(callee);
}

template <class Action>
std::string failure(const Action& action) {
  try {
    action();
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

std::shared_ptr<const ServedGraph> served(const pb::GraphDef& def, const GraphLimits& limits = {}) {
  return ServedGraph::make(def.SerializeAsString(), limits);
}

TEST(ServedGraph, ExtensionLeavesTheOldGraph) {
  pb::GraphDef first, second;
  add_constant(first, "a", 2);
  add_negation(second, "b", "a");
  const auto before = served(first);
  const auto after = before->extended(second.SerializeAsString(), {});
  EXPECT_EQ(before->graph().num_nodes(), 1);
  EXPECT_EQ(after->graph().num_nodes(), 2);
  EXPECT_EQ(after->constant_bytes(), 8U);
  const auto again = failure([&] { after->extended(second.SerializeAsString(), {}); });
  EXPECT_NE(again.find("includes node 'b', which was created by a previous call"), std::string::npos) << again;
  EXPECT_NE(failure([&] { ServedGraph::make("\xff\xff", {}); }).find("no GraphDef"), std::string::npos);
}

TEST(ServedGraph, LeavesOutWhatNeedsAnUnknownOp) {
  pb::GraphDef def;
  add_constant(def, "a", 1);
  add_node(def, "strange", "NoSuchOp", {"a"});
  add_negation(def, "b", "strange");
  add_node(def, "c", "NoOp", {"^b"});
  const auto graph = served(def);
  EXPECT_EQ(graph->graph().num_nodes(), 1);
  EXPECT_FALSE(graph->left_out("a"));
  ASSERT_TRUE(graph->left_out("c"));
  EXPECT_EQ(graph->left_out("c")->code(), Code::kUnimplemented);
  EXPECT_NE(std::string(graph->left_out("c")->what()).find("NoSuchOp 'strange'"), std::string::npos);
}

TEST(ServedGraph, SameFunctionsMayComeAgain) {
  pb::GraphDef def, other;
  add_function(def, "f", "NoOp");
  add_function(other, "f", "Neg");
  const auto graph = served(def);
  EXPECT_NO_THROW(graph->extended(def.SerializeAsString(), {}));
  const auto clash = failure([&] { graph->extended(other.SerializeAsString(), {}); });
  EXPECT_NE(clash.find("different function with the same name"), std::string::npos) << clash;
}

TEST(ServedGraph, HoldsLimits) {
  pb::GraphDef chain, recursive, large, nodes;
  for (int i = 0; i < 20; ++i) add_function(chain, "f" + std::to_string(i), "f" + std::to_string(i + 1));
  add_function(recursive, "f", "g");
  add_function(recursive, "g", "f");
  add_constant(large, "a", 1'000'000);
  for (int i = 0; i < 11; ++i) add_node(nodes, "n" + std::to_string(i), "NoOp");
  const GraphLimits limits{.max_nodes = 30, .max_depth = 10, .max_constant_bytes = 1'000'000};
  EXPECT_NE(failure([&] { served(chain, limits); }).find("20 deep; the limit is 10"), std::string::npos);
  EXPECT_NO_THROW(served(recursive, limits));
  EXPECT_TRUE(failure([&] { served(large, limits); }).starts_with("RESOURCE_EXHAUSTED"));
  EXPECT_NO_THROW(served(nodes, limits));
  EXPECT_TRUE(failure([&] { served(nodes, {.max_nodes = 10}); }).starts_with("RESOURCE_EXHAUSTED"));
}

TEST(ServedGraph, RendezvousTakesThePlaceOfFeedsAndFetches) {
  pb::GraphDef def;
  add_constant(def, "a", 1);
  add_negation(def, "b", "a");
  add_negation(def, "c", "b");
  const auto graph = served(def);
  const auto waiting =
      graph->with_rendezvous({graph->graph().tensor("b:0")}, {graph->graph().tensor("c:0")}, "/device");
  ASSERT_EQ(waiting.senders, std::vector<std::string>{"_send_c_0"});
  const Graph& made = waiting.graph->graph();
  EXPECT_EQ(made.operation("c").input(0).name(), "_recv_b_0:0");
  EXPECT_EQ(made.operation("_send_c_0").input(0).name(), "c:0");
  EXPECT_EQ(graph->graph().operation("c").input(0).name(), "b:0");
  const auto connected = graph->with_connections({{graph->graph().tensor("a:0"), graph->graph().tensor("b:0")}});
  EXPECT_EQ(connected->graph().operation("c").input(0).name(), "a:0");
}

}  // namespace
}  // namespace caudal
