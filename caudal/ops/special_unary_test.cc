#include "caudal/ops/special_unary.h"

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

using harness::Samples;
using harness::ValueRange;

void function(Samples& samples, const ValueRange& range, double (*reference)(double) = nullptr) {
  samples.unary_elementwise(
      {float16, bfloat16, float32, float64},
      {.range = range, .reference = reference ? std::function<double(double)>(reference) : nullptr});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Lgamma) {
  function(samples, {0.2, 8}, [](double x) { return std::lgamma(x); });
}
CAUDAL_OP_SAMPLES(Digamma) { function(samples, {-3, 6, 0.2}); }
CAUDAL_OP_SAMPLES(Erfinv) { function(samples, {-0.9, 0.9}); }
CAUDAL_OP_SAMPLES(Ndtri) { function(samples, {0.1, 0.9}); }
CAUDAL_OP_SAMPLES(BesselI0) {
  function(samples, {0.1, 4}, [](double x) { return std::cyl_bessel_i(0, std::abs(x)); });
}
CAUDAL_OP_SAMPLES(BesselI0e) {
  function(samples, {0.1, 4}, [](double x) { return std::cyl_bessel_i(0, x) * std::exp(-x); });
}
CAUDAL_OP_SAMPLES(BesselI1) {
  function(samples, {0.1, 4}, [](double x) { return std::cyl_bessel_i(1, x); });
}
CAUDAL_OP_SAMPLES(BesselI1e) {
  function(samples, {0.1, 4}, [](double x) { return std::cyl_bessel_i(1, x) * std::exp(-x); });
}
CAUDAL_OP_SAMPLES(BesselK0) {
  function(samples, {0.3, 5}, [](double x) { return std::cyl_bessel_k(0, x); });
}
CAUDAL_OP_SAMPLES(BesselK0e) {
  function(samples, {0.3, 5}, [](double x) { return std::cyl_bessel_k(0, x) * std::exp(x); });
}
CAUDAL_OP_SAMPLES(BesselK1) {
  function(samples, {0.3, 5}, [](double x) { return std::cyl_bessel_k(1, x); });
}
CAUDAL_OP_SAMPLES(BesselK1e) {
  function(samples, {0.3, 5}, [](double x) { return std::cyl_bessel_k(1, x) * std::exp(x); });
}
CAUDAL_OP_SAMPLES(BesselJ0) {
  function(samples, {0.1, 6}, [](double x) { return std::cyl_bessel_j(0, x); });
}
CAUDAL_OP_SAMPLES(BesselJ1) {
  function(samples, {0.1, 6}, [](double x) { return std::cyl_bessel_j(1, x); });
}
CAUDAL_OP_SAMPLES(BesselY0) {
  function(samples, {0.3, 6}, [](double x) { return std::cyl_neumann(0, x); });
}
CAUDAL_OP_SAMPLES(BesselY1) {
  function(samples, {0.3, 6}, [](double x) { return std::cyl_neumann(1, x); });
}
CAUDAL_OP_SAMPLES(Dawsn) { function(samples, {-4, 4}); }
CAUDAL_OP_SAMPLES(Expint) {
  function(samples, {0.2, 5}, [](double x) { return std::expint(x); });
}
CAUDAL_OP_SAMPLES(FresnelCos) { function(samples, {-4, 4}); }
CAUDAL_OP_SAMPLES(FresnelSin) { function(samples, {-4, 4}); }
CAUDAL_OP_SAMPLES(Spence) { function(samples, {0.2, 5}); }

class SpecialTest : public testing::Test {
 protected:
  std::vector<double> run(const Output& output) { return Session().run(output).to_vector<double>(); }
  Graph graph_;
  GraphScope scope_{graph_};
};

void expect_near(const std::vector<double>& want, const std::vector<double>& got, double relative = 2e-14) {
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(want[i], got[i], relative * std::max(std::abs(want[i]), 1e-300)) << i;
  }
}

// Values of mpmath 1.3 with 40 digits.
TEST_F(SpecialTest, KnownValues) {
  using Values = std::vector<double>;
  expect_near({-0.84507685887041935, 2.9141391202135278, -100.56088545786867, -1.9635100260214235, 1.016990911068179,
               4.6051743525818452},
              run(math::digamma(constant(Tensor(Values{-3.7, -0.25, 0.01, 0.5, 3.25, 100.5})))));
  expect_near({-2.7510639057120797, -0.27246271472675435, 8.8622692545275807e-10, 0.17914345462129169,
               0.81341984759761854, 3.4589107372754988},
              run(math::erfinv(constant(Tensor(Values{-0.9999, -0.3, 1e-09, 0.2, 0.75, 0.999999})))));
  expect_near({-7.0344838253011319, -2.053748910631823, -0.52440051270804082, 0.25334710313579974, 2.3263478740408408},
              run(math::ndtri(constant(Tensor(Values{1e-12, 0.02, 0.3, 0.6, 0.99})))));
  expect_near({0.22280243801077916, 0.9900745851497075, 0.12783333716342861, 0.068673868605284404, 0.066724965863578481,
               0.017845706500153167},
              run(math::bessel_i0e(constant(Tensor(Values{-3.5, 0.01, 10.0, 34.0, 36.0, 500.0})))));
  expect_near({-0.18739997660304999, 0.0049503110471182757, 0.12126268138445552, 0.067656303856788169,
               0.06579160755147556, 0.017827851852898056},
              run(math::bessel_i1e(constant(Tensor(Values{-3.5, 0.01, 10.0, 34.0, 36.0, 500.0})))));
  expect_near({18.536612444976902, 1.5241093857739095, 0.84156821507077142, 0.22788666561625373, 0.041771339152548793},
              run(math::special::bessel_k0e(constant(Tensor(Values{1e-08, 0.5, 2.0, 30.0, 900.0})))));
  expect_near({1.0000000099999991e+8, 2.7310097082117857, 1.0334768470686886, 0.2316541293777118, 0.041794539013033705},
              run(math::special::bessel_k1e(constant(Tensor(Values{1e-08, 0.5, 2.0, 30.0, 900.0})))));
  expect_near({-0.099335992397852867, 0.18549268702269875, 0.20393355044308953, 0.53807950691276842,
               0.10213407442427684, 0.010002001201201683},
              run(math::special::dawsn(constant(Tensor(Values{-0.1, 0.19, 0.21, 1.0, 5.0, 50.0})))));
  expect_near(
      {-1.6228128139692766, 1.8951178163559368, 2492.2289762418778, 3.9754427479037448e+19, 2.8198752548955196e+20},
      run(math::special::expint(constant(Tensor(Values{0.1, 1.0, 10.0, 49.0, 51.0})))));
  expect_near(
      {-0.49234422587144639, 0.44526117603982154, 0.32382687600390026, 0.49989869420551572, 0.49968887988441508},
      run(math::special::fresnel_cos(constant(Tensor(Values{-0.5, 1.5, 1.7, 10.0, 100.25})))));
  expect_near(
      {-0.064732432859999278, 0.69750496008209301, 0.54919594032156854, 0.46816997858488224, 0.50315988153914974},
      run(math::special::fresnel_sin(constant(Tensor(Values{-0.5, 1.5, 1.7, 10.0, 100.25})))));
  expect_near({1.5886254480763753, 0.72758630771633336, 0.10261779109939111, -0.36583257751244955, -0.75216317921726156,
               -1.1473806603755708, -9.1977617095309979},
              run(math::special::spence(constant(Tensor(Values{0.01, 0.4, 0.9, 1.4, 1.9, 2.5, 50.0})))));
}

TEST_F(SpecialTest, PolesAndEnds) {
  const double inf = INFINITY;
  EXPECT_TRUE(std::isnan(run(math::digamma(constant(Tensor(-2.0))))[0]));
  EXPECT_EQ(run(math::ndtri(constant(Tensor(std::vector<double>{0, 1})))), (std::vector<double>{-inf, inf}));
  EXPECT_EQ(run(math::erfinv(constant(Tensor(std::vector<double>{-1, 1})))), (std::vector<double>{-inf, inf}));
  EXPECT_TRUE(std::isnan(run(math::erfinv(constant(Tensor(1.5))))[0]));
  EXPECT_EQ(run(math::special::bessel_k0(constant(Tensor(std::vector<double>{0, -1})))),
            (std::vector<double>{inf, inf}));
  EXPECT_EQ(run(math::special::bessel_y1(constant(Tensor(-1.0))))[0], -inf);
  EXPECT_TRUE(std::isnan(run(math::special::spence(constant(Tensor(-1.0))))[0]));
}

// Where the formula of the gradient divides by zero, its limit is taken.
TEST_F(SpecialTest, GradientsAtRemovableSingularities) {
  const Output zero = constant(Tensor(0.0)), one = constant(Tensor(1.0));
  EXPECT_EQ(run(gradients({math::bessel_i1(zero)}, {zero})[0].dense())[0], 0.5);
  EXPECT_EQ(run(gradients({math::bessel_i1e(zero)}, {zero})[0].dense())[0], 0.5);
  EXPECT_EQ(run(gradients({math::special::bessel_j1(zero)}, {zero})[0].dense())[0], 0.5);
  EXPECT_EQ(run(gradients({math::special::spence(one)}, {one})[0].dense())[0], -1);
}

}  // namespace
}  // namespace caudal::inline v0
