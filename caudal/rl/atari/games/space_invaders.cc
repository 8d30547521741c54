// SpaceInvaders for the Atari 2600.
#include "caudal/rl/atari/games/game.h"

namespace caudal::inline v0::rl::atari {
namespace {

using enum Joystick;
constexpr Joystick kActions[] = {kNoop, kFire, kRight, kLeft, kRightFire, kLeftFire};

constexpr std::size_t kLowScore = 104, kHighScore = 102, kLives = 73, kState = 24;
// Set when the invaders have landed or the last cannon is lost.
constexpr std::uint8_t kEnded = 0x80;

int score(Ram ram) { return bcd(ram[kLowScore]) + 100 * bcd(ram[kHighScore]); }
int lives(Ram ram) { return (ram[kState] & kEnded) != 0 ? 0 : ram[kLives]; }
bool over(Ram ram, bool) { return (ram[kState] & kEnded) != 0 || ram[kLives] == 0; }

constexpr GameRules kRules = {.title = "SpaceInvaders",
                              .rom = "space_invaders",
                              .rom_md5 = "72ffbef6504b75e69ee1045af9075f66",
                              .actions = kActions,
                              .reset_frames = 12,
                              .paddle = -1,
                              .score = score,
                              .score_period = 10000,
                              .lives = lives,
                              .over = over};

CAUDAL_CARTRIDGE(kRules);
CAUDAL_ATARI_GAME("SpaceInvaders", make_game<kRules>, missing_game<kRules>);

}  // namespace
}  // namespace caudal::inline v0::rl::atari
