#include "caudal/ops/sparse_segment_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;

const std::vector<DType> kFloats = {float32, float64, float16, bfloat16};

void segments(Samples& samples, const std::vector<DType>& types, bool with_number) {
  const auto add = [&](DType t, const Tensor& indices, const Tensor& ids, const Tensor& number,
                       const AttrMap& attrs = {}) {
    harness::Sample sample{.inputs = {samples.random(t, {4, 3}), indices, ids}, .attrs = attrs, .shape_unknown = true};
    if (with_number) sample.inputs.emplace_back(number);
    samples.add(sample);
  };
  for (const DType t : types) {
    add(t, ints({0, 3, 1, 0}), ints({0, 0, 2, 2}), Tensor(4));
    add(t, longs({0, 3, 1}), longs({0, 1, 1}), Tensor(std::int64_t{2}));
    add(t, longs({0, 3, 1}), ints({0, 1, 1}), Tensor(3));
    add(t, ints({0, 3, 1}), longs({0, 1, 1}), Tensor(3));
  }
  add(float64, ints({2, 2, 0}), ints({0, 0, 3}), Tensor(5), {{"sparse_gradient", true}});
  add(float32, ints({}), ints({}), Tensor(2));
  const auto fails = [&](const Tensor& indices, const Tensor& ids, int number) {
    std::vector<harness::SampleInput> inputs = {samples.random(float32, {4, 3}), indices, ids};
    if (with_number) inputs.emplace_back(Tensor(number));
    samples.error(inputs, Code::kInvalidArgument);
  };
  fails(ints({0, 4}), ints({0, 0}), 1);
  fails(ints({0, -1}), ints({0, 0}), 1);
  fails(ints({0, 1}), ints({1, 0}), 2);
  fails(ints({0, 1}), ints({-1, 0}), 2);
  fails(ints({0}), ints({0, 1}), 2);
  if (with_number) fails(ints({0, 1}), ints({0, 2}), 2);
  if (with_number) fails(ints({0}), ints({0}), -1);
}

void grads(Samples& samples, bool unique) {
  for (const DType t : kFloats) {
    for (const Tensor& indices : {ints({0, 2, 0}), longs({0, 2, 0})}) {
      for (const Tensor& ids : {ints({0, 0, 1}), longs({0, 0, 1})}) {
        samples.add({.inputs = {samples.random(t, {2, 3}), indices, ids, Tensor(4)}, .shape_unknown = unique});
      }
    }
  }
  samples.add({.inputs = {samples.random(float32, {2, 3}), ints({}), ints({}), Tensor(3)}, .shape_unknown = unique});
  const Tensor grad = samples.random(float32, {2, 3});
  samples.error({grad, ints({0, 3}), ints({0, 1}), Tensor(3)}, Code::kInvalidArgument);
  samples.error({grad, ints({0, 1}), ints({0, 2}), Tensor(3)}, Code::kInvalidArgument);
  samples.error({grad, ints({0, 1}), ints({0, 1}), Tensor(-3)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SparseSegmentSum) { segments(samples, harness::kRealTypes, false); }
CAUDAL_OP_SAMPLES(SparseSegmentMean) { segments(samples, kFloats, false); }
CAUDAL_OP_SAMPLES(SparseSegmentSqrtN) { segments(samples, kFloats, false); }
CAUDAL_OP_SAMPLES(SparseSegmentSumWithNumSegments) { segments(samples, harness::kRealTypes, true); }
CAUDAL_OP_SAMPLES(SparseSegmentMeanWithNumSegments) { segments(samples, kFloats, true); }
CAUDAL_OP_SAMPLES(SparseSegmentSqrtNWithNumSegments) { segments(samples, kFloats, true); }
CAUDAL_OP_SAMPLES(SparseSegmentSumGrad) { grads(samples, false); }
CAUDAL_OP_SAMPLES(SparseSegmentMeanGrad) { grads(samples, false); }
CAUDAL_OP_SAMPLES(SparseSegmentSqrtNGrad) { grads(samples, false); }
CAUDAL_OP_SAMPLES(SparseSegmentSumGradV2) { grads(samples, true); }
CAUDAL_OP_SAMPLES(SparseSegmentMeanGradV2) {
  grads(samples, true);
  // TensorFlow 2.21.
  samples.add({.inputs = {Tensor::from<float>({2, 2}, {1, 2, 3, 4}), ints({0, 2, 0}), ints({0, 0, 1}), Tensor(3)},
               .expected = {Tensor::from<float>({2, 2}, {3.5, 5, 0.5, 1}), ints({0, 2})},
               .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(SparseSegmentSqrtNGradV2) { grads(samples, true); }

}  // namespace
}  // namespace caudal::inline v0
