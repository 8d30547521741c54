#include "caudal/ops/stack_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

std::string failure_of(Session& session, const Fetch& fetch) {
  try {
    session.run(Fetches{fetch});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class StackOps : public testing::Test {
 protected:
  // The node as TensorFlow's older form of the op, whose handle is a reference to a string vector.
  static Output old(const char* op, std::vector<Output> inputs, DType type = float32) {
    OpBuilder builder(op, {});
    for (const Output& input : inputs) builder.input(input);
    if (std::string_view(op) != "StackPush") builder.attr("elem_type", type);
    return builder.build();
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(StackOps, GiveBackInReverse) {
  const Output handle = raw_ops::stack_v2(10, float32);
  const Output first = raw_ops::stack_push_v2(handle, constant({4.0F, 5.0F}));
  Output second, top, below;
  {
    const ControlDependencies after({first});
    second = raw_ops::stack_push_v2(handle, constant(7.0F));
  }
  {
    const ControlDependencies after({second});
    top = raw_ops::stack_pop_v2(handle, float32);
  }
  {
    const ControlDependencies after({top});
    below = raw_ops::stack_pop_v2(handle, float32);
  }
  Session session;
  for (int i = 0; i < 2; ++i) {  // a new stack in every step
    const auto got = session.run({top, below});
    EXPECT_TRUE(identical(got[0], Tensor(7.0F)));
    EXPECT_TRUE(identical(got[1], Tensor(std::vector<float>{4, 5})));
  }
}

TEST_F(StackOps, OldFormsHaveStringReferences) {
  const Output handle = old("Stack", {});
  EXPECT_TRUE(handle.is_ref());
  const Output pushed = old("StackPush", {handle, constant(4.0F)});
  Output popped;
  {
    const ControlDependencies after({pushed});
    popped = old("StackPop", {handle});
  }
  Session session;
  EXPECT_TRUE(identical(session.run(popped), Tensor(4.0F)));
  OpBuilder close("StackClose", {});
  session.run(close.input(handle).control_input(popped).build_operation());
}

TEST_F(StackOps, KeepWhatTheStepWouldOverwrite) {
  const Output handle = raw_ops::stack_v2(-1, float32);
  Output x = constant({1.0F, 2.0F, 3.0F});
  std::vector<Output> popped;
  Operation before;
  for (int i = 0; i < 4; ++i) {
    x = x + constant({1.0F, 1.0F, 1.0F});
    OpBuilder push("StackPushV2", {});
    push.input(handle).input(x);
    if (before) push.control_input(before);
    x = push.build();
    before = x;
  }
  for (int i = 0; i < 4; ++i) {
    const ControlDependencies after({before});
    popped.push_back(raw_ops::stack_pop_v2(handle, float32));
    before = popped.back();
  }
  Session session(graph_, {.plan = {.fold_constants = false}});
  const auto got = session.run(Fetches(popped.begin(), popped.end()));
  for (int i = 0; i < 4; ++i) {
    const float first = 5.0F - static_cast<float>(i);
    EXPECT_TRUE(identical(got[i], Tensor(std::vector<float>{first, first + 1, first + 2}))) << got[i];
  }
}

TEST_F(StackOps, RefuseWhatTensorFlowRefuses) {
  Session session;
  const Output empty = raw_ops::stack_v2(-1, float32, {.stack_name = "foo"});
  EXPECT_NE(failure_of(session, raw_ops::stack_pop_v2(empty, float32)).find("] is empty when calling Pop()."),
            std::string::npos);
  const Output full = raw_ops::stack_v2(0, float32, {.stack_name = "foo"});
  EXPECT_NE(failure_of(session, raw_ops::stack_push_v2(full, 1.0F)).find("] overflowed its max_size (0)"),
            std::string::npos);
  const Output typed = raw_ops::stack_v2(1, float32);
  EXPECT_NE(failure_of(session, raw_ops::stack_push_v2(typed, constant(1))).find("Must have type float but got int32"),
            std::string::npos);
  const Output closed = raw_ops::stack_v2(1, float32);
  const Operation close = raw_ops::stack_close_v2(closed);
  const ControlDependencies after({close});
  EXPECT_NE(failure_of(session, raw_ops::stack_push_v2(closed, 1.0F)).find("] has already been closed."),
            std::string::npos);
}

CAUDAL_OP_SAMPLES(StackV2) { samples.covered_by("StackOps.GiveBackInReverse"); }
CAUDAL_OP_SAMPLES(StackPushV2) { samples.covered_by("StackOps.KeepWhatTheStepWouldOverwrite"); }
CAUDAL_OP_SAMPLES(StackPopV2) { samples.covered_by("StackOps.GiveBackInReverse"); }
CAUDAL_OP_SAMPLES(StackCloseV2) { samples.covered_by("StackOps.RefuseWhatTensorFlowRefuses"); }
CAUDAL_OP_SAMPLES(Stack) { samples.covered_by("StackOps.OldFormsHaveStringReferences"); }
CAUDAL_OP_SAMPLES(StackPush) { samples.covered_by("StackOps.OldFormsHaveStringReferences"); }
CAUDAL_OP_SAMPLES(StackPop) { samples.covered_by("StackOps.OldFormsHaveStringReferences"); }
CAUDAL_OP_SAMPLES(StackClose) { samples.covered_by("StackOps.OldFormsHaveStringReferences"); }

}  // namespace
}  // namespace caudal
