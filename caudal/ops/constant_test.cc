#include "caudal/ops/constant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::each_type_and_shape;
using harness::ints;
using harness::kMovedTypes;
using harness::kNumberTypes;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(Const) { samples.covered_by("Constant.TakesNumbersListsAndStrings"); }
CAUDAL_OP_SAMPLES(Placeholder) { samples.covered_by("Placeholder.KeepsItsShape"); }
CAUDAL_OP_SAMPLES(PlaceholderV2) { samples.covered_by("Placeholder.KeepsItsShape"); }
CAUDAL_OP_SAMPLES(NoOp) { samples.covered_by("Group.WaitsForAll"); }
CAUDAL_OP_SAMPLES(PlaceholderWithDefault) {
  const AttrMap any_shape = {{"shape", PartialShape::unknown()}};
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = any_shape, .shape_unknown = true});
  }
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"shape", PartialShape{3}}});
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 0, 3}, Shape{2, 3, 4, 5}, Shape{40000}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = {{"shape", PartialShape(shape)}}});
  }
}
CAUDAL_OP_SAMPLES(Identity) { each_type_and_shape(samples, kMovedTypes); }
CAUDAL_OP_SAMPLES(GuaranteeConst) { each_type_and_shape(samples, kMovedTypes); }
CAUDAL_OP_SAMPLES(DebugGradientIdentity) { each_type_and_shape(samples, kMovedTypes); }
CAUDAL_OP_SAMPLES(StopGradient) { each_type_and_shape(samples, kMovedTypes); }
CAUDAL_OP_SAMPLES(Snapshot) {
  each_type_and_shape(samples, kNumberTypes);
  samples.add({.inputs = {samples.random(boolean, {5})}});
}
CAUDAL_OP_SAMPLES(ZerosLike) {
  each_type_and_shape(samples, kUsualTypes);
  samples.add({.inputs = {Tensor(std::vector<float>{NAN, -1})}, .expected = {Tensor(std::vector<float>{0, 0})}});
  samples.add({.inputs = {Tensor("a")}, .expected = {Tensor("")}});
}
CAUDAL_OP_SAMPLES(OnesLike) {
  each_type_and_shape(samples, kNumberTypes);
  samples.add(
      {.inputs = {Tensor::from<bool>({2}, {false, true})}, .expected = {Tensor::from<bool>({2}, {true, true})}});
  samples.add({.inputs = {Tensor(std::vector<float>{NAN, 0})}, .expected = {Tensor(std::vector<float>{1, 1})}});
}
CAUDAL_OP_SAMPLES(PreventGradient) {
  for (const DType t : kUsualTypes) {
    samples.add({.inputs = {samples.random(t, {3})}, .gradient = harness::Check::kNo});
  }
  samples.covered_by("PreventGradient.RefusesWithItsMessage");
}
CAUDAL_OP_SAMPLES(IdentityN) {
  samples.add({.inputs = {{samples.random(float64, {2}), samples.random(int32, {}), Tensor("a")}}});
  samples.add({.inputs = {{samples.random(float64, {2, 0})}}});
  std::vector<Tensor> all;
  for (const DType t : kMovedTypes) all.push_back(samples.random(t, {2, 3}));
  samples.add({.inputs = {all}, .gradient = harness::Check::kNo});
}
CAUDAL_OP_SAMPLES(RefIdentity) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {Samples::variable(samples.random(t, {2, 3}))}});
  samples.covered_by("RefIdentity.PassesTheGradientOn");
}
CAUDAL_OP_SAMPLES(DebugGradientRefIdentity) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {Samples::variable(samples.random(t, {2, 3}))}});
  samples.covered_by("RefIdentity.PassesTheGradientOn");
}
CAUDAL_OP_SAMPLES(Fill) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {ints({2, 3}), samples.random(t, {})}});
  samples.add({.inputs = {longs({}), samples.random(float64, {})}});
  samples.add({.inputs = {ints({0, 4}), Tensor(1.0F)}});
  samples.add({.inputs = {ints({70000}), Tensor(1.0F)}});
  samples.error({ints({-1}), Tensor(1.0F)}, Code::kInvalidArgument);
  samples.error({Tensor(2), Tensor(1.0F)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Empty) {
  for (const DType t : kUsualTypes) {
    samples.add(
        {.inputs = {ints({2, 3})}, .attrs = {{"dtype", t}, {"init", true}}, .expected = {Tensor::zeros(t, {2, 3})}});
    samples.add({.inputs = {ints({4, 0})}, .attrs = {{"dtype", t}}});
    samples.add({.inputs = {ints({7})}, .attrs = {{"dtype", t}}, .opaque_outputs = {0}});
  }
  samples.add({.inputs = {ints({})}, .attrs = {{"dtype", float32}}, .opaque_outputs = {0}});
  samples.error({ints({2, -1})}, Code::kInvalidArgument, {{"dtype", float32}});
}
void check_numerics_samples(Samples& samples) {
  for (const DType t : {float32, float64, float16, bfloat16}) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = {{"message", "m"}}});
  }
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3, 4, 5}, Shape{40000}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = {{"message", "m"}}});
  }
  samples.error({Tensor(std::vector<double>{1, NAN})}, Code::kInvalidArgument, {{"message", "bad"}}, "bad");
  samples.error({Tensor(std::numeric_limits<float>::infinity())}, Code::kInvalidArgument, {{"message", "bad"}}, "bad");
}
CAUDAL_OP_SAMPLES(CheckNumerics) { check_numerics_samples(samples); }
CAUDAL_OP_SAMPLES(CheckNumericsV2) { check_numerics_samples(samples); }

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

TEST(PreventGradient, RefusesWithItsMessage) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {2});
  const Output y = raw_ops::prevent_gradient(x, "not through here");
  try {
    gradients({y}, {x});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);  // LookupError in TensorFlow
    EXPECT_NE(std::string(error.what()).find("not through here"), std::string::npos) << error.what();
  }
}

TEST(RefIdentity, PassesTheGradientOn) {
  Graph graph;
  const GraphScope scope(graph);
  const Output ref = raw_ops::variable_v2({2}, float64);
  const Output marked = OpBuilder("DebugGradientRefIdentity", {}).input(ref).build();
  const Output same = OpBuilder("RefIdentity", {}).input(marked).build();
  const Output y = multiply(same, constant({3.0, -1.0}, {.dtype = float64}));
  Session session;
  session.run(raw_ops::assign(same, constant({2.0, 4.0}, {.dtype = float64})));
  EXPECT_TRUE(identical(session.run(ref), Tensor(std::vector<double>{2, 4})));
  EXPECT_TRUE(identical(session.run(gradients({y}, {ref})[0].dense()), Tensor(std::vector<double>{3, -1})));
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
