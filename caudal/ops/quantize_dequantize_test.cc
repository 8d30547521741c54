#include "caudal/ops/quantize_dequantize.h"

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

const char* const kGradientTest = "QuantizeAndDequantize.GradientsPassAsTensorFlows";
const std::vector<DType> kTypes = {float32, float64};

Tensor number(DType t, double value) { return harness::tensor_of(t, {}, {value}); }

// Rounding has no slope of its own, so finite differences say nothing.
void add(harness::Samples& samples, std::vector<harness::SampleInput> inputs, AttrMap attrs) {
  samples.add({.inputs = std::move(inputs), .attrs = std::move(attrs), .gradient = Check::kNo});
}

CAUDAL_OP_SAMPLES(QuantizeAndDequantize) {
  samples.covered_by(kGradientTest);
  for (const DType t : kTypes) {
    add(samples, {samples.random(t, {3, 7})}, {});
    add(samples, {samples.random(t, {5})},
        {{"range_given", true}, {"input_min", -1.0F}, {"input_max", 3.0F}, {"signed_input", false}, {"num_bits", 3}});
    add(samples, {samples.random(t, {0})}, {});
  }
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num_bits", 62}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument,
                {{"range_given", true}, {"input_min", 2.0F}, {"input_max", 1.0F}});
}

void v2_samples(harness::Samples& samples) {
  samples.covered_by(kGradientTest);
  for (const DType t : kTypes) {
    for (const bool given : {false, true}) {
      for (const bool is_signed : {false, true}) {
        for (const char* mode : {"HALF_TO_EVEN", "HALF_UP"}) {
          add(samples, {samples.random(t, {2, 9}), number(t, -2), number(t, 3.5)},
              {{"range_given", given},
               {"signed_input", is_signed},
               {"round_mode", mode},
               {"num_bits", 4},
               {"narrow_range", is_signed}});
        }
      }
      add(samples,
          {samples.random(t, {2, 3, 4}), harness::tensor_of(t, {3}, {-1, -2, 0}),
           harness::tensor_of(t, {3}, {1, 3, 4})},
          {{"range_given", given}, {"axis", 1}});
    }
    add(samples, {samples.random(t, {0}), number(t, -2), number(t, 3.5)}, {});
  }
  const Tensor x = samples.random(float32, {2, 3});
  const auto error = [&](const Tensor& low, const Tensor& high, AttrMap attrs) {
    attrs["range_given"] = true;
    samples.error({x, low, high}, Code::kInvalidArgument, attrs);
  };
  error(Tensor(2.0F), Tensor(1.0F), {});
  error(Tensor(Floats{1}), Tensor(Floats{2}), {});
  error(Tensor(Floats{1, 2}), Tensor(Floats{2, 3}), {{"axis", 1}});
  error(Tensor(1.0F), Tensor(2.0F), {{"axis", -2}});
  error(Tensor(Floats{1}), Tensor(Floats{2}), {{"axis", 2}});
  error(Tensor(1.0F), Tensor(2.0F), {{"num_bits", 0}});
}

CAUDAL_OP_SAMPLES(QuantizeAndDequantizeV2) { v2_samples(samples); }
CAUDAL_OP_SAMPLES(QuantizeAndDequantizeV4) { v2_samples(samples); }

CAUDAL_OP_SAMPLES(QuantizeAndDequantizeV3) {
  samples.covered_by(kGradientTest);
  for (const DType t : kTypes) {
    for (const bool given : {false, true}) {
      add(samples, {samples.random(t, {2, 9}), number(t, -2), number(t, 3.5), Tensor(5)}, {{"range_given", given}});
      add(samples,
          {samples.random(t, {2, 3}), harness::tensor_of(t, {3}, {-1, -2, 0}), harness::tensor_of(t, {3}, {1, 3, 4}),
           Tensor(8)},
          {{"range_given", given}, {"axis", 1}, {"signed_input", false}});
    }
  }
  const Tensor x = samples.random(float32, {2, 3});
  samples.error({x, Tensor(1.0F), Tensor(2.0F), Tensor(62)}, Code::kInvalidArgument);
  samples.error({x, Tensor(2.0F), Tensor(1.0F), Tensor(8)}, Code::kInvalidArgument);
  samples.error({x, Tensor(1.0F), Tensor(2.0F), Tensor(std::vector<int>{8})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(QuantizeAndDequantizeV4Grad) {
  for (const DType t : kTypes) {
    add(samples, {samples.random(t, {2, 9}), samples.random(t, {2, 9}), number(t, -2), number(t, 3.5)}, {});
    add(samples,
        {samples.random(t, {2, 3}), samples.random(t, {2, 3}), harness::tensor_of(t, {3}, {-1, -2, 0}),
         harness::tensor_of(t, {3}, {1, 3, 4})},
        {{"axis", 1}});
  }
  samples.add({.inputs = {samples.random(float64, {5}), samples.random(float64, {5}), number(float64, -2),
                          number(float64, 3.5)},
               .undifferentiated_inputs = {1, 2, 3},
               .undifferentiated_outputs = {1, 2}});
  samples.error({samples.random(float32, {3}), samples.random(float32, {2}), Tensor(1.0F), Tensor(2.0F)},
                Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3}), Tensor(Floats{1}), Tensor(2.0F)},
                Code::kInvalidArgument);
}

TEST(QuantizeAndDequantize, GradientsPassAsTensorFlows) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output x = constant({-3.0F, -0.5F, 0.25F, 4.0F}), low = constant(-1.0F), high = constant(1.0F);
  const auto slope = [&](const Output& y) { return session.run(gradients({y}, {x})[0].dense()).to_vector<float>(); };
  const quantization::QuantizeAndDequantizeOptions options = {.range_given = true};
  EXPECT_EQ(slope(quantization::quantize_and_dequantize(x, low, high, options)), (Floats{1, 1, 1, 1}));
  EXPECT_EQ(slope(quantization::quantize_and_dequantize_v2(x, low, high, options)), (Floats{0, 1, 1, 0}));
  const Output v3 = OpBuilder("QuantizeAndDequantizeV3", {}).input(x).input(low).input(high).input(8).build();
  EXPECT_EQ(slope(v3), (Floats{1, 1, 1, 1}));
}

// tf.raw_ops.QuantizeAndDequantizeV2(input=[-1, -.5, 0, .3], input_min=-1., input_max=.4, num_bits=4, range_given=True)
TEST(QuantizeAndDequantize, RoundsToSteps) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output y = quantization::quantize_and_dequantize(constant({-1.0F, -0.5F, 0.0F, 0.3F}), -1.0F, 0.4F,
                                                         {.num_bits = 4, .range_given = true});
  EXPECT_EQ(session.run(y).to_vector<float>(), (Floats{-1, -0.5F, 0, 0.25F}));
}

}  // namespace
}  // namespace caudal::inline v0
