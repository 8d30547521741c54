// AtariGame: a cartridge in the console, played as ALE plays it: start-up, sticks and paddles, sticky actions, score.
//
// Bit for bit the screens, memory, rewards, lives and ends of ale-py 0.12 (tests/python/atari_test.py). All that
// follows was found by running it as an oracle and looking at what comes out:
//   - A reset is a power-on, 60 frames in which nothing is done and GameRules::reset_frames with the RESET switch held.
//   - A paddle starts in the middle; each frame of RIGHT or LEFT turns it by a fixed step between two stops. In Pong
//   the
//     agent has the second paddle, and the first one stays where it is.
//   - Sticky actions: each frame draws one number of a Mersenne twister seeded with the seed; below the probability the
//     position of the frame before stays. A reset neither seeds nor draws.
// Thread safety: as an ArcadeGame.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/rl/arcade_game.h"
#include "caudal/rl/atari/console.h"
#include "caudal/rl/atari/game_rules.h"

namespace caudal::inline v0::rl::atari {

class CAUDAL_API AtariGame final : public ArcadeGame {
 public:
  // `rules` must outlive the game. Throws UNIMPLEMENTED for cartridges without a known mapper.
  AtariGame(const GameRules& rules, std::string_view rom);

  const Palette& palette() const override;
  std::span<const Joystick> minimal_actions() const override { return rules_.actions; }
  void set_repeat_action_probability(double probability) override { repeat_probability_ = probability; }
  void seed(std::uint32_t seed) override;
  void reset() override;
  int play(Joystick position, bool draw) override;
  bool game_over() const override { return over_; }
  int lives() const override { return lives_; }
  const std::uint8_t* screen() override;
  const std::uint8_t* previous_screen() override;
  std::span<const std::uint8_t> ram() const override { return console_.ram(); }
  void save(std::string* out) const override;
  bool restore(std::string_view state) override;

 private:
  double next_double();
  void run_frame(bool draw);
  void set_controls(Joystick position, bool reset_switch);
  int settle();

  const GameRules& rules_;
  Console console_;
  // A frame that was played, with what it takes to draw it when it is asked for only then.
  struct Frame {
    explicit Frame(const Console& console) : before(console), picture(kScreenPixels) {}
    Console before;
    bool drawn = false;
    std::vector<std::uint8_t> picture;
  };
  const std::uint8_t* draw(Frame& frame);
  Frame& last_frame() { return frames_[last_index_]; }
  const Frame& last_frame() const { return frames_[last_index_]; }

  Frame frames_[2];  // the last and the one before
  int last_index_ = 0;
  double repeat_probability_ = 0;
  std::mt19937 random_;
  Joystick last_ = Joystick::kNoop;
  std::int64_t charge_ = 0;  // of the agent's paddle
  std::size_t resets_ = 0;
  int score_ = 0, lives_ = 0;
  bool over_ = false, ever_alive_ = false;
};

}  // namespace caudal::inline v0::rl::atari
