#include "caudal/ops/lrn.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;

const std::vector<AttrMap> kSettings = {{},
                                        {{"depth_radius", 1}, {"bias", 0.5F}, {"alpha", 0.4F}, {"beta", 0.6F}},
                                        {{"depth_radius", 2}, {"beta", 1.0F}},
                                        {{"depth_radius", 0}, {"alpha", 0.2F}}};
const std::vector<DType> kTypes = {float16, bfloat16, float32};

CAUDAL_OP_SAMPLES(LRN) {
  for (const AttrMap& attrs : kSettings) {
    for (const DType t : kTypes) {
      samples.add({.inputs = {samples.random(t, {2, 1, 2, 7})},
                   .attrs = attrs,
                   .gradient = t == float32 ? Check::kYes : Check::kNo});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 2, 2, 3})}, .gradient = Check::kNo});
  samples.error({samples.random(float32, {2, 2, 3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(LRNGrad) {
  const Shape shape = {2, 1, 2, 7};
  for (const AttrMap& attrs : kSettings) {
    for (const DType t : kTypes) {
      samples.add(
          {.inputs = {samples.random(t, shape), samples.random(t, shape), samples.random(t, shape)}, .attrs = attrs});
    }
  }
  samples.error({samples.random(float32, shape), samples.random(float32, shape), samples.random(float32, {2, 1, 2, 6})},
                Code::kInvalidArgument);
}

// By hand: squares around each channel, radius 1.
TEST(Lrn, DividesByTheNeighbours) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant(Tensor::from<float>({1, 1, 1, 3}, {1, 2, 3}));
  Session session;
  const Tensor y = session.run(nn::lrn(x, {.depth_radius = 1, .bias = 1, .alpha = 2, .beta = 1}));
  EXPECT_FLOAT_EQ(y.at<float>(0, 0, 0, 0), 1.0F / 11);
  EXPECT_FLOAT_EQ(y.at<float>(0, 0, 0, 1), 2.0F / 29);
  EXPECT_FLOAT_EQ(y.at<float>(0, 0, 0, 2), 3.0F / 27);
}

}  // namespace
}  // namespace caudal::inline v0
