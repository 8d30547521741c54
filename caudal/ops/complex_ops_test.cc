#include "caudal/ops/complex_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

void part_samples(harness::Samples& samples) {
  samples.add({.inputs = {samples.random(complex64, {2, 3})}});
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3, 4}, Shape{3, 2, 1, 5}}) {
    samples.add({.inputs = {samples.random(complex128, shape)}, .attrs = {{"Tout", float64}}});
  }
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Real) { part_samples(samples); }
CAUDAL_OP_SAMPLES(Imag) { part_samples(samples); }
CAUDAL_OP_SAMPLES(Angle) { part_samples(samples); }
CAUDAL_OP_SAMPLES(ComplexAbs) { part_samples(samples); }

CAUDAL_OP_SAMPLES(Complex) {
  samples.add({.inputs = {samples.random(float32, {2, 3}), samples.random(float32, {2, 3})}});
  const AttrMap wide{{"Tout", complex128}};
  const std::vector<std::pair<Shape, Shape>> shapes = {{{}, {}},  {{0}, {1}},       {{2, 1, 3}, {4, 1}},
                                                       {{5}, {}}, {{1, 1}, {2, 3}}, {{17}, {17}}};
  for (const auto& [a, b] : shapes) {
    samples.add({.inputs = {samples.random(float64, a), samples.random(float64, b)}, .attrs = wide});
  }
  samples.error({samples.random(float32, {3}), samples.random(float32, {4})}, Code::kInvalidArgument);
}

class ComplexTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(ComplexTest, PartsOfRealNumbers) {
  const Output x = constant({-1.5, 2.0});
  EXPECT_EQ(math::real(x), x);
  EXPECT_TRUE(identical(run(math::imag(x)), Tensor(std::vector<float>{0, 0})));
  EXPECT_TRUE(identical(run(math::angle(x)), Tensor(std::vector<float>{3.14159265F, 0})));
}

TEST_F(ComplexTest, AbsOfHugeNumbersDoesNotOverflow) {
  const Output x = complex(3e30F, 4e30F);
  EXPECT_NEAR(run(abs(x)).item<float>() / 5e30F, 1.0F, 1e-6);
}

TEST_F(ComplexTest, GradientOfAbsAtZeroIsZero) {
  const Output x = complex(Tensor(0.0F), Tensor(0.0F));
  const Tensor g = run(gradients({raw_ops::complex_abs(x)}, {x})[0].dense());
  EXPECT_EQ(g.item<std::complex<float>>(), std::complex<float>(0, 0));
}

}  // namespace
}  // namespace caudal::inline v0
