// What the classic control tasks share: a few numbers as state, numpy's random numbers for the start, float32
// observations, a drawing.
//
// Arithmetic follows Gymnasium's step for step, in the same order and width, because some of these systems are chaotic:
// a difference in the last bit becomes visible within an episode. Thread safety: as an Environment.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "caudal/formats/coding.h"
#include "caudal/io/canvas.h"
#include "caudal/rl/environment.h"
#include "caudal/rl/numpy_random.h"

namespace caudal::inline v0::rl {

class ControlTask : public Environment {
 protected:
  static constexpr int kMostNumbers = 6;
  using State = std::array<double, 4>;
  using Observation = std::array<float, kMostNumbers>;

  struct Outcome {
    double reward = 0;
    bool terminated = false;
  };

  using Environment::Environment;
  const State& state() const { return state_; }
  void do_save(std::string* out) const override;
  bool do_restore(std::string_view state) override;

 private:
  virtual State begin(NumpyRandom& random) = 0;
  virtual Outcome advance(const Action& action, State& state) = 0;
  // Fills as many numbers as the observation space has.
  virtual void observe(const State& state, Observation& numbers) const = 0;
  virtual io::Canvas draw(const State& state) const = 0;

  Info do_reset(std::optional<std::uint64_t> seed, std::span<std::byte> observation) final;
  StepResult do_step(const Action& action, std::span<std::byte> observation) final;
  Tensor do_render() final { return draw(state_).pixels(); }
  void write(std::span<std::byte> observation) const;

  NumpyRandom random_;
  bool seeded_ = false;
  State state_{};
};

// x ** 2 as a numpy scalar computes it: the C library's pow, which differs from x * x in the last bit now and then.
double squared(double x);
float squared(float x);

}  // namespace caudal::inline v0::rl
