// Samples of transpose ops for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

void transposes(Samples& samples) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {samples.random(t, {2, 3, 4}), ints({2, 0, 1})}});
  samples.add({.inputs = {samples.random(float64, {3, 5}), longs({1, 0})}});
  samples.add({.inputs = {samples.random(float32, {}), ints({})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), ints({1, 0})}});
  samples.add({.inputs = {samples.random(float32, {130, 67}), ints({1, 0})}});
  samples.add({.inputs = {samples.random(float32, {2, 33, 17, 5}), ints({0, 3, 1, 2})}});
  samples.error({samples.random(float32, {2, 2}), ints({0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 2}), ints({0, 2})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Transpose) { transposes(samples); }
CAUDAL_OP_SAMPLES(ConjugateTranspose) { transposes(samples); }
CAUDAL_OP_SAMPLES(InvertPermutation) {
  samples.add({.inputs = {ints({2, 0, 1})}, .expected = {ints({1, 2, 0})}});
  samples.add({.inputs = {longs({1, 0})}});
  samples.add({.inputs = {ints({})}});
  samples.error({ints({0, 2})}, Code::kInvalidArgument);
  samples.error({ints({-1, 0})}, Code::kInvalidArgument);
  samples.error({ints({1, 1})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Reverse) {
  for (const DType t : kUsualTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3}), Tensor::from<bool>({2}, {false, true})}});
  }
  samples.add({.inputs = {samples.random(float64, {}), Tensor(boolean, {0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<bool>({3}, {true, false, true})}});
  samples.error({samples.random(float32, {2, 3}), Tensor::from<bool>({1}, {true})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ReverseV2) {
  for (const DType t : kUsualTypes) samples.add({.inputs = {samples.random(t, {2, 3}), ints({-1})}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 4}), longs({0, 2})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), ints({0})}});
  samples.error({samples.random(float32, {2, 2}), ints({0, 0})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
