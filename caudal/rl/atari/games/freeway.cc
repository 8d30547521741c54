// Freeway for the Atari 2600.
#include "caudal/rl/atari/games/game.h"

namespace caudal::inline v0::rl::atari {
namespace {

using enum Joystick;
constexpr Joystick kActions[] = {kNoop, kUp, kDown};

constexpr std::size_t kScore = 103, kTimeUp = 22;

int score(Ram ram) { return bcd(ram[kScore]); }
int lives(Ram) { return 0; }
bool over(Ram ram, bool) { return ram[kTimeUp] == 1; }

constexpr GameRules kRules = {.title = "Freeway",
                              .rom = "freeway",
                              .rom_md5 = "8e0ab801b1705a740b476b7f588c6d16",
                              .actions = kActions,
                              .reset_frames = 12,
                              .paddle = -1,
                              .score = score,
                              .score_period = 0,
                              .lives = lives,
                              .over = over};

CAUDAL_CARTRIDGE(kRules);
CAUDAL_ATARI_GAME("Freeway", make_game<kRules>, missing_game<kRules>);

}  // namespace
}  // namespace caudal::inline v0::rl::atari
