#include "caudal/runtime/session.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"

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

}  // namespace
}  // namespace caudal
