#include "caudal/rl/arcade_game.h"

namespace caudal::inline v0::rl {

ArcadeGame::~ArcadeGame() = default;

std::string_view joystick_name(Joystick position) {
  static constexpr std::array<std::string_view, kNumJoystick> kNames = {
      "NOOP",     "FIRE",     "UP",          "RIGHT",      "LEFT",          "DOWN",
      "UPRIGHT",  "UPLEFT",   "DOWNRIGHT",   "DOWNLEFT",   "UPFIRE",        "RIGHTFIRE",
      "LEFTFIRE", "DOWNFIRE", "UPRIGHTFIRE", "UPLEFTFIRE", "DOWNRIGHTFIRE", "DOWNLEFTFIRE"};
  return kNames[static_cast<std::size_t>(position)];
}

}  // namespace caudal::inline v0::rl
