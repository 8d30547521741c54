#include "caudal/rl/atari/riot.h"

namespace caudal::inline v0::rl::atari {
namespace {

// Memory after power-on is undefined. These bytes are those that a program sees which starts in ale-py 0.12, where they
// are the same each time; a few games leave some of them as they are.
constexpr std::array<std::uint8_t, kRamBytes> kPowerOnMemory = {
    184, 150, 192, 73,  203, 85,  200, 127, 251, 180, 69,  102, 43,  52,  16,  202, 185, 206, 255, 143, 79,  68,
    161, 138, 4,   197, 205, 252, 117, 231, 10,  173, 45,  155, 96,  158, 170, 23,  30,  84,  249, 132, 81,  62,
    52,  151, 124, 94,  80,  182, 134, 133, 190, 119, 69,  139, 109, 4,   181, 238, 66,  57,  193, 75,  156, 51,
    82,  71,  73,  179, 238, 107, 112, 172, 36,  107, 212, 254, 254, 214, 23,  220, 56,  154, 73,  142, 33,  172,
    214, 28,  13,  92,  218, 173, 11,  119, 163, 108, 40,  56,  81,  197, 137, 92,  90,  22,  152, 85,  149, 91,
    175, 74,  175, 153, 13,  75,  236, 10,  186, 94,  167, 189, 230, 247, 171, 20,  111, 192,
};
constexpr std::uint16_t kTim64T = 0x296;

}  // namespace

void Riot::power_on(std::int64_t cycle, std::uint8_t timer) {
  *this = Riot();
  ram_ = kPowerOnMemory;
  write(kTim64T, timer, cycle);
}

std::uint8_t Riot::timer(std::int64_t cycle) const {
  const std::int64_t left = expiry_ - cycle;
  if (left >= 0) return static_cast<std::uint8_t>(left >> shift_);
  // Past the end it counts single cycles, 255, 254, ..., and from the first read there by the interval again.
  if (!expiry_seen_) return static_cast<std::uint8_t>(left);
  return static_cast<std::uint8_t>((left >> shift_) + 1 - (seen_at_ - expiry_));
}

std::int64_t Riot::timer_zero_cycle() const { return expiry_ - (std::int64_t{1} << shift_) + 1; }

std::uint8_t Riot::read(std::uint16_t address, std::int64_t cycle) {
  switch (address & 7) {
    case 0:
      return static_cast<std::uint8_t>((out_a_ | ~direction_a_) & port_a_);
    case 1:
      return direction_a_;
    case 2:
      return static_cast<std::uint8_t>((out_b_ & direction_b_) | (port_b_ & ~direction_b_));
    case 3:
      return direction_b_;
    case 4:
    case 6:
      // A read in the very cycle in which it passes 0 goes unnoticed.
      if (!expiry_seen_ && cycle > expiry_ + 1) {
        expiry_seen_ = true;
        seen_at_ = cycle;
      }
      return timer(cycle);
    default:
      return cycle > expiry_ && !expiry_seen_ ? 0x80 : 0x00;
  }
}

void Riot::write(std::uint16_t address, std::uint8_t value, std::int64_t cycle) {
  if (address & 0x10 && address & 0x04) {
    static constexpr int kShifts[] = {0, 3, 6, 10};
    shift_ = kShifts[address & 3];
    // The first step comes one cycle after the write, so the value itself is seen by nobody.
    expiry_ = cycle + (std::int64_t{value} << shift_);
    expiry_seen_ = false;
    return;
  }
  switch (address & 7) {
    case 0:
      out_a_ = value;
      break;
    case 1:
      direction_a_ = value;
      break;
    case 2:
      out_b_ = value;
      break;
    case 3:
      direction_b_ = value;
      break;
    default:
      break;  // edge detection of PA7, whose interrupt line is not connected
  }
}

void Riot::save(StateWriter& out) const {
  out.bytes(ram_);
  for (const std::uint8_t v : {port_a_, port_b_, out_a_, out_b_, direction_a_, direction_b_}) out.u8(v);
  out.u8(static_cast<std::uint8_t>(shift_));
  out.i64(expiry_);
  out.u8(expiry_seen_);
  out.i64(seen_at_);
}

void Riot::load(StateReader& in) {
  in.bytes(ram_);
  for (std::uint8_t* v : {&port_a_, &port_b_, &out_a_, &out_b_, &direction_a_, &direction_b_}) *v = in.u8();
  shift_ = in.u8_below(11);
  expiry_ = in.cycle();
  expiry_seen_ = in.flag();
  seen_at_ = in.cycle();
}

}  // namespace caudal::inline v0::rl::atari
