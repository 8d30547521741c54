#include "caudal/rl/environment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"
#include "caudal/rl/registry.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {
namespace {

// A counter that an action moves up by 0 to 2 and that ends at its option `goal`.
class Counter final : public Environment {
 public:
  Counter(std::string id, std::int64_t goal)
      : Environment(std::move(id), Space::box(int32, {1}, 0, 100), Space::discrete(3)), goal_(goal) {}

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    at_ = static_cast<std::int32_t>(seed.value_or(0));
    return observe(observation);
  }
  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    at_ += static_cast<std::int32_t>(action.choice());
    return {.reward = static_cast<double>(action.choice()), .terminated = at_ >= goal_, .info = observe(observation)};
  }
  Tensor do_render() override { return Tensor::zeros(uint8, {2, 2, 3}); }
  void do_save(std::string* out) const override { put_fixed(out, at_); }
  bool do_restore(std::string_view state) override { return ByteReader(state).fixed(&at_); }
  Info observe(std::span<std::byte> observation) const {
    if (!observation.empty()) std::memcpy(observation.data(), &at_, sizeof at_);
    return {.lives = 1};
  }

  std::int64_t goal_;
  std::int32_t at_ = 0;
};

std::unique_ptr<Environment> make_counter(const EnvironmentSpec& spec, Options& options) {
  return std::make_unique<Counter>(std::string(spec.id), options.take_int("goal", 3, 1, 100));
}
CAUDAL_ENVIRONMENT({.id = "TestCounter-v0", .summary = "counts", .make = make_counter, .max_episode_steps = 5});
CAUDAL_ENVIRONMENT({.id = "TestCounter-v1", .summary = "counts to 50", .defaults = "goal=50", .make = make_counter});

template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Code::kOk, "");
}

TEST(Environment, RunsEpisodes) {
  const auto env = make("TestCounter-v0");
  Tensor observation = env->observation_space().empty_value();
  EXPECT_EQ(env->reset(1, bytes_of(observation)).lives, 1);
  EXPECT_EQ(observation.item<int>(), 1);
  EXPECT_FALSE(env->step(1, bytes_of(observation)).done());
  EXPECT_EQ(observation.item<int>(), 2);
  const StepResult last = env->step(2, {});
  EXPECT_TRUE(last.terminated);
  EXPECT_FALSE(last.truncated);
  EXPECT_EQ(observation.item<int>(), 2) << "nobody asked for the last observation";
}

TEST(Environment, RefusesStepsOutOfTurn) {
  const auto env = make("TestCounter-v1");
  EXPECT_EQ(error_of([&] { env->step(1, {}); }).code(), Code::kFailedPrecondition);
  EXPECT_EQ(error_of([&] { env->render(); }).code(), Code::kFailedPrecondition);
  env->reset(49, {});
  EXPECT_TRUE(env->step(1, {}).terminated);
  EXPECT_EQ(error_of([&] { env->step(1, {}); }).code(), Code::kFailedPrecondition);
  env->reset(0, {});
  EXPECT_FALSE(env->step(1, {}).terminated);
}

TEST(Environment, RefusesActionsAndMemoryThatDoNotFit) {
  const auto env = make("TestCounter-v0");
  env->reset(0, {});
  EXPECT_STREQ(error_of([&] { env->step(3, {}); }).what(),
               "OUT_OF_RANGE: TestCounter-v0: action 3 is outside Discrete(3). Actions are 0 to 2.");
  EXPECT_EQ(error_of([&] { env->step(-1, {}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(error_of([&] { env->step(std::vector<float>{1}, {}); }).code(), Code::kInvalidArgument);
  std::byte small[2];
  EXPECT_STREQ(
      error_of([&] { env->step(1, small); }).what(),
      "INVALID_ARGUMENT: TestCounter-v0: observations of Box(0, 100, (1,), int32) take 4 bytes, the memory given "
      "has 2");
}

TEST(Environment, LimitsStepsAndCountsEpisodes) {
  auto env = count_episodes(make("TestCounter-v0", {{"goal", "100"}}));
  for (int episode = 0; episode < 2; ++episode) {
    env->reset(0, {});
    for (int i = 1; i < 5; ++i) {
      const StepResult step = env->step(2, {});
      EXPECT_FALSE(step.done());
      EXPECT_FALSE(step.info.episode.has_value());
    }
    const StepResult last = env->step(1, {});
    EXPECT_TRUE(last.truncated);
    EXPECT_FALSE(last.terminated);
    ASSERT_TRUE(last.info.episode.has_value());
    EXPECT_EQ(last.info.episode->episode_return, 9);
    EXPECT_EQ(last.info.episode->length, 5);
  }
}

TEST(Environment, SavesItsStateThroughWrappers) {
  auto env = count_episodes(make("TestCounter-v0", {{"goal", "9"}}));
  env->reset(1, {});
  env->step(2, {});
  const std::string state = env->save_state();
  auto other = count_episodes(make("TestCounter-v0", {{"goal", "9"}}));
  other->restore_state(state);
  Tensor observation = other->observation_space().empty_value();
  other->step(2, bytes_of(observation));
  EXPECT_EQ(observation.item<int>(), 5);
  const StepResult last = [&] {
    other->step(2, {});
    return other->step(2, {});
  }();
  ASSERT_TRUE(last.info.episode.has_value());
  EXPECT_EQ(last.info.episode->length, 4);
}

TEST(Environment, RefusesForeignStates) {
  const auto env = make("TestCounter-v0");
  env->reset(1, {});
  const std::string state = env->save_state();
  for (std::size_t size = 0; size < state.size(); ++size)
    EXPECT_EQ(error_of([&] { env->restore_state(std::string_view(state).substr(0, size)); }).code(), Code::kDataLoss);
  EXPECT_EQ(error_of([&] { env->step(1, {}); }).code(), Code::kFailedPrecondition) << "a reset is needed now";
  const auto other = make("TestCounter-v1");
  EXPECT_EQ(error_of([&] { other->restore_state(state); }).code(), Code::kInvalidArgument);
}

TEST(Registry, NamesTheNearestIds) {
  const Error error = error_of([] { make("TestCouter-v0"); });
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.advice(), "Did you mean 'TestCounter-v0' or 'TestCounter-v1'?");
}

TEST(Registry, ChecksOptions) {
  EXPECT_STREQ(error_of([] {
                 make("TestCounter-v0", {{"gaol", "3"}});
               }).what(),
               "INVALID_ARGUMENT: TestCounter-v0 has no option 'gaol'. Did you mean 'goal'?");
  EXPECT_EQ(error_of([] { make("TestCounter-v0", {{"goal", "0"}}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { make("TestCounter-v0", {{"goal", "many"}}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { Options::parse("goal"); }).code(), Code::kInvalidArgument);
  const auto endless = make("TestCounter-v0", Options::parse("max_episode_steps=0, goal=100"));
  endless->reset(0, {});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(endless->step(1, {}).done());
}

TEST(Space, PrintsAsGymnasium) {
  EXPECT_EQ(Space::box(uint8, {210, 160, 3}, 0, 255).to_string(), "Box(0, 255, (210, 160, 3), uint8)");
  EXPECT_EQ(Space::box(float32, {1}, -1, 1).to_string(), "Box(-1.0, 1.0, (1,), float32)");
  EXPECT_EQ(Space::discrete(6).to_string(), "Discrete(6)");
}

TEST(Space, KnowsWhatItContains) {
  const Space space = Space::box(float32, {2}, std::vector<double>{-1, 0}, std::vector<double>{1, INFINITY});
  Tensor inside = Tensor::from<float>({2}, {1, 1e30f}), outside = Tensor::from<float>({2}, {0, -0.5f});
  EXPECT_TRUE(space.contains(bytes_of(inside)));
  EXPECT_FALSE(space.contains(bytes_of(outside)));
  EXPECT_THROW(space.contains(bytes_of(inside).subspan(1)), Error);
  EXPECT_THROW(Space::box(float32, {2}, 1, 0), Error);
  EXPECT_THROW(Space::discrete(0), Error);
  EXPECT_THROW(Space::discrete(2, {"NOOP"}), Error);
}

}  // namespace
}  // namespace caudal::inline v0::rl
