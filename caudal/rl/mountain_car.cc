// MountainCar: a car too weak for the hill gathers speed by rocking, with three actions or a force. Equations: A.
// Moore, "Efficient memory-based learning for robot control" (1990), as Gymnasium integrates them.
#include <algorithm>

#include "caudal/rl/control_task.h"
#include "caudal/rl/drawing.h"
#include "caudal/rl/registry.h"

namespace caudal::inline v0::rl {
namespace {

constexpr double kLeast = -1.2, kMost = 0.6, kTopSpeed = 0.07, kGravity = 0.0025;

Space car_space() {
  const auto widened = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  return Space::box(float32, {2}, std::vector<double>{widened(kLeast), widened(-kTopSpeed)},
                    std::vector<double>{widened(kMost), widened(kTopSpeed)});
}

double height(double x) { return std::sin(3 * x) * 0.45 + 0.55; }

io::Canvas draw_car(double position, double goal) {
  io::Canvas canvas(600, 400);
  const double scale = canvas.width() / (kMost - kLeast);
  const auto place = [&](double x, double above) { return Point{(x - kLeast) * scale, height(x) * scale + above}; };
  constexpr int kPieces = 100;
  for (int i = 0; i < kPieces; ++i) {
    const auto at = [&](int piece) { return place(kLeast + (kMost - kLeast) * piece / kPieces, 0); };
    stroke(canvas, at(i), at(i + 1), 1.5, {0, 0, 0});
  }
  const double slope = std::cos(3 * position);
  const Point car = place(position, 10);
  fill_turned_box(canvas, {-20, 0}, {20, 20}, slope, car, {0, 0, 0});
  for (const double wheel : {10.0, -10.0}) fill_circle(canvas, turned({wheel, 0}, slope, car), 8, {128, 128, 128});
  const Point foot = place(goal, 0);
  stroke(canvas, foot, {foot.x, foot.y + 50}, 1, {0, 0, 0});
  const Point flag[] = {{foot.x, foot.y + 50}, {foot.x, foot.y + 40}, {foot.x + 25, foot.y + 45}};
  fill_polygon(canvas, flag, {204, 204, 0});
  return canvas;
}

class MountainCar final : public ControlTask {
 public:
  MountainCar(std::string id, double goal_velocity)
      : ControlTask(std::move(id), car_space(), Space::discrete(3, {"LEFT", "NOOP", "RIGHT"})),
        goal_velocity_(goal_velocity) {}

 private:
  static constexpr double kGoal = 0.5, kForce = 0.001;

  State begin(NumpyRandom& random) override { return {random.uniform(-0.6, -0.4)}; }

  Outcome advance(const Action& action, State& state) override {
    auto& [position, speed, unused, unused_too] = state;
    speed += static_cast<double>(action.choice() - 1) * kForce + std::cos(3 * position) * -kGravity;
    speed = std::clamp(speed, -kTopSpeed, kTopSpeed);
    position = std::clamp(position + speed, kLeast, kMost);
    if (position == kLeast && speed < 0) speed = 0;
    return {-1, position >= kGoal && speed >= goal_velocity_};
  }

  void observe(const State& state, Observation& numbers) const override {
    numbers = {static_cast<float>(state[0]), static_cast<float>(state[1])};
  }
  io::Canvas draw(const State& state) const override { return draw_car(state[0], kGoal); }

  double goal_velocity_;
};

// Gymnasium keeps this one's state in float32 after the first step of an episode.
class MountainCarContinuous final : public ControlTask {
 public:
  MountainCarContinuous(std::string id, double goal_velocity)
      : ControlTask(std::move(id), car_space(), Space::box(float32, {1}, -1, 1)), goal_velocity_(goal_velocity) {}

 private:
  static constexpr double kGoal = 0.45, kPower = 0.0015;

  State begin(NumpyRandom& random) override {
    first_step_ = true;
    return {random.uniform(-0.6, -0.4)};
  }

  Outcome advance(const Action& action, State& state) override {
    const bool terminated =
        first_step_ ? move<double>(action.values()[0], state) : move<float>(action.values()[0], state);
    first_step_ = false;
    const double force = action.values()[0];
    return {(terminated ? 100.0 : 0.0) - squared(force) * 0.1, terminated};
  }

  template <class Real>
  bool move(float action, State& state) const {
    auto position = static_cast<Real>(state[0]), speed = static_cast<Real>(state[1]);
    // A force within its bounds is a float32 for numpy and makes the whole term one; a bound is a Python float.
    const double pull = kGravity * std::cos(static_cast<double>(3 * position));
    if (action >= -1 && action <= 1)
      speed += action * static_cast<float>(kPower) - static_cast<float>(pull);
    else
      speed += static_cast<Real>((action > 1 ? 1 : -1) * kPower - pull);
    speed = std::clamp(speed, static_cast<Real>(-kTopSpeed), static_cast<Real>(kTopSpeed));
    position = std::clamp(position + speed, static_cast<Real>(kLeast), static_cast<Real>(kMost));
    if (position == static_cast<Real>(kLeast) && speed < 0) speed = 0;
    const bool terminated = position >= static_cast<Real>(kGoal) && speed >= static_cast<Real>(goal_velocity_);
    state = {static_cast<float>(position), static_cast<float>(speed)};
    return terminated;
  }

  void observe(const State& state, Observation& numbers) const override {
    numbers = {static_cast<float>(state[0]), static_cast<float>(state[1])};
  }
  io::Canvas draw(const State& state) const override { return draw_car(state[0], kGoal); }
  void do_save(std::string* out) const override {
    *out += static_cast<char>(first_step_);
    ControlTask::do_save(out);
  }
  bool do_restore(std::string_view bytes) override {
    if (bytes.empty() || bytes[0] < 0 || bytes[0] > 1) return false;
    first_step_ = bytes[0] == 1;
    return ControlTask::do_restore(bytes.substr(1));
  }

  double goal_velocity_;
  bool first_step_ = true;
};

template <class Car>
std::unique_ptr<Environment> make_car(const EnvironmentSpec& spec, Options& options) {
  return std::make_unique<Car>(std::string(spec.id), options.take_double("goal_velocity", 0, -1, 1));
}

CAUDAL_ENVIRONMENT({.id = "MountainCar-v0",
                    .summary = "rock a weak car up a hill",
                    .make = make_car<MountainCar>,
                    .max_episode_steps = 200,
                    .reward_threshold = -110});
CAUDAL_ENVIRONMENT({.id = "MountainCarContinuous-v0",
                    .summary = "rock a weak car up a hill by a force",
                    .make = make_car<MountainCarContinuous>,
                    .max_episode_steps = 999,
                    .reward_threshold = 90});

}  // namespace
}  // namespace caudal::inline v0::rl
