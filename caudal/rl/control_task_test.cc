#include "caudal/rl/control_task.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/formats/npy.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

const char* const kIds[] = {"CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
                            "Pendulum-v1", "Acrobot-v1"};
constexpr int kSteps = 10000, kFirst = 300, kEvery = 20;
constexpr float kTolerance = 1e-6f;

const NamedTensors& traces() {
  static const NamedTensors all = read_npz(default_env(), CAUDAL_SOURCE_DIR "/testdata/rl/control_traces.npz");
  return all;
}

// The actions of tests/python/record_control_traces.py.
class Policy {
 public:
  explicit Policy(const Environment& env)
      : space_(env.action_space()), pumps_(env.id()[0] == 'M' || env.id()[0] == 'A') {}
  StepResult act(Environment& env, int episode, Tensor& observation) {
    const bool along = pumps_ && episode % 2 == 1;
    const bool forward = along && observation.flat<float>().back() > 0;
    if (space_.is_discrete()) {
      const std::int64_t choice = random_.integers(0, space_.count());
      return env.step(along ? (forward ? 2 : 0) : choice, bytes_of(observation));
    }
    float force = static_cast<float>(random_.uniform(-1.2, 1.2) * space_.high(0));
    if (along) force = forward ? 1.0f : -1.0f;
    return env.step(std::span<const float>(&force, 1), bytes_of(observation));
  }

 private:
  Space space_;
  bool pumps_;
  NumpyRandom random_{99};
};

class ControlTaskTest : public testing::TestWithParam<const char*> {
 protected:
  const Tensor& recorded(const char* name) { return traces().at(std::string(GetParam()) + "/" + name); }
  // The next recorded observation must equal this one.
  void expect_next(const Tensor& observation, int step) {
    const Tensor& all = recorded("observations");
    ASSERT_LT(next_, all.dim(0));
    for (std::int64_t i = 0; i < all.dim(1); ++i) {
      const float expected = all.data<float>()[next_ * all.dim(1) + i], actual = observation.data<float>()[i];
      ASSERT_NEAR(actual, expected, kTolerance * std::max(1.0f, std::abs(expected)))
          << "number " << i << ", step " << step;
    }
    ++next_;
  }
  std::int64_t next_ = 0;
};

TEST_P(ControlTaskTest, FollowsGymnasium) {
  const auto env = make(GetParam());
  Policy policy(*env);
  Tensor observation = env->observation_space().empty_value();
  env->reset(1000, bytes_of(observation));
  expect_next(observation, -1);
  int episode = 0;
  double total = 0;
  const Tensor &ends = recorded("ends"), &rewards = recorded("rewards");
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    const StepResult result = policy.act(*env, episode, observation);
    total += result.reward;
    if (step < kFirst || step % kEvery == 0) expect_next(observation, step);
    if (step % kEvery == 0) {
      ASSERT_NEAR(result.reward, rewards.data<float>()[step / kEvery], 1e-5) << step;
    }
    if (!result.done()) continue;
    ASSERT_LT(episode, ends.dim(0));
    ASSERT_EQ(ends.data<std::int64_t>()[2 * episode], step);
    ASSERT_EQ(ends.data<std::int64_t>()[2 * episode + 1], 2 * result.truncated + result.terminated);
    ++episode;
    env->reset(episode % 3 == 0 ? std::optional<std::uint64_t>(1000 + episode) : std::nullopt, bytes_of(observation));
    expect_next(observation, step);
  }
  EXPECT_EQ(episode, ends.dim(0));
  EXPECT_EQ(next_, recorded("observations").dim(0));
  EXPECT_NEAR(total, recorded("total").to_double(), 1e-6 * std::abs(recorded("total").to_double()));
}

TEST_P(ControlTaskTest, GoesOnFromASavedState) {
  const auto env = make(GetParam()), other = make(GetParam());
  Tensor a = env->observation_space().empty_value(), b = other->observation_space().empty_value();
  Policy policy(*env);
  env->reset(5, bytes_of(a));
  for (int i = 0; i < 4; ++i) policy.act(*env, 0, a);
  other->restore_state(env->save_state());
  Policy same = policy;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(policy.act(*env, 0, a).reward, same.act(*other, 0, b).reward);
    EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
  }
  env->reset({}, bytes_of(a));
  other->reset({}, bytes_of(b));
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()) << "the random numbers go on too";
}

TEST_P(ControlTaskTest, DrawsAMovingPicture) {
  const auto env = make(GetParam());
  Tensor observation = env->observation_space().empty_value();
  Policy policy(*env);
  env->reset(5, bytes_of(observation));
  const Tensor before = env->render();
  ASSERT_EQ(before.dim(2), 3);
  for (int i = 0; i < 5; ++i) policy.act(*env, 1, observation);
  const Tensor after = env->render();
  EXPECT_EQ(before.shape(), after.shape());
  EXPECT_NE(before.raw_bytes(), after.raw_bytes());
  EXPECT_NE(std::count(after.raw_bytes().begin(), after.raw_bytes().end(), '\xff'), after.num_elements());
}

TEST_P(ControlTaskTest, RefusesDamagedStates) {
  const auto env = make(GetParam());
  env->reset(5, {});
  const std::string state = env->save_state();
  for (std::size_t size = 0; size < state.size(); ++size)
    EXPECT_THROW(env->restore_state(std::string_view(state).substr(0, size)), Error) << size;
  EXPECT_THROW(env->restore_state(state + "x"), Error);
  env->restore_state(state);
}

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, ControlTaskTest, testing::ValuesIn(kIds), test_name);

TEST(Pendulum, ClipsItsTorque) {
  const auto a = make("Pendulum-v1"), b = make("Pendulum-v1");
  a->reset(1, {});
  b->reset(1, {});
  EXPECT_EQ(a->step(std::vector<float>{50}, {}).reward, b->step(std::vector<float>{2}, {}).reward);
  EXPECT_THROW(a->step(std::vector<float>{NAN}, {}), Error);
  EXPECT_THROW(a->step(1, {}), Error);
}

}  // namespace
}  // namespace caudal::inline v0::rl
