// wrap_deepmind in one piece: NoopReset, MaxAndSkip, EpisodicLife, FireReset, WarpFrame and FrameStack of
// rllib/env/wrappers/atari_wrappers.py, in that order from the inside out.
#include "caudal/base/error.h"
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/picture_stack.h"
#include "caudal/rl/screen_reducer.h"
#include "caudal/rl/screen_wrapper.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kSkip = 4;

class DeepMindWrapper final : public ScreenWrapper {
 public:
  DeepMindWrapper(std::unique_ptr<Environment> inner, const DeepMindOptions& options)
      : ScreenWrapper(std::move(inner), "wrap_deepmind"),
        options_(options),
        skips_(id().find("NoFrameskip") != std::string::npos),
        fires_(options.fire_reset && begins_with_fire()),
        reducer_(game().palette(), Brighter::kGrayOfMaximum, options.dim, options.dim),
        stack_(options.stack, reducer_.picture().size()) {
    if (skips_ && atari().config().most_skip != 1)
      throw invalid_argument(id(), " with frameskip ", atari().config().most_skip, " would skip twice");
    set_observation_space(Space::box(uint8, {options.dim, options.dim, options.stack}, 0, 255));
  }
  double frames_per_second() const override { return inner().frames_per_second() / (skips_ ? kSkip : 1); }

 private:
  bool begins_with_fire() { return atari().actions().size() >= 3 && atari().actions()[1] == Joystick::kFire; }

  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    if (seed) game_ended_ = true;
    Info info = fires_ ? reset_and_fire(seed) : reset_life(seed);
    stack_.fill(reducer_.picture());
    write(observation);
    return info;
  }

  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result = life_step(action);
    stack_.push(reducer_.picture());
    write(observation);
    if (game_ended_) result.info.episode = statistics();
    return result;
  }

  // FireReset.
  Info reset_and_fire(std::optional<std::uint64_t> seed) {
    reset_life(seed);
    StepResult step = life_step(1);
    if (step.done()) reset_life(std::nullopt);
    step = life_step(2);
    return step.done() ? reset_life(std::nullopt) : step.info;
  }

  // EpisodicLife's reset: a new game, or a no-op where only a life was lost.
  Info reset_life(std::optional<std::uint64_t> seed) {
    Info info;
    if (game_ended_ || !options_.episodic_life) {
      info = begin_game(seed, options_.most_noops, /*reseed=*/false);
      reducer_.take_only(game().screen());
      game_ended_ = false;
    } else {
      info = skip_step(0).info;
    }
    lives_ = game().lives();
    return info;
  }

  // EpisodicLife's step.
  StepResult life_step(const Action& action) {
    StepResult result = skip_step(action);
    game_ended_ = result.done();
    const int lives = game().lives();
    if (options_.episodic_life && lives < lives_ && lives > 0) result.terminated = true;
    lives_ = lives;
    return result;
  }

  // MaxAndSkip, or a step of an environment that skips itself.
  StepResult skip_step(const Action& action) {
    if (!skips_) {
      StepResult result = raw_step(action, true);
      reducer_.take_only(game().screen());
      return result;
    }
    StepResult result;
    for (int frame = 1; frame <= kSkip; ++frame) {
      const StepResult raw = raw_step(action, frame >= kSkip - 1);
      const double reward = result.reward + raw.reward;
      result = raw;
      result.reward = reward;
      if (result.done()) {
        // The frame before was not announced, or belongs to the step before.
        frame == 1 ? reducer_.take_first_from_last() : reducer_.take_first(game().previous_screen());
        break;
      }
      if (frame == kSkip - 1) reducer_.take_first(game().screen());
    }
    reducer_.take_last(game().screen());
    return result;
  }

  void write(std::span<std::byte> observation) const {
    if (!observation.empty()) stack_.write_interleaved(observation.data());
  }

  void do_save(std::string* out) const override {
    save_count(out);
    put_fixed(out, static_cast<std::int32_t>(lives_));
    put_fixed(out, static_cast<std::uint8_t>(game_ended_));
    stack_.save(out);
    Wrapper::do_save(out);
  }
  bool do_restore(std::string_view state) override {
    ByteReader reader(state);
    std::int32_t lives;
    std::uint8_t ended;
    if (!restore_count(&reader) || !reader.fixed(&lives) || !reader.fixed(&ended) || ended > 1 ||
        !stack_.restore(&reader) || !Wrapper::do_restore(reader.rest()))
      return false;
    lives_ = lives;
    game_ended_ = ended != 0;
    reducer_.restart(game().screen());
    return true;
  }

  DeepMindOptions options_;
  bool skips_, fires_;
  ScreenReducer reducer_;
  PictureStack stack_;
  int lives_ = 0;
  bool game_ended_ = true;  // EpisodicLife's was_real_done
};

}  // namespace

std::unique_ptr<Environment> wrap_deepmind(std::unique_ptr<Environment> atari, const DeepMindOptions& options) {
  if (options.stack < 1 || options.stack > 64)
    throw invalid_argument("wrap_deepmind stacks 1 to 64 pictures, not ", options.stack);
  if (options.most_noops < 0) throw invalid_argument("wrap_deepmind cannot begin with ", options.most_noops, " no-ops");
  return std::make_unique<DeepMindWrapper>(std::move(atari), options);
}

}  // namespace caudal::inline v0::rl
