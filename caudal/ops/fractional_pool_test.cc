#include "caudal/ops/fractional_pool.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

const std::vector<DType> kTypes = {float32, float64, int32, int64};
const Floats kRatios = {1, 1.44F, 1.73F, 1};

AttrMap attrs(bool pseudo_random, bool overlapping) {
  return {{"pooling_ratio", kRatios},
          {"pseudo_random", pseudo_random},
          {"overlapping", overlapping},
          {"deterministic", true},
          {"seed", 3},
          {"seed2", 5}};
}

void pool_samples(harness::Samples& samples) {
  for (const DType t : kTypes) {
    for (const bool pseudo_random : {false, true}) {
      for (const bool overlapping : {false, true}) {
        samples.add({.inputs = {samples.random(t, {2, 7, 6, 1})}, .attrs = attrs(pseudo_random, overlapping)});
      }
    }
  }
  const auto error = [&](const Shape& shape, const AttrMap& changed, Code code) {
    AttrMap all = attrs(false, false);
    for (const auto& [name, value] : changed) all[name] = value;
    samples.error({samples.random(float32, shape)}, code, all);
  };
  error({7, 6, 1}, {}, Code::kInvalidArgument);
  error({1, 1, 6, 1}, {}, Code::kInvalidArgument);
  error({1, 7, 6, 1}, {{"pooling_ratio", Floats{1, 0.5F, 1, 1}}}, Code::kInvalidArgument);
  error({1, 7, 6, 1}, {{"pooling_ratio", Floats{1, 1, 1, 1, 1}}}, Code::kInvalidArgument);
  error({1, 7, 6, 2}, {{"pooling_ratio", Floats{1, 1, 1, 2}}}, Code::kUnimplemented);
  error({1, 7, 6, 1}, {{"deterministic", false}}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FractionalMaxPool) { pool_samples(samples); }
CAUDAL_OP_SAMPLES(FractionalAvgPool) { pool_samples(samples); }

const Tensor kRows(Longs{0, 1, 3}), kColumns(Longs{0, 2, 3});

CAUDAL_OP_SAMPLES(FractionalMaxPoolGrad) {
  for (const DType t : kTypes) {
    const Tensor in = harness::tensor_of(t, {1, 3, 3, 1}, {1, 5, 2, 7, 3, 4, 6, 9, 8});
    samples.add({.inputs = {in, harness::tensor_of(t, {1, 2, 2, 1}, {5, 2, 9, 8}), samples.random(t, {1, 2, 2, 1}),
                            kRows, kColumns}});
    samples.add({.inputs = {in, harness::tensor_of(t, {1, 2, 2, 1}, {7, 4, 9, 8}), samples.random(t, {1, 2, 2, 1}),
                            kRows, kColumns},
                 .attrs = {{"overlapping", true}}});
  }
  const Tensor in = harness::tensor_of(float32, {1, 3, 3, 1}, {1, 5, 2, 7, 3, 4, 6, 9, 8});
  const Tensor best = harness::tensor_of(float32, {1, 2, 2, 1}, {5, 2, 9, 8});
  samples.error({in, samples.random(float32, {1, 2, 2, 1}), best, kRows, kColumns}, Code::kInvalidArgument);
  samples.error({in, best, best, Tensor(Longs{0, 1}), kColumns}, Code::kInvalidArgument);
  samples.error({in, best, best, Tensor(Longs{0, 3, 4}), kColumns}, Code::kInvalidArgument);
  samples.error({in, best, best, Tensor(Longs{-1, 1, 3}), kColumns}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(FractionalAvgPoolGrad) {
  for (const DType t : kTypes) {
    for (const bool overlapping : {false, true}) {
      samples.add({.inputs = {Tensor(Longs{1, 3, 3, 2}), samples.random(t, {1, 2, 2, 2}), kRows, kColumns},
                   .attrs = {{"overlapping", overlapping}}});
    }
  }
  const Tensor grad = samples.random(float32, {1, 2, 2, 2});
  samples.error({Tensor(Longs{1, 3, 3}), grad, kRows, kColumns}, Code::kInvalidArgument);
  samples.error({Tensor(Longs{1, 3, 3, 1}), grad, kRows, kColumns}, Code::kInvalidArgument);
  samples.error({Tensor(Longs{1, 3, 3, 2}), grad, kRows, Tensor(Longs{0, 9, 10})}, Code::kInvalidArgument);
  samples.error({Tensor(Longs{1, 3, 3, 2}), grad, Tensor(Longs{0}), kColumns}, Code::kInvalidArgument);
}

class FractionalPoolTest : public testing::Test {
 protected:
  Node& node(const std::string& op, bool pseudo_random, bool overlapping) {
    Tensor image(float32, {1, 7, 6, 1});
    for (int i = 0; i < 42; ++i) image.data<float>()[i] = static_cast<float>(i);
    OpBuilder builder(op, {});
    builder.input(image);
    for (const auto& [name, value] : attrs(pseudo_random, overlapping)) builder.attr(name, value);
    return builder.build_node();
  }
  Floats run(const Output& output) { return session_.run(output).to_vector<float>(); }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

// tf.raw_ops.FractionalMaxPool and FractionalAvgPool of 0 .. 41.
TEST_F(FractionalPoolTest, AsTensorFlow) {
  for (const bool pseudo_random : {false, true}) {
    Node& plain = node("FractionalMaxPool", pseudo_random, false);
    EXPECT_EQ(run(plain.output(0)), (Floats{1, 3, 5, 13, 15, 17, 25, 27, 29, 37, 39, 41}));
    EXPECT_EQ(session_.run(plain.output(1)).to_vector<std::int64_t>(), (Longs{0, 1, 3, 5, 7}));
    EXPECT_EQ(session_.run(plain.output(2)).to_vector<std::int64_t>(), (Longs{0, 2, 4, 6}));
    EXPECT_EQ(run(node("FractionalMaxPool", pseudo_random, true).output(0)),
              (Floats{8, 10, 11, 20, 22, 23, 32, 34, 35, 38, 40, 41}));
    EXPECT_EQ(run(node("FractionalAvgPool", pseudo_random, false).output(0)),
              (Floats{0.5F, 2.5F, 4.5F, 9.5F, 11.5F, 13.5F, 21.5F, 23.5F, 25.5F, 33.5F, 35.5F, 37.5F}));
    EXPECT_EQ(run(node("FractionalAvgPool", pseudo_random, true).output(0)),
              (Floats{4, 6, 7.5F, 13, 15, 16.5F, 25, 27, 28.5F, 34, 36, 37.5F}));
  }
}

TEST_F(FractionalPoolTest, GradientsFollowTheStretches) {
  const Output x = constant(harness::random_tensor(float32, {1, 9, 8, 2}));
  for (const bool overlapping : {false, true}) {
    const auto max = nn::fractional_max_pool(x, {1.5F}, {.overlapping = overlapping, .seed = 7});
    const auto avg = nn::fractional_avg_pool(x, {1.5F, 1.3F}, {.overlapping = overlapping, .seed = 7});
    for (const Output& y : {max.output, avg.output}) {
      float total = 0;
      for (const float slope : run(gradients({y}, {x})[0].dense())) total += slope;
      EXPECT_NEAR(total, static_cast<float>(y.shape().num_elements()), 1e-4);
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0
