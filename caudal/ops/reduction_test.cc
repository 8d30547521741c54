#include "caudal/ops/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

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
using Group = std::vector<double>;

const std::vector<DType> kReals = {float16, bfloat16, float32, float64};
const std::vector<DType> kIntegers = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};
constexpr double kInf = std::numeric_limits<double>::infinity();

void axis_errors(Samples& samples, DType dtype = float32) {
  samples.error({samples.random(dtype, {2, 3}), Tensor(2)}, Code::kInvalidArgument);
  samples.error({samples.random(dtype, {2, 3}), Tensor(-3)}, Code::kInvalidArgument);
  samples.error({samples.random(dtype, {2, 3}), Tensor(std::vector<int>{1, -1})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Sum) {
  samples.reductions(kReals, {.reference = [](const Group& g) { return std::accumulate(g.begin(), g.end(), 0.0); }});
  samples.reductions(kIntegers);
  samples.reductions({complex64, complex128});
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(Mean) {
  samples.reductions(kReals, {.reference = [](const Group& g) {
                       return std::accumulate(g.begin(), g.end(), 0.0) / static_cast<double>(g.size());
                     }});
  samples.reductions(kIntegers);
  samples.reductions({complex64, complex128});
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(Prod) {
  samples.reductions(kReals, {.range = {.low = 0.5, .high = 1.5}, .reference = [](const Group& g) {
                                return std::accumulate(g.begin(), g.end(), 1.0,
                                                       [](double a, double b) { return a * b; });
                              }});
  samples.reductions(kIntegers);
  // The gradient of Cumprod, on which the second order rests, does not conjugate in TensorFlow.
  samples.reductions({complex64, complex128}, {.range = {.low = 0.5, .high = 1.5}, .second_order = Check::kNo});
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(Max) {
  const auto reference = [](const Group& g) {
    return std::accumulate(g.begin(), g.end(), -kInf, [](double a, double b) { return std::max(a, b); });
  };
  samples.reductions(kReals, {.reference = reference});
  samples.reductions(kIntegers, {.reference = reference, .empty_groups = false});
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(Min) {
  const auto reference = [](const Group& g) {
    return std::accumulate(g.begin(), g.end(), kInf, [](double a, double b) { return std::min(a, b); });
  };
  samples.reductions(kReals, {.reference = reference});
  samples.reductions(kIntegers, {.reference = reference, .empty_groups = false});
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(EuclideanNorm) {
  samples.reductions(kReals, {.reference = [](const Group& g) {
                       return std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
                     }});
  samples.reductions(kIntegers);
  samples.reductions({complex64, complex128}, {.gradient = Check::kNo});  // TensorFlow's does not conjugate
  axis_errors(samples);
}
CAUDAL_OP_SAMPLES(All) {
  samples.reductions({boolean}, {.reference = [](const Group& g) {
                       return std::accumulate(g.begin(), g.end(), 1.0, [](double a, double b) { return a * b; });
                     }});
  axis_errors(samples, boolean);
}
CAUDAL_OP_SAMPLES(Any) {
  samples.reductions({boolean}, {.reference = [](const Group& g) {
                       return std::accumulate(g.begin(), g.end(), 0.0,
                                              [](double a, double b) { return std::max(a, b); });
                     }});
  axis_errors(samples, boolean);
}

void positions(Samples& samples, const std::vector<DType>& results) {
  std::vector<DType> types = kReals;
  types.insert(types.end(), kIntegers.begin(), kIntegers.end());
  types.push_back(boolean);
  for (const DType dtype : types) {
    for (const DType result : results) {
      for (const int axis : {0, 1, -1}) {
        samples.add({.inputs = {samples.random(dtype, {3, 4, 5}), Tensor(axis)}, .attrs = {{"output_type", result}}});
      }
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 2}), Tensor(1)}});
  samples.error({samples.random(float32, {0, 2}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 2}), Tensor(2)}, Code::kInvalidArgument);
  samples.error({Tensor(1.0F), Tensor(0)}, Code::kInvalidArgument);
}
const float kNan = std::numeric_limits<float>::quiet_NaN();
CAUDAL_OP_SAMPLES(ArgMax) {
  positions(samples, {int16, DType::kUint16, int32, int64});
  samples.add({.inputs = {Tensor(std::vector<float>{1, 3, 3}), Tensor(0)}, .expected = {Tensor(std::int64_t{1})}});
  samples.add(
      {.inputs = {Tensor(std::vector<float>{kNan, 1, kNan}), Tensor(0)}, .expected = {Tensor(std::int64_t{1})}});
}
CAUDAL_OP_SAMPLES(ArgMin) {
  positions(samples, {int32, int64});
  samples.add({.inputs = {Tensor(std::vector<float>{3, 1, 1}), Tensor(0)}, .expected = {Tensor(std::int64_t{1})}});
}

void sums(Samples& samples, const AttrMap& attrs) {
  std::vector<DType> types = kReals;
  types.insert(types.end(), kIntegers.begin(), kIntegers.end());
  types.insert(types.end(), {complex64, complex128});
  for (const DType dtype : types) {
    for (const int count : {1, 2, 3, 9}) {
      std::vector<Tensor> terms;
      for (int i = 0; i < count; ++i) terms.push_back(samples.random(dtype, {2, 37}));
      samples.add({.inputs = {terms}, .attrs = attrs});
    }
  }
  samples.add({.inputs = {{samples.random(float32, {70001}), samples.random(float32, {70001})}}, .attrs = attrs});
  samples.add({.inputs = {{samples.random(float32, {0, 3}), samples.random(float32, {0, 3})}}, .attrs = attrs});
  samples.error({{samples.random(float32, {2}), samples.random(float32, {3})}}, Code::kInvalidArgument, attrs);
  samples.error({{samples.random(float32, {2}), samples.random(float32, {})}}, Code::kInvalidArgument, attrs);
}
CAUDAL_OP_SAMPLES(AddN) { sums(samples, {}); }
CAUDAL_OP_SAMPLES(AccumulateNV2) { sums(samples, {{"shape", PartialShape::unknown()}}); }

CAUDAL_OP_SAMPLES(L2Loss) {
  for (const DType dtype : kReals) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 17}, Shape{0, 3}, Shape{40000}}) {
      samples.add({.inputs = {samples.random(dtype, shape, {.low = -0.5, .high = 0.5})}});
    }
  }
  samples.add({.inputs = {Tensor(std::vector<float>{3, 4})}, .expected = {Tensor(12.5F)}});
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

class ReductionTest : public testing::Test {
 protected:
  Tensor run(const Output& output, const Feeds& feeds = {}) { return Session().run(output, feeds); }
  static Tensor floats(const std::vector<float>& values) { return Tensor(values); }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(ReductionTest, AxesAreOneSeveralComputedOrAll) {
  const Output x = constant({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(identical(run(reduce_sum(x)), Tensor(21)));
  EXPECT_TRUE(identical(run(reduce_sum(x, {.axis = 0})), Tensor(std::vector<int>{5, 7, 9})));
  EXPECT_TRUE(identical(run(reduce_sum(x, {.axis = {0, -1}})), Tensor(21)));
  EXPECT_TRUE(identical(run(reduce_max(x, {.axis = -1, .keepdims = true})), Tensor::from<int>({2, 1}, {3, 6})));
  EXPECT_TRUE(identical(run(reduce_mean(x, {.axis = constant({1})})), Tensor(std::vector<int>{2, 5})));
  const Output unknown = placeholder(int32);
  EXPECT_TRUE(identical(run(reduce_prod(unknown), {{unknown, Tensor(std::vector<int>{2, 3, 4})}}), Tensor(24)));
  EXPECT_EQ(reduce_sum(x, {.axis = 1}).shape().to_string(), "[2]");
  EXPECT_EQ(reduce_sum(x, {.axis = placeholder(int32)}).shape().has_rank(), false);
}

TEST_F(ReductionTest, ExtremesShareTheirGradient) {
  const Output a = constant({1.0, 2.0, 2.0, 2.0});
  const float third = 1.0F / 3;
  EXPECT_EQ(
      harness::difference(floats({0, third, third, third}), run(gradients({reduce_max(a)}, {a})[0].dense()), 1e-6), "");
  EXPECT_EQ(harness::difference(floats({1, 0, 0, 0}), run(gradients({reduce_min(a)}, {a})[0].dense()), 0), "");
  const Output m = constant({{1.0, 1.0}, {3.0, 2.0}});
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 2}, {0.5, 0.5, 1, 0}),
                                run(gradients({reduce_max(m, {.axis = 1})}, {m})[0].dense()), 0),
            "");
}

TEST_F(ReductionTest, GradientsForAxesAndRanksThatOnlyTheRunKnows) {
  const Output x = placeholder(float32), axes = placeholder(int32);
  const Feeds feeds = {{x, Tensor::from<float>({2, 3}, {1, 2, 3, 4, 0, 6})}, {axes, Tensor(std::vector<int>{1})}};
  const auto gradient = [&](const Output& y) { return run(gradients({y}, {x})[0].dense(), feeds); };
  const auto expect = [](const std::vector<float>& values) { return Tensor::from<float>({2, 3}, values); };
  EXPECT_EQ(harness::difference(expect({1, 1, 1, 1, 1, 1}), gradient(reduce_sum(x, {.axis = axes})), 0), "");
  EXPECT_EQ(harness::difference(expect({1 / 3.F, 1 / 3.F, 1 / 3.F, 1 / 3.F, 1 / 3.F, 1 / 3.F}),
                                gradient(reduce_mean(x, {.axis = axes})), 1e-6),
            "");
  EXPECT_EQ(harness::difference(expect({0, 0, 1, 0, 0, 1}), gradient(reduce_max(x, {.axis = axes})), 0), "");
  EXPECT_EQ(harness::difference(expect({6, 3, 2, 0, 24, 0}), gradient(reduce_prod(x, {.axis = axes})), 1e-6), "");
  EXPECT_EQ(harness::difference(expect({6, 3, 2, 0, 24, 0}), gradient(reduce_prod(x, {.axis = 1})), 1e-6), "");
}

TEST_F(ReductionTest, GradientOfAProductWithZeros) {
  const Output x = constant({{0.0, 2.0, 3.0}, {0.0, 0.0, 1.0}, {1.0, 2.0, 3.0}});
  EXPECT_EQ(harness::difference(Tensor::from<float>({3, 3}, {6, 0, 0, 0, 0, 0, 6, 3, 2}),
                                run(gradients({reduce_prod(x, {.axis = 1})}, {x})[0].dense()), 1e-6),
            "");
  const Output y = constant({{1.0, 2.0}, {3.0, 0.0}});
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 2}, {0, 0, 0, 6}),
                                run(gradients({reduce_prod(y)}, {y})[0].dense()), 1e-6),
            "");
}

TEST_F(ReductionTest, LogSumExpDoesNotOverflow) {
  const Output x = constant({1000.0, 1000.0});
  EXPECT_NEAR(run(reduce_logsumexp(x)).item<float>(), 1000 + std::log(2.0), 1e-3);
  EXPECT_EQ(harness::difference(floats({0.5, 0.5}), run(gradients({reduce_logsumexp(x)}, {x})[0].dense()), 1e-6), "");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run(reduce_logsumexp(constant(std::vector<float>{-inf, -inf}))).item<float>(), -inf);
  EXPECT_EQ(run(reduce_logsumexp(constant(std::vector<float>{1, inf}))).item<float>(), inf);
  EXPECT_EQ(reduce_logsumexp(constant({{1.0}, {2.0}}), {.axis = 1}).shape().to_string(), "[2]");
}

TEST_F(ReductionTest, LongSumsStayPrecise) {
  const std::int64_t n = 3'000'000;
  Tensor ones(float32, Shape({n}));
  for (float& x : ones.flat<float>()) x = 0.1F;
  const Output x = placeholder(float32, {-1});
  EXPECT_NEAR(run(reduce_sum(x), {{x, ones}}).item<float>(), 0.1F * static_cast<double>(n), 0.05);
  EXPECT_NEAR(run(reduce_mean(x), {{x, ones}}).item<float>(), 0.1, 1e-7);
}

TEST_F(ReductionTest, ArgmaxTakesTensorFlowsArguments) {
  const Output x = constant({{1, 5, 5}, {7, 2, 3}});
  EXPECT_TRUE(identical(run(argmax(x, 1)), Tensor(std::vector<std::int64_t>{1, 0})));
  EXPECT_TRUE(identical(run(argmin(x, 0, {.output_type = int32})), Tensor(std::vector<int>{0, 1, 1})));
  EXPECT_EQ(argmax(x).shape().to_string(), "[3]");
}

}  // namespace
}  // namespace caudal::inline v0
