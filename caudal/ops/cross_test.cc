#include "caudal/ops/cross.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

CAUDAL_OP_SAMPLES(Cross) {
  for (DType t : {float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64})
    for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{0, 3}, Shape{2, 1, 2, 3}})
      samples.add({.inputs = {samples.random(t, shape), samples.random(t, shape)}});
  samples.error({samples.random(float32, {2}), samples.random(float32, {2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), samples.random(float32, {3})}, Code::kInvalidArgument);
  samples.error({samples.random(complex64, {3}), samples.random(complex64, {3})}, Code::kInvalidArgument);
}

TEST(Cross, IsOrthogonalToBoth) {
  Graph graph;
  const GraphScope scope(graph);
  const Output product =
      linalg::cross(constant({{1.0, 0.0, 0.0}, {1.0, 2.0, 3.0}}), constant({{0.0, 1.0, 0.0}, {4.0, 5.0, 6.0}}));
  Session session(graph);
  EXPECT_TRUE(identical(session.run(product), Tensor::from<float>({2, 3}, {0, 0, 1, -3, 6, -3})));
}

TEST(Cross, WantsThreeDimensions) {
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_THROW(linalg::cross(constant({1, 2}), constant({3, 4})), Error);
  EXPECT_THROW(linalg::cross(constant(1), constant(2)), Error);
}

}  // namespace
}  // namespace caudal::inline v0
