#include "caudal/cli/show.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "caudal/base/error.h"
#include "caudal/cli/tensor_json.h"
#include "caudal/cli/text_table.h"

namespace caudal::cli {
namespace {

std::string golden(const std::string& name) { return std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/" + name; }

// Without the first line, the path.
std::string body(const std::string& text) { return text.substr(text.find('\n') + 1); }

TEST(ShowGraph, TellsWhatAFrozenGraphTakesAndGives) {
  const std::string expected =
      "  graph: 33 nodes of 14 ops, constants of 7.3 KiB\n\n"
      "Inputs\n  input  float32[?,28,28,1]  Placeholder\n\n"
      "Outputs (nothing in the graph takes them)\n  probs  float32[?,10]  Softmax\n\n"
      "Ops\n  Const 9  Identity 8  AddV2 2  and 11 more\n";
  const ShowOptions options{.limit = 3};
  EXPECT_EQ(body(show_graph(golden("graphs/frozen_cnn/frozen.pb"), options)), expected);
  EXPECT_EQ(body(show_graph(golden("graphs/frozen_cnn/frozen.pbtxt"), options)), expected);
}

TEST(ShowGraph, TellsVariablesCollectionsAndSaverOfAMetaGraph) {
  const std::string text = show_graph(golden("graphs/dnn_ch11/model.ckpt.meta"), {.limit = 2});
  for (const std::string part :
       {"meta graph of TensorFlow 2.21.0: 344 nodes of 36 ops, 24 variables with 517,420 elements (2.0 MiB)",
        "Outputs (nothing in the graph takes them)\n  loss/loss      float32[]  Mean\n  eval/accuracy  float32[]  "
        "Mean\n",
        "Operations to run\n  train_op  init\n", "  hidden1/kernel  float32[784,300]  235,200  trainable\n",
        "  my_important_ops  4  nodes  X:0  y:0  eval/accuracy:0  train_op\n  train_op          1",
        "  and 2 more\n\nSaver\n  save/Const:0 -> save/restore_all, save/control_dependency:0\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST(ShowGraph, ListsEverythingInJson) {
  const auto json = nlohmann::json::parse(
      show_graph(golden("graphs/dnn_ch11/model.ckpt.meta"), {.json = true, .nodes = true, .limit = 1}));
  EXPECT_EQ(json["kind"], "meta_graph");
  EXPECT_EQ(json["node_list"].size(), json["nodes"].get<std::size_t>());
  EXPECT_EQ(json["inputs"][0]["shape"], nlohmann::json::parse("[null, 784]"));
  EXPECT_EQ(json["collections"]["trainable_variables"]["members"].size(), 12);
  EXPECT_EQ(json["variables"].size(), 24);
  EXPECT_EQ(json["missing"].size(), 0);
  EXPECT_EQ(json["saver"]["restore_op"], "save/restore_all");
}

TEST(ShowGraph, RefusesOtherFiles) {
  EXPECT_THROW(show_graph(golden("graphs/expected.json"), {}), Error);
  EXPECT_THROW(show_graph(golden("graphs/frozen_cnn/expected.npz"), {}), Error);
}

TEST(ShowCheckpoint, ListsTensors) {
  const std::string text = show_checkpoint(golden("checkpoints/v2_partitioned/model.ckpt-3"), {});
  EXPECT_EQ(body(text),
            "  checkpoint: 5 tensors with 65 elements (348 B)\n\n"
            "  b      float32[6]      6   24 B\n"
            "  names  string[3]       3   96 B\n"
            "  p/emb  float32[10,4]  40  160 B  3 parts\n"
            "  q/w    float32[3,5]   15   60 B  2 parts\n"
            "  step   int64[]         1    8 B\n");
  const auto json = nlohmann::json::parse(show_checkpoint(golden("checkpoints/v2_dtypes/all"), {.json = true}));
  EXPECT_EQ(json["tensors"][0]["name"], "a/bfloat16");
}

TEST(ShowEvents, SumsUpTags) {
  const std::string file = golden("records/events_v2/events.out.tfevents.1700000000.host");
  const auto json = nlohmann::json::parse(show_events(file, {.json = true}));
  EXPECT_EQ(json["last_step"], 7);
  for (const auto& tag : json["tags"]) {
    if (tag["tag"] != "loss") continue;
    EXPECT_EQ(tag["kind"], "scalars");
    EXPECT_EQ(tag["count"], 3);
    EXPECT_LT(tag["min"], tag["max"]);
  }
  EXPECT_NE(show_events(file, {}).find("  loss"), std::string::npos);
}

TEST(TextTable, LinesUpAndCounts) {
  TextTable table(2);
  table.right(1);
  table.row({"a", "1", "x"});
  table.row({"long", "1,000"});
  table.row({"not shown, however long it may be", "1"});
  EXPECT_EQ(table.str(), "  a         1  x\n  long  1,000\n  and 1 more\n");
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(-1234567), "-1,234,567");
  EXPECT_EQ(grouped_digits(-123), "-123");
  EXPECT_EQ(byte_text(1023), "1023 B");
  EXPECT_EQ(byte_text(1536), "1.5 KiB");
  EXPECT_EQ(word_line({"a", "b", "c"}, 2), "a  b  and 1 more");
}

TEST(TensorJson, WritesValuesThatReadBack) {
  EXPECT_EQ(tensor_json(Tensor(std::vector<float>{0.1F, INFINITY})),
            R"({"dtype": "float32", "shape": [2], "values": [0.1, null]})");
  EXPECT_EQ(tensor_json(Tensor(true)), R"({"dtype": "bool", "shape": [], "values": [true]})");
  EXPECT_EQ(tensor_json(Tensor("a\"")), R"({"dtype": "string", "shape": [], "values": ["a\""]})");
  EXPECT_EQ(tensor_json(Tensor::scalar(std::complex<float>(1, -2))),
            R"({"dtype": "complex64", "shape": [], "values": [[1, -2]]})");
  EXPECT_EQ(tensor_json(Tensor::zeros(int8, {3}), 2), R"({"dtype": "int8", "shape": [3]})");
}

}  // namespace
}  // namespace caudal::cli
