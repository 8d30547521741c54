#include "caudal/ops/bias.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

const std::vector<DType> kNumbers = {float16, bfloat16, float32, float64, int8,   int16,     int32,
                                     int64,   uint8,    uint16,  uint32,  uint64, complex64, complex128};

void bias_errors(Samples& samples) {
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), samples.random(float32, {3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {1, 3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(BiasAdd) {
  for (const DType dtype : kNumbers) {
    samples.add({.inputs = {samples.random(dtype, {2, 3}), samples.random(dtype, {3})}});
    samples.add(
        {.inputs = {samples.random(dtype, {2, 3, 2}), samples.random(dtype, {3})}, .attrs = {{"data_format", "NCHW"}}});
  }
  for (const Shape& shape : {Shape{1, 17}, Shape{2, 3, 17}, Shape{2, 3, 2, 17}, Shape{0, 17}, Shape{300, 7, 17}}) {
    samples.add({.inputs = {samples.random(float32, shape), samples.random(float32, {17})}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3, 4, 5}), samples.random(float64, {3})},
               .attrs = {{"data_format", "NCHW"}}});
  samples.add({.inputs = {Tensor::from<float>({2, 2}, {1, 2, 3, 4}), Tensor::from<float>({2}, {10, 20})},
               .attrs = {{"data_format", "NCHW"}},
               .expected = {Tensor::from<float>({2, 2}, {11, 22, 13, 24})}});
  bias_errors(samples);
}
CAUDAL_OP_SAMPLES(BiasAddV1) {
  for (const DType dtype : kNumbers) {
    samples.add({.inputs = {samples.random(dtype, {2, 3, 5}), samples.random(dtype, {5})}});
  }
  bias_errors(samples);
}
CAUDAL_OP_SAMPLES(BiasAddGrad) {
  for (const DType dtype : kNumbers) {
    samples.add({.inputs = {samples.random(dtype, {2, 3})}});
    samples.add({.inputs = {samples.random(dtype, {2, 3, 2})}, .attrs = {{"data_format", "NCHW"}}});
  }
  samples.add({.inputs = {samples.random(float32, {300, 7, 17})}});
  samples.add({.inputs = {samples.random(float32, {0, 3})}, .expected = {Tensor::zeros(float32, {3})}});
  samples.add({.inputs = {Tensor::from<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
               .attrs = {{"data_format", "NCHW"}},
               .expected = {Tensor(std::vector<float>{14, 22})}});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
}

TEST(BiasAdd, SecondGradientReachesTheBias) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant(Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4}));
  const Output y = raw_ops::bias_add_grad(x, {.data_format = "NCHW"});
  const Output weights = constant(Tensor(std::vector<float>{10, 20}));
  const auto grads = gradients({y}, {x}, {.grad_ys = {weights}});
  EXPECT_TRUE(identical(Session().run(grads[0].dense()), Tensor::from<float>({2, 2, 1}, {10, 20, 10, 20})));
}

}  // namespace
}  // namespace caudal::inline v0
