// Samples of segment ops for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kNumberTypes;
using harness::kRealTypes;
using harness::longs;
using harness::Samples;

void sorted_segments(Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    samples.add({.inputs = {samples.random(t, {4, 2}), ints({0, 0, 2, 2})}, .shape_unknown = true});
    samples.add({.inputs = {samples.random(t, {4}), longs({0, 1, 1, 3})}, .shape_unknown = true});
  }
  samples.add({.inputs = {samples.random(float64, {3, 2, 2}), ints({1, 1, 1})}, .shape_unknown = true});
  samples.add({.inputs = {samples.random(float64, {0, 2}), ints({})}, .shape_unknown = true});
  samples.add(
      {.inputs = {samples.random(float32, {40, 1031}), harness::tensor_of(int32, {40}, std::vector<double>(40))},
       .shape_unknown = true});
  samples.error({samples.random(float32, {2}), ints({-1, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), ints({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2}), ints({1, 0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(SegmentSum) { sorted_segments(samples, kNumberTypes); }
CAUDAL_OP_SAMPLES(SegmentMean) { sorted_segments(samples, kNumberTypes); }
CAUDAL_OP_SAMPLES(SegmentProd) {
  samples.complex_gradient_lacks_conjugates();
  sorted_segments(samples, kNumberTypes);
}
CAUDAL_OP_SAMPLES(SegmentMax) { sorted_segments(samples, kRealTypes); }
CAUDAL_OP_SAMPLES(SegmentMin) { sorted_segments(samples, kRealTypes); }
void unsorted_segments(Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    samples.add({.inputs = {samples.random(t, {4, 2}), longs({2, 0, -1, 2}), Tensor(4)}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 2, 3}), Tensor::from<int>({2, 2}, {1, 0, 1, 1}), Tensor(2)}});
  samples.add({.inputs = {samples.random(float64, {3}), ints({0, 0, 2}), Tensor(std::int64_t{3})}});
  samples.add({.inputs = {samples.random(float64, {0, 2}), ints({}), Tensor(2)}});
  // Its gradient fails, as TensorFlow's does: no row to gather from.
  samples.add({.inputs = {samples.random(float64, {2}), ints({-1, -1}), Tensor(0)}, .gradient = harness::Check::kNo});
  samples.add({.inputs = {samples.random(float32, {900, 67}),
                          harness::random_tensor(int32, {900}, 4, {.low = -1, .high = 30}), Tensor(31)}});
  samples.error({samples.random(float32, {2, 3}), ints({0}), Tensor(3)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1}), ints({0}), Tensor(-1)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {1}), ints({3}), Tensor(3)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UnsortedSegmentSum) {
  unsorted_segments(samples, kNumberTypes);
  samples.add({.inputs = {samples.random(float64, {3, 2}), Tensor::from<std::int16_t>({3}, {1, -1, 1}), Tensor(2)}});
}
CAUDAL_OP_SAMPLES(UnsortedSegmentProd) {
  samples.complex_gradient_lacks_conjugates();
  unsorted_segments(samples, kNumberTypes);
}
CAUDAL_OP_SAMPLES(UnsortedSegmentMax) { unsorted_segments(samples, kRealTypes); }
CAUDAL_OP_SAMPLES(UnsortedSegmentMin) { unsorted_segments(samples, kRealTypes); }

}  // namespace
}  // namespace caudal::inline v0
