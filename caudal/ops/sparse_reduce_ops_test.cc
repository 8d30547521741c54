#include "caudal/ops/sparse_reduce_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::ints;
using harness::longs;
using harness::Samples;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Tensor rows(std::int64_t width, const Ints& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / width, width}, values);
}
const Tensor& places() {
  static const Tensor indices = rows(3, {0, 1, 0, 0, 1, 1, 1, 0, 2, 1, 2, 0});
  return indices;
}

void reductions(Samples& samples, const std::vector<DType>& types) {
  samples.complex_gradient_lacks_conjugates();
  for (const DType t : types) {
    samples.add({.inputs = {places(), samples.random(t, {4}), longs({2, 3, 3}), ints({2})}, .shape_unknown = true});
    samples.add({.inputs = {places(), samples.random(t, {4}), longs({2, 3, 3}), ints({-1, 0})},
                 .attrs = {{"keep_dims", true}},
                 .shape_unknown = true});
  }
  for (const Tensor& axes : {ints({}), ints({0, 1, 2}), ints({1, 1}), Tensor(1)}) {
    samples.add({.inputs = {places(), samples.random(float64, {4}), longs({2, 3, 3}), axes}, .shape_unknown = true});
  }
  samples.add(
      {.inputs = {Tensor(int64, {0, 2}), Tensor(float64, {0}), longs({2, 3}), ints({1})}, .shape_unknown = true});
  samples.error({places(), ints({1, 2, 3, 4}), longs({2, 3, 3}), ints({3})}, Code::kInvalidArgument);
  samples.error({places(), ints({1, 2, 3, 4}), longs({2, 3, 3}), Tensor(int32, {1, 1})}, Code::kInvalidArgument);
}

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(SparseReduceSum) {
  reductions(samples, harness::kNumberTypes);
  samples.add({.inputs = {places(), Tensor(Floats{1, 2, 3, -4}), longs({2, 3, 3}), ints({2})},
               .expected = {Tensor::from<float>({2, 3}, {0, 3, 0, 3, 0, -4})},
               .shape_unknown = true});
  samples.error({rows(2, {7, 0}), ints({1}), longs({2, 3}), ints({1})}, Code::kInternal);
}
CAUDAL_OP_SAMPLES(SparseReduceSumSparse) {
  reductions(samples, harness::kNumberTypes);
  samples.add(
      {.inputs = {places(), Tensor(Floats{1, 2, 3, -4}), longs({2, 3, 3}), ints({0})},
       .attrs = {{"keep_dims", true}},
       .expected = {rows(3, {0, 0, 2, 0, 1, 0, 0, 1, 1, 0, 2, 0}), Tensor(Floats{3, 1, 2, -4}), longs({1, 3, 3})},
       .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(SparseReduceMax) {
  reductions(samples, harness::kRealTypes);
  samples.add({.inputs = {places(), Tensor(Floats{1, 2, 3, -4}), longs({2, 3, 3}), ints({2})},
               .expected = {Tensor::from<float>({2, 3}, {0, 2, 0, 3, 0, -4})},
               .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(SparseReduceMaxSparse) {
  reductions(samples, harness::kRealTypes);
  samples.add({.inputs = {places(), Tensor(Floats{1, 2, 3, -4}), longs({2, 3, 3}), ints({0, 1})},
               .expected = {rows(1, {0, 1, 2}), Tensor(Floats{1, 2, 3}), longs({3})},
               .shape_unknown = true});
}
CAUDAL_OP_SAMPLES(SparseSoftmax) {
  for (const DType t : {float16, float32, float64}) {
    samples.add(
        {.inputs = {rows(2, {0, 0, 0, 2, 1, 1}), samples.random(t, {3}), longs({2, 3})}, .second_order = Check::kNo});
  }
  samples.add({.inputs = {rows(3, {0, 0, 0, 0, 0, 1, 0, 1, 0}), Tensor(Floats{1, 2, 3}), longs({1, 2, 2})},
               .expected = {Tensor(Floats{0.26894143F, 0.7310586F, 1})}});
  // Out of order: as TensorFlow gives them.
  samples.add({.inputs = {rows(2, {1, 1, 0, 0, 0, 2}), Tensor(Floats{1, 2, 3}), longs({2, 3})},
               .expected = {Tensor(Floats{0.26894143F, 0.7310586F, 1})},
               .gradient = Check::kNo});
  samples.add({.inputs = {Tensor(int64, {0, 2}), Tensor(float32, {0}), longs({2, 3})}});
  samples.error({rows(1, {0}), Tensor(Floats{1}), longs({3})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
