// Pendulum: swing it up and keep it there with a limited torque. Equations as in Gymnasium.
#include <algorithm>
#include <numbers>

#include "caudal/rl/control_task.h"
#include "caudal/rl/drawing.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kTopSpeed = 8, kMostTorque = 2, kSeconds = 0.05, kMass = 1, kLength = 1;

// Into [-pi, pi), with Python's remainder.
double normalized(double angle) {
  double rest = std::fmod(angle + kPi, 2 * kPi);
  if (rest < 0) rest += 2 * kPi;
  return rest - kPi;
}

class Pendulum final : public ControlTask {
 public:
  Pendulum(std::string id, double gravity)
      : ControlTask(
            std::move(id),
            Space::box(float32, {3}, std::vector<double>{-1, -1, -kTopSpeed}, std::vector<double>{1, 1, kTopSpeed}),
            Space::box(float32, {1}, -kMostTorque, kMostTorque)),
        gravity_(gravity) {}

 private:
  State begin(NumpyRandom& random) override {
    torque_ = 0;
    const double angle = random.uniform(-kPi, kPi);
    return {angle, random.uniform(-1, 1)};
  }

  Outcome advance(const Action& action, State& state) override {
    auto& [angle, speed, unused, unused_too] = state;
    torque_ = std::clamp(action.values()[0], static_cast<float>(-kMostTorque), static_cast<float>(kMostTorque));
    const double cost = squared(normalized(angle)) + 0.1 * squared(speed) + 0.001f * squared(torque_);
    const double pull = 3 * gravity_ / (2 * kLength) * std::sin(angle);
    const double push = static_cast<float>(3.0 / (kMass * kLength * kLength)) * torque_;
    speed = std::clamp(speed + (pull + push) * kSeconds, -kTopSpeed, kTopSpeed);
    angle += speed * kSeconds;
    return {-cost, false};
  }

  void observe(const State& state, Observation& numbers) const override {
    numbers = {static_cast<float>(std::cos(state[0])), static_cast<float>(std::sin(state[0])),
               static_cast<float>(state[1])};
  }

  io::Canvas draw(const State& state) const override {
    io::Canvas canvas(500, 500);
    constexpr io::Color kRod = {204, 77, 77};
    const double scale = canvas.width() / 4.4, half = 0.1 * scale;
    const Point centre{canvas.width() / 2.0, canvas.height() / 2.0};
    const double direction = state[0] + kPi / 2;
    fill_turned_box(canvas, {0, -half}, {kLength * scale, half}, direction, centre, kRod);
    fill_circle(canvas, centre, half, kRod);
    fill_circle(canvas, turned({kLength * scale, 0}, direction, centre), half, kRod);
    fill_circle(canvas, centre, 0.05 * scale, {0, 0, 0});
    // The torque as a bar below the middle, to the side it turns to.
    const double bar = -torque_ / kMostTorque * 0.8 * scale;
    fill_turned_box(canvas, {std::min(0.0, bar), -4}, {std::max(0.0, bar), 4}, 0, {centre.x, 20}, {77, 77, 204});
    return canvas;
  }

  void do_save(std::string* out) const override {
    put_fixed(out, torque_);
    ControlTask::do_save(out);
  }
  bool do_restore(std::string_view bytes) override {
    ByteReader reader(bytes);
    return reader.fixed(&torque_) && std::isfinite(torque_) && ControlTask::do_restore(reader.rest());
  }

  double gravity_;
  float torque_ = 0;
};

std::unique_ptr<Environment> make_pendulum(const EnvironmentSpec& spec, Options& options) {
  return std::make_unique<Pendulum>(std::string(spec.id), options.take_double("g", 10, -1000, 1000));
}

CAUDAL_ENVIRONMENT({.id = "Pendulum-v1",
                    .summary = "swing a pendulum up and hold it",
                    .make = make_pendulum,
                    .max_episode_steps = 200});

}  // namespace
}  // namespace caudal::inline v0::rl
