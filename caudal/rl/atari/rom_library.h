// Where cartridges are found: in an installed ale-py or in its wheel. They are never part of Caudal.
//
// Looked for, in this order: CAUDAL_ROMS (a folder of .bin files, a wheel, or several of both with ":" between), the
// ale_py/roms folders of VIRTUAL_ENV, of ~/.cache/caudal's virtual environments, of ~/.local, /usr/local and /usr.
// Thread safety: functions of their arguments and the environment's variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/atari/game_rules.h"

namespace caudal::inline v0::rl::atari {

// Folders and wheels that exist, in the order above.
CAUDAL_API std::vector<std::string> rom_places();

// A file, or "WHEEL:MEMBER"; empty if no place has "<rules.rom>.bin".
CAUDAL_API std::string find_cartridge(const GameRules& rules);
// Its bytes. NOT_FOUND, saying how to get it, if there is none; FAILED_PRECONDITION if its MD5 is another one.
CAUDAL_API std::string load_cartridge(const GameRules& rules);
// The bytes at a place that find_cartridge gave.
CAUDAL_API std::string read_cartridge(std::string_view found);

// All games whose rules are registered, by title.
CAUDAL_API std::vector<const GameRules*> known_games();

class CAUDAL_API GameRegistrar {
 public:
  explicit GameRegistrar(const GameRules& registered);
  const GameRules& rules;
  const GameRegistrar* next;
};

#define CAUDAL_CARTRIDGE(rules) const GameRegistrar game_registrar(rules)

}  // namespace caudal::inline v0::rl::atari
