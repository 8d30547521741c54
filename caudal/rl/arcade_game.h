// ArcadeGame: a game with a joystick and a screen of palette colours, one frame at a time, without frame skip, wrappers
// or spaces: what an Atari cartridge in the emulator is, and CaudalPong. AtariEnvironment (atari_environment.h) makes
// environments of it, DeepMindWrapper and AtariPreprocessing read its screen.
//
// Thread safety: one thread at a time; different games are independent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0::rl {

inline constexpr int kScreenWidth = 160;
inline constexpr int kScreenHeight = 210;
inline constexpr int kScreenPixels = kScreenWidth * kScreenHeight;

// The joystick's positions, with ALE's numbers.
enum class Joystick : std::uint8_t {
  kNoop,
  kFire,
  kUp,
  kRight,
  kLeft,
  kDown,
  kUpRight,
  kUpLeft,
  kDownRight,
  kDownLeft,
  kUpFire,
  kRightFire,
  kLeftFire,
  kDownFire,
  kUpRightFire,
  kUpLeftFire,
  kDownRightFire,
  kDownLeftFire,
};
inline constexpr int kNumJoystick = 18;
// "NOOP", "FIRE", ..., "DOWNLEFTFIRE".
CAUDAL_API std::string_view joystick_name(Joystick position);

// Colours of the 256 values that a screen's bytes can have.
struct Palette {
  std::array<std::array<std::uint8_t, 3>, 256> rgb{};
  std::array<std::uint8_t, 256> gray{};  // the console's own gray, not computed from rgb
};

class CAUDAL_API ArcadeGame {
 public:
  virtual ~ArcadeGame();

  virtual const Palette& palette() const = 0;
  // The positions that do something in this game, in the order of its action numbers.
  virtual std::span<const Joystick> minimal_actions() const = 0;
  // Each frame repeats the frame before's position instead of the new one with this probability ("sticky actions").
  virtual void set_repeat_action_probability(double probability) = 0;

  // Seeds the random numbers of sticky actions (and the game's own, where it has some). Takes effect at the next reset.
  virtual void seed(std::uint32_t seed) = 0;
  // A new game.
  virtual void reset() = 0;
  // Plays one frame and gives its reward. `draw` announces that screen() will be asked for; unannounced it is slower.
  // After game_over() nothing happens.
  virtual int play(Joystick position, bool draw) = 0;
  virtual bool game_over() const = 0;
  virtual int lives() const = 0;

  // The last frame: kScreenPixels bytes, row by row, indices into the palette. Valid until the next reset, play or
  // restore.
  virtual const std::uint8_t* screen() = 0;
  // The frame before the last since the reset, as long: for the maximum of two frames where an end came too early to
  // announce them. A game that cannot draw it any more gives the last one.
  virtual const std::uint8_t* previous_screen() { return screen(); }
  // The console's memory (128 bytes on the Atari); empty where there is none.
  virtual std::span<const std::uint8_t> ram() const = 0;

  // Everything that the future depends on. restore gives false, and the game needs a reset, for bytes that are none.
  virtual void save(std::string* out) const = 0;
  virtual bool restore(std::string_view state) = 0;
};

}  // namespace caudal::inline v0::rl
