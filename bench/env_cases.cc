// env/: steps of environments. Games with full preprocessing: four frames a step, the maximum of two, gray, 84 x 84, a
// stack of four, no-ops at the start. One step of a vector of 16 counts as 16.
#include "bench.h"
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/vector_environment.h"

namespace bench {
namespace {

using namespace caudal;  // NOLINT: a program of a user

constexpr int kEnvironments = 16;

std::unique_ptr<rl::Environment> preprocessed(std::unique_ptr<rl::Environment> game) {
  return rl::atari_preprocessing(std::move(game), {.stack = 4});
}

// Choices that change from step to step, the same in every run.
class Choices {
 public:
  explicit Choices(const rl::Space& actions) : count_(actions.count()), choices_(kEnvironments) {}
  const std::vector<std::int64_t>& next() {
    for (std::int64_t& choice : choices_) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      choice = static_cast<std::int64_t>(state_ >> 33) % count_;
    }
    return choices_;
  }

 private:
  std::int64_t count_;
  std::uint64_t state_ = 1;
  std::vector<std::int64_t> choices_;
};

Values steps_of(const std::string& id, const rl::WrapFunction& wrap, int threads, const Settings& settings) {
  rl::VectorEnvironment all(rl::make_many(id, kEnvironments, {}, wrap), {.threads = threads});
  Tensor batch = all.single_observation_space().empty_batch(kEnvironments);
  Choices choices(all.single_action_space());
  all.reset(1, rl::bytes_of(batch));
  return rates([&] { all.step(choices.next(), rl::bytes_of(batch)); }, kEnvironments, settings);
}

Case game(const std::string& name, const std::string& id, int threads) {
  return {"env/" + name, [=](const Settings& settings) { return steps_of(id, preprocessed, threads, settings); }};
}

}  // namespace

std::vector<Case> env_cases() {
  return {
      game("pong", "PongNoFrameskip-v4", 0),
      game("pong_one_core", "PongNoFrameskip-v4", 1),
      game("breakout", "BreakoutNoFrameskip-v4", 0),
      game("caudal_pong", "CaudalPongNoFrameskip-v4", 0),
      {"env/cartpole", [](const Settings& settings) { return steps_of("CartPole-v1", {}, 0, settings); }},
  };
}

}  // namespace bench
