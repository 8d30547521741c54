#include "caudal/ops/fake_quant.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using Floats = std::vector<float>;

// Rounding has no slope of its own, so finite differences say nothing.
void add(harness::Samples& samples, std::vector<harness::SampleInput> inputs, AttrMap attrs = {}) {
  samples.add({.inputs = std::move(inputs), .attrs = std::move(attrs), .gradient = Check::kNo});
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxArgs) {
  samples.covered_by("FakeQuant.GradientGoesToTheRangeWhereValuesLieOutside");
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 3, 4, 5}, Shape{300, 101}}) {
    add(samples, {samples.random(float32, shape, {.low = -9, .high = 9})});
    add(samples, {samples.random(float32, shape)},
        {{"min", -0.7F}, {"max", 2.0F}, {"num_bits", 4}, {"narrow_range", true}});
  }
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"min", 1.0F}, {"max", 1.0F}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num_bits", 1}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num_bits", 17}});
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxArgsGradient) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{5, 9}}) {
    add(samples, {samples.random(float32, shape), samples.random(float32, shape, {.low = -9, .high = 9})});
  }
  samples.error({samples.random(float32, {2}), samples.random(float32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxVars) {
  samples.covered_by("FakeQuant.GradientGoesToTheRangeWhereValuesLieOutside");
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 3, 4, 5}}) {
    add(samples, {samples.random(float32, shape), Tensor(-3.0F), Tensor(2.5F)});
    add(samples, {samples.random(float32, shape), Tensor(0.5F), Tensor(4.5F)}, {{"num_bits", 16}});
    add(samples, {samples.random(float32, shape), Tensor(-4.5F), Tensor(-0.5F)},
        {{"num_bits", 2}, {"narrow_range", true}});
  }
  samples.add({.inputs = {samples.random(float32, {3}), Tensor(0.0F), Tensor(0.0F)},
               .expected = {Tensor(Floats{0, 0, 0})},
               .gradient = Check::kNo});
  samples.error({samples.random(float32, {2}), Tensor(Floats{1}), Tensor(2.0F)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxVarsGradient) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{5, 9}}) {
    add(samples, {samples.random(float32, shape), samples.random(float32, shape), Tensor(-2.0F), Tensor(1.5F)});
  }
  add(samples, {samples.random(float32, {4}), samples.random(float32, {4}), Tensor(0.0F), Tensor(0.0F)});
  samples.error({samples.random(float32, {2}), samples.random(float32, {3}), Tensor(-2.0F), Tensor(1.5F)},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxVarsPerChannel) {
  samples.covered_by("FakeQuant.GradientGoesToTheRangeWhereValuesLieOutside");
  const Tensor min(Floats{-1, 0, -3}), max(Floats{1, 0, 2});
  for (const Shape& shape : {Shape{3}, Shape{0, 3}, Shape{2, 5, 3}, Shape{2, 1, 2, 3}}) {
    add(samples, {samples.random(float32, shape), min, max}, {{"num_bits", 4}});
  }
  samples.error({samples.random(float32, {2}), min, max}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {}), min, max}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FakeQuantWithMinMaxVarsPerChannelGradient) {
  const Tensor min(Floats{-1, 0, -3}), max(Floats{1, 0, 2});
  for (const Shape& shape : {Shape{3}, Shape{0, 3}, Shape{2, 5, 3}}) {
    add(samples, {samples.random(float32, shape), samples.random(float32, shape), min, max});
  }
  samples.error({samples.random(float32, {3}), samples.random(float32, {3}), min, Tensor(Floats{1})},
                Code::kInvalidArgument);
}

TEST(FakeQuant, GradientGoesToTheRangeWhereValuesLieOutside) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant({-3.0F, -1.0F, 0.0F, 5.0F, 6.0F}), min = constant(-2.0F), max = constant(2.0F);
  const Output y = quantization::fake_quant_with_min_max_vars(x, min, max);
  const auto slopes = gradients({y}, {x, min, max}, {.grad_ys = {constant({1.0F, 2.0F, 4.0F, 8.0F, 16.0F})}});
  Session session;
  EXPECT_EQ(session.run(slopes[0].dense()).to_vector<float>(), (Floats{0, 2, 4, 0, 0}));
  EXPECT_EQ(session.run(slopes[1].dense()).item<float>(), 1);
  EXPECT_EQ(session.run(slopes[2].dense()).item<float>(), 24);

  const Output fixed = quantization::fake_quant_with_min_max_args(x, {.min = -2, .max = 2});
  EXPECT_EQ(session.run(gradients({fixed}, {x})[0].dense()).to_vector<float>(), (Floats{0, 1, 1, 0, 0}));

  const Output rows = constant(Tensor::from<float>({2, 2}, Floats{-3, 1, 1, 4}));
  const Output low = constant({-1.0F, 0.0F}), high = constant({2.0F, 3.0F});
  const Output z = quantization::fake_quant_with_min_max_vars_per_channel(rows, low, high);
  const auto parts = gradients({z}, {rows, low, high});
  EXPECT_EQ(session.run(parts[0].dense()).to_vector<float>(), (Floats{0, 1, 1, 0}));
  EXPECT_EQ(session.run(parts[1].dense()).to_vector<float>(), (Floats{1, 0}));
  EXPECT_EQ(session.run(parts[2].dense()).to_vector<float>(), (Floats{0, 1}));
}

}  // namespace
}  // namespace caudal::inline v0
