#include "caudal/ops/quantize_ops.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Floats = std::vector<float>;

const std::vector<DType> kTypes = {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32};
const std::vector<std::string> kModes = {"MIN_COMBINED", "MIN_FIRST", "SCALED"};

CAUDAL_OP_SAMPLES(QuantizeV2) {
  for (const DType t : kTypes) {
    for (const std::string& mode : kModes) {
      samples.add({.inputs = {samples.random(float32, {3, 7}), Tensor(-2.0F), Tensor(3.5F)},
                   .attrs = {{"T", t}, {"mode", mode}}});
      samples.add(
          {.inputs = {samples.random(float32, {0}), Tensor(1.0F), Tensor(1.0F)}, .attrs = {{"T", t}, {"mode", mode}}});
    }
    samples.add({.inputs = {samples.random(float32, {2, 3, 4}), Tensor(Floats{-1, -2, 0}), Tensor(Floats{1, 3, 4})},
                 .attrs = {{"T", t}, {"axis", 1}}});
    samples.add(
        {.inputs = {samples.random(float32, {2, 3}), Tensor(Floats{-1, -2, 0}), Tensor(Floats{1, 3, 4})},
         .attrs = {{"T", t}, {"axis", 1}, {"mode", "SCALED"}, {"narrow_range", true}, {"round_mode", "HALF_TO_EVEN"}}});
  }
  const Tensor x = samples.random(float32, {2, 3});
  const auto error = [&](const Tensor& low, const Tensor& high, AttrMap attrs, Code code = Code::kInvalidArgument) {
    attrs["T"] = DType::kQint8;
    samples.error({x, low, high}, code, attrs);
  };
  error(Tensor(2.0F), Tensor(1.0F), {});
  error(Tensor(Floats{1, 2}), Tensor(Floats{2, 3}), {});
  error(Tensor(Floats{1, 2}), Tensor(Floats{2, 3}), {{"axis", 1}});
  error(Tensor(1.0F), Tensor(2.0F), {{"axis", -2}});
  error(Tensor(1.0F), Tensor(2.0F), {{"round_mode", "HALF_TO_EVEN"}});
  error(Tensor(Floats{1, 1, 1}), Tensor(Floats{2, 3, 4}), {{"axis", 1}, {"mode", "MIN_FIRST"}}, Code::kUnimplemented);
}

CAUDAL_OP_SAMPLES(Dequantize) {
  for (const DType t : kTypes) {
    for (const std::string& mode : kModes) {
      samples.add({.inputs = {samples.random(t, {3, 7}, {.low = -100, .high = 100}), Tensor(-2.0F), Tensor(3.5F)},
                   .attrs = {{"mode", mode}}});
    }
    samples.add({.inputs = {samples.random(t, {3, 7}), Tensor(-2.0F), Tensor(3.5F)}, .attrs = {{"dtype", bfloat16}}});
    samples.add({.inputs = {samples.random(t, {2, 3}), Tensor(Floats{-1, -2, 0}), Tensor(Floats{1, 3, 4})},
                 .attrs = {{"axis", 1}, {"mode", "SCALED"}, {"narrow_range", true}}});
  }
  const Tensor x = samples.random(DType::kQuint8, {2, 3});
  samples.error({x, Tensor(Floats{1, 2}), Tensor(Floats{2, 3})}, Code::kInvalidArgument, {{"axis", 1}});
  samples.error({x, Tensor(1.0F), Tensor(2.0F)}, Code::kInvalidArgument, {{"axis", -2}});
  samples.error({x, Tensor(1.0F), Tensor(2.0F)}, Code::kInvalidArgument, {{"dtype", bfloat16}, {"mode", "SCALED"}});
}

TEST(QuantizeOps, GoThereAndBack) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output x = constant({-1.0F, 0.0F, 0.3F, 0.9F});
  for (const std::string& mode : kModes) {
    for (const DType t : kTypes) {
      const auto q = quantization::quantize(x, -1.0F, 1.0F, t, {.mode = mode});
      const Output back = quantization::dequantize(q.output, q.output_min, q.output_max, {.mode = mode});
      const auto values = session.run(back).to_vector<float>();
      const auto wanted = session.run(x).to_vector<float>();
      const bool unsigned_only = mode == "SCALED" && (t == DType::kQuint8 || t == DType::kQuint16);
      for (std::size_t i = unsigned_only ? 1 : 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], wanted[i], 1.0 / 80) << mode << t;
      }
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0
