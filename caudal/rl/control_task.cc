#include "caudal/rl/control_task.h"

#include <cstring>

#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {

Info ControlTask::do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) {
  if (!seed && !seeded_) seed = entropy_seed();
  if (seed) random_ = NumpyRandom(*seed);
  seeded_ = true;
  state_ = begin(random_);
  write(observation);
  return {};
}

StepResult ControlTask::do_step(const Action& action, std::span<std::byte> observation) {
  const Outcome outcome = advance(action, state_);
  write(observation);
  return {.reward = outcome.reward, .terminated = outcome.terminated};
}

void ControlTask::write(std::span<std::byte> observation) const {
  if (observation.empty()) return;
  Observation numbers{};
  observe(state_, numbers);
  std::memcpy(observation.data(), numbers.data(), observation.size());
}

void ControlTask::do_save(std::string* out) const {
  random_.save(out);
  for (const double number : state_) put_fixed(out, number);
}

bool ControlTask::do_restore(std::string_view state) {
  ByteReader reader(state);
  if (!random_.restore(&reader)) return false;
  for (double& number : state_) {
    if (!reader.fixed(&number) || !std::isfinite(number)) return false;
  }
  seeded_ = true;
  return reader.empty();
}

// The exponent is read at run time: a compiler would turn a constant 2 into a product.
double squared(double x) {
  static const volatile double kTwo = 2;
  return std::pow(x, kTwo);
}

float squared(float x) {
  static const volatile float kTwo = 2;
  return std::pow(x, kTwo);
}

}  // namespace caudal::inline v0::rl
