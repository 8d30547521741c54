#include "caudal/ops/pool3d.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using List = std::vector<std::int64_t>;

struct Geometry {
  Shape input, output;
  List ksize, strides;
  std::string padding;

  AttrMap attrs() const { return {{"ksize", ksize}, {"strides", strides}, {"padding", padding}}; }
};

const std::vector<Geometry> kGeometries = {
    {{1, 2, 2, 2, 1}, {1, 1, 1, 1, 1}, {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1}, "VALID"},
    {{2, 3, 2, 3, 3}, {2, 3, 1, 3, 3}, {1, 2, 2, 3, 1}, {1, 1, 2, 1, 1}, "SAME"},
    {{1, 3, 5, 4, 2}, {1, 1, 3, 2, 2}, {1, 2, 3, 2, 1}, {1, 2, 1, 2, 1}, "VALID"},
    {{0, 4, 4, 4, 2}, {0, 2, 2, 2, 2}, {1, 2, 2, 2, 1}, {1, 2, 2, 2, 1}, "VALID"},
    {{1, 2, 2, 2, 1}, {1, 2, 2, 2, 1}, {1, 5, 5, 5, 1}, {1, 1, 1, 1, 1}, "SAME"},
};
const std::vector<DType> kMaxTypes = {float16, bfloat16, float32};
const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};

Tensor sizes(const Shape& shape) { return Tensor(std::vector<int>(shape.dims().begin(), shape.dims().end())); }

// Values far from each other, so that differences do not change the winner.
Tensor spread(DType t, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<double>(i * 17 % shape.num_elements()) * 0.5);
  }
  return harness::tensor_of(t, shape, values);
}

void pool_errors(harness::Samples& samples) {
  const auto error = [&](const Shape& input, const List& ksize, const List& strides, Code code) {
    samples.error({samples.random(float32, input)}, code,
                  {{"ksize", ksize}, {"strides", strides}, {"padding", "VALID"}});
  };
  error({1, 2, 2, 2, 1}, {1, 3, 3, 3, 1}, {1, 1, 1, 1, 1}, Code::kInvalidArgument);
  error({2, 2, 2, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, Code::kInvalidArgument);
  error({1, 2, 2, 2, 1}, {1, 0, 1, 1, 1}, {1, 1, 1, 1, 1}, Code::kInvalidArgument);
  error({1, 2, 2, 2, 2}, {1, 1, 1, 1, 2}, {1, 1, 1, 1, 2}, Code::kUnimplemented);
}

CAUDAL_OP_SAMPLES(MaxPool3D) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kMaxTypes) samples.add({.inputs = {spread(t, g.input)}, .attrs = g.attrs()});
  }
  pool_errors(samples);
}

CAUDAL_OP_SAMPLES(AvgPool3D) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kFloats) samples.add({.inputs = {samples.random(t, g.input)}, .attrs = g.attrs()});
  }
  pool_errors(samples);
}

CAUDAL_OP_SAMPLES(AvgPool3DGrad) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kFloats) {
      samples.add({.inputs = {sizes(g.input), samples.random(t, g.output)}, .attrs = g.attrs()});
    }
  }
  samples.error({sizes({1, 4, 4, 4, 1}), samples.random(float32, {1, 3, 2, 2, 1})}, Code::kInvalidArgument,
                kGeometries[0].attrs());
}

// Whole numbers, so that some inputs equal the maximum of their window.
Tensor whole(harness::Samples& samples, DType t, const Shape& shape) {
  return convert_number(samples.random(int32, shape, {.low = 1, .high = 3}), t);
}

void grad_samples(harness::Samples& samples, bool of_input) {
  for (const Geometry& g : kGeometries) {
    for (const DType t : kMaxTypes) {
      samples.add({.inputs = {whole(samples, t, g.input), whole(samples, t, g.output),
                              samples.random(t, of_input ? g.output : g.input)},
                   .attrs = g.attrs(),
                   .gradient = harness::Check::kNo});
    }
  }
  const Geometry& g = kGeometries[0];
  samples.add({.inputs = {spread(float32, g.input), Tensor::from<float>(g.output, {3.5F}),
                          samples.random(float32, of_input ? g.output : g.input)},
               .attrs = g.attrs(),
               .gradient = harness::Check::kYes});
  samples.error({samples.random(float32, {1, 4, 4, 4, 1}), samples.random(float32, {1, 2, 2, 2, 1}),
                 samples.random(float32, {1, 3, 3, 3, 1})},
                Code::kInvalidArgument, kGeometries[0].attrs());
}

CAUDAL_OP_SAMPLES(MaxPool3DGrad) { grad_samples(samples, true); }
CAUDAL_OP_SAMPLES(MaxPool3DGradGrad) { grad_samples(samples, false); }

class Pool3d : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(Pool3d, EveryWinnerGetsTheGradient) {
  const Output x = constant(Tensor::from<float>({1, 1, 2, 2, 1}, {1, 2, 2, 2}));
  const Output y = nn::max_pool3d(x, {.ksize = {1, 2, 2}, .strides = {1, 2, 2}});
  EXPECT_EQ(session_.run(gradients({y}, {x})[0].dense()).to_vector<float>(), (std::vector<float>{0, 1, 1, 1}));
}

TEST_F(Pool3d, SecondOrderGradientTakesTheFirstWinner) {
  const Output x = constant(Tensor::from<float>({1, 1, 2, 2, 1}, {1, 4, 4, 2}));
  const Output dy = constant(Tensor::from<float>({1, 1, 1, 1, 1}, {5}));
  const Output y = nn::max_pool3d(x, {.ksize = {1, 2, 2}, .strides = {1, 2, 2}});
  const Output slope = gradients({y}, {x}, {.grad_ys = {dy}})[0].dense();
  const Output weights = constant(Tensor::from<float>({1, 1, 2, 2, 1}, {10, 20, 30, 40}));
  EXPECT_EQ(session_.run(gradients({slope}, {dy}, {.grad_ys = {weights}})[0].dense()).to_vector<float>(),
            std::vector<float>{20});
}

TEST_F(Pool3d, PaddingIsNotCounted) {
  const Output x = constant(Tensor::from<float>({1, 1, 1, 3, 1}, {-1, -2, -3}));
  const nn::Pool3dOptions options = {.ksize = {2}, .strides = {2}, .padding = "SAME"};
  EXPECT_EQ(session_.run(nn::avg_pool3d(x, options)).to_vector<float>(), (std::vector<float>{-1.5F, -3}));
  EXPECT_EQ(session_.run(nn::max_pool3d(x, options)).to_vector<float>(), (std::vector<float>{-1, -3}));
}

TEST_F(Pool3d, ShapesAsFarAsTheyAreKnown) {
  EXPECT_EQ(nn::max_pool3d(placeholder(float32, {-1, 9, -1, 4, 3}), {.ksize = {2}, .strides = {2}}).shape(),
            PartialShape({-1, 4, -1, 2, 3}));
}

}  // namespace
}  // namespace caudal::inline v0
