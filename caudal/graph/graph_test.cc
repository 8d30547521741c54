#include "caudal/graph/graph.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/constant_value.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal {
namespace {

class GraphTest : public ::testing::Test {
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
  static std::vector<std::string> control_inputs(const Operation& operation) {
    std::vector<std::string> names;
    for (const Node* node : operation.node()->control_inputs()) names.push_back(node->name());
    return names;
  }
  using Names = std::vector<std::string>;

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(GraphTest, UniqueNamesAsTensorFlows) {
  // What tf.Graph.unique_name gives for the same sequence.
  const char* asked[] = {"a_1", "a", "a", "A", "a_1", "a", "b/c", "b", "b"};
  const char* given[] = {"a_1", "a", "a_2", "A_3", "a_1_1", "a_4", "b/c", "b", "b_1"};
  for (std::size_t i = 0; i < std::size(asked); ++i) EXPECT_EQ(graph_.unique_name(asked[i]), given[i]);
}

TEST_F(GraphTest, NameScopes) {
  EXPECT_EQ(no_op({.name = "x"}).name(), "x");
  std::string prefix;
  {
    const NameScope a("a");
    prefix = a.prefix();
    EXPECT_EQ(no_op({.name = "x"}).name(), "a/x");
    EXPECT_EQ(no_op().name(), "a/NoOp");
    EXPECT_EQ(no_op().name(), "a/NoOp_1");
    {
      const NameScope b("b");
      EXPECT_EQ(no_op({.name = "x"}).name(), "a/b/x");
      const NameScope top("");
      EXPECT_EQ(no_op({.name = "y"}).name(), "y");
      EXPECT_EQ(no_op({.name = "given/z/"}).name(), "given/z");  // taken as it is
    }
    EXPECT_EQ(current_name_scope(), "a/");
  }
  EXPECT_EQ(NameScope("a").prefix(), "a_1/");
  const NameScope again(prefix);
  EXPECT_EQ(again.prefix(), "a/");
  EXPECT_EQ(no_op({.name = "x"}).name(), "a/x_1");
}

TEST_F(GraphTest, ControlDependenciesLeaveOutWhatWaitsAlready) {
  const Output a = constant(1.0F, {.name = "a"});
  const Output b = constant(2.0F, {.name = "b"});
  const ControlDependencies outer({a});
  const Output inside = constant(3.0F, {.name = "inside"});
  EXPECT_EQ(control_inputs(inside), (Names{"a"}));
  EXPECT_EQ(control_inputs(identity(inside)), Names());  // its input waits
  EXPECT_EQ(control_inputs(identity(a)), Names());       // waits by its data
  EXPECT_EQ(control_inputs(identity(b)), (Names{"a"}));
  {
    const ControlDependencies inner({b, a});
    EXPECT_EQ(control_inputs(no_op()), (Names{"a", "b"}));  // each once, the outer scope's first
    EXPECT_EQ(control_inputs(identity(inside)), (Names{"b", "a"}));
    {
      const ControlDependencies none({}, true);
      EXPECT_EQ(control_inputs(no_op()), Names());
      const ControlDependencies innermost({b});
      EXPECT_EQ(control_inputs(no_op()), (Names{"b"}));
    }
  }
  EXPECT_EQ(control_inputs(no_op()), (Names{"a"}));
  EXPECT_NE(error_of([] { ControlDependencies({Operation()}); }), "no error");
}

TEST_F(GraphTest, DeviceScopesMergePartByPart) {
  // As tf.device does.
  EXPECT_EQ(current_device(), "");
  const DeviceScope outer("/job:ps/task:1");
  {
    const DeviceScope inner("/cpu:0");
    EXPECT_EQ(no_op().node()->info().device, "/job:ps/task:1/device:CPU:0");
  }
  {
    const DeviceScope inner("/task:2/device:GPU:1");
    EXPECT_EQ(no_op().node()->info().device, "/job:ps/task:2/device:GPU:1");
  }
  const DeviceScope any("/gpu:*");
  EXPECT_EQ(no_op().node()->info().device, "/job:ps/task:1/device:GPU:*");
}

TEST_F(GraphTest, TheOutermostLocationWins) {
  const LocationScope outer("user.cc:7");
  const LocationScope inner("library.cc:100");
  EXPECT_EQ(no_op().node()->info().made_at, "user.cc:7");
}

TEST_F(GraphTest, CollectionsByScope) {
  for (const char* name : {"hidden1/w", "hidden3/w", "hidden4/w", "outputs/w"}) {
    graph_.add_to_collection("weights", {.operation = no_op({.name = name})});
  }
  graph_.add_to_collection("weights", {.output = constant(1, {.name = "hidden3/c"})});
  graph_.add_to_collection("weights", {.text = "outputs as text"});
  graph_.add_to_collection("weights", {.object = std::make_shared<int>(1)});
  const auto count = [&](std::string_view scope) { return graph_.collection("weights", scope).size(); };
  EXPECT_EQ(count(""), 7U);
  EXPECT_EQ(count("hidden[34]|outputs"), 5U);
  EXPECT_EQ(count("idden"), 0U);  // from the beginning
  EXPECT_EQ(count("hidden1/w$"), 1U);
  EXPECT_EQ(graph_.collection("none").size(), 0U);
  EXPECT_EQ(error_of([&] { count("hidden["); }),
            "INVALID_ARGUMENT: collection scope 'hidden[' is no regular expression");
  EXPECT_EQ(graph_.collection_keys(), (std::vector<std::string>{"weights"}));
  graph_.clear_collection("weights");
  EXPECT_EQ(count(""), 0U);
}

TEST_F(GraphTest, AddRefusesWhatDoesNotFit) {
  const Output x = constant(1.0F, {.name = "x"});
  Graph other;
  Output foreign;
  {
    const GraphScope scope(other);
    foreign = constant(1.0F, {.name = "foreign"});
  }
  const auto add = [&](NodeDraft draft) {
    const int before = graph_.num_nodes();
    const std::string message = error_of([&] { graph_.add(std::move(draft)); });
    EXPECT_EQ(graph_.num_nodes(), message == "no error" ? before + 1 : before) << message;
    return message;
  };
  EXPECT_TRUE(add({.op = "Identtiy", .name = "n", .inputs = {{x}}}).starts_with("NOT_FOUND: Identtiy 'n': "));
  EXPECT_EQ(add({.op = "NoOp", .name = "x"}), "ALREADY_EXISTS: NoOp 'x': a node of this name is in the graph already");
  EXPECT_EQ(add({.op = "NoOp", .name = "-x"}), "INVALID_ARGUMENT: NoOp '-x': '-x' is no valid node name");
  EXPECT_TRUE(add({.op = "NoOp", .name = "a b"}).starts_with("INVALID_ARGUMENT"));
  EXPECT_TRUE(add({.op = "NoOp", .name = ""}).starts_with("INVALID_ARGUMENT"));
  EXPECT_EQ(add({.op = "Identity", .name = "n"}), "INVALID_ARGUMENT: Identity 'n': 0 arguments given; 1 are wanted");
  EXPECT_EQ(add({.op = "Identity", .name = "n", .inputs = {{x, x}}}),
            "INVALID_ARGUMENT: Identity 'n': 'input' takes one tensor, not 2");
  EXPECT_EQ(add({.op = "Identity", .name = "n", .inputs = {{Output()}}}),
            "INVALID_ARGUMENT: Identity 'n': 'input' is missing");
  EXPECT_EQ(add({.op = "IdentityN", .name = "n", .inputs = {{x, Output()}}}),
            "INVALID_ARGUMENT: IdentityN 'n': 'input' is missing");
  EXPECT_EQ(add({.op = "Identity", .name = "n", .inputs = {{foreign}}}),
            "INVALID_ARGUMENT: Identity 'n': input 'foreign:0' belongs to another graph");
  EXPECT_EQ(add({.op = "NoOp", .name = "n", .control_inputs = {foreign.node()}}),
            "INVALID_ARGUMENT: NoOp 'n': control input 'foreign' belongs to another graph");
  EXPECT_EQ(add({.op = "NoOp", .name = "n", .control_inputs = {nullptr}}),
            "INVALID_ARGUMENT: NoOp 'n': a control input is missing");
  EXPECT_TRUE(
      add({.op = "Identity", .name = "n", .inputs = {{x}}, .attrs = {{"T", int32}}})
          .starts_with("INVALID_ARGUMENT: Identity 'n': 'input' is float32; its type T is int32 by the other "));
  EXPECT_TRUE(add({.op = "AssignAdd", .name = "n", .inputs = {{x}, {x}}})
                  .starts_with("INVALID_ARGUMENT: AssignAdd 'n': input 0 must be a variable, not float32[] 'x:0'"));
  EXPECT_EQ(add({.op = "NoOp", .name = "n"}), "no error");
  graph_.finalize();
  EXPECT_EQ(add({.op = "NoOp", .name = "m"}),
            "FAILED_PRECONDITION: NoOp 'm': the graph is finalised: no node can be added");
}

TEST_F(GraphTest, ConnectReplacesAnInput) {
  const Output x = constant(1.0F, {.name = "x"});
  const Output y = constant(2.0F, {.name = "y"});
  const Output i = constant(1, {.name = "i"});
  Node& node = *identity(x).node();
  const auto version = graph_.version();
  graph_.connect(node, 0, y);
  EXPECT_EQ(node.input(0), y);
  EXPECT_TRUE(x.node()->consumers().empty());
  ASSERT_EQ(y.node()->consumers().size(), 1U);
  EXPECT_NE(graph_.version(), version);
  EXPECT_NE(error_of([&] { graph_.connect(node, 0, i); }), "no error");
  EXPECT_NE(error_of([&] { graph_.connect(node, 1, y); }), "no error");
  EXPECT_NE(error_of([&] { graph_.connect(node, -1, y); }), "no error");
  EXPECT_NE(error_of([&] { graph_.connect(node, 0, Output()); }), "no error");
  Graph other;
  const GraphScope scope(other);
  const Output foreign = constant(1.0F);
  EXPECT_NE(error_of([&] { graph_.connect(node, 0, foreign); }), "no error");
  EXPECT_EQ(node.input(0), y);
}

TEST_F(GraphTest, FindsByName) {
  const Output x = constant(1.0F, {.name = "input"});
  EXPECT_EQ(graph_.tensor("input"), x);
  EXPECT_EQ(graph_.tensor("input:0"), x);
  EXPECT_EQ(graph_.operation("input").node(), x.node());
  EXPECT_EQ(graph_.find("nothing"), nullptr);
  EXPECT_TRUE(error_of([&] { graph_.tensor("inptu:0"); }).starts_with("NOT_FOUND: the graph has no operation 'inptu'"));
  EXPECT_NE(error_of([&] { graph_.tensor("inptu:0"); }).find("input"), std::string::npos);
  EXPECT_TRUE(error_of([&] { graph_.tensor("input:1"); }).starts_with("NOT_FOUND"));
  for (const char* name : {"input:", "input:x", "input:-1", "input:99999999999"}) {
    EXPECT_TRUE(error_of([&] { graph_.tensor(name); }).starts_with("INVALID_ARGUMENT")) << name;
  }
}

TEST_F(GraphTest, SetShapeSharpens) {
  const Output x = placeholder(float32, {-1, 3});
  x.set_shape({2, -1});
  EXPECT_EQ(x.shape(), (PartialShape{2, 3}));
  EXPECT_TRUE(error_of([&] { x.set_shape({4, 3}); }).starts_with("INVALID_ARGUMENT"));
}

TEST_F(GraphTest, ConstantValueAsShape) {
  const Output x = placeholder(float32, {-1, 7, 3}, {.name = "x"});
  const auto known = [](const Output& output) { return constant_value_as_shape(output).to_string(); };
  const Output s = shape(x);
  EXPECT_EQ(known(s), "[?,7,3]");
  EXPECT_EQ(known(constant(std::vector<int>{2, -1})), "[2,?]");
  EXPECT_EQ(known(identity(s)), "[?,7,3]");
  EXPECT_EQ(known(cast(s, int64)), "[?,7,3]");
  const auto size = [&](int i) { return strided_slice(s, {i}, {i + 1}, {1}, {.shrink_axis_mask = 1}); };
  EXPECT_EQ(known(stack({size(0), size(1), size(-1), 5})), "[?,7,3,5]");
  EXPECT_EQ(known(strided_slice(s, {1}, {3}, {1})), "[7,3]");
  EXPECT_EQ(known(strided_slice(s, {0}, {-1}, {1}, {.begin_mask = 1})), "[?,7]");
  EXPECT_EQ(known(concat({s, Tensor(std::vector<int>{9})}, 0)), "[?,7,3,9]");
  EXPECT_EQ(known(constant(5)), "<unknown>");
  EXPECT_EQ(known(placeholder(int32, {2})), "<unknown>");
  EXPECT_EQ(known(x), "<unknown>");
  EXPECT_EQ(constant_value(s), nullptr);
  EXPECT_EQ(constant_value(identity(constant(4)))->item<int>(), 4);
}

}  // namespace
}  // namespace caudal
