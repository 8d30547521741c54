#include "caudal/rl/wrappers.h"

#include <chrono>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {

Wrapper::Wrapper(std::unique_ptr<Environment> wrapped)
    : Environment(wrapped->id(), wrapped->observation_space(), wrapped->action_space()), inner_(std::move(wrapped)) {}

Info Wrapper::do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) {
  return inner().reset(seed, observation);
}

StepResult Wrapper::do_step(const Action& action, std::span<std::byte> observation) {
  return inner().step(action, observation);
}

void Wrapper::do_save(std::string* out) const { *out += inner().save_state(); }

bool Wrapper::do_restore(std::string_view state) {
  inner().restore_state(state);
  return true;
}

namespace {

class StepLimit final : public Wrapper {
 public:
  StepLimit(std::unique_ptr<Environment> inner, std::int64_t steps) : Wrapper(std::move(inner)), limit_(steps) {}

 private:
  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    steps_ = 0;
    return inner().reset(seed, observation);
  }
  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result = inner().step(action, observation);
    if (++steps_ >= limit_) result.truncated = true;
    return result;
  }
  void do_save(std::string* out) const override {
    put_fixed(out, steps_);
    Wrapper::do_save(out);
  }
  bool do_restore(std::string_view state) override {
    ByteReader reader(state);
    return reader.fixed(&steps_) && is_count(steps_) && Wrapper::do_restore(reader.rest());
  }

  std::int64_t limit_;
  std::int64_t steps_ = 0;
};

class EpisodeCounter final : public Wrapper {
 public:
  explicit EpisodeCounter(std::unique_ptr<Environment> inner) : Wrapper(std::move(inner)) {}

 private:
  using Clock = std::chrono::steady_clock;

  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) override {
    return_ = 0;
    steps_ = 0;
    start_ = Clock::now();
    return inner().reset(seed, observation);
  }
  StepResult do_step(const Action& action, std::span<std::byte> observation) override {
    StepResult result = inner().step(action, observation);
    return_ += result.reward;
    ++steps_;
    if (result.done()) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      result.info.episode = EpisodeStatistics{return_, steps_, seconds};
    }
    return result;
  }
  void do_save(std::string* out) const override {
    put_fixed(out, return_);
    put_fixed(out, steps_);
    Wrapper::do_save(out);
  }
  bool do_restore(std::string_view state) override {
    ByteReader reader(state);
    return reader.fixed(&return_) && reader.fixed(&steps_) && is_count(steps_) && Wrapper::do_restore(reader.rest());
  }

  double return_ = 0;
  std::int64_t steps_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::unique_ptr<Environment> limit_steps(std::unique_ptr<Environment> inner, std::int64_t steps) {
  if (steps < 1) throw invalid_argument(inner->id(), ": an episode cannot be limited to ", steps, " steps");
  return std::make_unique<StepLimit>(std::move(inner), steps);
}

std::unique_ptr<Environment> count_episodes(std::unique_ptr<Environment> inner) {
  return std::make_unique<EpisodeCounter>(std::move(inner));
}

}  // namespace caudal::inline v0::rl
