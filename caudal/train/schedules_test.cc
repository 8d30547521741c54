// Against TensorFlow 2.21 (testdata/training/schedules.json): the rate at steps 0 to 25.
#include "caudal/train/schedules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/random.h"
#include "caudal/runtime/session.h"

namespace caudal::train {
namespace {

using Json = nlohmann::json;

const Json& expected() {
  static const Json all =
      Json::parse(read_file(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/training/schedules.json"));
  return all;
}

struct Case {
  const char* name;
  std::function<Output(const Output& step)> make;
};
const Case kCases[] = {
    {"exponential", [](const Output& s) { return exponential_decay(0.1, s, 4, 0.96); }},
    {"exponential_staircase", [](const Output& s) { return exponential_decay(0.1, s, 4, 0.96, {.staircase = true}); }},
    {"natural_exp", [](const Output& s) { return natural_exp_decay(0.1, s, 4, 0.5); }},
    {"natural_exp_staircase", [](const Output& s) { return natural_exp_decay(0.1, s, 4, 0.5, {.staircase = true}); }},
    {"inverse_time", [](const Output& s) { return inverse_time_decay(0.1, s, 4, 0.5); }},
    {"inverse_time_staircase", [](const Output& s) { return inverse_time_decay(0.1, s, 4, 0.5, {.staircase = true}); }},
    {"piecewise",
     [](const Output& s) {
       return piecewise_constant(s, {3, 10}, {0.1, 0.05, 0.01});
     }},
    {"polynomial",
     [](const Output& s) { return polynomial_decay(0.1, s, 10, {.end_learning_rate = 0.01, .power = 0.5}); }},
    {"polynomial_cycle",
     [](const Output& s) {
       return polynomial_decay(0.1, s, 10, {.end_learning_rate = 0.01, .power = 0.5, .cycle = true});
     }},
    {"polynomial_defaults", [](const Output& s) { return polynomial_decay(0.1, s, 10); }},
    {"cosine", [](const Output& s) { return cosine_decay(0.1, s, 10); }},
    {"cosine_alpha", [](const Output& s) { return cosine_decay(0.1, s, 10, {.alpha = 0.1}); }},
    {"restarts", [](const Output& s) { return cosine_decay_restarts(0.1, s, 4); }},
    {"restarts_more",
     [](const Output& s) { return cosine_decay_restarts(0.1, s, 3, {.t_mul = 1.5, .m_mul = 0.8, .alpha = 0.05}); }},
    {"restarts_equal", [](const Output& s) { return cosine_decay_restarts(0.1, s, 4, {.t_mul = 1.0, .m_mul = 0.9}); }},
    {"linear_cosine", [](const Output& s) { return linear_cosine_decay(0.1, s, 10); }},
    {"linear_cosine_more",
     [](const Output& s) { return linear_cosine_decay(0.1, s, 10, {.num_periods = 2.5, .alpha = 0.1, .beta = 0.01}); }},
};

class Schedules : public ::testing::Test {
 protected:
  Schedules() : step_(placeholder(int64, PartialShape::scalar())) {}
  float at(const Output& rate, std::int64_t step) { return session_.run(rate, {{step_, Tensor(step)}}).item<float>(); }
  void expect(const Output& rate, const std::vector<std::pair<std::int64_t, double>>& values) {
    for (const auto& [step, value] : values) EXPECT_NEAR(at(rate, step), value, 1e-6 * (1 + value)) << "step " << step;
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output step_;
  Session session_{graph_};
};

TEST_F(Schedules, AreTensorFlows) {
  for (const Case& schedule : kCases) {
    SCOPED_TRACE(schedule.name);
    const Json& values = expected().at("schedules").at(schedule.name);
    const Output rate = schedule.make(step_);
    EXPECT_EQ(rate.dtype(), float32);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(at(rate, static_cast<std::int64_t>(i)), values[i].get<float>(), 2e-7) << "step " << i;
    }
  }
}

TEST_F(Schedules, NoiseIsTheSeeds) {
  set_random_seed(7);
  const Output rate = noisy_linear_cosine_decay(
      0.1, step_, 10,
      {.initial_variance = 0.5, .variance_decay = 0.7, .seed = expected().at("noisy").at("seed2").get<std::int64_t>()});
  const Json& values = expected().at("noisy").at("values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(at(rate, static_cast<std::int64_t>(i)), values[i].get<float>(), 2e-7) << "step " << i;
  }
}

TEST_F(Schedules, AcceptOtherTypes) {
  const Output rate = exponential_decay(constant(Tensor(0.1)), step_, 4, 0.5);
  EXPECT_EQ(rate.dtype(), float64);
  EXPECT_DOUBLE_EQ(session_.run(rate, {{step_, Tensor(std::int64_t{8})}}).item<double>(), 0.025);
}

TEST_F(Schedules, WarmUpLeadsIntoAnotherSchedule) {
  expect(linear_warmup(0.2, step_, 4), {{0, 0}, {1, 0.05}, {2, 0.1}, {4, 0.2}, {100, 0.2}});
  expect(linear_warmup(inverse_time_decay(1.0, step_, 1, 1.0), step_, 2, {.start_factor = 0.5}),
         {{0, 0.5}, {1, 0.375}, {2, 1.0 / 3}, {4, 0.2}});
}

TEST_F(Schedules, OneCycleGoesUpAndDown) {
  expect(one_cycle(1.0, step_, 100, {.start_factor = 0.1, .end_factor = 0.01, .last_part = 0.2}),
         {{0, 0.1}, {20, 0.55}, {40, 1}, {60, 0.55}, {80, 0.1}, {90, 0.055}, {100, 0.01}, {200, 0.01}});
  expect(one_cycle_momentum(step_, 100, {.high = 0.95, .low = 0.85, .last_part = 0.2}),
         {{0, 0.95}, {20, 0.9}, {40, 0.85}, {60, 0.9}, {80, 0.95}, {100, 0.95}});
  expect(one_cycle(1.0, step_, 100, {.last_part = 0}), {{0, 0.1}, {50, 1}, {100, 0.1}});
}

TEST_F(Schedules, PiecesMustFit) {
  EXPECT_THROW(piecewise_constant(step_, {1, 2}, {0.1, 0.2}), Error);
  EXPECT_THROW(piecewise_constant(step_, {2, 1}, {0.1, 0.2, 0.3}), Error);
  EXPECT_THROW(piecewise_constant(step_, {}, {0.1}), Error);
}

}  // namespace
}  // namespace caudal::train
