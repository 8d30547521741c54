// What a cartridge's memory means: score, lives and the end of the game. One file in games/ for each game.
//
// The addresses are common knowledge of the games; each rule was checked frame by frame against the rewards, lives and
// ends that ale-py gives.
// Thread safety: constant.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "caudal/rl/arcade_game.h"

namespace caudal::inline v0::rl::atari {

using Ram = std::span<const std::uint8_t>;

// Two decimal digits in a byte.
inline int bcd(std::uint8_t value) { return (value >> 4) * 10 + (value & 15); }

struct GameRules {
  std::string_view title;  // "SpaceInvaders", as in ids
  std::string_view rom;    // "space_invaders", as ale-py names the cartridge
  std::string_view rom_md5;
  std::span<const Joystick> actions;  // the minimal set
  // Frames for which the RESET switch is held after 60 frames of doing nothing.
  int reset_frames;
  // The stick turns this paddle, and is no stick; -1: it is one.
  int paddle = -1;
  int (*score)(Ram ram);
  // Scores wrap around to 0 here.
  int score_period = 0;
  int (*lives)(Ram ram);
  // `ever_alive`: there were lives since the reset.
  bool (*over)(Ram ram, bool ever_alive);
};

}  // namespace caudal::inline v0::rl::atari
