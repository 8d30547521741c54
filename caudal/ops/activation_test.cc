#include "caudal/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};
const double kSeluScale = 1.0507009873554804934193349852946;
const double kSeluAlpha = 1.6732632423543772848170429916717;

CAUDAL_OP_SAMPLES(Relu) {
  samples.unary_elementwise(kReals, {.reference = [](double x) { return std::max(x, 0.0); }});
  samples.error({samples.random(complex64, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Relu6) {
  samples.unary_elementwise(kReals,
                            {.range = {-8, 8}, .reference = [](double x) { return std::min(std::max(x, 0.0), 6.0); }});
  samples.error({samples.random(boolean, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(LeakyRelu) {
  samples.unary_elementwise(kFloats, {.reference = [](double x) { return x > 0 ? x : 0.2F * x; }});
  samples.unary_elementwise({float32},
                            {.attrs = {{"alpha", 0.5}}, .reference = [](double x) { return x > 0 ? x : 0.5 * x; }});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Elu) {
  samples.unary_elementwise(kFloats, {.reference = [](double x) { return x < 0 ? std::expm1(x) : x; }});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Selu) {
  samples.unary_elementwise(
      kFloats, {.reference = [](double x) { return kSeluScale * (x < 0 ? kSeluAlpha * std::expm1(x) : x); }});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Softplus) {
  samples.unary_elementwise(
      kFloats, {.reference = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Softsign) {
  // TensorFlow has no gradient of SoftsignGrad. Inf / (1 + inf) is NaN.
  samples.unary_elementwise(kFloats,
                            {.reference = [](double x) { return x / (1 + std::abs(x)); }, .second_order = Check::kNo});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

void gradient_errors(harness::Samples& samples) {
  samples.error({samples.random(float32, {3}), samples.random(float32, {4})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float64, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ReluGrad) {
  samples.same_shape(2, kReals,
                     {.reference2 = [](double g, double x) { return x > 0 ? g : 0; }, .nan_propagates = false});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(Relu6Grad) {
  samples.same_shape(2, kReals,
                     {.second = {-8, 8},
                      .reference2 = [](double g, double x) { return x > 0 && x < 6 ? g : 0; },
                      .nan_propagates = false});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(LeakyReluGrad) {
  samples.same_shape(2, kFloats,
                     {.reference2 = [](double g, double x) { return x > 0 ? g : 0.2F * g; }, .nan_propagates = false});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(EluGrad) {
  samples.same_shape(
      2, kFloats, {.reference2 = [](double g, double y) { return y < 0 ? g * (y + 1) : g; }, .nan_propagates = false});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(SeluGrad) {
  samples.same_shape(
      2, kFloats,
      {.reference2 = [](double g, double y) { return y < 0 ? g * (y + kSeluScale * kSeluAlpha) : g * kSeluScale; },
       .nan_propagates = false});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(SoftplusGrad) {
  samples.same_shape(2, kFloats, {.reference2 = [](double g, double x) { return g / (1 + std::exp(-x)); }});
  gradient_errors(samples);
}

CAUDAL_OP_SAMPLES(SoftsignGrad) {
  samples.same_shape(
      2, kFloats,
      {.reference2 = [](double g, double x) { return g / std::pow(1 + std::abs(x), 2); }, .gradient = Check::kNo});
  gradient_errors(samples);
}

class Activation : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};

  // d(sum y)/dx at x.
  Tensor slope(Output (*f)(const Operand&, const OpOptions&), const Tensor& x) {
    const Output in = placeholder(x.dtype(), x.shape());
    return session_.run(gradients({f(in, {})}, {in})[0].dense(), {{in, x}});
  }
};

TEST_F(Activation, SlopesAtKinksAreTensorFlows) {
  const Tensor x = Tensor::from<float>({5}, {-1, 0, 3, 6, 7});
  EXPECT_EQ(slope(nn::relu, x).to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 1}));
  EXPECT_EQ(slope(nn::relu6, x).to_vector<float>(), (std::vector<float>{0, 0, 1, 0, 0}));
  const Tensor zero = Tensor::from<float>({1}, {0});
  EXPECT_EQ(slope(nn::elu, zero).to_vector<float>(), std::vector<float>{1});
}

TEST_F(Activation, NanPassesThrough) {
  const Tensor nan = Tensor::from<float>({1}, {std::numeric_limits<float>::quiet_NaN()});
  const Output x = placeholder(float32, {1});
  for (const Output& y : {nn::relu(x), nn::relu6(x), nn::leaky_relu(x), nn::elu(x), nn::softplus(x)}) {
    EXPECT_TRUE(std::isnan(session_.run(y, {{x, nan}}).item<float>())) << y.name();
  }
}

TEST_F(Activation, CompositionsHaveTensorFlowsValues) {
  const Output x = constant({-2.0, -0.5, 0.0, 1.0});
  const auto expect = [&](const Output& y, std::vector<float> values) {
    EXPECT_EQ(harness::difference(Tensor(values), session_.run(y), 1e-6), "") << y.name();
  };
  expect(nn::swish(x), {-0.23840584F, -0.18877034F, 0, 0.7310586F});
  expect(nn::swish(x, {.beta = 2.0F}), {-0.03597242F, -0.13447072F, 0, 0.8807971F});
  expect(nn::gelu(x), {-0.04550028F, -0.15426877F, 0, 0.8413447F});
  expect(nn::gelu(x, {.approximate = true}), {-0.04540229F, -0.154286F, 0, 0.841192F});
  EXPECT_EQ(nn::swish(x, {.name = "act"}).name(), "act:0");
}

TEST_F(Activation, AttributesAreKept) {
  const Output y = nn::leaky_relu(constant({-2.0}), {.alpha = 0.1F, .name = "leaky"});
  EXPECT_EQ(y.name(), "leaky:0");
  EXPECT_FLOAT_EQ(session_.run(y).item<float>(), -0.2F);
}

}  // namespace
}  // namespace caudal::inline v0
