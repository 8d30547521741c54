// What the file of a game needs: its rules become known to the cartridge library and its ids to the registry.
//
//   constexpr GameRules kRules = {...};
//   CAUDAL_CARTRIDGE(kRules);
//   CAUDAL_ATARI_GAME("Pong", make_game<kRules>, missing_game<kRules>);
#pragma once

#include <memory>
#include <string>

#include "caudal/rl/atari/atari_game.h"
#include "caudal/rl/atari/game_rules.h"
#include "caudal/rl/atari/rom_library.h"
#include "caudal/rl/atari_environment.h"

namespace caudal::inline v0::rl::atari {

// With the cartridge that the library finds. Throws NOT_FOUND where there is none.
template <const GameRules& rules>
std::unique_ptr<ArcadeGame> make_game() {
  return std::make_unique<AtariGame>(rules, load_cartridge(rules));
}

template <const GameRules& rules>
std::string missing_game() {
  return find_cartridge(rules).empty() ? "no cartridge " + std::string(rules.rom) + ".bin" : std::string();
}

}  // namespace caudal::inline v0::rl::atari
