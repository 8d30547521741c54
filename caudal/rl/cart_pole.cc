// CartPole: balance a pole on a cart by pushing it left or right. Equations: A. Barto, R. Sutton, C. Anderson,
// "Neuronlike adaptive elements that can solve difficult learning control problems" (1983), as Gymnasium integrates
// them.
#include <numbers>

#include "caudal/rl/control_task.h"
#include "caudal/rl/drawing.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

constexpr double kGravity = 9.8, kMassCart = 1.0, kMassPole = 0.1, kTotalMass = kMassPole + kMassCart;
constexpr double kHalfLength = 0.5, kPoleMassLength = kMassPole * kHalfLength;
constexpr double kForce = 10, kSeconds = 0.02;
constexpr double kMostAngle = 12 * 2 * std::numbers::pi / 360, kMostPosition = 2.4;

Space cart_pole_space() {
  const double infinite = INFINITY;
  const std::vector<double> high = {static_cast<float>(kMostPosition * 2), infinite, static_cast<float>(kMostAngle * 2),
                                    infinite};
  return Space::box(float32, {4}, {-high[0], -infinite, -high[2], -infinite}, high);
}

class CartPole final : public ControlTask {
 public:
  CartPole(std::string id, bool sutton_barto_reward)
      : ControlTask(std::move(id), cart_pole_space(), Space::discrete(2, {"LEFT", "RIGHT"})),
        sutton_barto_reward_(sutton_barto_reward) {}
  double frames_per_second() const override { return 50; }

 private:
  State begin(NumpyRandom& random) override {
    State state;
    for (double& number : state) number = random.uniform(-0.05, 0.05);
    return state;
  }

  Outcome advance(const Action& action, State& state) override {
    auto& [x, speed, angle, turn] = state;
    const double force = action.choice() == 1 ? kForce : -kForce;
    const double c = std::cos(angle), s = std::sin(angle);
    const double push = (force + kPoleMassLength * (turn * turn) * s) / kTotalMass;
    const double turn_rate = (kGravity * s - c * push) / (kHalfLength * (4.0 / 3.0 - kMassPole * (c * c) / kTotalMass));
    const double speed_rate = push - kPoleMassLength * turn_rate * c / kTotalMass;
    x += kSeconds * speed;
    speed += kSeconds * speed_rate;
    angle += kSeconds * turn;
    turn += kSeconds * turn_rate;
    const bool fallen = x < -kMostPosition || x > kMostPosition || angle < -kMostAngle || angle > kMostAngle;
    const double reward = sutton_barto_reward_ ? (fallen ? -1.0 : 0.0) : 1.0;
    return {reward, fallen};
  }

  void observe(const State& state, Observation& numbers) const override {
    for (std::size_t i = 0; i < state.size(); ++i) numbers[i] = static_cast<float>(state[i]);
  }

  io::Canvas draw(const State& state) const override {
    io::Canvas canvas(600, 400);
    const double scale = canvas.width() / (2 * kMostPosition);
    const double x = state[0] * scale + canvas.width() / 2.0, y = 100, axle = y + 7.5;
    canvas.fill(0, canvas.height() - 100, canvas.width(), 1, {0, 0, 0});
    fill_turned_box(canvas, {-25, -15}, {25, 15}, 0, {x, y}, {0, 0, 0});
    fill_turned_box(canvas, {-5, -5}, {5, scale * 2 * kHalfLength - 5}, -state[2], {x, axle}, {202, 152, 101});
    fill_circle(canvas, {x, axle}, 5, {129, 132, 203});
    return canvas;
  }

  bool sutton_barto_reward_;
};

std::unique_ptr<Environment> make_cart_pole(const EnvironmentSpec& spec, Options& options) {
  return std::make_unique<CartPole>(std::string(spec.id), options.take_bool("sutton_barto_reward", false));
}

CAUDAL_ENVIRONMENT({.id = "CartPole-v0",
                    .summary = "balance a pole on a cart",
                    .make = make_cart_pole,
                    .max_episode_steps = 200,
                    .reward_threshold = 195});
CAUDAL_ENVIRONMENT({.id = "CartPole-v1",
                    .summary = "balance a pole on a cart",
                    .make = make_cart_pole,
                    .max_episode_steps = 500,
                    .reward_threshold = 475});

}  // namespace
}  // namespace caudal::inline v0::rl
