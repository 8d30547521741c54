// ScreenReducer: from an arcade game's last two screens to one small gray picture, as DeepMind's preprocessing does it.
//
// Only what changed since the picture before are computed, and colours are looked up in pairs, so that the
// brighter of two frames and its gray cost one table look-up. Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/arcade_game.h"
#include "caudal/rl/area_resize.h"

namespace caudal::inline v0::rl {

// How two frames become one value.
enum class Brighter {
  kGrayOfMaximum,  // the maximum of each colour channel, then OpenCV's RGB2GRAY (baselines, RLlib)
  kMaximumOfGray,  // the maximum of the console's own grays (Gymnasium)
  kRed,            // the maximum of one channel
  kGreen,
  kBlue,
};

// OpenCV's cv2.COLOR_RGB2GRAY of one pixel.
constexpr std::uint8_t gray_of(int red, int green, int blue) {
  return static_cast<std::uint8_t>((red * 9798 + green * 19235 + blue * 3735 + (1 << 14)) >> 15);
}

// Values of one colour and of pairs of colours: pairs[256 * a + b].
struct BrighterTable {
  std::array<std::uint8_t, 256> single;
  std::array<std::uint8_t, 65536> pairs;
};

class CAUDAL_API ScreenReducer {
 public:
  ScreenReducer(const Palette& palette, Brighter rule, int height, int width);

  int height() const { return resizer_.height(); }
  int width() const { return resizer_.width(); }

  // Takes the earlier frame of a pair, or says that it is the last frame taken.
  void take_first(const std::uint8_t* screen) { take(screen, earlier_); }
  void take_first_from_last() { take(later_.data(), earlier_); }
  // Takes the later frame and makes the picture of both.
  void take_last(const std::uint8_t* screen);
  // Makes the picture of one frame.
  void take_only(const std::uint8_t* screen);

  // height x width bytes, row by row.
  std::span<const std::uint8_t> picture() const { return picture_; }
  void set_picture(std::span<const std::uint8_t> picture);
  // The last frame taken as its successor's earlier frame, after the state of the game was restored.
  void restart(const std::uint8_t* last_screen);

 private:
  using Screen = std::array<std::uint8_t, kScreenPixels>;
  // A row is compared and looked up in blocks; a bit of changed_ stands for one.
  static constexpr int kBlock = 32, kBlocks = kScreenWidth / kBlock;
  void take(const std::uint8_t* screen, Screen& into);
  void update();
  void update_row(int row);

  std::shared_ptr<const BrighterTable> table_;
  AreaResizer resizer_;
  Screen earlier_{}, later_{}, values_{};
  std::array<std::uint8_t, kScreenHeight> changed_;  // blocks by row
  std::vector<std::uint8_t> picture_;
};

}  // namespace caudal::inline v0::rl
