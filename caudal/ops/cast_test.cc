#include "caudal/ops/cast.h"

#include <gtest/gtest.h>

#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const std::vector<DType> kTypes = {float16, bfloat16, float32, float64, int8,      int16,      int32,  int64,
                                   uint8,   uint16,   uint32,  uint64,  complex64, complex128, boolean};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

CAUDAL_OP_SAMPLES(Cast) {
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      // Differences of rounded values say nothing.
      const bool precise = (from == float64 || from == complex128) && (to == float64 || to == complex128);
      samples.add({.inputs = {samples.random(from, {2, 37}, {.low = 0, .high = 100})},
                   .attrs = {{"DstT", to}},
                   .gradient = precise ? harness::Check::kAuto : harness::Check::kNo});
    }
  }
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{2, 3, 4, 5}, Shape{40001}}) {
    samples.add({.inputs = {samples.random(float32, shape)}, .attrs = {{"DstT", int32}}});
    samples.add({.inputs = {samples.random(uint8, shape)}, .attrs = {{"DstT", float32}}});
  }
  // As TensorFlow 2.21 answers on x86-64.
  const Tensor odd(std::vector<float>{kNan, kInf, -kInf, 3e9F, -3e9F, 300.7F, -1.5F});
  const auto least = std::numeric_limits<int>::min();
  samples.add({.inputs = {odd},
               .attrs = {{"DstT", int32}},
               .expected = {Tensor(std::vector<int>{least, least, least, least, least, 300, -1})}});
  samples.add({.inputs = {odd},
               .attrs = {{"DstT", uint8}},
               .expected = {Tensor::from<std::uint8_t>({7}, {0, 0, 0, 0, 0, 44, 255})}});
  samples.add({.inputs = {Tensor(std::vector<float>{kNan, 0})},
               .attrs = {{"DstT", boolean}},
               .expected = {Tensor::from<bool>({2}, {true, false})}});
  samples.add({.inputs = {Tensor("a")}, .attrs = {{"DstT", string}}, .expected = {Tensor("a")}});
  samples.add({.inputs = {Tensor(std::vector<double>{1 / 3.0, -1 / 3.0})},
               .attrs = {{"DstT", float32}, {"Truncate", true}},
               .expected = {Tensor(std::vector<float>{0.333333313F, -0.333333313F})},
               .gradient = harness::Check::kNo});
  samples.add({.inputs = {Tensor(std::vector<float>{1.0117188F, -1.0039062F})},
               .attrs = {{"DstT", bfloat16}, {"Truncate", true}},
               .expected = {Tensor::from<BFloat16>({2}, {BFloat16(1.0078125F), BFloat16(-1.0F)})}});
  samples.error({Tensor("a")}, Code::kUnimplemented, {{"DstT", boolean}});
}

CAUDAL_OP_SAMPLES(Bitcast) {
  for (const DType from : {float16, float32, float64, int8, int16, int32, int64, uint8, complex64, complex128}) {
    for (const DType to : {bfloat16, float32, int64, uint8, uint32, complex128}) {
      const auto ratio = static_cast<std::int64_t>(dtype_size(to) / dtype_size(from));
      Shape shape{2, 3};
      if (ratio > 1) shape = shape.append(ratio);
      samples.add({.inputs = {samples.random(from, shape)}, .attrs = {{"type", to}}});
    }
  }
  samples.add({.inputs = {Tensor::from<std::uint8_t>({4}, {1, 2, 3, 4})},
               .attrs = {{"type", int32}},
               .expected = {Tensor(0x04030201)}});
  samples.add({.inputs = {samples.random(uint8, {0, 4})}, .attrs = {{"type", int32}}});
  samples.error({samples.random(uint8, {3})}, Code::kInvalidArgument, {{"type", float32}});
  samples.error({samples.random(uint8, {})}, Code::kInvalidArgument, {{"type", float32}});
  samples.error({Tensor("a")}, Code::kInvalidArgument, {{"type", float32}});
}

TEST(Cast, MakesNoNodeForTheSameType) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant({1.5});
  EXPECT_EQ(cast(x, float32), x);
  EXPECT_EQ(to_int32(x).dtype(), int32);
}

TEST(Cast, GradientsPassAmongFloatingTypesOnly) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant({1.5});
  const auto grads = gradients({cast(x, float64)}, {x});
  EXPECT_EQ(grads[0].dense().dtype(), float32);
  EXPECT_TRUE(gradients({to_float(to_int32(x))}, {x})[0].is_none());
}

}  // namespace
}  // namespace caudal::inline v0
