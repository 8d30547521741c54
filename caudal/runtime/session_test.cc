#include "caudal/runtime/session.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/reduction.h"

namespace caudal {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(SessionTest, FetchesAConstant) {
  const Output c = constant(Tensor(2.5F), {.name = "c"});
  Session session;
  EXPECT_EQ(session.run(c).item<float>(), 2.5F);
  EXPECT_EQ(session.run(Fetches{"c:0"})[0].item<float>(), 2.5F);
}

TEST_F(SessionTest, FeedsAndFetchesInAnyOrderAndTwice) {
  const Output x = placeholder(float32, {-1}, {.name = "x"});
  const Output y = identity(x);
  Session session;
  const Tensor value(std::vector<float>{1, 2, 3});
  const auto results = session.run({y, x, y}, {{"x", value}});
  ASSERT_EQ(results.size(), 3U);
  for (const Tensor& result : results) EXPECT_TRUE(identical(result, value));
}

TEST_F(SessionTest, WhatIsNotFedSaysSo) {
  const Output x = placeholder(float32, {-1}, {.name = "x"});
  Session session;
  try {
    session.run(identity(x));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_EQ(error.node(), "x");
    EXPECT_NE(std::string(error.what()).find("session_test.cc:"), std::string::npos) << error.what();
  }
}

TEST_F(SessionTest, AWrongFeedIsRefusedAndTheSessionGoesOn) {
  const Output x = placeholder(float32, {-1, 2}, {.name = "x"});
  Session session;
  EXPECT_THROW(session.run(identity(x), {{x, Tensor(1)}}), Error);
  EXPECT_THROW(session.run(identity(x), {{x, Tensor(std::vector<float>{1, 2})}}), Error);
  EXPECT_THROW(session.run(Fetches{"y:0"}), Error);
  const Tensor good = Tensor::from<float>({1, 2}, {1, 2});
  EXPECT_TRUE(identical(session.run(identity(x), {{x, good}}), good));
}

TEST_F(SessionTest, AClosedSessionRefuses) {
  const Output c = constant(Tensor(1));
  Session session;
  session.close();
  try {
    session.run(c);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  }
}

TEST_F(SessionTest, FeedingAnIntermediateTensorSkipsWhatLiesAbove) {
  const Output x = placeholder(float32, {}, {.name = "x"});
  const Output y = identity(x);
  const Output z = identity(y);
  Session session;
  EXPECT_EQ(session.run(z, {{y, Tensor(4.0F)}}).item<float>(), 4.0F);  // x is not needed
}

Code code_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

TEST_F(SessionTest, ACallableTakesFeedsByPosition) {
  const Output x = placeholder(float32, {-1}, {.name = "x"});
  const Output y = placeholder(float32, {}, {.name = "y"});
  const Output z = x * y;
  Session session;
  const auto run = session.make_callable({z, Operation(z)}, {y, x});
  const auto results = run({Tensor(2.0F), Tensor(std::vector<float>{1, 2})});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_FALSE(results[1].valid());
  EXPECT_EQ(code_of([&] { run({Tensor(2.0F)}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { run({Tensor(2), Tensor(std::vector<float>{1, 2})}); }), Code::kInvalidArgument);
}

TEST_F(SessionTest, FeedsThatChangeShapeGiveTheSameNumbersAsANewSession) {
  const Output x = placeholder(float32, {-1, 3}, {.name = "x"});
  const Output y = reduce_sum(x * x + 1, {.axis = 1}) * 0.5F;
  Session session;
  for (const std::int64_t rows : {4, 4, 4, 2, 4, 0, 2, 2, 7, 0, 0, 4}) {
    Tensor value(float32, Shape{rows, 3});
    for (std::int64_t i = 0; i < 3 * rows; ++i) value.data<float>()[i] = static_cast<float>(i % 11) - 5;
    Session fresh;
    EXPECT_TRUE(identical(session.run(y, {{x, value}}), fresh.run(y, {{x, value}}))) << rows;
  }
}

TEST_F(SessionTest, AFetchedTensorIsTheCallersOwn) {
  const Output x = placeholder(float32, {2}, {.name = "x"});
  const Output y = x + 1;
  Session session;
  std::vector<Tensor> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(session.run(y, {{x, Tensor(std::vector<float>{static_cast<float>(i), 0})}}));
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i)].at<float>(0), static_cast<float>(i + 1));
}

TEST_F(SessionTest, TimeAndCancellationEndARun) {
  const Output y = constant(Tensor(1.0F)) + placeholder(float32, {}, {.name = "x"});
  Session session;
  EXPECT_EQ(code_of([&] { session.run(y, {{"x", Tensor(1.0F)}}, {.timeout_ms = 0}); }), Code::kDeadlineExceeded);
  CancellationToken token;
  token.cancel(cancelled("enough"));
  EXPECT_EQ(code_of([&] { session.run(y, {{"x", Tensor(1.0F)}}, {.cancellation = &token}); }), Code::kCancelled);
  EXPECT_EQ(session.run(y, {{"x", Tensor(1.0F)}}).item<float>(), 2.0F);
}

TEST_F(SessionTest, ATracerSeesEveryNodeThatRuns) {
  class Names final : public Tracer {
   public:
    void record(std::string_view node, std::string_view op, std::int64_t start, std::int64_t end) override {
      EXPECT_LE(start, end);
      seen.emplace_back(std::string(node) + " " + std::string(op));
    }
    std::vector<std::string> seen;
  } tracer;
  const Output x = placeholder(float32, {}, {.name = "x"});
  const Output y = multiply(x, x, {.name = "square"});
  const Output z = add(y, y, {.name = "twice"});
  Session session;
  session.run(z, {{x, Tensor(3.0F)}}, {.tracer = &tracer});
  EXPECT_EQ(tracer.seen, (std::vector<std::string>{"square Mul", "twice AddV2"}));
}

TEST_F(SessionTest, BeyondItsMemoryLimitARunFailsAndNamesTheLargestTensors) {
  const Output n = placeholder(int32, {1}, {.name = "n"});
  const Output big = fill(n, 1.0F, {.name = "big"});
  const Output bigger = concat({big, big, big, big}, 0, {.name = "bigger"});
  Session session(SessionOptions{.memory_limit = 20 << 20});
  std::string message;
  EXPECT_EQ(code_of([&] { session.run(bigger, {{n, Tensor(std::vector<int>{1 << 20})}}); }, &message), Code::kOk);
  EXPECT_EQ(code_of(
                [&] {
                  session.run(bigger, {{n, Tensor(std::vector<int>{1 << 21})}});
                },
                &message),
            Code::kResourceExhausted);
  EXPECT_NE(message.find("'bigger'"), std::string::npos) << message;
  EXPECT_NE(message.find("Largest live tensors: 'big:0' float32[2097152] 8.4 MB"), std::string::npos) << message;
  EXPECT_EQ(session.run(bigger, {{n, Tensor(std::vector<int>{2})}}).num_elements(), 8);
  EXPECT_EQ(session.memory().in_use(), 0U);
}

TEST_F(SessionTest, MemoryIsFlatOverManyRuns) {
  const Output x = placeholder(float32, {-1, 64}, {.name = "x"});
  const Output y = reduce_mean(exp(x) * x);
  Session session;
  const Tensor value = Tensor::zeros(float32, {32, 64});
  for (int i = 0; i < 10; ++i) session.run(y, {{x, value}});
  const std::size_t before = session.memory().in_use();
  for (int i = 0; i < 1000; ++i) session.run(y, {{x, value}});
  EXPECT_EQ(session.memory().in_use(), before);
}

}  // namespace
}  // namespace caudal
