// The Atari 2600: processor, RIOT, TIA and cartridge, run frame by frame.
//
// A frame ends when the program ends its vertical sync. A console knows nothing of games: it has switches, sticks and
// paddles (atari_game.h).
// Thread safety: one thread at a time; different consoles are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/rl/atari/cartridge.h"
#include "caudal/rl/atari/cpu_registers.h"
#include "caudal/rl/atari/riot.h"
#include "caudal/rl/atari/tia.h"

namespace caudal::inline v0::rl::atari {

// What a player's hands do; true is pressed.
struct Controls {
  struct Stick {
    bool up = false, down = false, left = false, right = false, fire = false;
  };
  Stick sticks[2];
  // Charge times of the four paddles in processor cycles, Tia::kNever where none is connected.
  std::int64_t paddles[4] = {Tia::kNever, Tia::kNever, Tia::kNever, Tia::kNever};
  bool paddle_fires[4] = {false, false, false, false};
  bool reset = false, select = false;
  bool color = true;
  bool expert[2] = {false, false};  // difficulty switches: A is true
};

class Translation;

class CAUDAL_API Console {
 public:
  // Throws UNIMPLEMENTED for cartridges without a known mapper (cartridge.h).
  explicit Console(std::string_view rom);
  Console(std::string_view rom, Mapper mapper);

  // As switched on, the program at its start. `timer`: what the RIOT's timer happens to hold.
  static constexpr std::uint8_t kUsualTimer = 74;
  void power_on(std::uint8_t timer = kUsualTimer);
  void set_controls(const Controls& controls);

  // Runs to the end of the frame. With a picture (Tia::kRows rows of 160 colours) the frame is painted into it.
  void run_frame(std::uint8_t* picture);

  std::span<const std::uint8_t> ram() const { return riot_.ram(); }
  Mapper mapper() const { return cartridge_.mapper(); }

  // Everything but the ROM, with a version and a checksum.
  void save(std::string* out) const;
  // DATA_LOSS for bytes that are not a save of a console with this mapper; the console is then as it was.
  void load(std::string_view state);

 private:
  template <bool kPlain>
  friend class ConsoleBus;
  friend struct TranslatedConsole;

  std::uint8_t read_slow(std::uint16_t address, std::uint8_t last, std::int64_t cycle);
  std::int64_t write_slow(std::uint16_t address, std::uint8_t value, std::int64_t cycle);
  std::int64_t write_tia(std::uint16_t address, std::uint8_t value, std::int64_t cycle);
  template <bool kPlain>
  void run();
  void run_translated();

  CpuRegisters cpu_;
  bool running_ = false;  // a frame has begun and not ended
  Riot riot_;
  Tia tia_;
  Cartridge cartridge_;
  std::shared_ptr<Translation> translation_;  // null: everything is interpreted
};

}  // namespace caudal::inline v0::rl::atari
