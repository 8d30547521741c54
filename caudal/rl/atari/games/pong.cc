// Pong for the Atari 2600.
#include "caudal/rl/atari/games/game.h"

namespace caudal::inline v0::rl::atari {
namespace {

using enum Joystick;
constexpr Joystick kActions[] = {kNoop, kFire, kRight, kLeft, kRightFire, kLeftFire};

// The left score is the machine's.
constexpr std::size_t kMachineScore = 13, kAgentScore = 14;
constexpr int kWinningScore = 21;

int score(Ram ram) { return ram[kAgentScore] - ram[kMachineScore]; }
int lives(Ram) { return 0; }
bool over(Ram ram, bool) { return ram[kAgentScore] == kWinningScore || ram[kMachineScore] == kWinningScore; }

constexpr GameRules kRules = {.title = "Pong",
                              .rom = "pong",
                              .rom_md5 = "60e0ea3cbe0913d39803477945e9e5ec",
                              .actions = kActions,
                              .reset_frames = 12,
                              .paddle = 1,
                              .score = score,
                              .score_period = 0,
                              .lives = lives,
                              .over = over};

CAUDAL_CARTRIDGE(kRules);
CAUDAL_ATARI_GAME("Pong", make_game<kRules>, missing_game<kRules>);

}  // namespace
}  // namespace caudal::inline v0::rl::atari
