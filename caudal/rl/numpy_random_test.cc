#include "caudal/rl/numpy_random.h"

#include <gtest/gtest.h>

namespace caudal::inline v0::rl {
namespace {

using Words = std::vector<std::uint32_t>;

// Values recorded from numpy 2.2.6.
TEST(NumpyRandom, SpreadsSeedsAsSeedSequence) {
  EXPECT_EQ(seed_sequence_words(0, 3), (Words{2968811710u, 3677149159u, 745650761u}));
  EXPECT_EQ(seed_sequence_words(7, 3), (Words{2083679832u, 3939563265u, 4185785210u}));
  EXPECT_EQ(seed_sequence_words((std::uint64_t{1} << 40) + 5, 3), (Words{3767146251u, 3672381269u, 2127416108u}));
}

struct Recorded {
  std::uint64_t seed;
  double uniform[4];
  std::int64_t skips[12], noops[8];
  double last_uniform;
  std::int64_t large[2];
};

TEST(NumpyRandom, DrawsAsGenerator) {
  const Recorded recorded[] = {
      {0,
       {0.013696168732145436, -0.02302132862361297, -0.045902647606380534, -0.04834723644714709},
       {2, 4, 3, 4, 3, 3, 4, 4, 3, 3, 3, 4},
       {9, 25, 21, 1, 12, 26, 17, 2},
       0.7296554464299441,
       {2539725717, 267860243}},
      {(std::uint64_t{1} << 40) + 5,
       {-0.04952605406255092, -0.01274154175887885, 0.008722942669777009, -0.03486003512750762},
       {2, 3, 4, 4, 2, 3, 2, 2, 2, 4, 3, 2},
       {17, 13, 5, 1, 2, 7, 10, 6},
       0.46640135216651946,
       {1717814647, 2202203734}},
  };
  for (const Recorded& expected : recorded) {
    NumpyRandom random(expected.seed);
    for (const double value : expected.uniform) EXPECT_EQ(random.uniform(-0.05, 0.05), value);
    for (const std::int64_t value : expected.skips) EXPECT_EQ(random.integers(2, 5), value);
    for (const std::int64_t value : expected.noops) EXPECT_EQ(random.integers(1, 31), value);
    EXPECT_EQ(random.uniform(0, 1), expected.last_uniform);
    for (const std::int64_t value : expected.large) EXPECT_EQ(random.integers(0, 3000000000), value);
  }
}

TEST(NumpyRandom, GoesOnFromASavedState) {
  NumpyRandom random(3);
  random.integers(0, 10);  // leaves half a draw
  std::string state;
  random.save(&state);
  NumpyRandom other(99);
  ByteReader reader(state);
  ASSERT_TRUE(other.restore(&reader));
  EXPECT_TRUE(reader.empty());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(random.next32(), other.next32());
    EXPECT_EQ(random.next64(), other.next64());
  }
  ByteReader cut(std::string_view(state).substr(1));
  EXPECT_FALSE(other.restore(&cut));
}

}  // namespace
}  // namespace caudal::inline v0::rl
