#include "caudal/rl/vector_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "caudal/base/error.h"
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/control_task.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kCount = 5;

// What environment i sees when it is alone: rows of observations and rewards, with automatic resets as asked.
struct Alone {
  std::vector<std::vector<float>> observations;
  std::vector<double> rewards;
  std::vector<int> ends;
};

std::vector<float> numbers_of(const Tensor& batch, int i) {
  const std::int64_t width = batch.num_elements() / kCount;
  return {batch.data<float>() + i * width, batch.data<float>() + (i + 1) * width};
}

std::int64_t action_of(int step, int i) { return (step / 3 + i) % 2; }

std::vector<std::int64_t> actions_of(int step) {
  std::vector<std::int64_t> actions;
  for (int i = 0; i < kCount; ++i) actions.push_back(action_of(step, i));
  return actions;
}

Alone run_alone(int i, int steps, AutoReset mode) {
  const auto env = make("CartPole-v1");
  Tensor now = env->observation_space().empty_value();
  Alone alone;
  const auto keep = [&](double reward) {
    alone.observations.push_back(now.to_vector<float>());
    alone.rewards.push_back(reward);
  };
  env->reset(100 + i, bytes_of(now));
  bool ended = false;
  for (int step = 0; step < steps; ++step) {
    if (ended) {
      env->reset({}, bytes_of(now));
      keep(0);
      ended = false;
      continue;
    }
    const StepResult result = env->step(action_of(step, i), bytes_of(now));
    if (result.done()) alone.ends.push_back(step);
    if (result.done() && mode == AutoReset::kSameStep) env->reset({}, bytes_of(now));
    ended = result.done() && mode == AutoReset::kNextStep;
    keep(result.reward);
  }
  return alone;
}

class VectorTest : public testing::TestWithParam<std::tuple<int, AutoReset>> {};

TEST_P(VectorTest, EqualsSingleEnvironments) {
  const auto [threads, mode] = GetParam();
  constexpr int kSteps = 120;
  VectorEnvironment envs(make_many("CartPole-v1", kCount), {.threads = threads, .auto_reset = mode});
  Tensor batch = envs.single_observation_space().empty_batch(kCount);
  std::vector<Alone> alone;
  for (int i = 0; i < kCount; ++i) alone.push_back(run_alone(i, kSteps, mode));
  envs.reset(100, bytes_of(batch));
  std::vector<std::vector<int>> ends(kCount);
  for (int step = 0; step < kSteps; ++step) {
    const VectorStep& result = envs.step(actions_of(step), bytes_of(batch));
    for (int i = 0; i < kCount; ++i) {
      const auto k = static_cast<std::size_t>(i);
      ASSERT_EQ(numbers_of(batch, i), alone[k].observations[static_cast<std::size_t>(step)]) << step << " " << i;
      ASSERT_EQ(result.rewards[k], alone[k].rewards[static_cast<std::size_t>(step)]);
      if (result.terminated[k] == 0) continue;
      ends[k].push_back(step);
      EXPECT_EQ(envs.final_observation(i) != nullptr, mode == AutoReset::kSameStep);
      EXPECT_EQ(result.begun[k], mode == AutoReset::kSameStep);
    }
  }
  for (int i = 0; i < kCount; ++i)
    EXPECT_EQ(ends[static_cast<std::size_t>(i)], alone[static_cast<std::size_t>(i)].ends);
  EXPECT_FALSE(ends[0].empty());
}

INSTANTIATE_TEST_SUITE_P(All, VectorTest,
                         testing::Combine(testing::Values(1, 3),
                                          testing::Values(AutoReset::kNextStep, AutoReset::kSameStep)));

TEST(VectorEnvironment, KeepsTheFinalObservation) {
  VectorEnvironment envs(make_many("CartPole-v1", kCount, {{"max_episode_steps", "7"}}),
                         {.auto_reset = AutoReset::kSameStep});
  const auto plain = make("CartPole-v1");
  Tensor batch = envs.single_observation_space().empty_batch(kCount), one = plain->observation_space().empty_value();
  envs.reset(100, bytes_of(batch));
  plain->reset(102, bytes_of(one));
  for (int step = 0; step < 7; ++step) {
    EXPECT_EQ(envs.final_observation(2), nullptr);
    envs.step(actions_of(step), bytes_of(batch));
    plain->step(action_of(step, 2), bytes_of(one));
  }
  ASSERT_NE(envs.final_observation(2), nullptr);
  EXPECT_EQ(envs.final_observation(2)->to_vector<float>(), one.to_vector<float>());
  EXPECT_NE(numbers_of(batch, 2), one.to_vector<float>()) << "the batch has the next episode's first observation";
}

TEST(VectorEnvironment, ResetsSomeOnRequest) {
  VectorEnvironment envs(make_many("CartPole-v1", 2, {{"max_episode_steps", "2"}}),
                         {.auto_reset = AutoReset::kDisabled});
  Tensor batch = envs.single_observation_space().empty_batch(2);
  envs.reset(std::vector<std::uint64_t>{5, 5}, bytes_of(batch));
  const std::vector<std::int64_t> actions = {0, 0};
  envs.step(actions, bytes_of(batch));
  const auto truncated = envs.step(actions, bytes_of(batch)).truncated;
  EXPECT_EQ(truncated, (std::vector<std::uint8_t>{1, 1}));
  EXPECT_THROW(envs.step(actions, bytes_of(batch)), Error);
  EXPECT_THROW(envs.reset_some(std::vector<std::uint8_t>{0}, {}, bytes_of(batch)), Error);
  envs.reset_some(std::vector<std::uint8_t>{0, 1}, {}, bytes_of(batch));
  try {
    envs.step(actions, bytes_of(batch));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(error.message().find("environment 0: CartPole-v1"), std::string::npos) << error.what();
  }
}

TEST(VectorEnvironment, RefusesWhatDoesNotFit) {
  VectorEnvironment envs(make_many("CartPole-v1", 2));
  Tensor batch = envs.single_observation_space().empty_batch(2);
  EXPECT_THROW(envs.reset(1, bytes_of(batch).subspan(4)), Error);
  EXPECT_THROW(envs.reset(std::vector<std::uint64_t>{1}, bytes_of(batch)), Error);
  envs.reset(1, bytes_of(batch));
  EXPECT_THROW(envs.step(std::vector<std::int64_t>{1}, bytes_of(batch)), Error);
  EXPECT_THROW(envs.step(std::vector<float>{1, 1}, bytes_of(batch)), Error);
  EXPECT_THROW(envs.step(std::vector<std::int64_t>{1, 2}, bytes_of(batch)), Error);
  EXPECT_THROW(make_many("CartPole-v1", 0), Error);
  EXPECT_THROW(VectorEnvironment(Environments{}), Error);
  Environments mixed;
  mixed.push_back(make("CartPole-v1"));
  mixed.push_back(make("Acrobot-v1"));
  EXPECT_THROW(VectorEnvironment(std::move(mixed)), Error);
}

TEST(VectorEnvironment, TakesValuesForBoxes) {
  VectorEnvironment envs(make_many("Pendulum-v1", 2));
  const auto plain = make("Pendulum-v1");
  envs.reset(4, {});
  plain->reset(5, {});
  EXPECT_EQ(envs.step(std::vector<float>{0.5f, -1.5f}, {}).rewards[1],
            plain->step(std::vector<float>{-1.5f}, {}).reward);
}

TEST(VectorEnvironment, WritesGamesIntoTheBatch) {
  const WrapFunction wrap = [](std::unique_ptr<Environment> env) { return wrap_deepmind(std::move(env)); };
  VectorEnvironment envs(make_many("CaudalPongNoFrameskip-v4", 3, {}, wrap), {.threads = 2});
  const auto plain = wrap(make("CaudalPongNoFrameskip-v4"));
  Tensor batch = envs.single_observation_space().empty_batch(3), one = plain->observation_space().empty_value();
  EXPECT_EQ(batch.shape(), (Shape{3, 84, 84, 4}));
  envs.reset(1, bytes_of(batch));
  plain->reset(2, bytes_of(one));
  for (int step = 0; step < 30; ++step) {
    envs.step(std::vector<std::int64_t>{2, step % 6, 3}, bytes_of(batch));
    plain->step(step % 6, bytes_of(one));
  }
  EXPECT_EQ(batch.raw_bytes().substr(one.byte_size(), one.byte_size()), one.raw_bytes());
}

TEST(AsyncVectorEnvironment, GivesTheSameEpisodesInAnyOrder) {
  Environments envs = make_many("CartPole-v1", kCount);
  Tensor batch = envs[0]->observation_space().empty_batch(kCount);
  AsyncVectorEnvironment async(std::move(envs), bytes_of(batch), {.threads = 3});
  constexpr int kSteps = 60;
  std::vector<Alone> alone;
  for (int i = 0; i < kCount; ++i) alone.push_back(run_alone(i, kSteps, AutoReset::kNextStep));
  async.reset(100);
  std::vector<int> done(kCount, -1);  // steps that each has made; the reset comes first
  int finished = 0;
  while (finished < kCount) {
    std::vector<int> again;
    std::vector<std::int64_t> actions;
    for (const int id : async.receive(1)) {
      int& step = done[static_cast<std::size_t>(id)];
      if (step >= 0) {
        ASSERT_EQ(numbers_of(batch, id),
                  alone[static_cast<std::size_t>(id)].observations[static_cast<std::size_t>(step)]);
      }
      if (++step == kSteps) {
        ++finished;
        continue;
      }
      again.push_back(id);
      actions.push_back(action_of(step, id));
    }
    async.send(again, actions);
  }
}

TEST(AsyncVectorEnvironment, RefusesWhatIsOutOfTurn) {
  Environments envs = make_many("CartPole-v1", 2);
  Tensor batch = envs[0]->observation_space().empty_batch(2);
  AsyncVectorEnvironment async(std::move(envs), bytes_of(batch));
  EXPECT_THROW(async.receive(1), Error);
  async.reset(1);
  EXPECT_THROW(async.reset(1), Error);
  std::vector<int> ids = async.receive(2);
  std::ranges::sort(ids);
  EXPECT_EQ(ids, (std::vector<int>{0, 1}));
  const std::vector<int> twice = {0, 0}, outside = {2};
  EXPECT_THROW(async.send(twice, std::vector<std::int64_t>{0, 0}), Error);
  EXPECT_THROW(async.send(outside, std::vector<std::int64_t>{0}), Error);
  async.send(std::vector<int>{1}, std::vector<std::int64_t>{9});
  try {
    async.receive(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfRange);
  }
  async.send(std::vector<int>{1}, std::vector<std::int64_t>{1});
  EXPECT_EQ(async.receive(1), std::vector<int>{1});
}

TEST(AsyncVectorEnvironment, EndsWhileEnvironmentsAreUnderWay) {
  Environments envs = make_many("CaudalPongNoFrameskip-v4", 8);
  Tensor batch = envs[0]->observation_space().empty_batch(8);
  AsyncVectorEnvironment async(std::move(envs), bytes_of(batch), {.threads = 2});
  async.reset(1);
  EXPECT_EQ(async.receive(1).size(), 1u);
}

}  // namespace
}  // namespace caudal::inline v0::rl
