#include "caudal/ops/special_binary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Samples;

const std::vector<DType> kDoubles = {float32, float64};

// TensorFlow differentiates these by the second operand only (so does the second order of what stands beside it).
void second_only(Samples& samples, const Tensor& first_float, const Tensor& first_double) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 1}}) {
    samples.add({.inputs = {first_float, samples.random(float32, shape, {1, 6})},
                 .second_order = Check::kNo,
                 .undifferentiated_inputs = {0}});
    samples.add({.inputs = {first_double, samples.random(float64, shape, {1, 6})},
                 .second_order = Check::kNo,
                 .undifferentiated_inputs = {0}});
  }
  samples.error({samples.random(float32, {3}), samples.random(float32, {4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Polygamma) {
  second_only(samples, Tensor(2.0F), Tensor(2.0));
  second_only(samples, Tensor(std::vector<float>{0, 1, 3}), Tensor(std::vector<double>{0, 1, 3}));
}
CAUDAL_OP_SAMPLES(Zeta) {
  second_only(samples, Tensor(2.5F), Tensor(2.5));
  second_only(samples, Tensor(std::vector<float>{1.5F, 2, 7}), Tensor(std::vector<double>{1.5, 2, 7}));
}

void incomplete_gamma(Samples& samples) {
  for (const DType t : kDoubles) {
    const std::vector<std::pair<Shape, Shape>> shapes = {{{}, {}}, {{4}, {4}}, {{3, 1}, {2}}, {{}, {5}}, {{0}, {1}}};
    for (const auto& [a, x] : shapes) {
      // The derivative by a has no gradient of its own.
      samples.add(
          {.inputs = {samples.random(t, a, {0.3, 6}), samples.random(t, x, {0.3, 8})}, .second_order = Check::kNo});
    }
  }
  samples.add({.inputs = {samples.random(float32, {300}, {0.3, 9}), samples.random(float32, {300}, {0.3, 9})}});
  samples.error({samples.random(float32, {3}), samples.random(float32, {4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Igamma) { incomplete_gamma(samples); }
CAUDAL_OP_SAMPLES(Igammac) { incomplete_gamma(samples); }
CAUDAL_OP_SAMPLES(IgammaGradA) { incomplete_gamma(samples); }

CAUDAL_OP_SAMPLES(Betainc) {
  for (const DType t : kDoubles) {
    for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{0}}) {
      samples.add({.inputs = {samples.random(t, shape, {0.3, 6}), samples.random(t, shape, {0.3, 6}),
                              samples.random(t, shape, {0.1, 0.9})},
                   .second_order = Check::kNo,
                   .undifferentiated_inputs = {0, 1}});
    }
    samples.add({.inputs = {samples.random(t, {}, {0.3, 6}), samples.random(t, {5}, {0.3, 6}),
                            samples.random(t, {}, {0.1, 0.9})},
                 .second_order = Check::kNo,
                 .undifferentiated_inputs = {0, 1}});
  }
  const Tensor three = samples.random(float32, {3}, {0.1, 0.9});
  samples.error({three, samples.random(float32, {4}, {0.1, 0.9}), three}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(NextAfter) {
  samples.binary_broadcasting(
      kDoubles,
      {.second = {6, 9}, .reference2 = [](double x, double) { return x; }, .special = false, .gradient = Check::kNo});
  samples.add({.inputs = {samples.random(float64, {2, 3}), samples.random(float64, {3}, {6, 9})}});
  samples.add({.inputs = {Tensor(std::vector<float>{1, 0, -1}), Tensor(std::vector<float>{2, 0, -INFINITY})},
               .expected = {Tensor(std::vector<float>{1.0000001192F, 0, -1.0000001192F})},
               .gradient = Check::kNo});
}

CAUDAL_OP_SAMPLES(ApproximateEqual) {
  for (const DType t : {float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
                        complex64, complex128}) {
    samples.add({.inputs = {samples.random(t, {2, 9}, {0, 5}), samples.random(t, {2, 9}, {0, 5})},
                 .attrs = {{"tolerance", 1.5F}}});
  }
  samples.add({.inputs = {Tensor(std::vector<float>{1, 1, NAN}), Tensor(std::vector<float>{1.000001F, 1.1F, NAN})},
               .expected = {Tensor::from<bool>({3}, {true, false, false})}});
  samples.error({samples.random(float32, {3}), samples.random(float32, {1})}, Code::kInvalidArgument);
}

class SpecialBinaryTest : public testing::Test {
 protected:
  double run(const Output& output) { return Session().run(output).item<double>(); }
  Graph graph_;
  GraphScope scope_{graph_};
};

// Values of mpmath 1.3 with 40 digits.
TEST_F(SpecialBinaryTest, KnownValues) {
  const auto expect = [&](double want, const Output& got, double relative = 1e-13) {
    EXPECT_NEAR(want, run(got), relative * std::abs(want));
  };
  const auto d = [](double value) { return Tensor(value); };
  expect(12.245364546107731, math::polygamma(d(1), d(0.3)));
  expect(-0.2362040516417274, math::polygamma(d(2), d(-1.5)));
  expect(0.001667357519228256, math::polygamma(d(5), d(7.25)));
  expect(0.010050166663333571, math::polygamma(d(1), d(100.0)));
  expect(12.103813495683746, math::zeta(d(1.1), d(0.5)));
  expect(0.1647105619542803, math::zeta(d(2.5), d(3.0)));
  expect(7.0702218384651917e-8, math::zeta(d(6.0), d(20.0)));
  expect(0.41439832211716, math::zeta(d(3.0), d(-0.5)));
  expect(0.87941962679005681, math::igamma(d(0.1), d(0.2)));
  expect(0.12058037320994319, math::igammac(d(0.1), d(0.2)));
  expect(-1.1828680306527425, raw_ops::igamma_grad_a(d(0.1), d(0.2)), 1e-11);
  expect(0.32332358381693654, math::igamma(d(3.0), d(2.0)));
  expect(0.67667641618306346, math::igammac(d(3.0), d(2.0)));
  expect(-0.23184867204398959, raw_ops::igamma_grad_a(d(3.0), d(2.0)), 1e-11);
  expect(0.99376780489362268, math::igamma(d(3.0), d(9.0)));
  expect(0.0062321951063773172, math::igammac(d(3.0), d(9.0)));
  expect(-0.0086954664197425259, raw_ops::igamma_grad_a(d(3.0), d(9.0)), 1e-11);
  expect(0.070335066659394954, math::igamma(d(50.0), d(40.0)));
  expect(0.92966493334060505, math::igammac(d(50.0), d(40.0)));
  expect(-0.019821892882228661, raw_ops::igamma_grad_a(d(50.0), d(40.0)), 1e-11);
  expect(0.97966885667116377, math::igamma(d(200.0), d(230.0)));
  expect(0.020331143328836235, math::igammac(d(200.0), d(230.0)));
  expect(-0.0033931816755953845, raw_ops::igamma_grad_a(d(200.0), d(230.0)), 1e-11);
  expect(0.29516723530086656, math::betainc(d(0.5), d(0.5), d(0.2)));
  expect(0.999945, math::betainc(d(2.0), d(5.0), d(0.9)));
  expect(0.22412974918083643, math::betainc(d(30.0), d(10.0), d(0.7)));
  expect(0.99859799387999362, math::betainc(d(0.001), d(2.0), d(0.1)));
}

TEST_F(SpecialBinaryTest, OutsideTheDomain) {
  const auto d = [](double value) { return Tensor(value); };
  EXPECT_TRUE(std::isnan(run(math::igamma(d(-1), d(1)))));
  EXPECT_TRUE(std::isnan(run(math::igamma(d(1), d(-1)))));
  EXPECT_EQ(run(math::igamma(d(2), d(0))), 0);
  EXPECT_EQ(run(math::igammac(d(2), d(0))), 1);
  EXPECT_EQ(run(math::igammac(d(2), d(INFINITY))), 0);
  EXPECT_TRUE(std::isnan(run(math::polygamma(d(1.5), d(1)))));
  EXPECT_EQ(run(math::igamma(d(-1), d(0))), 0);
  EXPECT_EQ(run(math::polygamma(d(2), d(INFINITY))), 0);
  EXPECT_EQ(run(math::zeta(d(INFINITY), d(1.5))), 0);
  EXPECT_EQ(run(math::zeta(d(1), d(2))), INFINITY);
  EXPECT_TRUE(std::isnan(run(math::zeta(d(0.5), d(2)))));
  EXPECT_TRUE(std::isnan(run(math::betainc(d(0), d(1), d(0.5)))));
  EXPECT_EQ(run(math::betainc(d(2), d(3), d(1))), 1);
  EXPECT_EQ(run(math::betainc(d(NAN), d(3), d(0))), 0);
}

TEST_F(SpecialBinaryTest, LogBeta) {
  const Output x = constant(Tensor::from<double>({2, 2}, {1, 2, 0.5, 0.5}));
  EXPECT_EQ(harness::difference(Tensor(std::vector<double>{-std::log(2.0), std::log(M_PI)}),
                                Session().run(math::lbeta(x)), 1e-14),
            "");
}

}  // namespace
}  // namespace caudal::inline v0
