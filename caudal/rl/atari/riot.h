// The 6532 RIOT: 128 bytes of memory, the interval timer and the ports of joysticks and switches.
//
// Source: MOS 6532 data sheet, Stella Programmer's Guide. Times are cycles since power-on, counted as in cpu.h.
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>

#include "caudal/rl/atari/state_bytes.h"

namespace caudal::inline v0::rl::atari {

inline constexpr int kRamBytes = 128;

class Riot {
 public:
  // The state after power-on at `cycle`. The timer then counts down from `timer` in steps of 64 cycles; on a real
  // console nobody knows from where.
  void power_on(std::int64_t cycle, std::uint8_t timer);

  std::array<std::uint8_t, kRamBytes>& ram() { return ram_; }
  const std::array<std::uint8_t, kRamBytes>& ram() const { return ram_; }

  // What the sticks and switches drive onto the ports: 0 is pressed.
  void set_port_a(std::uint8_t value) { port_a_ = value; }
  void set_port_b(std::uint8_t value) { port_b_ = value; }

  // Registers: address lines A9 = 1, A7 = 1, A12 = 0.
  std::uint8_t read(std::uint16_t address, std::int64_t cycle);
  void write(std::uint16_t address, std::uint8_t value, std::int64_t cycle);

  // The cycle at which INTIM first reads 0 after it was written; a loop that waits for that may skip up to here.
  std::int64_t timer_zero_cycle() const;

  void save(StateWriter& out) const;
  void load(StateReader& in);

 private:
  // INTIM at a cycle.
  std::uint8_t timer(std::int64_t cycle) const;

  std::array<std::uint8_t, kRamBytes> ram_{};
  std::uint8_t port_a_ = 0xff, port_b_ = 0xff;
  std::uint8_t out_a_ = 0, out_b_ = 0, direction_a_ = 0, direction_b_ = 0;
  int shift_ = 10;            // log2 of the interval
  std::int64_t expiry_ = 0;   // the last cycle at which INTIM is 0 by the interval
  bool expiry_seen_ = false;  // INTIM was read after that, which clears the interrupt flag
  std::int64_t seen_at_ = 0;  // when
};

}  // namespace caudal::inline v0::rl::atari
