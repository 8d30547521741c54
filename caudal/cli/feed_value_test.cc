#include "caudal/cli/feed_value.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/npy.h"

namespace caudal::cli {
namespace {

Code code_of(std::string_view text, DType dtype) {
  try {
    parse_feed_value(text, dtype);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(FeedValue, ReadsNumbersAndLists) {
  EXPECT_EQ(parse_feed_value("3", float32).item<float>(), 3);
  EXPECT_EQ(parse_feed_value("-2.5", float64).item<double>(), -2.5);
  EXPECT_TRUE(parse_feed_value("true", boolean).item<bool>());
  EXPECT_EQ(parse_feed_value("9007199254740993", int64).item<std::int64_t>(), 9007199254740993);
  const Tensor matrix = parse_feed_value("[[1, 2.5], [3, 4]]", float32);
  EXPECT_EQ(matrix.shape(), Shape({2, 2}));
  EXPECT_EQ(matrix.to_vector<float>(), (std::vector<float>{1, 2.5, 3, 4}));
  EXPECT_EQ(parse_feed_value("[]", int32).shape(), Shape({0}));
  EXPECT_EQ(parse_feed_value("[[], []]", int32).shape(), Shape({2, 0}));
}

TEST(FeedValue, ReadsText) {
  EXPECT_EQ(parse_feed_value("plain words", string).item<std::string>(), "plain words");
  EXPECT_EQ(parse_feed_value("\"3\"", string).item<std::string>(), "3");
  EXPECT_EQ(parse_feed_value(R"(["a", "b"])", string).to_vector<std::string>(), (std::vector<std::string>{"a", "b"}));
}

TEST(FeedValue, FillsShapes) {
  EXPECT_EQ(parse_feed_value("zeros(2, 3)", int32).to_vector<std::int32_t>(), std::vector<std::int32_t>(6, 0));
  EXPECT_EQ(parse_feed_value("ones()", float32).item<float>(), 1);
  const Tensor random = parse_feed_value("random(1000)", float32);
  EXPECT_TRUE(identical(random, parse_feed_value("random(1000)", float32)));
  float sum = 0;
  for (const float value : random.flat<float>()) sum += value;
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(FeedValue, ReadsFiles) {
  const TempDir folder;
  const std::string npy = join_path(folder.path(), "x.npy"), npz = join_path(folder.path(), "all.npz");
  write_npy(default_env(), npy, Tensor(std::vector<double>{1, 2}));
  write_npz(default_env(), npz, {{"a", Tensor(7)}});
  EXPECT_EQ(parse_feed_value(npy, float32).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(parse_feed_value(npz + ":a", int64).item<std::int64_t>(), 7);
  EXPECT_EQ(code_of(npz + ":b", int64), Code::kNotFound);
  EXPECT_TRUE(parse_feed_value("@" + npy, string).item<std::string>().starts_with("\x93NUMPY"));
}

TEST(FeedValue, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(code_of("1.5", int32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("[[1, 2], [3]]", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("[1, [2]]", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("[[1], 2]", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("[1, \"a\"]", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("words", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("zeros(a)", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of("zeros(-1)", float32), Code::kInvalidArgument);
  EXPECT_EQ(code_of(std::string(100'000, '[') + std::string(100'000, ']'), float32), Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::cli
