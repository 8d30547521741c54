#include "caudal/io/canvas.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"

namespace caudal::io {
namespace {

int count(const Canvas& canvas, Color color) {
  int pixels = 0;
  const auto* p = canvas.pixels().data<std::uint8_t>();
  for (int i = 0; i < canvas.width() * canvas.height(); ++i, p += 3) {
    pixels += p[0] == color[0] && p[1] == color[1] && p[2] == color[2] ? 1 : 0;
  }
  return pixels;
}

constexpr Color kRed = {255, 0, 0};

TEST(Canvas, FillsAndCutsAtTheEdges) {
  Canvas canvas(10, 8);
  canvas.fill(-5, -5, 7, 7, kRed);
  EXPECT_EQ(count(canvas, kRed), 4);
  canvas.fill(8, 6, 100, 100, kRed);
  EXPECT_EQ(count(canvas, kRed), 8);
}

TEST(Canvas, FramesAreHollow) {
  Canvas canvas(10, 10);
  canvas.frame(1, 1, 5, 4, kRed);
  EXPECT_EQ(count(canvas, kRed), 2 * 5 + 2 * 2);
}

TEST(Canvas, LettersHaveTheirShapesAndScale) {
  Canvas canvas(40, 20);
  canvas.text(0, 0, "I", kRed);  // a bar of 7 with two serifs of 2
  EXPECT_EQ(count(canvas, kRed), 11);
  Canvas large(40, 20);
  large.text(0, 0, "I", kRed, 2);
  EXPECT_EQ(count(large, kRed), 44);
  Canvas unknown(40, 20);
  unknown.text(0, 0, "\x01", kRed);  // a box
  EXPECT_EQ(count(unknown, kRed), 2 * 7 + 2 * 3);
}

TEST(Canvas, PicturesAreScaledWithoutSmoothing) {
  Canvas canvas(10, 10);
  canvas.picture(1, 1, Tensor::from<std::uint8_t>({1, 2, 3}, {255, 0, 0, 0, 255, 0}), 3);
  EXPECT_EQ(count(canvas, kRed), 9);
  EXPECT_EQ(count(canvas, {0, 255, 0}), 9);
  EXPECT_THROW(canvas.picture(0, 0, Tensor(float32, Shape{2, 2, 1}), 1), Error);
}

}  // namespace
}  // namespace caudal::io
