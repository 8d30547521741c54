// Samples of padding for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::kMovedTypes;
using harness::kNumberTypes;
using harness::Samples;

Tensor paddings() { return Tensor::from<int>({2, 2}, {1, 0, 2, 1}); }
CAUDAL_OP_SAMPLES(Pad) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {2, 3}), paddings()}});
  samples.add({.inputs = {samples.random(float64, {0, 3}), paddings()}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor::from<std::int64_t>({2, 2}, {0, 2, 1, 0})}});
  samples.add({.inputs = {samples.random(float64, {}), Tensor(int32, {0, 2})}});
  samples.add({.inputs = {samples.random(float32, {2, 3, 2, 3}), Tensor::from<int>({4, 2}, {0, 1, 1, 0, 2, 2, 0, 0})}});
  samples.add({.inputs = {samples.random(float32, {120, 130}), Tensor::from<int>({2, 2}, {3, 5, 0, 7})}});
  samples.error({samples.random(float32, {2, 3}), Tensor::from<int>({1, 2}, {1, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {-1, 0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(PadV2) {
  for (const DType t : kMovedTypes)
    samples.add(
        {.inputs = {samples.random(t, {2, 3}), paddings(), samples.random(t, {})}, .undifferentiated_inputs = {2}});
  samples.add({.inputs = {samples.random(float64, {3}), Tensor::from<std::int64_t>({1, 2}, {1, 2}), Tensor(7.5)},
               .undifferentiated_inputs = {2}});
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {0, -1}), Tensor(1.0F)},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MirrorPad) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3}), paddings()}, .attrs = {{"mode", "REFLECT"}}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor::from<std::int64_t>({2, 2}, {2, 2, 3, 1})},
               .attrs = {{"mode", "SYMMETRIC"}}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 4}), Tensor::from<int>({3, 2}, {1, 1, 0, 2, 3, 0})},
               .attrs = {{"mode", "REFLECT"}}});
  samples.add({.inputs = {samples.random(float32, {40, 50}), Tensor::from<int>({2, 2}, {39, 7, 11, 50})},
               .attrs = {{"mode", "SYMMETRIC"}}});
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {2, 0})}, Code::kInvalidArgument,
                {{"mode", "REFLECT"}});
  samples.error({samples.random(float32, {2}), Tensor::from<int>({1, 2}, {0, 3})}, Code::kInvalidArgument,
                {{"mode", "SYMMETRIC"}});
}
CAUDAL_OP_SAMPLES(MirrorPadGrad) {
  for (const DType t : kNumberTypes) {
    samples.add({.inputs = {samples.random(t, {3, 6}), paddings()}, .attrs = {{"mode", "REFLECT"}}});
  }
  samples.add({.inputs = {samples.random(float64, {3, 6}), paddings()}, .attrs = {{"mode", "SYMMETRIC"}}});
  samples.add({.inputs = {samples.random(float64, {7}), Tensor::from<std::int64_t>({1, 2}, {2, 2})},
               .attrs = {{"mode", "REFLECT"}}});
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 2}, {2, 2})}, Code::kInvalidArgument,
                {{"mode", "REFLECT"}});
}

}  // namespace
}  // namespace caudal::inline v0
