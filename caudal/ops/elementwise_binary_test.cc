#include "caudal/ops/elementwise_binary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
using harness::ElementwiseOptions;
using harness::Samples;

const std::vector<DType> kReals = {float16, bfloat16, float32, float64};
const std::vector<DType> kComplex = {complex64, complex128};
const std::vector<DType> kIntegers = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};

Tensor ints(const std::vector<int>& values) { return Tensor(values); }

void shape_errors(Samples& samples, DType dtype = float32) {
  samples.error({samples.random(dtype, {2, 3}), samples.random(dtype, {2, 2})}, Code::kInvalidArgument);
  samples.error({samples.random(dtype, {3}), samples.random(boolean == dtype ? float32 : boolean, {3})},
                Code::kInvalidArgument);
}

// Floating types with derivatives, complex ones, integers that cannot overflow with these values.
void arithmetic(Samples& samples, double (*reference)(double, double), const std::vector<DType>& integers = kIntegers) {
  samples.binary_broadcasting(kReals, {.reference2 = reference});
  samples.binary_broadcasting(kComplex);
  if (!integers.empty()) samples.binary_broadcasting(integers);
  shape_errors(samples);
}

CAUDAL_OP_SAMPLES(Add) {
  arithmetic(samples, [](double x, double y) { return x + y; }, {int8, int16, int32, int64, uint8});
  samples.add({.inputs = {Tensor::from<std::string>({2, 1}, {"a", "b"}), Tensor::from<std::string>({2}, {"x", "yz"})},
               .expected = {Tensor::from<std::string>({2, 2}, {"ax", "ayz", "bx", "byz"})}});
}
CAUDAL_OP_SAMPLES(AddV2) {
  arithmetic(samples, [](double x, double y) { return x + y; });
}
CAUDAL_OP_SAMPLES(Sub) {
  arithmetic(samples, [](double x, double y) { return x - y; });
}
CAUDAL_OP_SAMPLES(Mul) {
  arithmetic(samples, [](double x, double y) { return x * y; });
}
CAUDAL_OP_SAMPLES(MulNoNan) {
  samples.binary_broadcasting(
      kReals, {.reference2 = [](double x, double y) { return y == 0 ? 0 : x * y; }, .nan_propagates = false});
  samples.binary_broadcasting(kComplex, {.gradient = Check::kNo});  // TensorFlow's gradient does not conjugate
  shape_errors(samples);
}

void division(Samples& samples, double (*reference)(double, double), bool complex, const std::vector<DType>& integers,
              Code by_zero = Code::kInvalidArgument, const std::vector<DType>& reals = kReals) {
  const ElementwiseOptions options = {
      .second = {.low = 1, .high = 5}, .reference2 = reference, .nan_propagates = false, .special = false};
  samples.binary_broadcasting(reals, options);
  if (complex) samples.binary_broadcasting(kComplex, {.second = {.low = 1, .high = 5}, .special = false});
  if (!integers.empty()) {
    samples.binary_broadcasting(integers, options);
    samples.error({ints({1, 2}), ints({1, 0})}, by_zero);
  }
  shape_errors(samples);
}
CAUDAL_OP_SAMPLES(Div) {
  division(samples, [](double x, double y) { return x / y; }, true, {});
  samples.binary_broadcasting(kIntegers, {.second = {.low = 1, .high = 5},
                                          .reference2 = [](double x, double y) { return std::trunc(x / y); },
                                          .special = false});
  samples.error({ints({1, 2}), ints({1, 0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(RealDiv) {
  division(samples, [](double x, double y) { return x / y; }, true, {});
}
CAUDAL_OP_SAMPLES(DivNoNan) {
  division(samples, [](double x, double y) { return y == 0 ? 0 : x / y; }, true, {});
}
CAUDAL_OP_SAMPLES(FloorDiv) {
  division(
      samples, [](double x, double y) { return std::floor(x / y); }, false, kIntegers);
}
CAUDAL_OP_SAMPLES(FloorMod) {
  division(
      samples, [](double x, double y) { return x - y * std::floor(x / y); }, false, kIntegers);
}
CAUDAL_OP_SAMPLES(TruncateDiv) {
  division(
      samples, [](double x, double y) { return std::trunc(x / y); }, false, kIntegers, Code::kInternal);
}
CAUDAL_OP_SAMPLES(TruncateMod) {
  division(samples, [](double x, double y) { return std::fmod(x, y); }, false, {int32, int64}, Code::kInternal,
           {float32, float64});
}
CAUDAL_OP_SAMPLES(Mod) {
  division(samples, [](double x, double y) { return std::fmod(x, y); }, false, {int32, int64}, Code::kInvalidArgument,
           {float32, float64});
}

void extreme(Samples& samples, double (*reference)(double, double)) {
  samples.binary_broadcasting(kReals, {.reference2 = reference});
  samples.binary_broadcasting(kIntegers, {.reference2 = reference});
  shape_errors(samples);
}
CAUDAL_OP_SAMPLES(Maximum) {
  extreme(samples, [](double x, double y) { return std::max(x, y); });
}
CAUDAL_OP_SAMPLES(Minimum) {
  extreme(samples, [](double x, double y) { return std::min(x, y); });
}

CAUDAL_OP_SAMPLES(Pow) {
  samples.binary_broadcasting(kReals, {.range = {.low = 0.5, .high = 2},
                                       .second = {.low = -2, .high = 2},
                                       .reference2 = [](double x, double y) { return std::pow(x, y); },
                                       .nan_propagates = false});
  samples.binary_broadcasting({int16, int32, int64}, {.range = {.low = -3, .high = 3},
                                                      .second = {.low = 0, .high = 5},
                                                      .reference2 = [](double x, double y) { return std::pow(x, y); },
                                                      .special = false});
  samples.binary_broadcasting({int8}, {.second = {.low = 0, .high = 5}, .special = false});
  samples.binary_broadcasting(kComplex,
                              {.range = {.low = 0.5, .high = 2}, .second = {.low = 0.5, .high = 2}, .special = false});
  samples.error({ints({2, 3}), ints({1, -1})}, Code::kInvalidArgument);
  shape_errors(samples);
}
CAUDAL_OP_SAMPLES(SquaredDifference) {
  samples.binary_broadcasting(kReals, {.reference2 = [](double x, double y) { return (x - y) * (x - y); }});
  samples.binary_broadcasting(kComplex, {.gradient = Check::kNo});  // TensorFlow's gradient does not conjugate
  samples.binary_broadcasting({int32, int64});
  shape_errors(samples);
}
void zero_safe(Samples& samples, double (*reference)(double, double)) {
  samples.binary_broadcasting(kReals,
                              {.second = {.low = 0.5, .high = 5}, .reference2 = reference, .nan_propagates = false});
  samples.binary_broadcasting(kComplex, {.second = {.low = 0.5, .high = 5}, .special = false});
  shape_errors(samples);
}
CAUDAL_OP_SAMPLES(Xdivy) {
  zero_safe(samples, [](double x, double y) { return x == 0 ? 0 : x / y; });
}
CAUDAL_OP_SAMPLES(Xlogy) {
  zero_safe(samples, [](double x, double y) { return x == 0 ? 0 : x * std::log(y); });
}
CAUDAL_OP_SAMPLES(Xlog1py) {
  zero_safe(samples, [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); });
}
CAUDAL_OP_SAMPLES(Atan2) {
  samples.binary_broadcasting(kReals, {.reference2 = [](double y, double x) { return std::atan2(y, x); }});
  shape_errors(samples);
}

void comparison(Samples& samples, double (*reference)(double, double)) {
  samples.binary_broadcasting(kReals, {.reference2 = reference, .nan_propagates = false});
  samples.binary_broadcasting(kIntegers, {.reference2 = reference});
  shape_errors(samples);
}
CAUDAL_OP_SAMPLES(Less) {
  comparison(samples, [](double x, double y) { return x < y ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(LessEqual) {
  comparison(samples, [](double x, double y) { return x <= y ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(Greater) {
  comparison(samples, [](double x, double y) { return x > y ? 1.0 : 0.0; });
}
CAUDAL_OP_SAMPLES(GreaterEqual) {
  comparison(samples, [](double x, double y) { return x >= y ? 1.0 : 0.0; });
}
void equality(Samples& samples, double (*reference)(double, double), bool when_shapes_differ) {
  comparison(samples, reference);
  samples.binary_broadcasting({boolean, string, complex64, complex128});
  samples.binary_broadcasting({DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32});
  samples.add({.inputs = {samples.random(float32, {2, 3}), samples.random(float32, {2, 2})},
               .attrs = {{"incompatible_shape_error", false}},
               .expected = {Tensor(when_shapes_differ)}});
}
CAUDAL_OP_SAMPLES(Equal) {
  equality(
      samples, [](double x, double y) { return x == y ? 1.0 : 0.0; }, false);
}
CAUDAL_OP_SAMPLES(NotEqual) {
  equality(
      samples, [](double x, double y) { return x != y ? 1.0 : 0.0; }, true);
}
CAUDAL_OP_SAMPLES(LogicalAnd) {
  samples.binary_broadcasting({boolean}, {.reference2 = [](double x, double y) { return x * y; }});
  shape_errors(samples, boolean);
}
CAUDAL_OP_SAMPLES(LogicalOr) {
  samples.binary_broadcasting({boolean}, {.reference2 = [](double x, double y) { return std::max(x, y); }});
  shape_errors(samples, boolean);
}

void bits(Samples& samples, double (*reference)(double, double)) {
  samples.binary_broadcasting(kIntegers,
                              {.range = {0, 100}, .second = {0, 6}, .reference2 = reference, .special = false});
  samples.binary_broadcasting(kIntegers);
  shape_errors(samples, int32);
}
using Long = std::int64_t;
CAUDAL_OP_SAMPLES(BitwiseAnd) {
  bits(samples, [](double x, double y) -> double { return Long(x) & Long(y); });
}
CAUDAL_OP_SAMPLES(BitwiseOr) {
  bits(samples, [](double x, double y) -> double { return Long(x) | Long(y); });
}
CAUDAL_OP_SAMPLES(BitwiseXor) {
  bits(samples, [](double x, double y) -> double { return Long(x) ^ Long(y); });
}
CAUDAL_OP_SAMPLES(RightShift) {
  bits(samples, [](double x, double y) -> double { return Long(x) >> Long(y); });
}
CAUDAL_OP_SAMPLES(LeftShift) {
  samples.binary_broadcasting({int32, int64},
                              {.range = {0, 100},
                               .second = {0, 6},
                               .reference2 = [](double x, double y) -> double { return Long(x) << Long(y); },
                               .special = false});
  samples.binary_broadcasting(kIntegers);
  shape_errors(samples, int32);
}

CAUDAL_OP_SAMPLES(BroadcastGradientArgs) {
  const auto add = [&](std::vector<int> s0, std::vector<int> s1, std::vector<int> r0, std::vector<int> r1) {
    samples.add({.inputs = {Tensor(s0), Tensor(s1)}, .expected = {Tensor(r0), Tensor(r1)}, .shape_unknown = true});
  };
  // As TensorFlow 2.21 answers.
  add({2, 3}, {3}, {}, {0});
  add({1, 3}, {1, 3}, {}, {});
  add({1, 3}, {2, 1}, {0}, {1});
  add({1, 1}, {1}, {0, 1}, {0, 1});
  add({}, {2}, {0}, {});
  add({2, 1, 1}, {2, 1, 4}, {1, 2}, {1});
  add({1, 5}, {1}, {0}, {0, 1});
  add({0, 1}, {1, 1}, {1}, {0, 1});
  samples.add({.inputs = {Tensor(std::vector<Long>{2, 3}), Tensor(std::vector<Long>{1})},
               .expected = {Tensor(std::vector<Long>{}), Tensor(std::vector<Long>{0, 1})},
               .shape_unknown = true});
  samples.error({ints({2, 3}), ints({2, 2})}, Code::kInvalidArgument);
  samples.error({Tensor(1), ints({2, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(BroadcastArgs) {
  samples.add({.inputs = {ints({2, 1, 3}), ints({4, 1})}, .expected = {ints({2, 4, 3})}});
  samples.add({.inputs = {Tensor(std::vector<Long>{}), Tensor(std::vector<Long>{0, 1})},
               .expected = {Tensor(std::vector<Long>{0, 1})}});
  samples.error({ints({2, 3}), ints({2, 2})}, Code::kInvalidArgument);
}

class BinaryTest : public testing::Test {
 protected:
  Tensor run(const Output& output, const Feeds& feeds = {}) { return Session().run(output, feeds); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(BinaryTest, OperatorsTakeNumbersOnEitherSide) {
  const Output x = constant(Tensor::from<double>({2}, {1, 4}));
  EXPECT_TRUE(identical(run(2 * x + 1), Tensor(std::vector<double>{3, 9})));
  EXPECT_TRUE(identical(run(-(8 / x) - 0.5), Tensor(std::vector<double>{-8.5, -2.5})));
  EXPECT_EQ((x + 1).node()->type(), "AddV2");
  EXPECT_EQ((x / 2).node()->type(), "RealDiv");
  EXPECT_TRUE(identical(run(constant({-7, 7}) % 4), ints({1, 3})));
  EXPECT_TRUE(identical(run(constant("a") + "b"), Tensor("ab")));
}

TEST_F(BinaryTest, OperatorsCarryTheUsersLine) {
  const Output x = constant({1.0, 2.0});
  const int line = __LINE__ + 1;
  const Output y = x * 2;
  EXPECT_EQ(y.node()->info().made_at, "elementwise_binary_test.cc:" + std::to_string(line));
  try {
    x + constant({1.0, 2.0, 3.0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("elementwise_binary_test.cc:" + std::to_string(line + 3)),
              std::string::npos)
        << error.what();
  }
}

TEST_F(BinaryTest, DividingIntegersGivesFractions) {
  const Tensor quotient = run(constant({1, 7}) / constant({2, 2}));
  EXPECT_TRUE(identical(quotient, Tensor(std::vector<double>{0.5, 3.5})));
  EXPECT_TRUE(identical(run(div(constant({-7, 7}), 2)), ints({-3, 3})));
  EXPECT_TRUE(identical(run(floordiv(constant({-7, 7}), 2)), ints({-4, 3})));
}

TEST_F(BinaryTest, MaximumGivesTiesToTheFirst) {
  const Output x = constant({1.0, 2.0, 3.0}), y = constant({2.0, 2.0, 2.0});
  const auto grads = gradients({maximum(x, y)}, {x, y});
  EXPECT_TRUE(identical(run(grads[0].dense()), Tensor(std::vector<float>{0, 1, 1})));
  EXPECT_TRUE(identical(run(grads[1].dense()), Tensor(std::vector<float>{1, 0, 0})));
  const auto least = gradients({minimum(x, y)}, {x, y});
  EXPECT_TRUE(identical(run(least[0].dense()), Tensor(std::vector<float>{1, 1, 0})));
}

TEST_F(BinaryTest, MaximumPassesNanOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor result = run(maximum(constant(std::vector<float>{nan, 1}), constant(std::vector<float>{1, nan})));
  EXPECT_TRUE(std::isnan(result.flat<float>()[0]));
  EXPECT_TRUE(std::isnan(result.flat<float>()[1]));
}

TEST_F(BinaryTest, PowHasFiniteGradientsAtZero) {
  const Output x = constant({0.0, 0.0, 2.0}), y = constant({2.0, 1.0, 3.0});
  const auto grads = gradients({pow(x, y)}, {x, y});
  EXPECT_TRUE(identical(run(grads[0].dense()), Tensor(std::vector<float>{0, 1, 12})));
  const Tensor by_y = run(grads[1].dense());
  EXPECT_EQ(by_y.flat<float>()[0], 0);
  EXPECT_NEAR(by_y.flat<float>()[2], 8 * std::log(2.0), 1e-6);
}

// The sums over repeated axes are decided now if shapes are known, else by the run.
TEST_F(BinaryTest, GradientsOfBroadcastOperandsHaveTheirShapes) {
  for (const bool known : {true, false}) {
    const auto input = [&](const Shape& shape) {
      return placeholder(float32, known ? PartialShape(shape) : PartialShape());
    };
    const Output x = input({2, 1, 3}), bias = input({3}), scalar = input({}), column = input({4, 1});
    const auto grads = gradients({(x * column + bias) * scalar}, {x, column, bias, scalar});
    const Feeds feeds = {{x, Tensor::from<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
                         {bias, Tensor(std::vector<float>{1, 1, 1})},
                         {scalar, Tensor(2.0F)},
                         {column, Tensor::from<float>({4, 1}, {1, 2, 3, 4})}};
    EXPECT_EQ(
        harness::difference(Tensor::from<float>({2, 1, 3}, {20, 20, 20, 20, 20, 20}), run(grads[0].dense(), feeds), 0),
        "");
    EXPECT_EQ(harness::difference(Tensor::from<float>({4, 1}, {42, 42, 42, 42}), run(grads[1].dense(), feeds), 0), "");
    EXPECT_EQ(harness::difference(Tensor(std::vector<float>{16, 16, 16}), run(grads[2].dense(), feeds), 0), "");
    EXPECT_EQ(harness::difference(Tensor(234.0F), run(grads[3].dense(), feeds), 0), "");
  }
}

TEST_F(BinaryTest, ABiasNeedsNoShapeAtRunTime) {
  const Output x = placeholder(float32, {-1, 3}), bias = constant({1.0, 2.0, 3.0});
  EXPECT_EQ(gradients({x + bias}, {bias})[0].dense().node()->type(), "Sum");
  EXPECT_EQ(graph_.find("gradients/AddV2_grad/BroadcastGradientArgs"), nullptr);
}

TEST_F(BinaryTest, ShapesThatOnlyTheRunKnowsAreChecked) {
  const Output x = placeholder(float32), y = placeholder(float32);
  const Output z = x + y;
  Session session;
  try {
    session.run(z, {{x, Tensor(std::vector<float>{1, 2})}, {y, Tensor(std::vector<float>{1, 2, 3})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.detail().find("[2] and [3]"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(identical(session.run(z, {{x, Tensor(1.0F)}, {y, Tensor(2.0F)}}), Tensor(3.0F)));
}

TEST_F(BinaryTest, FeedingAnIntermediateValueDoesNotCutTheGradient) {
  const Output a = constant(0.0), b = a + 1.0, c = b * 2.0;
  EXPECT_EQ(run(gradients({c}, {a})[0].dense(), {{b, Tensor(0.0F)}}).item<float>(), 2.0F);
}

}  // namespace
}  // namespace caudal::inline v0
