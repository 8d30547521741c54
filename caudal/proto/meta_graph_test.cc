#include "caudal/proto/meta_graph.h"

#include <gtest/gtest.h>

#include <memory>

#include "caudal/base/env.h"
#include "caudal/graph/collection.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/control_flow.pb.h"
#include "caudal/proto/message_io.h"

namespace caudal {
namespace {

std::string golden(const std::string& name) {
  return read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/graphs/" + name);
}

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.op_name());
  return names;
}

pb::MetaGraphDef parsed(const std::string& bytes) {
  pb::MetaGraphDef meta;
  EXPECT_TRUE(meta.ParseFromString(bytes));
  return meta;
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

struct Fresh {
  Graph graph;
  GraphScope scope{graph};
};
std::unique_ptr<Fresh> fresh() { return std::make_unique<Fresh>(); }

class MetaGraphTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Fresh> own_ = fresh();
  const Output x_ = placeholder(float32, {2}, {.name = "x"});
  const Variable w_{Tensor(std::vector<float>{1, 2}), {.name = "scope/w"}};
  const Variable r_{Tensor(3.0F), {.trainable = false, .name = "r", .use_resource = true}};
  const Output y_ = add(multiply(x_, w_), r_, {.name = "y"});
};

TEST_F(MetaGraphTest, VariablesComeBackAsVariables) {
  const std::string bytes = meta_graph_to_bytes(default_graph());
  const auto other = fresh();
  meta_graph_from_bytes(bytes, default_graph());
  EXPECT_EQ(names_of(global_variables()), (std::vector<std::string>{"scope/w", "r"}));
  EXPECT_EQ(names_of(trainable_variables()), (std::vector<std::string>{"scope/w"}));
  const Variable w = global_variables("scope")[0], r = global_variables("r")[0];
  EXPECT_FALSE(w.is_resource());
  EXPECT_EQ(w.initializer().name(), "scope/w/Assign");
  EXPECT_EQ(w.Output::name(), "scope/w/read:0");
  EXPECT_EQ(w.initial_value().name(), "scope/w/initial_value:0");
  EXPECT_TRUE(w.trainable());
  EXPECT_TRUE(r.is_resource());
  EXPECT_FALSE(r.trainable());
  EXPECT_EQ(meta_graph_to_bytes(default_graph()), bytes);
}

TEST_F(MetaGraphTest, CollectionsOfEveryKindGoBothWays) {
  Graph& graph = default_graph();
  graph.add_to_collection("tensors", {.output = y_});
  graph.add_to_collection("operations", {.operation = Operation(y_)});
  graph.add_to_collection("texts", {.text = "a"});
  graph.add_to_collection("texts", {.text = ""});
  graph.add_to_collection("integers", {.integer = -5});
  graph.add_to_collection("numbers", {.number = 0.25F});
  graph.add_to_collection("messages", {.text = "bytes", .type_url = "types.example/some.Message"});
  const std::string bytes = meta_graph_to_bytes(graph);
  const auto other = fresh();
  meta_graph_from_bytes(bytes, default_graph());
  Graph& copy = default_graph();
  EXPECT_EQ(copy.collection("tensors")[0].output, copy.tensor("y:0"));
  EXPECT_EQ(copy.collection("operations")[0].operation, copy.operation("y"));
  EXPECT_EQ(copy.collection("texts")[0].text, "a");
  EXPECT_EQ(copy.collection("texts").size(), 2);
  EXPECT_EQ(copy.collection("integers")[0].integer, -5);
  EXPECT_EQ(copy.collection("numbers")[0].number, 0.25F);
  EXPECT_EQ(copy.collection("messages")[0].type_url, "types.example/some.Message");
  EXPECT_EQ(meta_graph_to_bytes(copy), bytes);
}

TEST_F(MetaGraphTest, MixedCollectionsAreLeftOut) {
  default_graph().add_to_collection("mixed", {.text = "a"});
  default_graph().add_to_collection("mixed", {.integer = 1});
  EXPECT_FALSE(parsed(meta_graph_to_bytes(default_graph())).collection_def().contains("mixed"));
  const auto some = parsed(meta_graph_to_bytes(default_graph(), nullptr, {.collections = {"variables"}}));
  EXPECT_EQ(some.collection_def_size(), 1);
}

TEST_F(MetaGraphTest, ScopeGoesBeforeAllNames) {
  Graph& graph = default_graph();
  graph.add_to_collection("tensors", {.output = y_});
  pb::QueueRunnerDef runner;
  runner.set_queue_name("queue");
  runner.add_enqueue_op_name("enqueue");
  graph.add_to_collection(graph_keys::kQueueRunners, {.text = runner.SerializeAsString()});
  const SaverNodes saver{.filename_tensor = "x:0", .save_tensor = "y:0", .restore_op = "y"};
  const std::string bytes = meta_graph_to_bytes(graph, &saver);

  // Twice into the graph that it came from.
  const ImportedMetaGraph first = meta_graph_from_bytes(bytes, graph, {.import_scope = "copy"});
  const ImportedMetaGraph second = meta_graph_from_bytes(bytes, graph, {.import_scope = "copy"});
  EXPECT_EQ(first.scope, "copy");
  EXPECT_EQ(second.scope, "copy_1");
  EXPECT_EQ(second.saver->save_tensor, "copy_1/y:0");
  EXPECT_EQ(names_of(trainable_variables()), (std::vector<std::string>{"scope/w", "copy/scope/w", "copy_1/scope/w"}));
  EXPECT_EQ(graph.collection("tensors")[1].output.name(), "copy/y:0");
  EXPECT_EQ(graph.operation("copy/scope/w/Assign").node()->attr<std::vector<std::string>>("_class"),
            (std::vector<std::string>{"loc:@copy/scope/w"}));
  ASSERT_TRUE(runner.ParseFromString(graph.collection(graph_keys::kQueueRunners)[1].text));
  EXPECT_EQ(runner.queue_name(), "copy/queue");
  EXPECT_EQ(runner.enqueue_op_name(0), "copy/enqueue");
  EXPECT_EQ(runner.close_op_name(), "");
}

TEST(MetaGraph, ContextsOfLoopsGoBelowAScope) {
  Graph graph;
  meta_graph_from_bytes(golden("rnn_v1/model.ckpt.meta"), graph, {.import_scope = "m"});
  const pb::MetaGraphDef meta = parsed(meta_graph_to_bytes(graph));
  pb::WhileContextDef loop;
  ASSERT_TRUE(loop.ParseFromString(meta.collection_def().at("while_context").bytes_list().value(0)));
  EXPECT_EQ(loop.context_name(), "m/rnn/rnn/while/while_context");
  EXPECT_EQ(loop.pivot_name(), "m/rnn/rnn/while/LoopCond:0");
  for (const std::string& name : loop.loop_exit_names()) EXPECT_TRUE(name.starts_with("m/")) << name;
  for (const auto& [inside, outside] : loop.values_def().external_values()) {
    EXPECT_TRUE(inside.starts_with("m/") && outside.starts_with("m/")) << inside << " " << outside;
  }
}

TEST_F(MetaGraphTest, InputMapReplacesTensors) {
  const std::string bytes = meta_graph_to_bytes(default_graph());
  const auto other = fresh();
  const Output mine = constant(Tensor(std::vector<float>{5, 6}), {.name = "mine"});
  meta_graph_from_bytes(bytes, default_graph(), {.import_scope = "m", .input_map = {{"x:0", mine}}});
  EXPECT_EQ(default_graph().operation("m/Mul").input(0), mine);
}

TEST_F(MetaGraphTest, DevicesAreCleared) {
  std::string bytes;
  {
    const DeviceScope device("/job:ps/task:3");
    constant(1.0F, {.name = "far"});
    bytes = meta_graph_to_bytes(default_graph());
  }
  EXPECT_FALSE(default_graph().operation("far").node()->info().device.empty());
  const auto other = fresh();
  meta_graph_from_bytes(bytes, default_graph(), {.clear_devices = true});
  EXPECT_EQ(default_graph().operation("far").node()->info().device, "");
}

TEST_F(MetaGraphTest, TextFormReadsBack) {
  const std::string bytes = meta_graph_to_bytes(default_graph());
  const std::string text = meta_graph_to_text(default_graph());
  EXPECT_TRUE(is_meta_graph(text));
  EXPECT_TRUE(is_meta_graph(bytes));
  const auto other = fresh();
  meta_graph_from_bytes(text, default_graph());
  EXPECT_EQ(meta_graph_to_bytes(default_graph()), bytes);
}

TEST_F(MetaGraphTest, NothingIsAddedIfACollectionNamesWhatIsNotThere) {
  pb::MetaGraphDef meta = parsed(meta_graph_to_bytes(default_graph()));
  (*meta.mutable_collection_def())["mine"].mutable_node_list()->add_value("nowhere:0");
  const auto other = fresh();
  const Error error = error_of([&] { meta_graph_from_bytes(meta.SerializeAsString(), default_graph()); });
  EXPECT_STREQ(error.what(), "INVALID_ARGUMENT: collection 'mine': it names 'nowhere:0', which is not in the graph");
  EXPECT_EQ(default_graph().num_nodes(), 0);
}

TEST_F(MetaGraphTest, DamagedVariablesAreRefused) {
  for (const std::string& member : {std::string("\xff\xff"), std::string()}) {
    pb::MetaGraphDef meta = parsed(meta_graph_to_bytes(default_graph()));
    meta.mutable_collection_def()->at("variables").mutable_bytes_list()->set_value(0, member);
    const auto other = fresh();
    EXPECT_EQ(error_of([&] { meta_graph_from_bytes(meta.SerializeAsString(), default_graph()); }).code(),
              Code::kInvalidArgument);
  }
}

TEST_F(MetaGraphTest, OldFilesTellTrainableByTheCollection) {
  pb::MetaGraphDef meta = parsed(meta_graph_to_bytes(default_graph()));
  meta.mutable_meta_info_def()->set_tensorflow_version("1.4.0");
  for (auto& [key, def] : *meta.mutable_collection_def()) {
    for (std::string& member : *def.mutable_bytes_list()->mutable_value()) {
      pb::VariableDef variable;
      ASSERT_TRUE(variable.ParseFromString(member));
      variable.clear_trainable();
      member = variable.SerializeAsString();
    }
  }
  const auto other = fresh();
  meta_graph_from_bytes(meta.SerializeAsString(), default_graph());
  EXPECT_TRUE(global_variables("scope")[0].trainable());
  EXPECT_FALSE(global_variables("r")[0].trainable());
}

TEST(MetaGraph, IsToldFromAGraph) {
  EXPECT_TRUE(is_meta_graph(golden("dnn_ch11/model.ckpt.meta")));
  EXPECT_TRUE(is_meta_graph(golden("optimizers/adam_sparse.meta")));
  EXPECT_FALSE(is_meta_graph(golden("frozen_cnn/frozen.pb")));
  EXPECT_FALSE(is_meta_graph(golden("frozen_cnn/frozen.pbtxt")));
  EXPECT_FALSE(is_meta_graph(golden("control_flow_v2/graph.pb")));
  for (const std::string& other : {std::string(), std::string("\xff\xff\xff"), golden("dnn_ch11/expected.npz")}) {
    EXPECT_EQ(error_of([&] { is_meta_graph(other); }).code(), Code::kDataLoss);
  }
}

// Every cut of a file is refused or read, never worse.
TEST(MetaGraph, CutFilesEndInErrors) {
  const std::string bytes = golden("optimizers/adam_sparse.meta");
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    Graph graph;
    const GraphScope scope(graph);
    const Error error = error_of([&] { meta_graph_from_bytes(bytes.substr(0, size), graph); });
    if (error.code() != Code::kOk) EXPECT_EQ(graph.num_nodes(), 0);
  }
}

}  // namespace
}  // namespace caudal
