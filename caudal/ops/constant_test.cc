#include "caudal/ops/constant.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0 {
namespace {

Tensor value_of(const Output& output) { return output.node()->attr<Tensor>("value"); }

TEST(Constant, TakesNumbersListsAndStrings) {
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_TRUE(identical(value_of(constant(3)), Tensor(3)));
  EXPECT_TRUE(identical(value_of(constant(3.5)), Tensor(3.5F)));
  EXPECT_TRUE(identical(value_of(constant("a")), Tensor("a")));
  EXPECT_TRUE(identical(value_of(constant({1, 2, 3})), Tensor::from<int>({3}, {1, 2, 3})));
  EXPECT_TRUE(identical(value_of(constant({{1, 2}, {3, 4}})), Tensor::from<int>({2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(identical(value_of(constant({{1.5, 2}, {3, 4}})), Tensor::from<float>({2, 2}, {1.5F, 2, 3, 4})));
  EXPECT_TRUE(identical(value_of(constant({"a", "b"})), Tensor::from<std::string>({2}, {"a", "b"})));
  EXPECT_TRUE(identical(value_of(constant({true, false})), Tensor::from<bool>({2}, {true, false})));
  EXPECT_EQ(constant(Tensor(1.0)).dtype(), float64);
  EXPECT_THROW(constant({{1, 2}, {3}}), Error);
  EXPECT_THROW(constant({Literal(1), Literal("a")}), Error);
}

TEST(Constant, ConvertsAndFills) {
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_TRUE(identical(value_of(constant(1, {.dtype = float64})), Tensor(1.0)));
  EXPECT_TRUE(identical(value_of(constant(7, {.shape = {2, 2}})), Tensor::from<int>({2, 2}, {7, 7, 7, 7})));
  EXPECT_TRUE(identical(value_of(constant({1, 2, 3}, {.shape = {2, 2}})), Tensor::from<int>({2, 2}, {1, 2, 3, 3})));
  EXPECT_TRUE(identical(value_of(constant({1, 2, 3, 4}, {.shape = {2, 2}})), Tensor::from<int>({2, 2}, {1, 2, 3, 4})));
  EXPECT_THROW(constant({1, 2, 3}, {.shape = {2}}), Error);
  EXPECT_THROW(constant(1.5, {.dtype = int32}), Error);
  EXPECT_EQ(constant(1, {.name = "one"}).name(), "one:0");
  EXPECT_EQ(constant(1, {.name = "one"}).name(), "one_1:0");
}

TEST(Constant, ErrorsNameTheLine) {
  Graph graph;
  const GraphScope scope(graph);
  try {
    constant({1, 2, 3}, {.shape = {2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("constant_test.cc"), std::string::npos) << error.what();
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
  }
}

TEST(Placeholder, KeepsItsShape) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {-1, 784}, {.name = "X"});
  EXPECT_EQ(x.shape().to_string(), "[?,784]");
  EXPECT_EQ(x.name(), "X:0");
  EXPECT_FALSE(placeholder(float32).shape().has_rank());
  EXPECT_EQ(identity(x).shape(), x.shape());
  EXPECT_THROW(placeholder_with_default(constant({1, 2}), {3}), Error);
}

TEST(Group, WaitsForAll) {
  Graph graph;
  const GraphScope scope(graph);
  const Operation a = constant(1), b = constant(2);
  const Operation both = group({a, b});
  EXPECT_EQ(both.name(), "group_deps");
  EXPECT_EQ(both.node()->control_inputs().size(), 2U);
}

}  // namespace
}  // namespace caudal::inline v0
