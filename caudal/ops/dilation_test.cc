#include "caudal/ops/dilation.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

const std::vector<DType> kReals = {float16, bfloat16, float32, float64, int8,   int16,
                                   int32,   int64,    uint8,   uint16,  uint32, uint64};

struct Geometry {
  Shape input, filter, output;
  List strides, rates;
  std::string padding;
  AttrMap attrs() const { return {{"strides", strides}, {"rates", rates}, {"padding", padding}}; }
};

const std::vector<Geometry> kGeometries = {
    {{1, 3, 4, 2}, {2, 2, 2}, {1, 3, 4, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, "SAME"},
    {{2, 5, 5, 1}, {2, 3, 1}, {2, 2, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, "VALID"},
    {{1, 4, 3, 3}, {3, 1, 3}, {1, 2, 2, 3}, {1, 2, 2, 1}, {1, 2, 1, 1}, "SAME"},
    {{0, 4, 3, 3}, {2, 2, 3}, {0, 3, 2, 3}, {1, 1, 1, 1}, {1, 1, 1, 1}, "VALID"},
};

CAUDAL_OP_SAMPLES(Dilation2D) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kReals) {
      samples.add({.inputs = {samples.random(t, g.input), samples.random(t, g.filter)}, .attrs = g.attrs()});
    }
  }
  const Tensor image = samples.random(float32, {1, 4, 4, 2});
  const auto error = [&](const Shape& filter, const List& strides, const List& rates, Code code) {
    samples.error({image, samples.random(float32, filter)}, code,
                  {{"strides", strides}, {"rates", rates}, {"padding", "VALID"}});
  };
  error({2, 2, 3}, {1, 1, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({5, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({2, 2, 2}, {1, 0, 1, 1}, {1, 1, 1, 1}, Code::kInvalidArgument);
  error({2, 2, 2}, {2, 1, 1, 1}, {1, 1, 1, 1}, Code::kUnimplemented);
  error({2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 2}, Code::kUnimplemented);
}

void backward_samples(harness::Samples& samples) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kReals) {
      samples.add({.inputs = {samples.random(t, g.input), samples.random(t, g.filter), samples.random(t, g.output)},
                   .attrs = g.attrs()});
    }
  }
  const Geometry& g = kGeometries[0];
  samples.error(
      {samples.random(float32, g.input), samples.random(float32, g.filter), samples.random(float32, {1, 3, 3, 2})},
      Code::kInvalidArgument, g.attrs());
}

CAUDAL_OP_SAMPLES(Dilation2DBackpropInput) { backward_samples(samples); }
CAUDAL_OP_SAMPLES(Dilation2DBackpropFilter) { backward_samples(samples); }

TEST(Dilation, DilatesAndErodes) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant(Tensor::from<float>({1, 2, 2, 1}, {1, 2, 3, 4}));
  const Output kernel = constant(Tensor::from<float>({2, 2, 1}, {0, 1, 5, 2}));
  Session session;
  EXPECT_EQ(session.run(nn::dilation2d(x, kernel)).to_vector<float>(), std::vector<float>{8});
  EXPECT_EQ(session.run(nn::erosion2d(x, kernel)).to_vector<float>(), std::vector<float>{-3});
}

}  // namespace
}  // namespace caudal::inline v0
