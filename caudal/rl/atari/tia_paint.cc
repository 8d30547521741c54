// Painting: colours and priorities of a line's objects.
#include <cstring>

#include "caudal/rl/atari/tia.h"
#include "caudal/rl/atari/tia_registers.h"

namespace caudal::inline v0::rl::atari {
namespace {

constexpr int kBlanked = 0x02;         // VBLANK
constexpr int kScore = 0x02;           // CTRLPF: the playfield's halves have the players' colours
constexpr int kPlayfieldFirst = 0x04;  // CTRLPF: playfield and ball in front of the players

// Bit 0 of a colour is not connected.
std::uint8_t color(std::uint8_t value) { return value & 0xfe; }

}  // namespace

void Tia::change_colors(int x) {
  if (picture_ == nullptr || x <= painted_) return;
  leave_same();
  close_all(x);
  changed_ = (1u << kNumObjects) - 1;
  paint(x);
}

// REQUIRES: all runs are closed up to `end`.
void Tia::paint(int end) {
  const int begin = painted_;
  if (end <= begin) return;
  painted_ = end;
  if (!seen()) return;
  std::uint8_t* row = picture_ + (line_ - kFirstLine) * kLinePixels;
  if (reg_[kVblank] & kBlanked) {
    std::memset(row + begin, 0, static_cast<std::size_t>(end - begin));
    return;
  }
  std::memset(row + begin, color(reg_[kColubk]), static_cast<std::size_t>(end - begin));
  const PixelMask range = pixels_between(begin, end);
  const bool playfield_first = reg_[kCtrlpf] & kPlayfieldFirst;
  const auto paint_playfield = [&] {
    paint_object(row, kPlayfield, range);
    paint_object(row, kBall, range);
  };
  if (!playfield_first) paint_playfield();
  for (const int object : {kMissile1, kPlayer1, kMissile0, kPlayer0}) paint_object(row, object, range);
  if (playfield_first) paint_playfield();
  if (comb_shown_ && begin < 8) std::memset(row + begin, 0, static_cast<std::size_t>((end < 8 ? end : 8) - begin));
}

void Tia::paint_object(std::uint8_t* row, int object, const PixelMask& range) {
  static constexpr int kColors[kNumObjects] = {kColup0, kColup0, kColup1, kColup1, kColupf, kColupf};
  const PixelMask mask = run_[object] & range;
  if (!mask.any()) return;
  const auto fill = [row](const PixelMask& pixels, std::uint8_t value) {
    for_each_run(pixels,
                 [&](int begin, int end) { std::memset(row + begin, value, static_cast<std::size_t>(end - begin)); });
  };
  if (object == kPlayfield && (reg_[kCtrlpf] & (kScore | kPlayfieldFirst)) == kScore) {
    fill(mask & pixels_below(kLinePixels / 2), color(reg_[kColup0]));
    fill(mask.without(pixels_below(kLinePixels / 2)), color(reg_[kColup1]));
  } else {
    fill(mask, color(reg_[kColors[object]]));
  }
}

}  // namespace caudal::inline v0::rl::atari
