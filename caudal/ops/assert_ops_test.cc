#include "caudal/ops/assert_ops.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

TEST(Assert, TellsTheData) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {-1});
  const Output ok = placeholder(boolean, PartialShape::scalar());
  const Operation check = Assert(ok, {"x must be positive:", x}, {.summarize = 3});
  Output y;
  {
    const ControlDependencies after({check});
    y = identity(x);
  }
  Session session;
  const Tensor values(std::vector<float>{1, -2, 3, 4});
  EXPECT_EQ(session.run(y, {{x, values}, {ok, Tensor(true)}}).num_elements(), 4);
  try {
    session.run(y, {{x, values}, {ok, Tensor(false)}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_EQ(error.detail(), "assertion failed: [x must be positive:] [ 1. -2.  3. ...]");
  }
}

CAUDAL_OP_SAMPLES(Assert) {
  samples.add({.inputs = {Tensor(true), {samples.random(float32, {2}), samples.random(string, {})}}});
  samples.error({Tensor(false), {Tensor(std::vector<int>{1, 2, 3, 4})}}, Code::kInvalidArgument, {}, "[1 2 3 ...]");
  samples.error({Tensor(false), {Tensor(std::vector<int>{1, 2, 3, 4})}}, Code::kInvalidArgument, {{"summarize", -1}},
                "[1 2 3 4]");
  samples.error({Tensor(false), {Tensor(std::vector<int>{})}}, Code::kInvalidArgument, {}, "assertion failed: []");
  samples.error({Tensor(std::vector<int>{1}).bitcast(int32), {Tensor(1)}}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
