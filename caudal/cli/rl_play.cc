// caudal rl play: a game in the terminal, played with the keyboard, or without a terminal a random player's game as a
// GIF or a sheet of pictures.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "caudal/base/error.h"
#include "caudal/base/interrupt.h"
#include "caudal/base/strings.h"
#include "caudal/cli/arguments.h"
#include "caudal/cli/json.h"
#include "caudal/cli/rl_command.h"
#include "caudal/cli/terminal.h"
#include "caudal/rl/numpy_random.h"
#include "caudal/rl/recording.h"
#include "caudal/rl/registry.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::cli {
namespace {

constexpr std::int64_t kMostSteps = 1000000000;

struct Settings {
  std::vector<std::string> ids;
  std::string options, gif, png;
  std::int64_t seed = 1, steps = 600;
  bool json = false;
};

struct Played {
  std::int64_t steps = 0, episodes = 0;
  double total = 0;
  void add(const rl::StepResult& step) {
    ++steps;
    total += step.reward;
    episodes += step.done();
  }
};

// An action of any space, made of a fraction per value or a choice.
class AnyAction {
 public:
  explicit AnyAction(const rl::Space& space) : space_(space), values_(static_cast<std::size_t>(elements())) {}
  rl::Action random(rl::NumpyRandom& random) {
    if (space_.is_discrete()) return random.integers(0, space_.count());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double low = std::max(space_.low(static_cast<std::int64_t>(i)), -1e6);
      const double high = std::min(space_.high(static_cast<std::int64_t>(i)), 1e6);
      values_[i] = static_cast<float>(random.uniform(low, high));
    }
    return values_;
  }
  // What a key means here: the action whose name says so, or a bound of the first value.
  rl::Action of_key(Key key) {
    if (space_.is_discrete()) return choice_of(key);
    std::ranges::fill(values_, 0.0f);
    if (key == Key::kLeft) values_[0] = static_cast<float>(space_.low(0));
    if (key == Key::kRight) values_[0] = static_cast<float>(space_.high(0));
    return values_;
  }

 private:
  std::int64_t elements() const { return space_.is_discrete() ? 0 : space_.shape().num_elements(); }
  std::int64_t choice_of(Key key) const {
    std::vector<std::string> wanted = {"NOOP"};
    if (key == Key::kUp) wanted = {"UP", "RIGHT"};  // Pong's paddle goes up with RIGHT
    if (key == Key::kDown) wanted = {"DOWN", "LEFT"};
    if (key == Key::kLeft) wanted = {"LEFT"};
    if (key == Key::kRight) wanted = {"RIGHT"};
    if (key == Key::kFire) wanted = {"FIRE"};
    const auto& names = space_.meanings();
    for (const std::string& name : wanted) {
      const auto found = std::ranges::find(names, name);
      if (found != names.end()) return found - names.begin();
    }
    return 0;
  }

  rl::Space space_;
  std::vector<float> values_;
};

Played play_randomly(rl::Environment& environment, const Settings& settings) {
  rl::VideoWriter video(default_env(), settings.gif, settings.png, environment.frames_per_second());
  rl::NumpyRandom random(static_cast<std::uint64_t>(settings.seed));
  AnyAction action(environment.action_space());
  environment.reset(static_cast<std::uint64_t>(settings.seed), {});
  video.add(environment.render());
  Played played;
  const InterruptScope interrupt;
  while (played.steps < settings.steps && !interrupt.interrupted()) {
    const rl::StepResult step = environment.step(action.random(random), {});
    played.add(step);
    video.add(environment.render());
    if (step.done()) environment.reset(std::nullopt, {});
  }
  video.close();
  return played;
}

Played play_by_hand(rl::Environment& environment, const Settings& settings) {
  using Clock = std::chrono::steady_clock;
  // A terminal tells no releases: a key holds for a moment, until it repeats.
  constexpr auto kHold = std::chrono::milliseconds(180);
  const InterruptScope interrupt;  // so that the terminal is put back
  KeyTerminal terminal;
  AnyAction action(environment.action_space());
  environment.reset(static_cast<std::uint64_t>(settings.seed), {});
  Played played;
  Key held = Key::kNone;
  auto held_until = Clock::now(), next = Clock::now();
  bool paused = false;
  const std::chrono::duration<double> frame(1 / environment.frames_per_second());
  while (!interrupt.interrupted()) {
    for (Key key = terminal.poll(); key != Key::kNone; key = terminal.poll()) {
      if (key == Key::kQuit) return played;
      if (key == Key::kPause) paused = !paused;
      held = key;
      held_until = Clock::now() + kHold;
    }
    if (Clock::now() > held_until) held = Key::kNone;
    if (!paused) {
      const rl::StepResult step = environment.step(action.of_key(held), {});
      played.add(step);
      terminal.show(half_blocks(environment.render(), terminal.columns(), terminal.rows() - 2));
      std::printf("%s  reward %g  (arrows or wasd, space, p pauses, q ends)\x1b[K", environment.id().c_str(),
                  played.total);
      std::fflush(stdout);
      if (step.done()) environment.reset(std::nullopt, {});
    }
    next += std::chrono::duration_cast<Clock::duration>(frame);
    next = std::max(next, Clock::now() - kHold);
    std::this_thread::sleep_until(next);
  }
  return played;
}

int run_play(const std::vector<std::string>& words) {
  Settings settings;
  Arguments arguments("rl play", "A game in the terminal, or as a GIF or a sheet of pictures of a random player.");
  arguments.positional("ID", &settings.ids, "the environment; `caudal rl envs` lists them");
  arguments.option("options", &settings.options, "options of the environment: name=value,name=value");
  arguments.option("seed", &settings.seed, "of the environment and of the random player", 0, INT64_MAX);
  arguments.option("steps", &settings.steps, "steps of the random player", 1, kMostSteps);
  arguments.option("gif", &settings.gif, "write an animation to this file instead of asking for keys");
  arguments.option("png", &settings.png, "write a sheet of pictures to this file instead of asking for keys");
  arguments.flag("json", &settings.json, "the outcome as one line of JSON");
  int exit_code = kExitOk;
  if (!arguments.parse(words, &exit_code)) return exit_code;
  if (settings.ids.size() > 1) {
    std::fputs("caudal: rl play takes one ID\n", stderr);
    return kExitUsage;
  }
  const std::string id = settings.ids.empty() ? "CaudalPong-v0" : settings.ids[0];
  const bool by_hand = settings.gif.empty() && settings.png.empty();
  if (by_hand && !KeyTerminal::available())
    throw failed_precondition("there is no terminal to play in").hint("Give --gif FILE or --png FILE.");
  const auto environment = rl::make(id, rl::Options::parse(settings.options));
  const Played played = by_hand ? play_by_hand(*environment, settings) : play_randomly(*environment, settings);
  if (settings.json) {
    std::printf("%s\n", JsonObject()
                            .add("id", id)
                            .add("steps", played.steps)
                            .add("episodes", played.episodes)
                            .add("reward", played.total)
                            .str()
                            .c_str());
  } else {
    std::printf("%s: %lld steps, %lld episodes ended, reward %g\n", id.c_str(), static_cast<long long>(played.steps),
                static_cast<long long>(played.episodes), played.total);
  }
  return kExitOk;
}

}  // namespace

CAUDAL_RL_COMMAND({.name = "play", .summary = "play in the terminal, or make a GIF or PNG", .run = run_play});

}  // namespace caudal::inline v0::cli
