// Canvas: an RGB picture to draw small charts, labels and other pictures on.
//
// Coordinates are pixels from the top left; what lies outside is cut off. Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::io {

using Color = std::array<std::uint8_t, 3>;

class CAUDAL_API Canvas {
 public:
  static constexpr int kGlyphWidth = 6;  // of text at scale 1, with the space between letters
  static constexpr int kGlyphHeight = 8;

  Canvas(int width, int height, Color background = {255, 255, 255});
  int width() const { return width_; }
  int height() const { return height_; }

  void set(int x, int y, Color color);
  void fill(int x, int y, int width, int height, Color color);
  void frame(int x, int y, int width, int height, Color color, int thickness = 1);
  // ASCII letters from a built-in 5x7 font; others show as a box.
  void text(int x, int y, std::string_view text, Color color, int scale = 1);
  static int text_width(std::string_view text, int scale = 1) {
    return static_cast<int>(text.size()) * kGlyphWidth * scale;
  }
  // `picture`: uint8 [height, width, 1 or 3], each pixel `scale` x `scale` large.
  void picture(int x, int y, const Tensor& picture, int scale);

  // uint8 [height, width, 3].
  const Tensor& pixels() const { return pixels_; }

 private:
  int width_, height_;
  Tensor pixels_;
};

}  // namespace caudal::inline v0::io
