#include "caudal/kernels/sgd.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

TEST(Sgd, AdamHasEpsilonOutsideTheCorrectedRoot) {
  ThreadPool pool(1);
  const double cases[][3] = {{1e-8, 1, -9.9999968e-4}, {1e-3, 1e-3, -3.0653430e-5}, {1, 1, -3.0653430e-5}};
  for (const auto& c : cases) {
    float var = 0, m = 0, v = 0;
    const auto grad = static_cast<float>(c[1]);
    apply_adam(pool, DType::kFloat, 1, &var, &m, &v, &grad, {0.001, 0.9, 0.999, c[0], 0.9, 0.999, false});
    EXPECT_NEAR(var / c[2], 1, 2e-5);
  }
  double var = 0, m = 0, v = 0;
  const double grad = 1;
  apply_adam(pool, DType::kDouble, 1, &var, &m, &v, &grad, {0.1, 0.9, 0.999, 1, 0.9, 0.999, false});
  apply_adam(pool, DType::kDouble, 1, &var, &m, &v, &grad, {0.1, 0.9, 0.999, 1, 0.81, 0.998001, false});
  EXPECT_NEAR(var, -0.0073450, 1e-7);
}

TEST(Sgd, RmsPropHasEpsilonInsideTheRoot) {
  ThreadPool pool(1);
  double var = 1, ms = 1, mom = 0, mg = 0;
  double grad = 2;
  apply_rmsprop(pool, DType::kDouble, 1, &var, &ms, &mom, &grad, {0.1, 0.9, 0, 1e-10});
  EXPECT_NEAR(var, 0.8245884, 1e-7);
  var = 1, ms = 1, mom = 0;
  for (int i = 0; i < 2; ++i) apply_rmsprop(pool, DType::kDouble, 1, &var, &ms, &mom, &grad, {0.1, 0.9, 0.9, 1e-10});
  EXPECT_NEAR(var, 0.5071006, 1e-7);
  var = 1, ms = 1, mom = 0;
  apply_centered_rmsprop(pool, DType::kDouble, 1, &var, &mg, &ms, &mom, &grad, {0.1, 0.9, 0, 1e-10});
  EXPECT_NEAR(var, 0.8218258, 1e-7);
  apply_centered_rmsprop(pool, DType::kDouble, 1, &var, &mg, &ms, &mom, &grad, {0.1, 0.9, 0, 1e-10});
  EXPECT_NEAR(var, 0.6543195, 1e-7);
}

TEST(Sgd, MomentumAndAdagradKnownValues) {
  ThreadPool pool(1);
  float var = 1, accum = 2;
  const float grad = 4;
  apply_momentum(pool, DType::kFloat, 1, &var, &accum, &grad, {0.25, 0.5, false});
  EXPECT_EQ(accum, 5);
  EXPECT_EQ(var, -0.25);
  var = 1, accum = 2;
  apply_momentum(pool, DType::kFloat, 1, &var, &accum, &grad, {0.25, 0.5, true});
  EXPECT_EQ(var, 1 - 0.25 * (4 + 0.5 * 5));
  var = 1, accum = 9;
  apply_adagrad(pool, DType::kFloat, 1, &var, &accum, &grad, {0.5, 0, true});
  EXPECT_EQ(accum, 25);
  EXPECT_FLOAT_EQ(var, 1 - 0.5F * 4 / 5);
  apply_adagrad(pool, DType::kFloat, 1, &var, &accum, &grad, {0.5, 0, false});
  EXPECT_EQ(accum, 25);
  var = 3;
  apply_gradient_descent(pool, DType::kFloat, 1, &var, 0.5, &grad);
  EXPECT_EQ(var, 1);
}

struct State {
  std::vector<float> var, a, b, c;
  bool operator==(const State&) const = default;
};

using Update = std::function<void(ThreadPool&, State&, const float* grad, int64_t n)>;

const Update kUpdates[] = {[](ThreadPool& p, State& s, const float* g, int64_t n) {
                             apply_gradient_descent(p, DType::kFloat, n, s.var.data(), 0.1, g);
                           },
                           [](ThreadPool& p, State& s, const float* g, int64_t n) {
                             apply_momentum(p, DType::kFloat, n, s.var.data(), s.a.data(), g, {0.1, 0.9, true});
                           },
                           [](ThreadPool& p, State& s, const float* g, int64_t n) {
                             apply_adam(p, DType::kFloat, n, s.var.data(), s.a.data(), s.b.data(), g,
                                        {0.1, 0.9, 0.999, 1e-7, 0.9, 0.999, true});
                           },
                           [](ThreadPool& p, State& s, const float* g, int64_t n) {
                             apply_centered_rmsprop(p, DType::kFloat, n, s.var.data(), s.a.data(), s.b.data(),
                                                    s.c.data(), g, {0.1, 0.9, 0.5, 1});
                           },
                           [](ThreadPool& p, State& s, const float* g, int64_t n) {
                             apply_adagrad(p, DType::kFloat, n, s.var.data(), s.a.data(), g, {0.1, 0, true});
                           }};

TEST(Sgd, BitsDependNeitherOnThreadsNorOnTheInstructionSet) {
  const int64_t n = 40003;
  const std::vector<float> grad = random_values(n, 9);
  for (const Update& update : kUpdates) {
    const std::vector<float> positive(n, 0.5F);
    const State start{random_values(n, 1), positive, positive, positive};
    State expected = start;
    {
      const IsaCap cap(Isa::kPlain);
      ThreadPool pool(1);
      update(pool, expected, grad.data(), n);
    }
    EXPECT_NE(expected.var, start.var);
    for (const Isa isa : test_isas()) {
      const IsaCap cap(isa);
      ThreadPool pool(2);
      State state = start;
      update(pool, state, grad.data(), n);
      EXPECT_EQ(state, expected) << isa_name(isa);
    }
  }
}

TEST(Sgd, NarrowTypesRoundOnceAStep) {
  ThreadPool pool(1);
  Half var(1.0F), m(0.0F), v(0.0F);
  const Half grad(0.5F);
  apply_adam(pool, DType::kHalf, 1, &var, &m, &v, &grad, {0.001, 0.9, 0.999, 1e-8, 0.9, 0.999, false});
  EXPECT_NEAR(static_cast<float>(var), 0.999, 5e-4);
  EXPECT_NEAR(static_cast<float>(m), 0.05, 1e-4);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
