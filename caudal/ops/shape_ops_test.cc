// Samples of shape ops for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::each_type_and_shape;
using harness::ints;
using harness::kMovedTypes;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(Shape) {
  each_type_and_shape(samples, kUsualTypes);
  each_type_and_shape(samples, {}, {{"out_type", int64}});
  samples.add({.inputs = {samples.random(float32, {2, 0, 3})}, .expected = {ints({2, 0, 3})}});
}
CAUDAL_OP_SAMPLES(ShapeN) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {{samples.random(t, {2}), samples.random(t, {})}}});
  samples.add({.inputs = {{samples.random(float32, {2, 0}), samples.random(float32, {3})}},
               .attrs = {{"out_type", int64}},
               .expected = {longs({2, 0}), longs({3})}});
}
CAUDAL_OP_SAMPLES(Size) {
  each_type_and_shape(samples, kUsualTypes);
  samples.add({.inputs = {samples.random(float32, {2, 3})}, .expected = {Tensor(6)}});
  samples.add({.inputs = {samples.random(float32, {2, 0})},
               .attrs = {{"out_type", int64}},
               .expected = {Tensor(std::int64_t{0})}});
}
CAUDAL_OP_SAMPLES(Rank) { each_type_and_shape(samples, kUsualTypes); }
CAUDAL_OP_SAMPLES(Reshape) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {2, 6}), ints({3, -1})}});
  samples.add({.inputs = {samples.random(float64, {4}), longs({2, 2})}});
  samples.add({.inputs = {samples.random(float32, {1, 1}), ints({})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), ints({3, -1})}});
  samples.error({samples.random(float32, {5}), ints({2, -1})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4}), ints({-1, -1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(QuantizedReshape) {
  for (const DType t : {DType::kQuint8, DType::kQint32}) {
    samples.add({.inputs = {samples.random(t, {2, 6}), ints({3, -1}), Tensor(-1.0F), Tensor(2.0F)}});
  }
  samples.error({samples.random(float32, {5}), ints({2, -1}), Tensor(-1.0F), Tensor(2.0F)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4}), ints({2, 2}), Tensor(-1.0F), Tensor(std::vector<float>{1, 2})},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ExpandDims) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {2, 3}), Tensor(-1)}});
  samples.add({.inputs = {samples.random(float64, {}), Tensor(0)}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(std::int64_t{1})}});
  samples.error({samples.random(float32, {2}), Tensor(3)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Squeeze) {
  each_type_and_shape(samples, kMovedTypes);
  samples.add({.inputs = {samples.random(float64, {1, 2, 1})}});
  samples.add(
      {.inputs = {samples.random(float64, {1, 3, 1})}, .attrs = {{"squeeze_dims", std::vector<std::int64_t>{-1}}}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument,
                {{"squeeze_dims", std::vector<std::int64_t>{0}}});
}
CAUDAL_OP_SAMPLES(BroadcastTo) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {samples.random(t, {2, 1}), ints({3, 2, 4})}});
  samples.add({.inputs = {samples.random(float64, {}), longs({2, 0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), ints({2, 3})}});
  samples.add({.inputs = {samples.random(float64, {}), ints({})}});
  samples.add({.inputs = {samples.random(float32, {1, 33, 1}), ints({17, 33, 65})}});
  samples.add({.inputs = {Tensor(std::vector<int>{1, 2}), longs({2, 2})},
               .expected = {Tensor::from<int>({2, 2}, {1, 2, 1, 2})}});
  samples.error({samples.random(float32, {2, 3}), ints({3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), ints({2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(EnsureShape) {
  each_type_and_shape(samples, kUsualTypes, {{"shape", PartialShape::unknown()}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"shape", PartialShape{3}}});
}

}  // namespace
}  // namespace caudal::inline v0
