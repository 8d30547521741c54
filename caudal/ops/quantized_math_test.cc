#include "caudal/ops/quantized_math.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

constexpr DType kByte = DType::kQuint8, kWide = DType::kQint32;

CAUDAL_OP_SAMPLES(QuantizedMatMul) {
  const Tensor low(-1.0F), high(2.0F), floor(0.5F), top(3.0F);
  const auto add = [&](const Tensor& a, const Tensor& b, bool ta, bool tb) {
    samples.add({.inputs = {a, b, low, high, floor, top}, .attrs = {{"transpose_a", ta}, {"transpose_b", tb}}});
  };
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return samples.random(kByte, {rows, columns}, {.low = 0, .high = 255});
  };
  add(matrix(3, 4), matrix(4, 5), false, false);
  add(matrix(4, 3), matrix(5, 4), true, true);
  add(matrix(2, 0), matrix(0, 3), false, false);
  samples.error({matrix(3, 4), matrix(3, 4), low, high, low, high}, Code::kInvalidArgument);
  samples.error({matrix(3, 4), matrix(4, 4), low, low, low, high}, Code::kInvalidArgument);
  samples.error({matrix(3, 4), matrix(4, 4), low, high, Tensor(std::vector<float>{1}), high}, Code::kInvalidArgument);
}

void relu_samples(harness::Samples& samples) {
  for (const DType t : {kByte, kWide}) {
    samples.add({.inputs = {samples.random(t, {3, 7}, {.low = 0, .high = 255}), Tensor(-4.0F), Tensor(9.0F)},
                 .attrs = {{"out_type", t}}});
  }
  samples.error({samples.random(kByte, {2}), Tensor(0.0F), Tensor(1.0F)}, Code::kUnimplemented, {{"out_type", kWide}});
}
CAUDAL_OP_SAMPLES(QuantizedRelu) { relu_samples(samples); }
CAUDAL_OP_SAMPLES(QuantizedRelu6) { relu_samples(samples); }

CAUDAL_OP_SAMPLES(RequantizationRange) {
  samples.add({.inputs = {samples.random(kWide, {3, 7}), Tensor(-4.0F), Tensor(9.0F)}});
  samples.add({.inputs = {samples.random(kWide, {2}), Tensor(1.0F), Tensor(1.0F)}});
  samples.error({samples.random(kByte, {2}), Tensor(0.0F), Tensor(1.0F)}, Code::kUnimplemented);
}

CAUDAL_OP_SAMPLES(Requantize) {
  const Tensor x = samples.random(kWide, {3, 7}, {.low = -1e9, .high = 1e9});
  for (const DType t : {kByte, DType::kQint8}) {
    samples.add({.inputs = {x, Tensor(-4.0F), Tensor(9.0F), Tensor(-1.0F), Tensor(2.0F)}, .attrs = {{"out_type", t}}});
    samples.add({.inputs = {x, Tensor(-4.0F), Tensor(9.0F), Tensor(0.0F), Tensor(0.0F)}, .attrs = {{"out_type", t}}});
  }
  samples.error({x, Tensor(-4.0F), Tensor(9.0F), Tensor(1.0F), Tensor(2.0F)}, Code::kInvalidArgument,
                {{"out_type", kByte}});
  samples.error({x, Tensor(-4.0F), Tensor(9.0F), Tensor(-1.0F), Tensor(-2.0F)}, Code::kInvalidArgument,
                {{"out_type", kByte}});
}

CAUDAL_OP_SAMPLES(QuantizeDownAndShrinkRange) {
  const Tensor x = samples.random(kWide, {3, 7}, {.low = -1e9, .high = 1e9});
  samples.add({.inputs = {x, Tensor(-4.0F), Tensor(9.0F)}, .attrs = {{"out_type", kByte}}});
  samples.error({x, Tensor(-4.0F), Tensor(9.0F)}, Code::kUnimplemented, {{"out_type", kWide}});
}

TEST(QuantizedMath, AProductComesNearTheOneInFloats) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output a = constant(Tensor::from<float>({2, 2}, {0.5, -1, 1, 0.25}));
  const Output b = constant(Tensor::from<float>({2, 2}, {1, 0, -0.5, 1}));
  const auto qa = quantization::quantize(a, -1.0F, 1.0F, kByte, {.mode = "MIN_FIRST"});
  const auto qb = quantization::quantize(b, -1.0F, 1.0F, kByte, {.mode = "MIN_FIRST"});
  const auto product =
      quantization::quantized_mat_mul(qa.output, qb.output, qa.output_min, qa.output_max, qb.output_min, qb.output_max);
  const auto positive = quantization::quantized_relu(product.output, product.output_min, product.output_max);
  const auto range = quantization::requantization_range(positive.output, positive.output_min, positive.output_max);
  const auto bytes = quantization::requantize(positive.output, positive.output_min, positive.output_max,
                                              range.output_min, range.output_max);
  const auto values =
      session.run(quantization::dequantize(bytes.output, bytes.output_min, bytes.output_max, {.mode = "MIN_FIRST"}))
          .to_vector<float>();
  const std::vector<float> wanted = {1.0F, 0.0F, 0.875F, 0.25F};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 0.02F) << i;
}

}  // namespace
}  // namespace caudal::inline v0
