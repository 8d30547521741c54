// Samples of the set ops for the harness; values from TensorFlow 2.21.
#include <cmath>

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(ListDiff) {
  samples.add({.inputs = {ints({1, 2, 3, 4, 5, 6, 2}), ints({1, 3, 5})},
               .expected = {ints({2, 4, 6, 2}), ints({1, 3, 5, 6})},
               .shape_unknown = true});
  for (const DType t : kUsualTypes) {
    if (is_complex(t) || t == boolean) continue;
    for (const DType index : {int32, int64}) {
      samples.add({.inputs = {samples.random(t, {9}), samples.random(t, {4})},
                   .attrs = {{"out_idx", index}},
                   .shape_unknown = true});
    }
  }
  samples.add({.inputs = {Tensor(std::vector<float>{-0.0F, NAN, 1}), Tensor(std::vector<float>{0, NAN})},
               .expected = {Tensor(std::vector<float>{NAN, 1}), ints({1, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {ints({}), ints({1})}, .shape_unknown = true});
  samples.error({samples.random(int32, {2, 2}), ints({1})}, Code::kInvalidArgument);
}

void uniques(Samples& samples, bool counts) {
  const Tensor rows = Tensor::from<int>({3, 2}, {1, 0, 1, 0, 2, 3});
  std::vector<Tensor> expected = {Tensor::from<int>({2, 2}, {1, 0, 2, 3}), ints({0, 0, 1})};
  if (counts) expected.push_back(ints({2, 1}));
  samples.add({.inputs = {rows, longs({0})}, .expected = expected, .shape_unknown = true});
  expected = {rows, ints({0, 1})};
  if (counts) expected.push_back(ints({1, 1}));
  samples.add({.inputs = {rows, ints({-1})}, .expected = expected, .shape_unknown = true});
  for (const DType t : kUsualTypes) {
    if (is_complex(t)) continue;
    for (const DType index : {int32, int64}) {
      samples.add(
          {.inputs = {samples.random(t, {9}), longs({})}, .attrs = {{"out_idx", index}}, .shape_unknown = true});
      samples.add(
          {.inputs = {samples.random(t, {2, 4, 2}), longs({1})}, .attrs = {{"out_idx", index}}, .shape_unknown = true});
    }
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), longs({0})}, .shape_unknown = true});
  samples.error({rows, longs({})}, Code::kInvalidArgument);
  samples.error({rows, longs({2})}, Code::kInvalidArgument);
  samples.error({rows, longs({0, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(UniqueV2) { uniques(samples, false); }
CAUDAL_OP_SAMPLES(UniqueWithCountsV2) { uniques(samples, true); }

CAUDAL_OP_SAMPLES(Bucketize) {
  const AttrMap attrs = {{"boundaries", std::vector<float>{0, 2.5F, 8, 11}}};
  for (const DType t : {int32, int64, float32, float64}) {
    samples.add({.inputs = {harness::tensor_of(t, {7}, {-5, 0, 2, 3, 8, 10, 12})},
                 .attrs = attrs,
                 .expected = {ints({0, 1, 1, 2, 3, 3, 4})}});
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = attrs});
  }
  samples.add({.inputs = {ints({1})}, .attrs = {{"boundaries", std::vector<float>{}}}, .expected = {ints({0})}});
  samples.error({ints({1})}, Code::kInvalidArgument, {{"boundaries", std::vector<float>{2, 1}}});
}

}  // namespace
}  // namespace caudal::inline v0
