#include "caudal/base/strings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caudal {
namespace {

using Names = std::vector<std::string>;

TEST(Strings, JoinAndSplit) {
  EXPECT_EQ(join(Names{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(Names{}, ", "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(trim(" \t x y\n"), "x y");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Strings, ParseInt64) {
  int64_t value = 5;
  EXPECT_TRUE(parse_int64("-9223372036854775808", &value));
  EXPECT_EQ(value, INT64_MIN);
  for (const char* bad : {"", "9223372036854775808", "1 ", "0x1", "1.0"}) EXPECT_FALSE(parse_int64(bad, &value)) << bad;
  EXPECT_EQ(value, INT64_MIN);
}

TEST(Strings, EscapedShowsBytes) {
  EXPECT_EQ(escaped(std::string("a\0\xff~", 4)), "a\\x00\\xff~");
  EXPECT_EQ(escaped("abcdef", 3), "abc...");
}

TEST(Strings, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kernel", "kenrel"), 1);
  EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(Strings, NearestNames) {
  const Names candidates = {"hidden1/kernel", "hidden1/bias", "outputs/kernel", "hidden2/kernel", "global_step"};
  EXPECT_EQ(nearest_names("hidden1/kernal", candidates).front(), "hidden1/kernel");
  EXPECT_EQ(nearest_names("Global_Step", candidates), (Names{"global_step"}));
  EXPECT_EQ(nearest_names("bias", candidates), (Names{"hidden1/bias"}));
  EXPECT_EQ(nearest_names("learning_rate", candidates), Names{});
  EXPECT_EQ(did_you_mean("gobal_step", candidates), "Did you mean 'global_step'?");
  EXPECT_EQ(did_you_mean("zzz", candidates), "");
}

}  // namespace
}  // namespace caudal
