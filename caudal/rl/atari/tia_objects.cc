// What the TIA's objects cover, and the writes that change it.
#include "caudal/rl/atari/tia.h"
#include "caudal/rl/atari/tia_registers.h"

#include <algorithm>

namespace caudal::inline v0::rl::atari {
namespace {

// Bit patterns as pixels from left to right, that is from bit 0 up, each bit `Scale` pixels wide.
template <class Pixels, int Scale>
consteval std::array<Pixels, 256> make_patterns(bool leftmost_is_bit_7) {
  std::array<Pixels, 256> table{};
  for (int pattern = 0; pattern < 256; ++pattern) {
    for (int bit = 0; bit < 8; ++bit) {
      if (!(pattern >> bit & 1)) continue;
      const int x = (leftmost_is_bit_7 ? 7 - bit : bit) * Scale;
      table[pattern] |= static_cast<Pixels>(((std::uint64_t{1} << Scale) - 1) << x);
    }
  }
  return table;
}

constexpr std::array<std::uint8_t, 256> kPatterns[2] = {make_patterns<std::uint8_t, 1>(true),
                                                        make_patterns<std::uint8_t, 1>(false)};
constexpr std::array<std::uint16_t, 256> kDouble = make_patterns<std::uint16_t, 2>(false);
constexpr std::array<std::uint32_t, 256> kQuadruple = make_patterns<std::uint32_t, 4>(false);

// NUSIZ bits 0-2: distances of the further copies, and the players' scale.
struct Copies {
  int offsets[2];  // 0: none
  int scale;
};
constexpr Copies kCopies[8] = {{{0, 0}, 1},  {{16, 0}, 1}, {{32, 0}, 1},  {{16, 32}, 1},
                               {{64, 0}, 1}, {{0, 0}, 2},  {{32, 64}, 1}, {{0, 0}, 4}};

int wrap(int x) { return x >= kLinePixels ? x - kLinePixels : x; }

// Clocks from a write until objects show it.
constexpr int kGraphicsDelay = 1;
constexpr int kSizeDelay = 8;

int pixel(int clock) { return std::clamp(clock - kBlankClocks, 0, kLinePixels); }

}  // namespace

void Tia::refresh(int object) {
  dirty_ &= ~(1u << object);
  switch (object) {
    case kPlayer0:
    case kPlayer1:
      mask_[object] = make_player(object == kPlayer1);
      break;
    case kMissile0:
    case kMissile1:
      mask_[object] = make_missile(object == kMissile1);
      break;
    case kBall:
      mask_[object] = make_ball();
      break;
    default:
      mask_[object] = make_playfield();
  }
}

PixelMask Tia::make_player_copy(int index, int x) const {
  PixelMask mask;
  const std::uint8_t pattern = kPatterns[reg_[kRefp0 + index] >> 3 & 1][player_pattern(index)];
  switch (kCopies[reg_[kNusiz0 + index] & 7].scale) {
    case 1:
      mask.place(pattern, 8, x);
      break;
    case 2:
      // Wide players begin one pixel later.
      mask.place(kDouble[pattern], 16, wrap(x + 1));
      break;
    default:
      mask.place(kQuadruple[pattern], 32, wrap(x + 1));
  }
  return mask;
}

PixelMask Tia::make_player(int index) const {
  PixelMask mask;
  if (player_pattern(index) == 0) return mask;
  const int object = index == 0 ? kPlayer0 : kPlayer1;
  if (!(no_main_copy_ >> object & 1)) mask = make_player_copy(index, pos_[object]);
  for (const int offset : kCopies[reg_[kNusiz0 + index] & 7].offsets) {
    if (offset != 0) mask |= make_player_copy(index, wrap(pos_[object] + offset));
  }
  return mask;
}

PixelMask Tia::make_missile_copy(int index, int x) const {
  PixelMask mask;
  if (!(reg_[kEnam0 + index] & 2) || (reg_[kResmp0 + index] & 2)) return mask;
  const int width = 1 << (reg_[kNusiz0 + index] >> 4 & 3);
  mask.place((std::uint64_t{1} << width) - 1, width, x);
  return mask;
}

PixelMask Tia::make_missile(int index) const {
  PixelMask mask;
  if (!(reg_[kEnam0 + index] & 2) || (reg_[kResmp0 + index] & 2)) return mask;
  const int object = index == 0 ? kMissile0 : kMissile1;
  if (!(no_main_copy_ >> object & 1)) mask = make_missile_copy(index, pos_[object]);
  for (const int offset : kCopies[reg_[kNusiz0 + index] & 7].offsets) {
    if (offset != 0) mask |= make_missile_copy(index, wrap(pos_[object] + offset));
  }
  return mask;
}

PixelMask Tia::make_ball() const {
  PixelMask mask;
  if (!((reg_[kVdelbl] & 1 ? old_enabl_ : enabl_) & 2)) return mask;
  const int width = 1 << (reg_[kCtrlpf] >> 4 & 3);
  mask.place((std::uint64_t{1} << width) - 1, width, pos_[kBall]);
  return mask;
}

PixelMask Tia::make_playfield() const {
  // PF0's bits 4 to 7, PF1's 7 to 0, PF2's 0 to 7, from left to right.
  const std::uint32_t half = static_cast<std::uint32_t>(reg_[kPf0] >> 4) |
                             static_cast<std::uint32_t>(kPatterns[0][reg_[kPf1]]) << 4 |
                             static_cast<std::uint32_t>(reg_[kPf2]) << 12;
  PixelMask mask;
  if (half == 0) return mask;
  const std::uint32_t right = reg_[kCtrlpf] & 1 ? static_cast<std::uint32_t>(kPatterns[0][half & 0xff]) << 12 |
                                                      static_cast<std::uint32_t>(kPatterns[0][half >> 8 & 0xff]) << 4 |
                                                      kPatterns[0][half >> 16] >> 4
                                                : half;
  const std::uint64_t cells = half | static_cast<std::uint64_t>(right) << 20;
  for (int byte = 0; byte < 5; ++byte) mask.place(kQuadruple[cells >> (8 * byte) & 0xff], 32, 32 * byte);
  return mask;
}

std::int64_t Tia::act(int reg, std::uint8_t value, std::int64_t cycle) {
  switch (reg) {
    case kWsync:
      return cycle + (kLineCycles - (cycle - line_cycle_) % kLineCycles) % kLineCycles;
    case kVsync:
      if ((reg_[kVsync] & 2) && !(value & 2)) sync_ended_ = true;
      break;
    case kVblank:
      write_vblank(value, advance(cycle), cycle);
      break;
    case kHmp0:
    case kHmp1:
    case kHmm0:
    case kHmm1:
    case kHmbl: {
      static constexpr int kOrder[] = {kPlayer0, kPlayer1, kMissile0, kMissile1, kBall};
      motion_[kOrder[reg - kHmp0]] = value >> 4 ^ 8;
      break;
    }
    case kHmclr:
      for (int& motion : motion_) motion = 8;
      break;
    case kResp0:
    case kResp1:
    case kResm0:
    case kResm1:
    case kResbl: {
      static constexpr int kOrder[] = {kPlayer0, kPlayer1, kMissile0, kMissile1, kBall};
      reset_position(kOrder[reg - kResp0], advance(cycle));
      break;
    }
    case kHmove:
      move_objects(advance(cycle));
      break;
    case kCxclr:
      clear_collisions(advance(cycle));
      break;
    case kGrp0:
    case kGrp1: {
      const int index = reg - kGrp0;
      const bool same = grp_[index] == value && old_grp_[1 - index] == grp_[1 - index];
      if (!same || old_enabl_ != enabl_) write_grp(index, value, advance(cycle));
      break;
    }
    default:
      write_object(reg, value, advance(cycle));
      break;
  }
  reg_[reg] = value;
  return cycle;
}

void Tia::write_object(int reg, std::uint8_t value, int clock) {
  const int x = pixel(clock + kGraphicsDelay);
  switch (reg) {
    case kNusiz0:
    case kNusiz1:
      return write_nusiz(reg - kNusiz0, clock);
    case kColup0:
    case kColup1:
    case kColupf:
    case kColubk:
      return change_colors(pixel(clock));
    case kCtrlpf:
      return write_ctrlpf(value, clock);
    case kRefp0:
    case kRefp1:
      return change(reg == kRefp0 ? kPlayer0 : kPlayer1, x);
    case kPf0:
    case kPf1:
    case kPf2:
      // The playfield moves on every four clocks, and a write comes too late for a cell that begins within two.
      return change(kPlayfield, std::min(kLinePixels, (pixel(clock + 2) + 3) & ~3));
    case kEnam0:
    case kEnam1:
      return change(reg == kEnam0 ? kMissile0 : kMissile1, pixel(clock));
    case kEnabl:
      change(kBall, pixel(clock));
      enabl_ = value;
      return;
    case kVdelp0:
    case kVdelp1:
      change(reg == kVdelp0 ? kPlayer0 : kPlayer1, pixel(clock));
      vdel_[reg - kVdelp0] = value & 1;
      return;
    case kVdelbl:
      return change(kBall, pixel(clock));
    case kResmp0:
    case kResmp1:
      return reset_missile_to_player(reg - kResmp0, value, clock);
    default:
      return;  // sound, and addresses without a register
  }
}

void Tia::write_grp(int index, std::uint8_t value, int clock) {
  const int x = pixel(clock + kGraphicsDelay);
  const int other = 1 - index;
  const int objects[2] = {kPlayer0, kPlayer1};
  if (grp_[index] != value && !vdel_[index]) change(objects[index], x);
  if (old_grp_[other] != grp_[other] && vdel_[other]) change(objects[other], x);
  grp_[index] = value;
  old_grp_[other] = grp_[other];
  if (index == 1 && old_enabl_ != enabl_) {
    if (reg_[kVdelbl] & 1) change(kBall, x);
    old_enabl_ = enabl_;
  }
}

void Tia::write_nusiz(int index, int clock) {
  const int x = pixel(clock + kSizeDelay);
  for (const int object : {index == 0 ? kPlayer0 : kPlayer1, index == 0 ? kMissile0 : kMissile1}) {
    change(object, x);
    no_main_copy_ &= ~(1u << object);
  }
}

void Tia::write_ctrlpf(std::uint8_t value, int clock) {
  const std::uint8_t changed = value ^ reg_[kCtrlpf];
  if (changed & 0x01) change(kPlayfield, pixel(clock));
  if (changed & 0x30) change(kBall, pixel(clock));
  if (changed & 0x06) change_colors(pixel(clock));
}

void Tia::write_vblank(std::uint8_t value, int clock, std::int64_t cycle) {
  const std::uint8_t changed = value ^ reg_[kVblank];
  if (changed & 0x02) end_runs(pixel(clock + kGraphicsDelay));
  if ((changed & 0x80) && !(value & 0x80)) discharge_end_ = cycle;
  if ((changed & 0x40) && (value & 0x40)) {
    latched_[0] = trigger_[0];
    latched_[1] = trigger_[1];
  }
}

void Tia::reset_position(int object, int clock) {
  const bool player = object == kPlayer0 || object == kPlayer1;
  const int x = pixel(clock);
  change(object, x);
  const int old = pos_[object];
  if (clock < kBlankClocks) {
    pos_[object] = player ? 3 : 2;
    return;
  }
  pos_[object] = wrap(clock - kBlankClocks + (player ? 5 : 4));
  if (object == kBall) return;
  no_main_copy_ |= 1u << object;
  finish_copies(object, old, x);
}

// A copy is under way some clocks before its first pixel. A reset while it is drawn leaves it to its end; a reset just
// before moves a player's copy and leaves a missile's.
void Tia::finish_copies(int object, int old, int x) {
  const bool player = object == kPlayer0 || object == kPlayer1;
  const int index = object == kPlayer0 || object == kMissile0 ? 0 : 1;
  const std::uint8_t nusiz = reg_[kNusiz0 + index];
  const Copies& copies = kCopies[nusiz & 7];
  const int width = player ? 8 * copies.scale : 1 << (nusiz >> 4 & 3);
  const auto finish = [&](int start) {
    const int distance = (pos_[object] - start + kLinePixels) % kLinePixels;
    if (player && distance <= 4) {
      no_main_copy_ &= ~(1u << object);
    } else if (distance < 4 + width || (!player && distance >= kLinePixels - 3)) {
      run_[object] |=
          (player ? make_player_copy(index, start) : make_missile_copy(index, start)).without(pixels_below(x));
    }
  };
  finish(old);
  for (const int offset : copies.offsets) {
    if (offset != 0) finish(wrap(old + offset));
  }
}

void Tia::reset_missile_to_player(int index, std::uint8_t value, int clock) {
  const int missile = index == 0 ? kMissile0 : kMissile1;
  change(missile, pixel(clock));
  if (value & 2) return;
  const int scale = kCopies[reg_[kNusiz0 + index] & 7].scale;
  pos_[missile] = wrap(pos_[index == 0 ? kPlayer0 : kPlayer1] + (scale == 1 ? 4 : scale == 2 ? 8 : 16));
}

// From a few clocks after the strobe on every object gets a clock each four clocks, up to its motion's number, which
// moves it to the left while the line is blank. HMOVE in the blank lengthens that by eight clocks (the comb), during
// which all objects stand still and so move to the right. A strobe in a line's last cycle is one at the next one's
// start.
void Tia::move_objects(int clock) {
  static constexpr int kFirstPulse = 9, kLastComb = 60;
  if (clock >= kLineClocks - 3) {
    for (int object = 0; object < kNumMovable; ++object) late_move_[object] = motion_[object] - 8;
    moves_late_ = comb_late_ = true;
    return;
  }
  const bool in_blank = clock <= kLastComb;
  const int comb = in_blank && !comb_ ? 8 : 0;
  const int end = in_blank ? kBlankClocks + 8 : kLineClocks;
  for (int object = 0; object < kNumMovable; ++object) {
    const int before_end = std::clamp((end - clock - kFirstPulse + 3) / 4, 0, motion_[object]);
    if (in_blank && before_end != comb) {
      change(object, 0);
      pos_[object] = (pos_[object] - (before_end - comb) + kLinePixels) % kLinePixels;
    } else if (!in_blank && motion_[object] > before_end) {
      late_move_[object] = motion_[object] - before_end;
      moves_late_ = true;
    }
  }
  if (comb != 0) {
    comb_ = comb_shown_ = true;
    leave_same();
  }
}

void Tia::clear_collisions(int clock) {
  end_runs(pixel(clock));
  collisions_ = 0;
}

void Tia::end_runs(int x) {
  leave_same();
  if (x == 0) return;
  close_all(x);
  collide();
  if (picture_ != nullptr) paint(x);
  for (PixelMask& run : run_) run = {};
  changed_ = (1u << kNumObjects) - 1;
}

}  // namespace caudal::inline v0::rl::atari
