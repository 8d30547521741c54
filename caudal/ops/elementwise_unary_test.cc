#include "caudal/ops/elementwise_unary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Samples;
using harness::ValueRange;

const std::vector<DType> kReals = {float16, bfloat16, float32, float64};
const std::vector<DType> kComplexes = {float16, bfloat16, float32, float64, complex64, complex128};
const std::vector<DType> kSigned = {float16, bfloat16, float32, float64, int8, int16, int32, int64};

void function(Samples& samples, const std::vector<DType>& dtypes, const ValueRange& range,
              double (*reference)(double)) {
  samples.unary_elementwise(dtypes, {.range = range, .reference = reference});
  samples.error({samples.random(boolean, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Neg) {
  function(samples, kSigned, {}, [](double x) { return -x; });
  samples.unary_elementwise({complex64, complex128});
}
CAUDAL_OP_SAMPLES(Abs) {
  function(samples, kSigned, {}, [](double x) { return std::abs(x); });
}
CAUDAL_OP_SAMPLES(Sign) {
  function(samples, kSigned, {}, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; });
  samples.unary_elementwise({complex64, complex128}, {.gradient = Check::kNo});
}
CAUDAL_OP_SAMPLES(Square) {
  function(samples, kComplexes, {}, [](double x) { return x * x; });
  samples.unary_elementwise({int8, int16, int32, int64, uint8, uint16, uint32, uint64},
                            {.reference = [](double x) { return x * x; }});
}
CAUDAL_OP_SAMPLES(Sqrt) {
  function(samples, kComplexes, {0.1, 5}, [](double x) { return std::sqrt(x); });
}
CAUDAL_OP_SAMPLES(Rsqrt) {
  function(samples, kComplexes, {0.1, 5}, [](double x) { return 1 / std::sqrt(x); });
}
CAUDAL_OP_SAMPLES(Reciprocal) {
  function(samples, kComplexes, {}, [](double x) { return 1 / x; });
}
CAUDAL_OP_SAMPLES(Inv) {
  function(samples, kComplexes, {}, [](double x) { return 1 / x; });
}
CAUDAL_OP_SAMPLES(Exp) {
  function(samples, kComplexes, {}, [](double x) { return std::exp(x); });
}
CAUDAL_OP_SAMPLES(Expm1) {
  function(samples, kComplexes, {}, [](double x) { return std::expm1(x); });
}
CAUDAL_OP_SAMPLES(Log) {
  function(samples, kComplexes, {0.1, 5}, [](double x) { return std::log(x); });
}
CAUDAL_OP_SAMPLES(Log1p) {
  function(samples, kComplexes, {-0.8, 5}, [](double x) { return std::log1p(x); });
}
CAUDAL_OP_SAMPLES(Sin) {
  function(samples, kComplexes, {}, [](double x) { return std::sin(x); });
}
CAUDAL_OP_SAMPLES(Cos) {
  function(samples, kComplexes, {}, [](double x) { return std::cos(x); });
}
CAUDAL_OP_SAMPLES(Tan) {
  function(samples, kComplexes, {-1, 1}, [](double x) { return std::tan(x); });
}
CAUDAL_OP_SAMPLES(Asin) {
  function(samples, kComplexes, {-0.9, 0.9}, [](double x) { return std::asin(x); });
}
CAUDAL_OP_SAMPLES(Acos) {
  function(samples, kComplexes, {-0.9, 0.9}, [](double x) { return std::acos(x); });
}
CAUDAL_OP_SAMPLES(Atan) {
  function(samples, kComplexes, {}, [](double x) { return std::atan(x); });
}
CAUDAL_OP_SAMPLES(Sinh) {
  function(samples, kComplexes, {}, [](double x) { return std::sinh(x); });
}
CAUDAL_OP_SAMPLES(Cosh) {
  function(samples, kComplexes, {}, [](double x) { return std::cosh(x); });
}
CAUDAL_OP_SAMPLES(Tanh) {
  function(samples, kComplexes, {}, [](double x) { return std::tanh(x); });
}
CAUDAL_OP_SAMPLES(Asinh) {
  function(samples, kComplexes, {}, [](double x) { return std::asinh(x); });
}
CAUDAL_OP_SAMPLES(Acosh) {
  function(samples, kComplexes, {1.1, 5}, [](double x) { return std::acosh(x); });
}
CAUDAL_OP_SAMPLES(Atanh) {
  function(samples, kComplexes, {-0.9, 0.9}, [](double x) { return std::atanh(x); });
}
CAUDAL_OP_SAMPLES(Sigmoid) {
  function(samples, kComplexes, {}, [](double x) { return 1 / (1 + std::exp(-x)); });
}
CAUDAL_OP_SAMPLES(Erf) {
  function(samples, kReals, {}, [](double x) { return std::erf(x); });
}
CAUDAL_OP_SAMPLES(Erfc) {
  function(samples, kReals, {}, [](double x) { return std::erfc(x); });
}
CAUDAL_OP_SAMPLES(Floor) {
  function(samples, kReals, {}, [](double x) { return std::floor(x); });
}
CAUDAL_OP_SAMPLES(Ceil) {
  function(samples, kReals, {}, [](double x) { return std::ceil(x); });
}
CAUDAL_OP_SAMPLES(Round) {
  function(samples, {float16, bfloat16, float32, float64, int32, int64}, {},
           [](double x) { return std::nearbyint(x); });
  samples.golden_exception("Round/7",
                           "TensorFlow's kernel for integers answers 0 for 1; its Python round never calls it");
}
CAUDAL_OP_SAMPLES(Rint) {
  function(samples, {float32, float64}, {}, [](double x) { return std::nearbyint(x); });
}
CAUDAL_OP_SAMPLES(Invert) {
  samples.unary_elementwise({int8, int16, int32, int64}, {.reference = [](double x) { return -x - 1; }});
  samples.unary_elementwise({uint8}, {.reference = [](double x) { return 255 - x; }});
  samples.unary_elementwise({uint16, uint32, uint64});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

void predicate(Samples& samples, double (*reference)(double)) {
  samples.unary_elementwise(kReals, {.reference = reference, .nan_propagates = false});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(IsNan) {
  predicate(samples, [](double x) { return std::isnan(x) ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(IsInf) {
  predicate(samples, [](double x) { return std::isinf(x) ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(IsFinite) {
  predicate(samples, [](double x) { return std::isfinite(x) ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(LogicalNot) {
  samples.unary_elementwise({boolean}, {.reference = [](double x) { return x != 0 ? 0.0 : 1.0; }});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Conj) {
  samples.unary_elementwise({complex64, complex128});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

void gradient_op(Samples& samples, const ValueRange& range, double (*reference)(double, double)) {
  samples.same_shape(2, kReals, {.range = range, .reference2 = reference, .special = false});
  samples.same_shape(2, {complex64, complex128}, {.range = range, .special = false});
  samples.error({samples.random(float32, {3}), samples.random(float32, {4})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SqrtGrad) {
  gradient_op(samples, {0.5, 5}, [](double y, double dy) { return dy / (2 * y); });
}
CAUDAL_OP_SAMPLES(RsqrtGrad) {
  gradient_op(samples, {-2, 2}, [](double y, double dy) { return dy * -0.5 * y * y * y; });
}
CAUDAL_OP_SAMPLES(ReciprocalGrad) {
  gradient_op(samples, {-2, 2}, [](double y, double dy) { return -dy * y * y; });
}
CAUDAL_OP_SAMPLES(InvGrad) {
  gradient_op(samples, {-2, 2}, [](double y, double dy) { return -dy * y * y; });
}
CAUDAL_OP_SAMPLES(TanhGrad) {
  gradient_op(samples, {-1, 1}, [](double y, double dy) { return dy * (1 - y * y); });
  // TensorFlow's kernel does not conjugate y.
  samples.add({.inputs = {Tensor::scalar(std::complex<double>(1, 2)), Tensor::scalar(std::complex<double>(1, 0.5))},
               .expected = {Tensor::scalar(std::complex<double>(6, -2))}});
}
CAUDAL_OP_SAMPLES(SigmoidGrad) {
  gradient_op(samples, {0, 1}, [](double y, double dy) { return dy * y * (1 - y); });
  samples.add({.inputs = {Tensor::scalar(std::complex<double>(1, 2)), Tensor::scalar(std::complex<double>(1, 0.5))},
               .expected = {Tensor::scalar(std::complex<double>(5, 0))}});
}

class UnaryTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(UnaryTest, RoundsHalfToEven) {
  const Output x = constant({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6});
  EXPECT_EQ(harness::difference(Tensor(std::vector<float>{-2, -2, 0, 0, 2, 2, 3}), run(round(x)), 0), "");
  EXPECT_EQ(harness::difference(Tensor(std::vector<float>{-2, -2, 0, 0, 2, 2, 3}), run(rint(x)), 0), "");
  // TensorFlow's own kernel for integers returns 0 for 1; its Python function never calls it.
  EXPECT_TRUE(identical(run(round(constant({1, 2, -7}))), Tensor(std::vector<int>{1, 2, -7})));
}

TEST_F(UnaryTest, IntegersWrap) {
  const Output least = constant({std::numeric_limits<int>::min()});
  EXPECT_EQ(run(negative(least)).item<int>(), std::numeric_limits<int>::min());
  EXPECT_EQ(run(abs(least)).item<int>(), std::numeric_limits<int>::min());
}

TEST_F(UnaryTest, RoundingStopsGradients) {
  const Output x = constant({1.5});
  EXPECT_TRUE(gradients({floor(x)}, {x})[0].is_none());
  EXPECT_EQ(run(gradients({sign(x)}, {x})[0].dense()).item<float>(), 0.0F);
}

TEST_F(UnaryTest, ConjOfARealMakesNoNode) {
  const Output x = constant({1.5});
  EXPECT_EQ(conj(x), x);
}

TEST_F(UnaryTest, ThirdDerivatives) {
  const Output x = constant(Tensor(0.3));
  const auto third = [&](Output (*f)(const Operand&, const OpOptions&)) {
    Output y = f(x, {});
    for (int i = 0; i < 3; ++i) y = gradients({y}, {x})[0].dense();
    return run(y).item<double>();
  };
  const double t = std::tanh(0.3), s = 1 / (1 + std::exp(-0.3));
  EXPECT_NEAR(third(tanh), (1 - t * t) * (6 * t * t - 2), 1e-12);
  EXPECT_NEAR(third(sigmoid), s * (1 - s) * (1 - 6 * s + 6 * s * s), 1e-12);
  EXPECT_NEAR(third(sqrt), 0.375 * std::pow(0.3, -2.5), 1e-10);
  EXPECT_NEAR(third(rsqrt), -1.875 * std::pow(0.3, -3.5), 1e-9);
  EXPECT_NEAR(third(reciprocal), -6 / std::pow(0.3, 4), 1e-9);
}

TEST_F(UnaryTest, NodesCarryTheUsersLine) {
  const Output y = sqrt(2.5);
  EXPECT_NE(y.node()->info().made_at.find("elementwise_unary_test.cc"), std::string::npos) << y.node()->info().made_at;
  EXPECT_EQ(y.dtype(), float32);
}

}  // namespace
}  // namespace caudal::inline v0
