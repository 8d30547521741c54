// Seaquest for the Atari 2600.
#include "caudal/rl/atari/games/game.h"

namespace caudal::inline v0::rl::atari {
namespace {

using enum Joystick;
constexpr Joystick kActions[] = {kNoop,     kFire,     kUp,          kRight,      kLeft,          kDown,
                                 kUpRight,  kUpLeft,   kDownRight,   kDownLeft,   kUpFire,        kRightFire,
                                 kLeftFire, kDownFire, kUpRightFire, kUpLeftFire, kDownRightFire, kDownLeftFire};

constexpr std::size_t kScore = 56, kLivesLeft = 59, kEnded = 35;

int score(Ram ram) { return 10'000 * bcd(ram[kScore]) + 100 * bcd(ram[kScore + 1]) + bcd(ram[kScore + 2]); }
int lives(Ram ram) { return ram[kEnded] != 0 ? 0 : ram[kLivesLeft] + 1; }
bool over(Ram ram, bool) { return ram[kEnded] != 0; }

constexpr GameRules kRules = {.title = "Seaquest",
                              .rom = "seaquest",
                              .rom_md5 = "240bfbac5163af4df5ae713985386f92",
                              .actions = kActions,
                              .reset_frames = 8,
                              .paddle = -1,
                              .score = score,
                              .score_period = 0,
                              .lives = lives,
                              .over = over};

CAUDAL_CARTRIDGE(kRules);
CAUDAL_ATARI_GAME("Seaquest", make_game<kRules>, missing_game<kRules>);

}  // namespace
}  // namespace caudal::inline v0::rl::atari
