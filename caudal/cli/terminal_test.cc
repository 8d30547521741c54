#include "caudal/cli/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace caudal::inline v0::cli {
namespace {

std::size_t count_of(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size())) ++count;
  return count;
}

TEST(HalfBlocks, HoldTwoPixelsEach) {
  const Tensor picture = Tensor::from<std::uint8_t>({2, 1, 3}, {255, 0, 1, 2, 3, 4});
  EXPECT_EQ(half_blocks(picture, 80, 24), "\x1b[38;2;255;0;1m\x1b[48;2;2;3;4m\u2580\x1b[0m\n");
}

TEST(HalfBlocks, FitTheTerminal) {
  const Tensor picture = Tensor::zeros(uint8, {210, 160, 3});
  const std::string small = half_blocks(picture, 80, 30), large = half_blocks(picture, 200, 120);
  EXPECT_EQ(count_of(small, "\n"), 27u) << "a quarter of the size";
  EXPECT_EQ(count_of(small, "\u2580"), 27u * 40u);
  EXPECT_EQ(count_of(large, "\n"), 105u);
  EXPECT_EQ(count_of(large, "\u2580"), 105u * 160u);
}

TEST(HalfBlocks, AverageWhatTheyShrink) {
  const Tensor picture = Tensor::from<std::uint8_t>({2, 2, 3}, {0, 0, 0, 100, 0, 0, 0, 0, 0, 100, 0, 0});
  EXPECT_EQ(half_blocks(picture, 1, 1), "\x1b[38;2;50;0;0m\x1b[48;2;0;0;0m\u2580\x1b[0m\n");
}

}  // namespace
}  // namespace caudal::inline v0::cli
