#include "caudal/proto/graph_io.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class GraphIoTest : public ::testing::Test {
 protected:
  static Code code_of(const std::function<void()>& action, std::string* message = nullptr) {
    try {
      action();
    } catch (const Error& error) {
      if (message != nullptr) *message = error.what();
      return error.code();
    }
    return Code::kOk;
  }

  Graph graph_;
  GraphScope scope_{graph_};
};

constexpr char kChain[] = R"(
node { name: "b" op: "Identity" input: "a" input: "^c" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 2 } } } }
node { name: "c" op: "NoOp" }
versions { producer: 2474 min_consumer: 12 })";

TEST_F(GraphIoTest, ReadsTextInAnyOrderAndRunsIt) {
  import_graph(kChain);
  Session session;
  EXPECT_EQ(session.run({"b:0"})[0].to_vector<float>(), (std::vector<float>{2, 2, 2}));  // the last value repeats
  EXPECT_EQ(graph_.operation("b").node()->control_inputs().size(), 1U);
}

TEST_F(GraphIoTest, BothFormsComeBackEqual) {
  import_graph(kChain);
  Graph from_bytes;
  import_graph(graph_to_bytes(graph_), from_bytes);
  Graph from_text;
  import_graph(graph_to_text(graph_), from_text);
  EXPECT_EQ(graph_to_text(from_bytes), graph_to_text(graph_));
  EXPECT_EQ(graph_to_text(from_text), graph_to_text(graph_));
}

TEST_F(GraphIoTest, PrefixAndInputMap) {
  const Output x = placeholder(float32, {3}, {.name = "x"});
  import_graph(kChain, graph_, {.prefix = "copy", .input_map = {{"a:0", x}}});
  Session session;
  const Tensor value(std::vector<float>{1, 2, 3});
  EXPECT_TRUE(identical(session.run({"copy/b:0"}, {{x, value}})[0], value));
}

TEST_F(GraphIoTest, WhatDoesNotFitIsRefusedAndLeavesTheGraphAlone) {
  std::string message;
  EXPECT_EQ(
      code_of([] { import_graph("node { name: 'a' op: 'NoSuchOp' } node { name: 'b' op: 'NorThis' }"); }, &message),
      Code::kUnimplemented);
  EXPECT_NE(message.find("NoSuchOp"), std::string::npos);
  EXPECT_NE(message.find("NorThis"), std::string::npos);
  EXPECT_EQ(code_of([] { import_graph("node { name: 'a' op: 'NoOp' } node { name: 'a' op: 'NoOp' }"); }),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { import_graph("node { name: 'a' op: 'NoOp' input: '^gone' }"); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] {
              import_graph("node { name: 'a' op: 'NoOp' input: '^b' } node { name: 'b' op: 'NoOp' input: '^a' }");
            }),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { import_graph("node { name: 'a' op: 'NoOp' } versions { min_consumer: 99999 }"); }),
            Code::kFailedPrecondition);
  EXPECT_EQ(code_of([] { import_graph("node { name: }"); }), Code::kDataLoss);
  EXPECT_EQ(code_of([] { import_graph(std::string("\x0a\xff\xff", 3)); }), Code::kDataLoss);
  EXPECT_EQ(graph_.num_nodes(), 0);
}

TEST_F(GraphIoTest, AShortMessageCannotAskForAHugeTensor) {
  const char* bomb = R"(node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 2 } } } })";
  EXPECT_EQ(code_of([&] { import_graph(bomb); }), Code::kResourceExhausted);
}

}  // namespace
}  // namespace caudal
