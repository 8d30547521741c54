// The TIA: playfield, two players, two missiles and the ball, their collisions, and the paddles' inputs.
//
// The chip is not run clock by clock. A register write catches up: it closes the run of pixels that the object's old
// state covered on this line and begins a new one, so a line ends as one PixelMask for each object. Collisions are the
// intersections of these masks, found at the end of a line or when a program asks, and pixels are painted from them
// only in frames that are looked at.
//
// Sources: Stella Programmer's Guide, Andrew Towers' "TIA hardware notes". Times are processor cycles since power-on,
// counted as in cpu.h; three colour clocks each. A line has 228 colour clocks, the first 68 are blank.
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>

#include "caudal/rl/atari/pixel_mask.h"
#include "caudal/rl/atari/state_bytes.h"
#include "caudal/rl/atari/tia_registers.h"

namespace caudal::inline v0::rl::atari {

inline constexpr int kLineCycles = 76;
inline constexpr int kLineClocks = 228;
inline constexpr int kBlankClocks = 68;

class Tia {
 public:
  // Objects in the order of priority.
  enum Object : int { kPlayer0, kMissile0, kPlayer1, kMissile1, kBall, kPlayfield, kNumObjects };
  static constexpr int kNumMovable = 5;

  // The lines of a frame that are seen: ALE's window. Outside of it and of vertical blank nothing collides, and a comb
  // waits for the first line that shows it.
  static constexpr int kFirstLine = 34;
  static constexpr int kRows = 210;

  void power_on(std::int64_t cycle);

  // Where pixels are painted from now on: null for nowhere, or kRows rows of 160 bytes for the colours as they stand in
  // the registers.
  void set_picture(std::uint8_t* picture) { picture_ = picture; }
  // The frame's first line is the one that runs at `cycle`.
  void begin_frame(std::int64_t cycle);
  // Paints and collides up to `cycle`.
  void catch_up(std::int64_t cycle) { advance(cycle); }
  // Lines since begin_frame at `cycle`.
  int line_at(std::int64_t cycle) const { return line_ + static_cast<int>((cycle - line_cycle_) / kLineCycles); }

  // A write of the register 0..63. Gives the cycle at which the processor goes on (later after WSYNC).
  std::int64_t write(int reg, std::uint8_t value, std::int64_t cycle) {
    const bool changes = ((reg_[reg] ^ value) & kSignificantBits[reg]) != 0 || (kActsAlways >> reg & 1);
    if (changes) return act(reg, value, cycle);
    reg_[reg] = value;
    return cycle;
  }
  // True after the write that ended the vertical sync; reading it clears it.
  bool take_end_of_sync() {
    const bool ended = sync_ended_;
    sync_ended_ = false;
    return ended;
  }
  // A read of the register 0..15: bits 7 and 6; the other bits stay what `bus` carried.
  std::uint8_t read(int reg, std::uint8_t bus, std::int64_t cycle);

  // Triggers of INPT4 and INPT5.
  void set_trigger(int index, bool pressed, std::int64_t cycle);
  // Time that the capacitor of a paddle needs, in cycles; kNever if nothing is connected.
  static constexpr std::int64_t kNever = -1;
  void set_paddle(int index, std::int64_t charge_cycles) { charge_cycles_[index] = charge_cycles; }

  void save(StateWriter& out) const;
  // What a reader gives must be checked by its ok().
  void load(StateReader& in, std::int64_t cycle);

 private:
  // Registers that do something at each write, not only when their value changes.
  static constexpr std::uint64_t kActsAlways = [] {
    std::uint64_t mask = 0;
    for (const int reg : {kWsync, kResp0, kResp1, kResm0, kResm1, kResbl, kGrp0, kGrp1, kHmp0, kHmp1, kHmm0, kHmm1,
                          kHmbl, kHmove, kHmclr, kCxclr}) {
      mask |= std::uint64_t{1} << reg;
    }
    return mask;
  }();
  // Programs write flags with whatever else the byte holds.
  static constexpr std::array<std::uint8_t, 64> kSignificantBits = [] {
    std::array<std::uint8_t, 64> bits;
    bits.fill(0xff);
    bits[kRefp0] = bits[kRefp1] = 0x08;
    bits[kPf0] = 0xf0;
    bits[kEnam0] = bits[kEnam1] = bits[kEnabl] = 0x02;
    bits[kVdelp0] = bits[kVdelp1] = bits[kVdelbl] = 0x01;
    return bits;
  }();

  bool seen() const { return static_cast<unsigned>(line_ - kFirstLine) < kRows; }
  // Ends the lines before `cycle` and gives the colour clock of the line, 0 to 227.
  int advance(std::int64_t cycle);
  void end_line();
  std::int64_t skip_lines(std::int64_t lines);

  // The masks.
  void refresh(int object);
  PixelMask make_player_copy(int index, int x) const;
  PixelMask make_missile_copy(int index, int x) const;
  PixelMask make_player(int index) const;
  PixelMask make_missile(int index) const;
  PixelMask make_ball() const;
  PixelMask make_playfield() const;
  std::uint8_t player_pattern(int index) const { return vdel_[index] ? old_grp_[index] : grp_[index]; }

  // Closes the object's run before pixel x and marks its mask as outdated.
  void change(int object, int x);
  // Forgets the runs of the line before, which a line without changes shows again.
  void leave_same();
  void close_run(int object, int x);
  void close_all(int x);
  void collide();
  // Collides and paints what lies before pixel x, for a change after which that is no longer known.
  void end_runs(int x);

  // Painting.
  void change_colors(int x);
  void paint(int end);
  void paint_object(std::uint8_t* row, int object, const PixelMask& range);

  // Writes.
  std::int64_t act(int reg, std::uint8_t value, std::int64_t cycle);
  void write_object(int reg, std::uint8_t value, int clock);
  void write_color(int reg, std::uint8_t value, int clock);
  void write_grp(int index, std::uint8_t value, int clock);
  void write_nusiz(int index, int clock);
  void write_ctrlpf(std::uint8_t value, int clock);
  void write_vblank(std::uint8_t value, int clock, std::int64_t cycle);
  void reset_position(int object, int clock);
  void finish_copies(int object, int old, int x);
  void reset_missile_to_player(int index, std::uint8_t value, int clock);
  void move_objects(int clock);
  void clear_collisions(int clock);

  // -- Registers.
  std::array<std::uint8_t, 64> reg_{};  // as last written
  std::uint8_t grp_[2] = {0, 0}, old_grp_[2] = {0, 0};
  bool vdel_[2] = {false, false};
  std::uint8_t enabl_ = 0, old_enabl_ = 0;
  int pos_[kNumMovable] = {};     // first pixel of the main copy
  int motion_[kNumMovable] = {};  // 0 to 15, the clocks that HMOVE adds
  std::uint16_t collisions_ = 0;  // bit 2 * register + (0 for bit 6, 1 for bit 7)

  // -- The line.
  std::int64_t line_cycle_ = 0;      // when it began
  int line_ = 0;                     // its number in the frame
  bool comb_ = false;                // HMOVE lengthened its blank by eight clocks
  bool comb_shown_ = false;          // the first eight pixels are blank
  int late_move_[kNumMovable] = {};  // to the left, at the end of the line
  bool moves_late_ = false;
  bool comb_late_ = false;       // the next line has a comb
  PixelMask mask_[kNumObjects];  // what an object covers from begin_ on
  PixelMask run_[kNumObjects];   // what it covered before
  int begin_[kNumObjects] = {};
  std::uint32_t dirty_ = 0;         // objects whose mask is outdated
  std::uint32_t changed_ = 0;       // objects with begin_ > 0
  std::uint32_t no_main_copy_ = 0;  // objects reset on this line: their main copy begins on the next
  bool same_as_before_ = false;     // nothing changed since the line before, whose collisions are known
  int painted_ = 0;                 // pixels painted

  // -- Frame and inputs.
  std::uint8_t* picture_ = nullptr;
  bool sync_ended_ = false;
  std::int64_t discharge_end_ = 0;
  std::int64_t charge_cycles_[4] = {kNever, kNever, kNever, kNever};
  bool trigger_[2] = {false, false};
  bool latched_[2] = {false, false};
};

}  // namespace caudal::inline v0::rl::atari
