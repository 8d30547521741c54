#include "caudal/ops/counting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Samples;

const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};
const std::vector<DType> kCounted = {int32, int64, float32, float64};

CAUDAL_OP_SAMPLES(Bincount) {
  for (const DType t : kCounted) {
    samples.add({.inputs = {samples.random(int32, {2, 5}, {0, 6}), 5, samples.random(t, {2, 5})}});
    samples.add({.inputs = {samples.random(int32, {7}, {0, 6}), 5, Tensor(t, Shape({0}))}});
  }
  samples.add({.inputs = {Tensor(std::vector<int>{1, 1, 3}), 3, Tensor(int32, Shape({0}))},
               .expected = {Tensor(std::vector<int>{0, 2, 0})}});
  samples.error({Tensor(std::vector<int>{1, -1}), 3, Tensor(int32, Shape({0}))}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<int>{1}), -3, Tensor(int32, Shape({0}))}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<int>{1, 1}), 3, Tensor(std::vector<float>{1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(DenseBincount) {
  const auto size = [](DType t) { return t == int64 ? Tensor(std::int64_t{5}) : Tensor(5); };
  for (const DType t : kCounted) {
    for (const DType index : {int32, int64}) {
      for (const bool binary : {false, true}) {
        const AttrMap attrs{{"binary_output", binary}};
        samples.add({.inputs = {samples.random(index, {2, 5}, {0, 6}), size(index), samples.random(t, {2, 5})},
                     .attrs = attrs});
        samples.add(
            {.inputs = {samples.random(index, {6}, {0, 6}), size(index), Tensor(t, Shape({0}))}, .attrs = attrs});
      }
    }
  }
  samples.error({samples.random(int32, {2, 2, 2}, {0, 3}), 5, Tensor(int32, Shape({0}))}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<int>{1, -1}), 3, Tensor(int32, Shape({0}))}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<int>{1}), -3, Tensor(int32, Shape({0}))}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(RaggedBincount) {
  const Tensor splits(std::vector<std::int64_t>{0, 2, 2, 5});
  for (const DType t : kCounted) {
    for (const DType index : {int32, int64}) {
      const Tensor size = index == int64 ? Tensor(std::int64_t{4}) : Tensor(4);
      samples.add({.inputs = {splits, samples.random(index, {5}, {0, 5}), size, samples.random(t, {5})}});
      samples.add({.inputs = {splits, samples.random(index, {5}, {0, 5}), size, Tensor(t, Shape({0}))},
                   .attrs = {{"binary_output", true}}});
    }
  }
  const Tensor none(int32, Shape({0}));
  // Weights of another shape count in order; what is beyond the values is left.
  samples.add({.inputs = {Tensor(std::vector<std::int64_t>{0, 1, 3}), Tensor(std::vector<int>{0, 1, 2}), 4,
                          Tensor::from<int>({4, 1}, {1, 2, 3, 4})},
               .expected = {Tensor::from<int>({2, 4}, {1, 0, 0, 0, 0, 2, 3, 0})}});
  samples.error({splits, Tensor(std::vector<int>{1, 2, 0, 1, 1}), 4, Tensor(std::vector<int>{1, 2})},
                Code::kInvalidArgument);
  samples.error({splits, Tensor(std::vector<int>{1, 2}), 4, none}, Code::kInvalidArgument);
  samples.error({splits, Tensor(std::vector<int>{1, 2, -1, 1, 1}), 4, none}, Code::kInvalidArgument);
  samples.error({Tensor(std::vector<std::int64_t>{1, 5}), Tensor(std::vector<int>{1, 2, 0, 1, 1}), 4, none},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SparseBincount) {
  const Tensor cells = Tensor::from<std::int64_t>({3, 2}, {0, 0, 0, 3, 2, 1}), shape(std::vector<std::int64_t>{3, 4});
  const Tensor places = Tensor::from<std::int64_t>({3, 1}, {0, 2, 5}), length(std::vector<std::int64_t>{7});
  for (const DType t : kCounted) {
    for (const DType index : {int32, int64}) {
      const Tensor size = index == int64 ? Tensor(std::int64_t{4}) : Tensor(4);
      samples.add({.inputs = {cells, samples.random(index, {3}, {0, 5}), shape, size, samples.random(t, {3})}});
      samples.add({.inputs = {places, samples.random(index, {3}, {0, 5}), length, size, Tensor(t, Shape({0}))},
                   .attrs = {{"binary_output", true}}});
    }
  }
  const Tensor none(int32, Shape({0}));
  samples.error({cells, Tensor(std::vector<int>{1, 2}), shape, 4, none}, Code::kInvalidArgument);
  samples.error({cells, Tensor(std::vector<int>{1, 2, -1}), shape, 4, none}, Code::kInvalidArgument);
  samples.error({cells, Tensor(std::vector<int>{1, 2, 1}), Tensor(std::vector<std::int64_t>{2, 4}), 4, none},
                Code::kInvalidArgument);
  samples.error({cells, Tensor(std::vector<int>{1, 2, 1}), Tensor(std::vector<std::int64_t>{3, 3}), 4, none},
                Code::kInvalidArgument);
  samples.error({places, Tensor(std::vector<int>{1, 2, 1}), Tensor(std::vector<std::int64_t>{5}), 4, none},
                Code::kInvalidArgument, {}, "out of bounds");
  samples.error({places, Tensor(std::vector<int>{1, 2, 1}), length, 4, Tensor(std::vector<int>{1, 2, 3, 4})},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(HistogramFixedWidth) {
  for (const DType t : kCounted) {
    for (const DType out : {int32, int64}) {
      const Tensor range = t == int32     ? Tensor(std::vector<int>{-3, 4})
                           : t == int64   ? Tensor(std::vector<std::int64_t>{-3, 4})
                           : t == float32 ? Tensor(std::vector<float>{-3, 4})
                                          : Tensor(std::vector<double>{-3, 4});
      samples.add({.inputs = {samples.random(t, {3, 7}), range, 5}, .attrs = {{"dtype", out}}});
    }
  }
  samples.add({.inputs = {Tensor(std::vector<float>{-1, 0, 1.5F, 2, 5, 15}), Tensor(std::vector<float>{0, 5}), 5},
               .expected = {Tensor(std::vector<int>{2, 1, 1, 0, 2})}});
  // Ranges wider than the type holds.
  samples.add({.inputs = {Tensor(std::vector<float>{3e38F, 100}), Tensor(std::vector<float>{-1e38F, 3e38F}), 2},
               .expected = {Tensor(std::vector<int>{1, 1})}});
  const int least = std::numeric_limits<int>::lowest(), most = std::numeric_limits<int>::max();
  samples.add({.inputs = {Tensor(std::vector<int>{most, 0, -5, 7}), Tensor(std::vector<int>{least, most}), 5},
               .expected = {Tensor(std::vector<int>{0, 0, 3, 0, 1})}});
  samples.error({Tensor(std::vector<float>{1, NAN}), Tensor(std::vector<float>{0, 5}), 2}, Code::kInvalidArgument);
  const Tensor x = samples.random(float32, {3});
  samples.error({x, Tensor(std::vector<float>{5, 0}), 5}, Code::kInvalidArgument);
  samples.error({x, Tensor(std::vector<float>{0, 5}), 0}, Code::kInvalidArgument);
  samples.error({x, Tensor(std::vector<float>{0, 5, 6}), 2}, Code::kInvalidArgument);
}

void bound_samples(Samples& samples) {
  for (const DType t : kReals) {
    for (const DType out : {int32, int64}) {
      const Tensor noise = samples.random(int8, {2, 6}, {0, 9});
      std::vector<double> sorted(noise.data<std::int8_t>(), noise.data<std::int8_t>() + 12);
      std::sort(sorted.begin(), sorted.begin() + 6);
      std::sort(sorted.begin() + 6, sorted.end());
      samples.add({.inputs = {harness::tensor_of(t, {2, 6}, sorted), samples.random(t, {2, 4}, {0, 9})},
                   .attrs = {{"out_type", out}}});
    }
  }
  samples.add({.inputs = {samples.random(float32, {2, 0}), samples.random(float32, {2, 3})}});
  samples.add({.inputs = {samples.random(float32, {2, 3}), samples.random(float32, {2, 0})}});
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {3, 3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(LowerBound) { bound_samples(samples); }
CAUDAL_OP_SAMPLES(UpperBound) { bound_samples(samples); }

CAUDAL_OP_SAMPLES(NthElement) {
  for (const DType t : kReals) {
    for (const bool reverse : {false, true}) {
      samples.add({.inputs = {samples.random(t, {2, 3, 5}, {-60, 60}), 1}, .attrs = {{"reverse", reverse}}});
    }
  }
  samples.add({.inputs = {samples.random(float64, {1}), 0}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), 0}});
  samples.error({samples.random(float32, {3}), 3}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), -1}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {}), 0}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(PopulationCount) {
  for (const DType t : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    samples.add({.inputs = {samples.random(t, {3, 9}, {-100, 100})}});
  }
  samples.add({.inputs = {Tensor(std::vector<int>{0, 1, 255, -1})},
               .expected = {Tensor::from<std::uint8_t>({4}, {0, 1, 8, 32})}});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(CumulativeLogsumexp) {
  for (const DType t : {float16, bfloat16, float32, float64}) {
    for (const bool reverse : {false, true}) {
      samples.add(
          {.inputs = {samples.random(t, {2, 4, 3}), 1}, .attrs = {{"reverse", reverse}}, .second_order = Check::kNo});
      samples.add({.inputs = {samples.random(t, {5}), Tensor(std::int64_t{-1})},
                   .attrs = {{"reverse", reverse}},
                   .second_order = Check::kNo});
      samples.add({.inputs = {samples.random(t, {5}), 0},
                   .attrs = {{"reverse", reverse}, {"exclusive", true}},
                   .gradient = Check::kNo});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), 0}});
  samples.error({samples.random(float32, {3}), 1}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {}), 0}, Code::kInvalidArgument);
}

class CountingTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

// tf.math.bincount of the same arguments.
TEST_F(CountingTest, BincountKnowsItsLength) {
  const Output x = constant({{1, 1, 2}, {0, 4, 4}});
  EXPECT_TRUE(identical(run(math::bincount(x)), Tensor(std::vector<int>{1, 2, 1, 0, 2})));
  EXPECT_TRUE(identical(run(math::bincount(x, {.maxlength = Operand(3)})), Tensor(std::vector<int>{1, 2, 1})));
  EXPECT_TRUE(identical(run(math::bincount(x, {.minlength = Operand(6)})), Tensor(std::vector<int>{1, 2, 1, 0, 2, 0})));
  EXPECT_TRUE(
      identical(run(math::bincount(x, {.axis = -1})), Tensor::from<int>({2, 5}, {0, 2, 1, 0, 0, 1, 0, 0, 0, 2})));
  EXPECT_TRUE(identical(run(math::bincount(x, {.weights = Operand(constant({{0.5, 1.0, 2.0}, {3.0, 4.0, 5.0}}))})),
                        Tensor(std::vector<float>{3, 1.5, 2, 0, 9})));
  EXPECT_EQ(run(math::bincount(constant(std::vector<int>{}))).shape(), Shape({0}));
  EXPECT_THROW(math::bincount(x, {.axis = 1}), Error);
}

TEST_F(CountingTest, SearchesInSequencesOfAnyRank) {
  const Output sorted = constant({{{1, 3, 5}}, {{2, 2, 2}}}), values = constant({{{3, 9}}, {{2, 0}}});
  EXPECT_TRUE(identical(run(searchsorted(sorted, values)), Tensor::from<int>({2, 1, 2}, {1, 3, 0, 0})));
  EXPECT_TRUE(
      identical(run(searchsorted(sorted, values, {.right = true})), Tensor::from<int>({2, 1, 2}, {2, 3, 3, 0})));
  EXPECT_TRUE(identical(run(searchsorted(constant({1, 3, 5}), constant({4}))), Tensor(std::vector<int>{2})));
}

TEST_F(CountingTest, GradientOfNthElementIsShared) {
  const Output x = constant({3.0, 1.0, 3.0, 5.0});
  EXPECT_TRUE(identical(run(gradients({raw_ops::nth_element(x, 1)}, {x})[0].dense()),
                        Tensor(std::vector<float>{0.5F, 0, 0.5F, 0})));
}

TEST_F(CountingTest, RunningSumsOfExponentialsDoNotOverflow) {
  const Output x = constant({1000.0, 1000.0, -INFINITY, 0.0});
  const Tensor y = run(math::cumulative_logsumexp(x));
  EXPECT_EQ(harness::difference(Tensor(std::vector<float>{1000, 1000.6931F, 1000.6931F, 1000.6931F}), y, 1e-6), "");
}

// tf.GradientTape of tf.math.cumulative_logsumexp([1., 2., 0.5], exclusive=...) with weights 1, -2, 3.
TEST_F(CountingTest, GradientsOfRunningSumsOfExponentials) {
  const Output x = constant({1.0, 2.0, 0.5});
  const auto gradient = [&](bool exclusive) {
    GradientOptions options;
    options.grad_ys = {constant({1.0, -2.0, 3.0})};
    return run(gradients({math::cumulative_logsumexp(x, 0, {.exclusive = exclusive})}, {x}, options)[0].dense());
  };
  EXPECT_EQ(harness::difference(Tensor(std::vector<float>{1.1557888F, 0.423478F, 0.42073315F}), gradient(false), 1e-6),
            "");
  EXPECT_EQ(harness::difference(Tensor(std::vector<float>{-1.1931758F, 2.1931756F, 0}), gradient(true), 1e-6), "");
}

}  // namespace
}  // namespace caudal::inline v0
