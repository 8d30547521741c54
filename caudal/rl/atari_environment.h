// Environments of arcade games: frame skip, observations and ids as ALE and Gymnasium define them.
//
//   CAUDAL_ATARI_GAME("Pong", make_pong, missing_pong);   // beside the game: registers Pong-v0, ALE/Pong-v5 and so on
//
// Options: frameskip ("4", or "2..4": drawn anew for each step), repeat_action_probability, full_action_space (all 18
// positions), obs_type (rgb, grayscale, ram), max_num_frames_per_episode (0: no limit).
// Seeding: SeedSequence(seed).generate_state(2) gives the seed of the random skips and that of the game. Checked
// against ale-py. Thread safety: as an Environment.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/rl/arcade_game.h"
#include "caudal/rl/environment.h"
#include "caudal/rl/numpy_random.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {

class CAUDAL_API AtariEnvironment final : public Environment {
 public:
  enum class Observation : std::uint8_t { kRgb, kGray, kRam };
  struct Config {
    int least_skip = 4, most_skip = 4;
    double repeat_action_probability = 0.25;
    bool full_action_space = false;
    Observation observation = Observation::kRgb;
    std::int64_t max_frames = 108000;  // 30 minutes at 60 frames a second
  };

  AtariEnvironment(std::string id, std::unique_ptr<ArcadeGame> game, const Config& config);
  double frames_per_second() const override { return 60.0 / ((config_.least_skip + config_.most_skip) / 2.0); }

  // A step of which the screen is wanted instead of the observation: as step(action, {}), and the last frame is drawn
  // if `draw`. For wrappers that read game().screen(). REQUIRES: the action lies in the space; a reset came before.
  StepResult advance(const Action& action, bool draw);

  ArcadeGame& game() { return *game_; }
  const Config& config() const { return config_; }
  const std::vector<Joystick>& actions() const { return actions_; }
  // Frames of the game, and of this episode.
  std::int64_t frame_number() const { return frames_; }
  NumpyRandom& random() { return random_; }

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override;
  StepResult do_step(const Action& action, std::span<std::byte> observation) override;
  Tensor do_render() override;
  void do_save(std::string* out) const override;
  bool do_restore(std::string_view state) override;

  void observe(std::span<std::byte> observation);
  Info info() const;

  std::unique_ptr<ArcadeGame> game_;
  Config config_;
  std::vector<Joystick> actions_;
  NumpyRandom random_;
  bool seeded_ = false;
  std::int64_t frames_ = 0, episode_frames_ = 0;
};

using MakeArcadeGame = std::unique_ptr<ArcadeGame> (*)();
using MissingForGame = std::string (*)();

// Takes the options of an AtariEnvironment.
CAUDAL_API std::unique_ptr<Environment> make_atari_environment(const EnvironmentSpec& spec, MakeArcadeGame make_game,
                                                               Options& options);

namespace internal {
template <MakeArcadeGame make_game>
std::unique_ptr<Environment> make_atari(const EnvironmentSpec& spec, Options& options) {
  return make_atari_environment(spec, make_game, options);
}
template <MissingForGame missing>
std::string missing_for_atari(const EnvironmentSpec&) {
  return missing();
}
}  // namespace internal

#define CAUDAL_ARCADE_ID_(id_text, text, make_game, missing_text, options)   \
  CAUDAL_ENVIRONMENT({.id = id_text,                                         \
                      .summary = text,                                       \
                      .defaults = options,                                   \
                      .make = ::caudal::rl::internal::make_atari<make_game>, \
                      .missing = ::caudal::rl::internal::missing_for_atari<missing_text>})

// title: a literal, the beginning of the ids ("Pong"). text: a literal, what it is. make_game: a MakeArcadeGame, which
// throws NOT_FOUND, with a hint how to get it, where the cartridge is missing. missing_text: a MissingForGame that says
// in a line what is missing, or nothing. Registers Pong-v0, -v4, PongDeterministic- and PongNoFrameskip-v0 and -v4.
#define CAUDAL_ARCADE_GAME(title, text, make_game, missing_text)                                                  \
  CAUDAL_ARCADE_ID_(title "-v0", text, make_game, missing_text, "frameskip=2..4,repeat_action_probability=0.25"); \
  CAUDAL_ARCADE_ID_(title "-v4", text, make_game, missing_text, "frameskip=2..4,repeat_action_probability=0");    \
  CAUDAL_ARCADE_ID_(title "Deterministic-v0", text, make_game, missing_text,                                      \
                    "frameskip=4,repeat_action_probability=0.25");                                                \
  CAUDAL_ARCADE_ID_(title "Deterministic-v4", text, make_game, missing_text,                                      \
                    "frameskip=4,repeat_action_probability=0");                                                   \
  CAUDAL_ARCADE_ID_(title "NoFrameskip-v0", text, make_game, missing_text,                                        \
                    "frameskip=1,repeat_action_probability=0.25");                                                \
  CAUDAL_ARCADE_ID_(title "NoFrameskip-v4", text, make_game, missing_text, "frameskip=1,repeat_action_probability=0")

// The same and ALE/Pong-v5, for games of the Atari.
#define CAUDAL_ATARI_GAME(title, make_game, missing_text)                                    \
  CAUDAL_ARCADE_GAME(title, title " on the Atari 2600", make_game, missing_text);            \
  CAUDAL_ARCADE_ID_("ALE/" title "-v5", title " on the Atari 2600", make_game, missing_text, \
                    "frameskip=4,repeat_action_probability=0.25")

}  // namespace caudal::inline v0::rl
