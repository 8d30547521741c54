#include "caudal/ops/selection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

const std::vector<DType> kTypes = {float16, bfloat16, float32, float64, int8,      int16,      int32,   int64,
                                   uint8,   uint16,   uint32,  uint64,  complex64, complex128, boolean, string};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(const std::vector<float>& values) { return Tensor(values); }

CAUDAL_OP_SAMPLES(Select) {
  for (const DType dtype : kTypes) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 37}, Shape{2, 3, 4, 2}, Shape{0, 2}}) {
      const auto add = [&](const Shape& condition) {
        samples.add({.inputs = {samples.random(boolean, condition), samples.random(dtype, shape),
                                samples.random(dtype, shape)}});
      };
      add(shape);
      add({});
      if (shape.rank() > 1) add({shape[0]});
    }
  }
  samples.error({samples.random(boolean, {3}), samples.random(float32, {2, 3}), samples.random(float32, {2, 3})},
                Code::kInvalidArgument);
  samples.error({samples.random(boolean, {2}), samples.random(float32, {2, 3}), samples.random(float32, {2, 1})},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SelectV2) {
  for (const DType dtype : kTypes) {
    const auto add = [&](const Shape& condition, const Shape& x, const Shape& y) {
      samples.add({.inputs = {samples.random(boolean, condition), samples.random(dtype, x), samples.random(dtype, y)}});
    };
    add({}, {}, {});
    add({37}, {37}, {37});
    add({2, 1}, {3}, {2, 3});
    add({3}, {}, {2, 3});
    add({2, 1, 2}, {3, 1}, {1, 1, 2});
    add({2, 3, 1, 2}, {2, 1, 2, 2}, {1, 3, 2, 1});
    add({0, 2}, {}, {2});
  }
  samples.add({.inputs = {samples.random(boolean, {300, 1}), samples.random(float32, {300, 101}),
                          samples.random(float32, {101})}});
  samples.error({samples.random(boolean, {2}), samples.random(float32, {3}), samples.random(float32, {3})},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ClipByValue) {
  for (const DType dtype : {float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16}) {
    const Tensor low = harness::tensor_of(dtype, {}, {1}), high = harness::tensor_of(dtype, {}, {3});
    for (const Shape& shape : {Shape{}, Shape{37}, Shape{2, 3, 4}, Shape{0, 2}, Shape{40001}}) {
      samples.add({.inputs = {samples.random(dtype, shape), low, high}});
    }
    samples.add(
        {.inputs = {samples.random(dtype, {2, 3}), samples.random(dtype, {2, 3}, {.low = 0, .high = 1}), high}});
  }
  using C = std::complex<float>;
  for (const DType dtype : {complex64, complex128}) {
    samples.add({.inputs = {samples.random(dtype, {2, 3}), harness::tensor_of(dtype, {}, {1}),
                            harness::tensor_of(dtype, {}, {3})},
                 .gradient = harness::Check::kNo});  // Less has no complex types
  }
  samples.add({.inputs = {Tensor::from<C>({3}, {C(1, 2), C(5, 0), C(1, -5)}), Tensor::scalar(C(-1, -1)),
                          Tensor::scalar(C(1, 1))},
               .expected = {Tensor::from<C>({3}, {C(1, 1), C(1, 0), C(1, -1)})},
               .gradient = harness::Check::kNo});
  // NaN passes; a NaN limit is none; the lower limit wins.
  samples.add(
      {.inputs = {floats({kNan, 1, 5, -3}), Tensor(0.0F), Tensor(2.0F)}, .expected = {floats({kNan, 1, 2, 0})}});
  samples.add(
      {.inputs = {floats({1, 5, -3}), floats({0, kNan, 0}), floats({kNan, 2, 1})}, .expected = {floats({1, 2, 0})}});
  samples.add({.inputs = {floats({1, 5}), Tensor(3.0F), Tensor(2.0F)},
               .expected = {floats({3, 3})},
               .gradient = harness::Check::kNo});
  samples.error({samples.random(float32, {1, 3}), samples.random(float32, {3}), Tensor(2.0F)}, Code::kInvalidArgument);
}

class SelectionTest : public testing::Test {
 protected:
  Tensor run(const Output& output, const Feeds& feeds = {}) { return Session().run(output, feeds); }
  std::string check(const Tensor& expected, const Output& output, double tolerance = 1e-6) {
    return harness::difference(expected, run(output), tolerance);
  }
  Output gradient(const Output& y, const Output& x) { return gradients({y}, {x})[0].dense(); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(SelectionTest, TheBranchNotTakenSpoilsAGradientThatIsNotFinite) {
  const Output x = constant({-1.0, -4.0}), positive = greater(x, 0);
  EXPECT_EQ(check(floats({kNan, kNan}), gradient(where(positive, sqrt(x), x), x)), "");
  EXPECT_EQ(check(floats({1, 1}), gradient(where(positive, sqrt(where(positive, x, 1)), x), x)), "");
}

TEST_F(SelectionTest, ClipByValueGivesGradientAtItsLimits) {
  const Output x = constant({-1.0, 0.0, 0.5, 1.0, 2.0});
  const Output y = clip_by_value(x, 0, 1);
  EXPECT_EQ(check(floats({0, 0, 0.5, 1, 1}), y), "");
  EXPECT_EQ(check(floats({0, 1, 1, 1, 0}), gradient(y, x)), "");
  EXPECT_THROW(clip_by_value(Tensor(1.0F), x, 1), Error);
  const Output raw = raw_ops::clip_by_value(x, 0, 1);
  EXPECT_EQ(check(floats({0, 1, 1, 1, 0}), gradient(raw, x)), "");
}

TEST_F(SelectionTest, ClipByNormAtItsCorners) {
  const Output zeros = constant({0.0, 0.0, 0.0});
  EXPECT_EQ(check(floats({0, 0, 0}), clip_by_norm(zeros, 1)), "");
  EXPECT_EQ(check(floats({1, 1, 1}), gradient(clip_by_norm(zeros, 1), zeros)), "");
  const Output m = constant({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor unchanged = Tensor::from<float>({2, 2}, {1, 2, 3, 4}), ones = Tensor::from<float>({2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(check(unchanged, clip_by_norm(m, kInf)), "");
  EXPECT_EQ(check(ones, gradient(clip_by_norm(m, kInf), m)), "");
  EXPECT_EQ(check(Tensor::from<float>({2, 2}, {0.6F, 0.8F, 0.6F, 0.8F}),
                  clip_by_norm(constant({{3.0, 4.0}, {6.0, 8.0}}), 1, {.axes = {1}})),
            "");
  EXPECT_EQ(check(floats({3, 4}), clip_by_norm(constant({3.0, 4.0}), 5)), "");
  EXPECT_EQ(check(floats({0, 0}), clip_by_norm(constant({3.0, 4.0}), 0)), "");
  try {
    clip_by_norm(m, -1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("selection_test.cc"), std::string::npos) << error.what();
  }
}

TEST_F(SelectionTest, ClipByGlobalNorm) {
  const Output a = constant({3.0, 4.0}), b = constant({12.0});
  const auto [clipped, norm] = clip_by_global_norm({a, Gradient(), b}, 5);
  EXPECT_EQ(run(norm).item<float>(), 13.0F);
  EXPECT_EQ(check(floats({1.1538461F, 1.5384615F}), clipped[0].dense()), "");
  EXPECT_TRUE(clipped[1].is_none());
  EXPECT_EQ(check(floats({4.6153846F}), clipped[2].dense()), "");
  EXPECT_EQ(check(floats({3, 4}), clip_by_global_norm({a, b}, 20).first[0].dense()), "");
  EXPECT_EQ(check(floats({3, 4}), clip_by_global_norm({a, b}, kInf).first[0].dense()), "");
  EXPECT_THROW(clip_by_global_norm({a, b}, -1), Error);
}

TEST_F(SelectionTest, ClipByGlobalNormShowsABrokenStep) {
  const Output a = constant(floats({1, kInf})), b = constant({2.0});
  const auto clipped = clip_by_global_norm({a, b}, 1).first;
  EXPECT_EQ(check(floats({kNan, kNan}), clipped[0].dense()), "");
  EXPECT_EQ(check(floats({kNan}), clipped[1].dense()), "");
}

TEST_F(SelectionTest, ClipByGlobalNormKeepsSparseGradientsSparse) {
  const IndexedSlices slices{
      .values = constant({{3.0}, {4.0}}), .indices = constant({0, 5}), .dense_shape = constant({9, 1})};
  const auto [clipped, norm] = clip_by_global_norm({Gradient(slices)}, 1);
  ASSERT_TRUE(clipped[0].is_sparse());
  EXPECT_EQ(check(Tensor::from<float>({2, 1}, {0.6F, 0.8F}), clipped[0].slices().values), "");
  EXPECT_EQ(run(norm).item<float>(), 5.0F);
}

}  // namespace
}  // namespace caudal::inline v0
