#include "caudal/rl/atari/tia.h"

#include <algorithm>

#include "caudal/rl/atari/tia_registers.h"

namespace caudal::inline v0::rl::atari {
namespace {

constexpr std::uint32_t bit(int object) { return 1u << object; }
constexpr std::uint32_t kAllObjects = (1u << Tia::kNumObjects) - 1;

// The latch of two objects: bit 2 * register for its bit 6, one more for its bit 7.
struct Latch {
  int a, b, latch;
};
constexpr Latch kLatches[] = {
    {Tia::kMissile0, Tia::kPlayer0, 0},   {Tia::kMissile0, Tia::kPlayer1, 1},   {Tia::kMissile1, Tia::kPlayer1, 2},
    {Tia::kMissile1, Tia::kPlayer0, 3},   {Tia::kPlayer0, Tia::kBall, 4},       {Tia::kPlayer0, Tia::kPlayfield, 5},
    {Tia::kPlayer1, Tia::kBall, 6},       {Tia::kPlayer1, Tia::kPlayfield, 7},  {Tia::kMissile0, Tia::kBall, 8},
    {Tia::kMissile0, Tia::kPlayfield, 9}, {Tia::kMissile1, Tia::kBall, 10},     {Tia::kMissile1, Tia::kPlayfield, 11},
    {Tia::kBall, Tia::kPlayfield, 13},    {Tia::kMissile0, Tia::kMissile1, 14}, {Tia::kPlayer0, Tia::kPlayer1, 15},
};

}  // namespace

void Tia::power_on(std::int64_t cycle) {
  *this = Tia();
  line_cycle_ = cycle;
  dirty_ = kAllObjects;
  for (int& motion : motion_) motion = 8;
}

void Tia::begin_frame(std::int64_t cycle) {
  advance(cycle);
  line_ = 0;
}

int Tia::advance(std::int64_t cycle) {
  std::int64_t gone = cycle - line_cycle_;
  while (gone >= kLineCycles) {
    if (same_as_before_ && picture_ == nullptr) {
      gone -= skip_lines(gone / kLineCycles) * kLineCycles;
      continue;
    }
    end_line();
    gone -= kLineCycles;
  }
  return static_cast<int>(gone) * 3;
}

// Nothing was written since the line before, so these lines show and collide what it did; the first one that is seen
// collides for the first time.
std::int64_t Tia::skip_lines(std::int64_t lines) {
  if (line_ < kFirstLine) lines = std::min<std::int64_t>(lines, kFirstLine - line_);
  line_cycle_ += lines * kLineCycles;
  line_ += static_cast<int>(lines);
  if (line_ == kFirstLine) leave_same();
  return lines;
}

void Tia::end_line() {
  if (seen()) {
    if (!same_as_before_) {
      close_all(kLinePixels);
      collide();
    }
    if (picture_ != nullptr) paint(kLinePixels);
  }
  same_as_before_ = changed_ == 0 && no_main_copy_ == 0 && !comb_shown_ && line_ != kFirstLine - 1;
  if (!same_as_before_) {
    for (PixelMask& run : run_) run = {};
  }
  for (int& begin : begin_) begin = 0;
  changed_ = 0;
  comb_ = false;
  // What only a seen line ends: the comb, and that a player's main copy is missing.
  const std::uint32_t ended = seen() ? no_main_copy_ : no_main_copy_ & ~(bit(kPlayer0) | bit(kPlayer1));
  dirty_ |= ended;
  no_main_copy_ &= ~ended;
  if (seen()) comb_shown_ = false;
  if (moves_late_) {
    for (int object = 0; object < kNumMovable; ++object) {
      pos_[object] = (pos_[object] - late_move_[object] + kLinePixels) % kLinePixels;
      late_move_[object] = 0;
    }
    dirty_ |= kAllObjects;
    leave_same();
    if (comb_late_) comb_ = comb_shown_ = true;
    moves_late_ = comb_late_ = false;
  }
  painted_ = 0;
  line_cycle_ += kLineCycles;
  ++line_;
}

void Tia::close_run(int object, int x) {
  if (dirty_ & bit(object)) refresh(object);
  if (begin_[object] < x) {
    const PixelMask& mask = mask_[object];
    if (mask.any()) {
      run_[object] |= begin_[object] == 0 && x == kLinePixels ? mask : mask & pixels_between(begin_[object], x);
    }
    begin_[object] = x;
  }
}

void Tia::leave_same() {
  if (!same_as_before_) return;
  same_as_before_ = false;
  for (PixelMask& run : run_) run = {};
}

void Tia::change(int object, int x) {
  leave_same();
  if (x > 0) {
    close_run(object, x);
    changed_ |= bit(object);
  }
  dirty_ |= bit(object);
}

// A comb hides objects and nothing else: in ALE they collide behind it.
void Tia::close_all(int x) {
  for (int object = 0; object < kNumObjects; ++object) close_run(object, x);
}

void Tia::collide() {
  if (!seen() || (reg_[kVblank] & 2)) return;
  std::uint32_t present = 0;
  for (int object = 0; object < kNumObjects; ++object) present |= run_[object].any() ? bit(object) : 0;
  if ((present & (present - 1)) == 0) return;
  for (const Latch& l : kLatches) {
    const std::uint32_t both = bit(l.a) | bit(l.b);
    if ((present & both) == both && !(collisions_ >> l.latch & 1) && run_[l.a].meets(run_[l.b])) {
      collisions_ |= static_cast<std::uint16_t>(1u << l.latch);
    }
  }
}

std::uint8_t Tia::read(int reg, std::uint8_t bus, std::int64_t cycle) {
  std::uint8_t driven = 0;
  if (reg <= kCxppmm) {
    const int clock = advance(cycle);
    if (!same_as_before_ && clock > kBlankClocks) {
      close_all(clock - kBlankClocks);
      collide();
      changed_ = kAllObjects;
    }
    driven = static_cast<std::uint8_t>((collisions_ >> (2 * reg) & 3) << 6);
  } else if (reg <= kInpt3) {
    const std::int64_t needed = charge_cycles_[reg - kInpt0];
    const bool dumped = reg_[kVblank] & 0x80;
    driven = needed == kNever || dumped || cycle - discharge_end_ < needed ? 0 : 0x80;
  } else if (reg <= kInpt5) {
    const int index = reg - kInpt4;
    const bool pressed = reg_[kVblank] & 0x40 ? latched_[index] : trigger_[index];
    driven = pressed ? 0 : 0x80;
  }
  return driven | (bus & 0x3f);
}

void Tia::set_trigger(int index, bool pressed, std::int64_t) {
  trigger_[index] = pressed;
  if (pressed) latched_[index] = true;
}

void Tia::save(StateWriter& out) const {
  out.bytes(reg_);
  for (const int i : {0, 1}) {
    out.u8(grp_[i]);
    out.u8(old_grp_[i]);
    out.u8(vdel_[i]);
    out.u8(trigger_[i]);
    out.u8(latched_[i]);
  }
  out.u8(enabl_);
  out.u8(old_enabl_);
  for (int object = 0; object < kNumMovable; ++object) {
    out.u8(static_cast<std::uint8_t>(pos_[object]));
    out.u8(static_cast<std::uint8_t>(motion_[object]));
    out.u8(static_cast<std::uint8_t>(late_move_[object] + 8));
  }
  out.u8(static_cast<std::uint8_t>(collisions_));
  out.u8(static_cast<std::uint8_t>(collisions_ >> 8));
  out.i64(line_cycle_);
  out.i64(line_);
  for (const bool flag : {comb_, comb_shown_, comb_late_, moves_late_, sync_ended_}) out.u8(flag);
  for (int object = 0; object < kNumObjects; ++object) {
    // A line like the one before keeps that one's runs, to paint them again.
    for (const std::uint64_t word : run_[object].w) out.i64(same_as_before_ ? 0 : static_cast<std::int64_t>(word));
    out.u8(static_cast<std::uint8_t>(begin_[object]));
  }
  out.u8(static_cast<std::uint8_t>(changed_));
  out.u8(static_cast<std::uint8_t>(no_main_copy_));
  out.i64(discharge_end_);
  for (const std::int64_t cycles : charge_cycles_) out.i64(cycles);
}

void Tia::load(StateReader& in, std::int64_t cycle) {
  *this = Tia();
  in.bytes(reg_);
  for (const int i : {0, 1}) {
    grp_[i] = in.u8();
    old_grp_[i] = in.u8();
    vdel_[i] = in.flag();
    trigger_[i] = in.flag();
    latched_[i] = in.flag();
  }
  enabl_ = in.u8();
  old_enabl_ = in.u8();
  for (int object = 0; object < kNumMovable; ++object) {
    pos_[object] = in.u8_below(kLinePixels);
    motion_[object] = in.u8_below(16);
    late_move_[object] = in.u8_below(24) - 8;
  }
  collisions_ = in.u8();
  collisions_ |= static_cast<std::uint16_t>(in.u8() << 8);
  line_cycle_ = in.i64_between(cycle - kLineCycles, cycle);
  line_ = static_cast<int>(in.i64_between(0, 1000));
  for (bool* flag : {&comb_, &comb_shown_, &comb_late_, &moves_late_, &sync_ended_}) *flag = in.flag();
  for (int object = 0; object < kNumObjects; ++object) {
    for (std::uint64_t& word : run_[object].w) word = static_cast<std::uint64_t>(in.i64());
    run_[object] &= pixels_below(kLinePixels);
    begin_[object] = in.u8_below(kLinePixels + 1);
  }
  changed_ = in.u8_below(1 << kNumObjects);
  no_main_copy_ = in.u8_below(1 << kNumObjects);
  discharge_end_ = in.cycle();
  for (std::int64_t& cycles : charge_cycles_) cycles = in.cycle();
  dirty_ = kAllObjects;
}

}  // namespace caudal::inline v0::rl::atari
