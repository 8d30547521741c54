// Samples of partition ops for the harness.
#include <cmath>

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kMovedTypes;
using harness::kNumberTypes;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(Where) {
  samples.add({.inputs = {Tensor::from<bool>({2, 2}, {true, false, true, true})},
               .expected = {Tensor::from<std::int64_t>({3, 2}, {0, 0, 1, 0, 1, 1})},
               .shape_unknown = true});
  for (const DType t : kNumberTypes) {
    const Tensor x = harness::tensor_of(t, {5}, {0, 3, 0, 1, 1});
    samples.add({.inputs = {x}, .expected = {Tensor::from<std::int64_t>({3, 1}, {1, 3, 4})}, .shape_unknown = true});
  }
  samples.error({Tensor(true)}, Code::kInvalidArgument, {}, "Unhandled input dimensions: 0");
  samples.add({.inputs = {Tensor(boolean, {0, 2})}, .expected = {Tensor(int64, {0, 2})}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(std::vector<float>{-0.0F, NAN})},
               .expected = {Tensor::from<std::int64_t>({1, 1}, {1})},
               .shape_unknown = true});
  samples.add({.inputs = {samples.random(boolean, {2, 3, 2, 2})}, .shape_unknown = true});
  samples.add({.inputs = {samples.random(boolean, {300, 257})}, .shape_unknown = true});
}
// Each type with both types of positions, no elements, many.
void uniques(Samples& samples) {
  for (const DType t : kUsualTypes) {
    if (is_complex(t)) continue;
    for (const DType index : {int32, int64}) {
      samples.add({.inputs = {samples.random(t, {9})}, .attrs = {{"out_idx", index}}, .shape_unknown = true});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0})}, .shape_unknown = true});
  samples.add({.inputs = {harness::random_tensor(int64, {5000}, 5, {.low = 0, .high = 900})}, .shape_unknown = true});
  samples.error({samples.random(int32, {})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Unique) {
  samples.add(
      {.inputs = {ints({3, 1, 3, 2, 1})}, .expected = {ints({3, 1, 2}), ints({0, 1, 0, 2, 1})}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(std::vector<std::string>{"b", "a", "b"})}, .shape_unknown = true});
  uniques(samples);
  samples.error({samples.random(int32, {2, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UniqueWithCounts) {
  samples.add({.inputs = {ints({3, 1, 3})},
               .attrs = {{"out_idx", int64}},
               .expected = {ints({3, 1}), longs({0, 1, 0}), longs({2, 1})},
               .shape_unknown = true});
  uniques(samples);
}
CAUDAL_OP_SAMPLES(DynamicPartition) {
  for (const DType t : kUsualTypes) {
    samples.add({.inputs = {samples.random(t, {3, 2}), ints({1, 0, 1})},
                 .attrs = {{"num_partitions", 3}},
                 .shape_unknown = true});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<int>({2, 3}, {1, 0, 0, 1, 1, 0})},
               .attrs = {{"num_partitions", 2}},
               .shape_unknown = true});
  samples.add(
      {.inputs = {samples.random(float64, {2}), Tensor(1)}, .attrs = {{"num_partitions", 2}}, .shape_unknown = true});
  samples.add(
      {.inputs = {samples.random(float64, {0, 3}), ints({})}, .attrs = {{"num_partitions", 2}}, .shape_unknown = true});
  samples.error({samples.random(float32, {1}), ints({2})}, Code::kInvalidArgument, {{"num_partitions", 2}});
  samples.error({samples.random(float32, {1}), ints({-1})}, Code::kInvalidArgument, {{"num_partitions", 2}});
  samples.error({samples.random(float32, {3}), ints({0, 1})}, Code::kInvalidArgument, {{"num_partitions", 2}});
}
void stitches(Samples& samples) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {{Tensor(2), ints({0, 1})}, {samples.random(t, {2}), samples.random(t, {2, 2})}}});
  }
  samples.add({.inputs = {{ints({1, 0}), Tensor::from<int>({1, 2}, {3, 2})},
                          {samples.random(float64, {2, 3}), samples.random(float64, {1, 2, 3})}}});
  samples.add({.inputs = {{ints({})}, {samples.random(float64, {0, 2})}}});
  samples.error({{ints({0, 1})}, {samples.random(float32, {3})}}, Code::kInvalidArgument);
  samples.error({{ints({-1})}, {samples.random(float32, {1})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(DynamicStitch) { stitches(samples); }
CAUDAL_OP_SAMPLES(ParallelDynamicStitch) { stitches(samples); }

}  // namespace
}  // namespace caudal::inline v0
