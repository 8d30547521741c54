#include "caudal/ops/logging_ops.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/node_state.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/tensor_summary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class LoggingOps : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

// The texts are TensorFlow 2.21's.
TEST_F(LoggingOps, SummariesReadAsTensorFlows) {
  const Tensor row(std::vector<float>{1, 2.5F, 3, 4, 5, 6, 7, 8});
  const Tensor matrix = Tensor::from<std::int32_t>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<std::int64_t> counted(24);
  for (int i = 0; i < 24; ++i) counted[static_cast<std::size_t>(i)] = i;
  const Tensor cube = Tensor::from<std::int64_t>({2, 3, 4}, counted);
  const Tensor odd(std::vector<float>{1e10F, 1e-10F, 0.1F, 3.14159274F, INFINITY, NAN, -0.0F});
  EXPECT_EQ(ops::summarize(row, 3), "1 2.5 3...");
  EXPECT_EQ(ops::summarize(matrix, 3), "[1 2 3...]...");
  EXPECT_EQ(ops::summarize(matrix, -1), "[1 2 3 4][5 6 7 8]");
  EXPECT_EQ(ops::summarize(matrix, 5), "[1 2 3 4][5...]...");
  EXPECT_EQ(ops::summarize(cube, 3), "[[0 1 2...]]...");
  EXPECT_EQ(ops::summarize(cube, 5), "[[0 1 2 3][4...]]...");
  EXPECT_EQ(ops::summarize(odd, -1), "1e+10 1e-10 0.1 3.14159274 inf nan -0");
  EXPECT_EQ(ops::summarize(Tensor(std::vector<double>{0.1, 1.0 / 3, 1e100}), 3), "0.1 0.33333333333333331 1e+100");
  EXPECT_EQ(ops::summarize(Tensor(1.5F), 3), "1.5");
  EXPECT_EQ(ops::summarize(Tensor::zeros(float32, {2, 0}), 3), "");
  EXPECT_EQ(ops::summarize(Tensor(std::vector<std::string>{"a", "b c"}), 3), "a b c");
  EXPECT_EQ(ops::summarize(Tensor::zeros(complex64, Shape()), 3), "?");
  EXPECT_EQ(ops::summarize_ends(row, 3), "[1 2.5 3 ... 6 7 8]");
  EXPECT_EQ(ops::summarize_ends(row, 2), "[1 2.5 ... 7 8]");
  EXPECT_EQ(ops::summarize_ends(row, -1), "[1 2.5 3 4 5 6 7 8]");
  EXPECT_EQ(ops::summarize_ends(matrix, 3), "[[1 2 3 4]\n [5 6 7 8]]");
  EXPECT_EQ(ops::summarize_ends(cube, 3),
            "[[[0 1 2 3]\n  [4 5 6 7]\n  [8 9 10 11]]\n\n [[12 13 14 15]\n  [16 17 18 19]\n  [20 21 22 23]]]");
  EXPECT_EQ(ops::summarize_ends(odd, 3), "[1e+10 1e-10 0.1 ... inf nan -0]");
  EXPECT_EQ(ops::summarize_ends(Tensor(std::vector<std::string>{"a", "b c"}), 3), "[\"a\" \"b c\"]");
  EXPECT_EQ(ops::summarize_ends(Tensor::zeros(float32, {0}), 3), "[]");
  EXPECT_EQ(ops::summarize_ends(Tensor::zeros(float32, {2, 0}), 3), "[\n ...]");
}

TEST_F(LoggingOps, PrintPassesItsInputOn) {
  const Output x = constant(3.0F);
  const Output y = Print(x * x, {constant(std::vector<int>{1, 2, 3, 4}), constant("text")}, {.message = "see "});
  const Output dx = gradients({y}, {x})[0].dense();
  Session session;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(session.run(y).item<float>(), 9);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "see [1 2 3...][text]\n");
  EXPECT_EQ(session.run(dx).item<float>(), 6);
}

TEST_F(LoggingOps, PrintStopsAfterFirstN) {
  const Output y = Print(constant(1.0F), {}, {.message = "once", .first_n = 2});
  Session session;
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) session.run(y);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "once\nonce\n");
  EXPECT_EQ(session.node_states().save().at("Print"), "5");
}

TEST_F(LoggingOps, PrintV2WritesToStreamsAndFiles) {
  Session session;
  ::testing::internal::CaptureStdout();
  session.run(raw_ops::print_v2(constant("out"), {.output_stream = "stdout", .end = "!"}));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "out!");
  ::testing::internal::CaptureStderr();
  session.run(raw_ops::print_v2(constant("err")));
  session.run(raw_ops::print_v2(constant("logged"), {.output_stream = "log(error)"}));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.substr(0, 4), "err\n");
  EXPECT_NE(text.find("logged"), std::string::npos);
  const std::string path = default_env().make_temp_dir("print") + "/lines";
  const Operation line = raw_ops::print_v2(constant("line"), {.output_stream = "file://" + path});
  session.run(line);
  session.run(line);
  EXPECT_EQ(default_env().file_size(path), 10);
  EXPECT_EQ(
      error_of([&] { session.run(raw_ops::print_v2(constant("x"), {.output_stream = "nowhere"})); }).substr(0, 16),
      "INVALID_ARGUMENT");
}

TEST_F(LoggingOps, StringFormatFillsPlaceholders) {
  const Output numbers = constant(std::vector<int>{1, 2, 3});
  const Output text = raw_ops::string_format({numbers, constant(0.5F)}, "a {} b {}.", {.placeholder = "{}"});
  EXPECT_EQ(Session().run(text).item<std::string>(), "a [1 2 3] b 0.5.");
  EXPECT_EQ(Session().run(raw_ops::string_format({}, "plain")).item<std::string>(), "plain");
  const Output bad = raw_ops::string_format({numbers}, "none");
  EXPECT_EQ(error_of([&] { Session().run(bad); }).substr(0, 16), "INVALID_ARGUMENT");
}

TEST_F(LoggingOps, TimestampIsNow) {
  const double now = Session().run(raw_ops::timestamp()).item<double>();
  EXPECT_NEAR(now, static_cast<double>(default_env().now_micros()) / 1e6, 60);
}

TEST_F(LoggingOps, PythonFunctionsAreRefused) {
  for (const char* type : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    Node& node = OpBuilder(type, {})
                     .inputs({constant(1)})
                     .attr("token", "pyfunc_0")
                     .attr("Tout", std::vector{float32})
                     .build_node();
    const std::string error = error_of([&] { Session().run(node.output(0)); });
    EXPECT_EQ(error.substr(0, 13), "UNIMPLEMENTED") << error;
    EXPECT_NE(error.find("Python code of another process"), std::string::npos) << error;
  }
}

}  // namespace

CAUDAL_OP_SAMPLES(Print) { samples.covered_by("LoggingOps.PrintPassesItsInputOn"); }
CAUDAL_OP_SAMPLES(PrintV2) { samples.covered_by("LoggingOps.PrintV2WritesToStreamsAndFiles"); }
CAUDAL_OP_SAMPLES(StringFormat) { samples.covered_by("LoggingOps.StringFormatFillsPlaceholders"); }
CAUDAL_OP_SAMPLES(Timestamp) { samples.covered_by("LoggingOps.TimestampIsNow"); }
CAUDAL_OP_SAMPLES(PyFunc) { samples.covered_by("LoggingOps.PythonFunctionsAreRefused"); }
CAUDAL_OP_SAMPLES(PyFuncStateless) { samples.covered_by("LoggingOps.PythonFunctionsAreRefused"); }
CAUDAL_OP_SAMPLES(EagerPyFunc) { samples.covered_by("LoggingOps.PythonFunctionsAreRefused"); }
}  // namespace caudal
