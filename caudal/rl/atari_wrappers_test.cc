#include "caudal/rl/atari_wrappers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "caudal/base/error.h"
#include "caudal/rl/area_resize.h"
#include "caudal/rl/atari_environment.h"
#include "caudal/rl/screen_reducer.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {
namespace {

using Picture = std::vector<std::uint8_t>;

// A game of three lives and few frames: the position moves a spot, the frame number ends lives. Its random numbers
// matter when positions stick.
class Spot final : public ArcadeGame {
 public:
  static constexpr int kLifeFrames = 23;
  const Palette& palette() const override {
    static const Palette kPalette = [] {
      Palette palette;
      for (std::size_t i = 0; i < 256; ++i) {
        palette.rgb[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(255 - i),
                          static_cast<std::uint8_t>(i * 37)};
        palette.gray[i] = static_cast<std::uint8_t>(i * 101);
      }
      return palette;
    }();
    return kPalette;
  }
  std::span<const Joystick> minimal_actions() const override {
    static constexpr Joystick kActions[] = {Joystick::kNoop, Joystick::kFire, Joystick::kRight, Joystick::kLeft};
    return kActions;
  }
  void set_repeat_action_probability(double) override {}
  void seed(std::uint32_t seed) override { random_ = NumpyRandom(seed); }
  void reset() override { frame_ = place_ = previous_place_ = 0; }
  int play(Joystick position, bool draw) override {
    if (game_over()) return 0;
    ++frame_;
    drawn_ahead_ += draw;
    previous_place_ = place_;
    place_ += position == Joystick::kRight ? 3 : position == Joystick::kLeft ? -2 : position == Joystick::kFire ? 7 : 0;
    place_ += static_cast<int>(random_.integers(0, 3));
    return frame_ % 5 == 0 ? 2 : 0;
  }
  bool game_over() const override { return frame_ >= 3 * kLifeFrames; }
  int lives() const override { return 3 - frame_ / kLifeFrames; }
  const std::uint8_t* screen() override { return painted(frame_, place_); }
  const std::uint8_t* previous_screen() override { return painted(frame_ - 1, previous_place_); }
  const std::uint8_t* painted(int frame, int place) {
    for (int i = 0; i < kScreenPixels; ++i)
      screen_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i / 160 / 9);
    for (int i = 0; i < 900; ++i)
      screen_[static_cast<std::size_t>((place * 97 + i * (frame + 1)) % kScreenPixels + kScreenPixels) %
              kScreenPixels] = static_cast<std::uint8_t>(frame * 11 + i / 90);
    return screen_.data();
  }
  std::span<const std::uint8_t> ram() const override { return {}; }
  void save(std::string* out) const override {
    random_.save(out);
    put_fixed(out, frame_);
    put_fixed(out, place_);
  }
  bool restore(std::string_view state) override {
    ByteReader reader(state);
    return random_.restore(&reader) && reader.fixed(&frame_) && reader.fixed(&place_);
  }
  int drawn_ahead_ = 0;

 private:
  NumpyRandom random_;
  int frame_ = 0, place_ = 0, previous_place_ = 0;
  std::array<std::uint8_t, kScreenPixels> screen_{};
};

std::unique_ptr<AtariEnvironment> make_spot(const std::string& id, int skip) {
  AtariEnvironment::Config config;
  config.least_skip = config.most_skip = skip;
  return std::make_unique<AtariEnvironment>(id, std::make_unique<Spot>(), config);
}

// The chain of RLlib's wrappers over whole RGB frames, written down as plainly as there.
class PlainDeepMind {
 public:
  PlainDeepMind(std::unique_ptr<AtariEnvironment> env, bool skip) : env_(std::move(env)), skip_(skip) {}

  Tensor reset(std::optional<std::uint64_t> seed) {
    if (seed) was_real_done_ = true;
    reset_life(seed);
    if (life_step(1).done()) reset_life({});
    if (life_step(2).done()) reset_life({});
    for (int i = 0; i < 4; ++i) stack_.push_back(warp());
    return stacked();
  }
  std::pair<StepResult, Tensor> step(int action) {
    const StepResult result = life_step(action);
    stack_.push_back(warp());
    return {result, stacked()};
  }

 private:
  Picture frame() {
    Tensor rgb = env_->render();
    return rgb.to_vector<std::uint8_t>();
  }
  StepResult life_step(int action) {
    StepResult result = max_and_skip(action);
    was_real_done_ = result.done();
    const int lives = env_->game().lives();
    if (lives < lives_ && lives > 0) result.terminated = true;
    lives_ = lives;
    return result;
  }
  void reset_life(std::optional<std::uint64_t> seed) {
    if (was_real_done_) {
      env_->reset(seed, {});
      ended_ = false;
      const auto noops = env_->random().integers(1, 31);
      for (int i = 0; i < noops; ++i) {
        if (env_->step(0, {}).done()) env_->reset({}, {});
      }
      buffer_ = {frame()};
      seen_ = buffer_.back();
    } else {
      max_and_skip(0);
    }
    lives_ = env_->game().lives();
  }
  StepResult max_and_skip(int action) {
    if (!skip_) {
      const StepResult result = ended_ ? StepResult{.terminated = true} : env_->step(action, {});
      ended_ = result.done();
      seen_ = frame();
      return result;
    }
    StepResult total;
    for (int i = 0; i < 4; ++i) {
      const StepResult result = ended_ ? StepResult{.terminated = true} : env_->step(action, {});
      ended_ = result.done();
      buffer_.push_back(frame());
      if (buffer_.size() > 2) buffer_.pop_front();
      total.reward += result.reward;
      total.terminated = result.terminated;
      total.truncated = result.truncated;
      if (result.done()) break;
    }
    seen_ = buffer_.front();
    for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] = std::max(seen_[i], buffer_.back()[i]);
    return total;
  }
  Picture warp() const {
    Picture gray(kScreenPixels), small(84 * 84);
    for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = gray_of(seen_[3 * i], seen_[3 * i + 1], seen_[3 * i + 2]);
    AreaResizer(210, 160, 84, 84).resize(gray.data(), {}, small.data());
    return small;
  }
  Tensor stacked() {
    while (stack_.size() > 4) stack_.pop_front();
    Tensor out(uint8, {84, 84, 4});
    for (int i = 0; i < 84 * 84; ++i) {
      for (int k = 0; k < 4; ++k)
        out.data<std::uint8_t>()[4 * i + k] = stack_[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)];
    }
    return out;
  }

  std::unique_ptr<AtariEnvironment> env_;
  bool skip_, was_real_done_ = true, ended_ = false;
  int lives_ = 0;
  std::deque<Picture> buffer_, stack_;
  Picture seen_;
};

void expect_plain_chain(const std::string& id, int inner_skip, bool limited) {
  std::unique_ptr<Environment> inner = make_spot(id, inner_skip);
  if (limited) inner = limit_steps(std::move(inner), 100000);
  const auto env = wrap_deepmind(std::move(inner));
  PlainDeepMind plain(make_spot(id, inner_skip), id.find("NoFrameskip") != std::string::npos);
  Tensor observation = env->observation_space().empty_value();
  NumpyRandom random(4);
  int lives_lost = 0, games = 0;
  std::optional<std::uint64_t> seed = 21;
  while (games < 12) {
    env->reset(seed, bytes_of(observation));
    ASSERT_EQ(observation.raw_bytes(), plain.reset(seed).raw_bytes()) << games;
    seed.reset();
    for (bool done = false; !done;) {
      const int action = static_cast<int>(random.integers(0, 4));
      const StepResult step = env->step(action, bytes_of(observation));
      const auto [expected, picture] = plain.step(action);
      ASSERT_EQ(step.reward, expected.reward);
      ASSERT_EQ(step.terminated, expected.terminated);
      ASSERT_EQ(observation.raw_bytes(), picture.raw_bytes());
      done = step.done();
      games += step.info.episode.has_value();
      lives_lost += done && !step.info.episode.has_value();
    }
  }
  EXPECT_GE(lives_lost, 10);
}

TEST(WrapDeepMind, EqualsTheChainOfWrappers) { expect_plain_chain("SpotNoFrameskip-v4", 1, false); }
TEST(WrapDeepMind, EqualsTheChainBehindAnotherWrapper) { expect_plain_chain("SpotNoFrameskip-v4", 1, true); }
TEST(WrapDeepMind, DoesNotSkipForOtherIds) { expect_plain_chain("Spot-v0", 3, false); }
TEST(WrapDeepMind, DoesNotSkipBehindAnotherWrapper) { expect_plain_chain("Spot-v0", 3, true); }

TEST(WrapDeepMind, CountsWholeGames) {
  const auto env = wrap_deepmind(make_spot("SpotNoFrameskip-v4", 1));
  env->reset(0, {});
  StepResult step;
  do {
    step = env->step(0, {});
    if (step.done() && !step.info.episode) env->reset({}, {});
  } while (!step.info.episode);
  EXPECT_EQ(step.info.episode->length, 3 * Spot::kLifeFrames);
  EXPECT_EQ(step.info.episode->episode_return, 3 * Spot::kLifeFrames / 5 * 2);
}

TEST(WrapDeepMind, HasTheShapesOfRllib) {
  for (const int dim : {84, 168, 252}) {
    const auto env = wrap_deepmind(make("CaudalPongNoFrameskip-v4"), {.dim = dim});
    EXPECT_EQ(env->observation_space().shape(), (Shape{dim, dim, 4}));
    EXPECT_EQ(env->observation_space().dtype(), uint8);
  }
  EXPECT_EQ(wrap_deepmind(make("CaudalPong-v0"), {.stack = 1})->observation_space().shape(), (Shape{84, 84, 1}));
}

TEST(WrapDeepMind, GoesOnFromASavedState) {
  const auto a = wrap_deepmind(make_spot("SpotNoFrameskip-v4", 1)),
             b = wrap_deepmind(make_spot("SpotNoFrameskip-v4", 1));
  Tensor first = a->observation_space().empty_value(), second = b->observation_space().empty_value();
  a->reset(3, {});
  a->step(2, {});
  b->restore_state(a->save_state());
  for (int i = 0; i < 40; ++i) {
    const StepResult x = a->step(i % 4, bytes_of(first)), y = b->step(i % 4, bytes_of(second));
    ASSERT_EQ(x.reward, y.reward);
    ASSERT_EQ(x.done(), y.done());
    ASSERT_EQ(first.raw_bytes(), second.raw_bytes()) << i;
    if (!x.done()) continue;
    a->reset({}, bytes_of(first));
    b->reset({}, bytes_of(second));
    ASSERT_EQ(first.raw_bytes(), second.raw_bytes()) << i;
  }
}

TEST(WrapDeepMind, RefusesWhatIsNoGame) {
  EXPECT_THROW(wrap_deepmind(make("CartPole-v1")), Error);
  EXPECT_THROW(wrap_deepmind(make("CaudalPong-v0"), {.dim = 0}), Error);
  EXPECT_THROW(wrap_deepmind(make("CaudalPong-v0"), {.stack = 0}), Error);
  EXPECT_THROW(wrap_deepmind(make("CaudalPong-v0"), {.most_noops = -1}), Error);
  EXPECT_THROW(wrap_deepmind(make("CaudalPongNoFrameskip-v4", {{"frameskip", "4"}})), Error);
}

// The maximum of two of the console's gray frames, resized, as Gymnasium has it.
Picture plain_preprocessed(const Picture& earlier, const Picture& later) {
  Picture gray(kScreenPixels), small(84 * 84);
  for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = std::max(earlier[i], later[i]);
  AreaResizer(210, 160, 84, 84).resize(gray.data(), {}, small.data());
  return small;
}

Picture gray_screen(AtariEnvironment& env) {
  const std::uint8_t* screen = env.game().screen();
  Picture gray(screen, screen + kScreenPixels);
  for (std::uint8_t& value : gray) value = env.game().palette().gray[value];
  return gray;
}

TEST(AtariPreprocessing, TakesTheMaximumOfTheLastTwoFrames) {
  const auto env = atari_preprocessing(make_spot("Spot-v5", 1), {.most_noops = 0});
  const auto plain = make_spot("Spot-v5", 1);
  Tensor observation = env->observation_space().empty_value();
  EXPECT_EQ(observation.shape(), (Shape{84, 84}));
  env->reset(8, bytes_of(observation));
  plain->reset(8, {});
  EXPECT_EQ(observation.to_vector<std::uint8_t>(), plain_preprocessed(gray_screen(*plain), gray_screen(*plain)));
  Picture expected = observation.to_vector<std::uint8_t>();
  StepResult step;
  for (int i = 0; !step.done(); ++i) {
    step = env->step(i % 4, bytes_of(observation));
    Picture earlier;
    StepResult raw;
    double reward = 0;
    for (int frame = 0; frame < 4 && !raw.done(); ++frame) {
      raw = plain->step(i % 4, {});
      reward += raw.reward;
      if (frame == 2) earlier = gray_screen(*plain);
    }
    EXPECT_EQ(step.reward, reward);
    EXPECT_EQ(step.terminated, raw.terminated);
    if (!raw.done()) expected = plain_preprocessed(earlier, gray_screen(*plain));
    ASSERT_EQ(observation.to_vector<std::uint8_t>(), expected) << i;
  }
  ASSERT_TRUE(step.info.episode.has_value());
  EXPECT_EQ(step.info.episode->length, 3 * Spot::kLifeFrames);
}

TEST(AtariPreprocessing, DrawsTwoFramesOfFour) {
  auto inner = make_spot("Spot-v5", 1);
  auto& game = dynamic_cast<Spot&>(inner->game());
  const auto env = atari_preprocessing(std::move(inner), {.most_noops = 0});
  env->reset(8, {});
  env->step(0, {});
  EXPECT_EQ(game.drawn_ahead_, 2);
}

TEST(AtariPreprocessing, HasItsOptions) {
  const auto shape = [](const AtariPreprocessingOptions& options) {
    return atari_preprocessing(make_spot("Spot-v5", 1), options)->observation_space().to_string();
  };
  EXPECT_EQ(shape({.grayscale_newaxis = true}), "Box(0, 255, (84, 84, 1), uint8)");
  EXPECT_EQ(shape({.grayscale_obs = false}), "Box(0, 255, (84, 84, 3), uint8)");
  EXPECT_EQ(shape({.scale_obs = true, .stack = 4}), "Box(0.0, 1.0, (4, 84, 84), float32)");
  const auto env = atari_preprocessing(make_spot("Spot-v5", 1), {.terminal_on_life_loss = true});
  env->reset(1, {});
  int steps = 1;
  while (!env->step(0, {}).terminated) ++steps;
  EXPECT_LE(steps, 6) << "a life has 23 frames";
  EXPECT_THROW(atari_preprocessing(make_spot("Spot-v5", 4)), Error);
  EXPECT_THROW(atari_preprocessing(make("CartPole-v1")), Error);
  EXPECT_THROW(shape({.frame_skip = 0}), Error);
  EXPECT_THROW(shape({.stack = -1}), Error);
}

TEST(AtariPreprocessing, ScalesAndStacksPlanes) {
  const auto bytes = atari_preprocessing(make_spot("Spot-v5", 1), {.stack = 3});
  const auto floats = atari_preprocessing(make_spot("Spot-v5", 1), {.scale_obs = true, .stack = 3});
  Tensor whole = bytes->observation_space().empty_value(), scaled = floats->observation_space().empty_value();
  bytes->reset(1, {});
  floats->reset(1, {});
  for (int i = 0; i < 3; ++i) {
    const Tensor before = Tensor::from(whole.shape(), whole.to_vector<std::uint8_t>());
    bytes->step(2, bytes_of(whole));
    floats->step(2, bytes_of(scaled));
    if (i > 0) {
      EXPECT_EQ(before.raw_bytes().substr(84 * 84), whole.raw_bytes().substr(0, 2 * 84 * 84)) << "planes move up";
    }
  }
  for (int i = 0; i < whole.num_elements(); ++i)
    ASSERT_EQ(scaled.data<float>()[i], static_cast<float>(whole.data<std::uint8_t>()[i]) / 255.0f);
}

}  // namespace
}  // namespace caudal::inline v0::rl
