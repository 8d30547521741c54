// Long runs must not grow. CAUDAL_LONG_STEPS=10000000 makes the run as long as a training.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/numpy_random.h"
#include "caudal/rl/vector_environment.h"
#include "caudal/rl/wrappers.h"

namespace caudal::inline v0::rl {
namespace {

double resident_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

std::int64_t steps_wanted() {
  const char* text = std::getenv("CAUDAL_LONG_STEPS");
  return text == nullptr ? 40000 : std::atoll(text);
}

void run(VectorEnvironment& envs, Tensor& batch, std::int64_t steps) {
  NumpyRandom random(1);
  std::vector<std::int64_t> actions(static_cast<std::size_t>(envs.size()));
  for (std::int64_t i = 0; i < steps; i += envs.size()) {
    for (auto& action : actions) action = random.integers(0, envs.single_action_space().count());
    envs.step(actions, bytes_of(batch));
  }
}

void expect_flat(std::string_view id, const WrapFunction& wrap) {
  if (std::getenv("CAUDAL_SANITIZED") != nullptr) GTEST_SKIP() << "sanitizers keep freed memory";
  VectorEnvironment envs(make_many(id, 8, {}, wrap), {.threads = 2, .auto_reset = AutoReset::kSameStep});
  Tensor batch = envs.single_observation_space().empty_batch(envs.size());
  envs.reset(1, bytes_of(batch));
  run(envs, batch, steps_wanted() / 4);
  const double before = resident_mebibytes();
  run(envs, batch, steps_wanted());
  EXPECT_LT(resident_mebibytes() - before, 1) << id;
}

TEST(LongRuns, ControlTasksStayFlat) {
  expect_flat("CartPole-v1", [](auto env) { return count_episodes(std::move(env)); });
}

TEST(LongRuns, GamesStayFlat) {
  expect_flat("CaudalPongNoFrameskip-v4", [](auto env) { return wrap_deepmind(std::move(env)); });
}

}  // namespace
}  // namespace caudal::inline v0::rl
