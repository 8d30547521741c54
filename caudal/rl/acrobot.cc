// Acrobot: swing a two-link pendulum, driven at the joint between its links, above a line. Equations: R. Sutton, A.
// Barto, "Reinforcement Learning: An Introduction" (the book's, not the NIPS paper's), integrated by one Runge-Kutta
// step as in Gymnasium.
#include <algorithm>
#include <numbers>

#include "caudal/rl/control_task.h"
#include "caudal/rl/drawing.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kSeconds = 0.2, kGravity = 9.8, kMass = 1, kLength = 1, kCentre = 0.5, kInertia = 1;
constexpr double kTopSpeed1 = 4 * kPi, kTopSpeed2 = 9 * kPi;

using Angles = std::array<double, 4>;  // two angles, their speeds

Angles derivative(const Angles& s, double torque) {
  const auto [angle1, angle2, speed1, speed2] = s;
  const double c2 = std::cos(angle2), s2 = std::sin(angle2);
  const double d1 = kMass * kCentre * kCentre +
                    kMass * (kLength * kLength + kCentre * kCentre + 2 * kLength * kCentre * c2) + kInertia + kInertia;
  const double d2 = kMass * (kCentre * kCentre + kLength * kCentre * c2) + kInertia;
  const double phi2 = kMass * kCentre * kGravity * std::cos(angle1 + angle2 - kPi / 2.0);
  const double phi1 = -kMass * kLength * kCentre * squared(speed2) * s2 -
                      2 * kMass * kLength * kCentre * speed2 * speed1 * s2 +
                      (kMass * kCentre + kMass * kLength) * kGravity * std::cos(angle1 - kPi / 2) + phi2;
  const double rate2 = (torque + d2 / d1 * phi1 - kMass * kLength * kCentre * squared(speed1) * s2 - phi2) /
                       (kMass * kCentre * kCentre + kInertia - squared(d2) / d1);
  const double rate1 = -(d2 * rate2 + phi1) / d1;
  return {speed1, speed2, rate1, rate2};
}

Angles moved(const Angles& from, double seconds, const Angles& rates) {
  Angles to;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] + seconds * rates[i];
  return to;
}

Angles runge_kutta(const Angles& y, double torque) {
  const Angles k1 = derivative(y, torque);
  const Angles k2 = derivative(moved(y, kSeconds / 2.0, k1), torque);
  const Angles k3 = derivative(moved(y, kSeconds / 2.0, k2), torque);
  const Angles k4 = derivative(moved(y, kSeconds, k3), torque);
  Angles sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i];
  return moved(y, kSeconds / 6.0, sum);
}

// Into [-pi, pi] by whole turns.
double wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

Space acrobot_space() {
  const std::vector<double> high = {1, 1, 1, 1, static_cast<float>(kTopSpeed1), static_cast<float>(kTopSpeed2)};
  std::vector<double> low;
  for (const double bound : high) low.push_back(-bound);
  return Space::box(float32, {6}, low, high);
}

class Acrobot final : public ControlTask {
 public:
  explicit Acrobot(std::string id)
      : ControlTask(std::move(id), acrobot_space(), Space::discrete(3, {"LEFT", "NOOP", "RIGHT"})) {}
  double frames_per_second() const override { return 15; }

 private:
  State begin(NumpyRandom& random) override {
    State state;
    for (double& number : state) number = static_cast<float>(random.uniform(-0.1, 0.1));
    return state;
  }

  Outcome advance(const Action& action, State& state) override {
    state = runge_kutta(state, static_cast<double>(action.choice() - 1));
    state[0] = wrapped(state[0]);
    state[1] = wrapped(state[1]);
    state[2] = std::clamp(state[2], -kTopSpeed1, kTopSpeed1);
    state[3] = std::clamp(state[3], -kTopSpeed2, kTopSpeed2);
    const bool above = -std::cos(state[0]) - std::cos(state[1] + state[0]) > 1.0;
    return {above ? 0.0 : -1.0, above};
  }

  void observe(const State& state, Observation& numbers) const override {
    numbers = {static_cast<float>(std::cos(state[0])), static_cast<float>(std::sin(state[0])),
               static_cast<float>(std::cos(state[1])), static_cast<float>(std::sin(state[1])),
               static_cast<float>(state[2]),           static_cast<float>(state[3])};
  }

  io::Canvas draw(const State& state) const override {
    io::Canvas canvas(500, 500);
    const double scale = canvas.width() / 4.4, thick = 0.1 * scale;
    const Point centre{canvas.width() / 2.0, canvas.height() / 2.0};
    const double line = centre.y + kLength * scale;
    stroke(canvas, {0, line}, {static_cast<double>(canvas.width()), line}, 1, {0, 0, 0});
    const double direction1 = state[0] - kPi / 2, direction2 = state[0] + state[1] - kPi / 2;
    const Point joint = turned({kLength * scale, 0}, direction1, centre);
    const auto link = [&](Point from, double direction) {
      fill_turned_box(canvas, {0, -thick}, {kLength * scale, thick}, direction, from, {0, 204, 204});
      fill_circle(canvas, from, thick, {204, 204, 0});
    };
    link(centre, direction1);
    link(joint, direction2);
    return canvas;
  }

  bool do_restore(std::string_view bytes) override {
    // A foreign angle far away would take long to wrap.
    return ControlTask::do_restore(bytes) && std::abs(state()[0]) <= kPi && std::abs(state()[1]) <= kPi &&
           std::abs(state()[2]) <= kTopSpeed1 && std::abs(state()[3]) <= kTopSpeed2;
  }
};

std::unique_ptr<Environment> make_acrobot(const EnvironmentSpec& spec, Options&) {
  return std::make_unique<Acrobot>(std::string(spec.id));
}

CAUDAL_ENVIRONMENT({.id = "Acrobot-v1",
                    .summary = "swing a two-link pendulum above a line",
                    .make = make_acrobot,
                    .max_episode_steps = 500,
                    .reward_threshold = -100});

}  // namespace
}  // namespace caudal::inline v0::rl
