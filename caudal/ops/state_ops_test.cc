#include "caudal/ops/state_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

void expect_error(const std::function<void()>& call, const std::string& text, Code code) {
  try {
    call();
    ADD_FAILURE() << "no error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

class StateOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(StateOps, SessionsKeepTensors) {
  const Output handle = get_session_handle(constant({1.0F, 2.0F}) * 3.0F, {.name = "kept"});
  const Output name = placeholder(string, PartialShape::scalar());
  const Output value = get_session_tensor(name, float32);
  const Output wrong = get_session_tensor(name, int32);
  const Operation drop = delete_session_tensor(name);
  Session session;
  const Tensor first = session.run(handle), second = session.run(handle);
  EXPECT_NE(first.item<std::string>(), second.item<std::string>());
  EXPECT_TRUE(first.item<std::string>().starts_with("kept;")) << first;
  EXPECT_TRUE(first.item<std::string>().ends_with("CPU:0")) << first;
  EXPECT_TRUE(identical(session.run(value, {{name, first}}), Tensor(std::vector<float>{3, 6})));
  expect_error([&] { session.run(wrong, {{name, first}}); }, "int32 is wanted", Code::kInvalidArgument);
  session.run(Fetches{drop}, {{name, first}});
  expect_error([&] { session.run(value, {{name, first}}); }, "is not in the session store.", Code::kInvalidArgument);
  EXPECT_TRUE(identical(session.run(value, {{name, second}}), Tensor(std::vector<float>{3, 6})));
  Session other;
  expect_error([&] { other.run(value, {{name, second}}); }, "is not in the session store.", Code::kInvalidArgument);
  const Output handle2 = OpBuilder("GetSessionHandleV2", {}).input(constant(7)).build();
  const Tensor third = session.run(handle2);
  const std::string third_name = third.item<ResourceHandle>().name;
  EXPECT_EQ(session.run(wrong, {{name, Tensor(third_name)}}).item<int>(), 7);
}

TEST_F(StateOps, TemporaryVariablesLiveInAStep) {
  const Output ref = raw_ops::temporary_variable({2}, float32, {.var_name = "sum"});
  Output updated = raw_ops::assign(ref, constant({1.0F, 2.0F}));
  updated = raw_ops::assign_add(updated, constant({10.0F, 20.0F}));
  const Output last = raw_ops::destroy_temporary_variable(updated, "sum");
  Session session;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(identical(session.run(last), Tensor(std::vector<float>{11, 22})));
  const Output twin = raw_ops::temporary_variable({2}, float32, {.var_name = "sum"});
  expect_error([&] { session.run({ref, twin}); }, "temporary variable 'sum' already", Code::kAlreadyExists);
  const Output other = raw_ops::destroy_temporary_variable(ref, "none");
  expect_error([&] { session.run(other); }, "no temporary variable 'none'", Code::kNotFound);
}

TEST_F(StateOps, ConstantsComeFromFiles) {
  const TempDir dir;
  const Tensor numbers(std::vector<float>{1, 2, 3});
  write_file_atomically(default_env(), dir.file("numbers"), numbers.raw_bytes());
  Session session;
  EXPECT_TRUE(identical(session.run(raw_ops::immutable_const(float32, {3}, dir.file("numbers"))), numbers));
  EXPECT_TRUE(identical(session.run(raw_ops::immutable_const(float32, {1, 2}, dir.file("numbers"))),
                        numbers.rows(0, 2).reshape({1, 2})));
  expect_error([&] { session.run(raw_ops::immutable_const(float32, {4}, dir.file("numbers"))); }, "has 12 bytes",
               Code::kInvalidArgument);
  expect_error([&] { session.run(raw_ops::immutable_const(float32, {3}, dir.file("none"))); }, "none", Code::kNotFound);
  expect_error([&] { session.run(raw_ops::immutable_const(string, {3}, dir.file("numbers"))); },
               "is not currently supported for ImmutableConst.", Code::kUnimplemented);
}

TEST_F(StateOps, CopyOnReadCannotBeTurnedOff) {
  const Output handle = raw_ops::var_handle_op(float32, {}, {.shared_name = "v"});
  const Operation assign = raw_ops::assign_variable_op(handle, 1.0F, float32);
  const Operation disable = OpBuilder("DisableCopyOnRead", {}).input(handle).build_operation();
  Session session;
  session.run(assign);
  session.run(disable);
  EXPECT_EQ(session.run(raw_ops::read_variable_op(handle, float32)).item<float>(), 1.0F);
}

CAUDAL_OP_SAMPLES(GetSessionHandle) { samples.covered_by("StateOps.SessionsKeepTensors"); }
CAUDAL_OP_SAMPLES(GetSessionHandleV2) { samples.covered_by("StateOps.SessionsKeepTensors"); }
CAUDAL_OP_SAMPLES(GetSessionTensor) { samples.covered_by("StateOps.SessionsKeepTensors"); }
CAUDAL_OP_SAMPLES(DeleteSessionTensor) { samples.covered_by("StateOps.SessionsKeepTensors"); }
CAUDAL_OP_SAMPLES(TemporaryVariable) { samples.covered_by("StateOps.TemporaryVariablesLiveInAStep"); }
CAUDAL_OP_SAMPLES(DestroyTemporaryVariable) { samples.covered_by("StateOps.TemporaryVariablesLiveInAStep"); }
CAUDAL_OP_SAMPLES(ImmutableConst) { samples.covered_by("StateOps.ConstantsComeFromFiles"); }
CAUDAL_OP_SAMPLES(DisableCopyOnRead) { samples.covered_by("StateOps.CopyOnReadCannotBeTurnedOff"); }

}  // namespace
}  // namespace caudal
