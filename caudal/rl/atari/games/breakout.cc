// Breakout for the Atari 2600.
#include "caudal/rl/atari/games/game.h"

namespace caudal::inline v0::rl::atari {
namespace {

using enum Joystick;
constexpr Joystick kActions[] = {kNoop, kFire, kRight, kLeft};

constexpr std::size_t kHundreds = 76, kScore = 77, kLives = 57;

int score(Ram ram) { return 100 * (ram[kHundreds] & 15) + bcd(ram[kScore]); }
int lives(Ram ram) { return ram[kLives]; }
bool over(Ram ram, bool ever_alive) { return ever_alive && ram[kLives] == 0; }

constexpr GameRules kRules = {.title = "Breakout",
                              .rom = "breakout",
                              .rom_md5 = "f34f08e5eb96e500e851a80be3277a56",
                              .actions = kActions,
                              .reset_frames = 12,
                              .paddle = 0,
                              .score = score,
                              .score_period = 1000,
                              .lives = lives,
                              .over = over};

CAUDAL_CARTRIDGE(kRules);
CAUDAL_ATARI_GAME("Breakout", make_game<kRules>, missing_game<kRules>);

}  // namespace
}  // namespace caudal::inline v0::rl::atari
