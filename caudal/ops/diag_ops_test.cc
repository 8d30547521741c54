#include "caudal/ops/diag_ops.h"

#include <gtest/gtest.h>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

CAUDAL_OP_SAMPLES(Diag) {
  for (const DType t : {float16, float32, float64, int32, int64, complex64, complex128}) {
    samples.add({.inputs = {samples.random(t, {3})}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3})}});
  samples.add({.inputs = {samples.random(float64, {2, 2, 2})}});
  samples.add({.inputs = {samples.random(float64, {0})}});
  samples.add({.inputs = {Tensor(std::vector<int>{4, 5})}, .expected = {Tensor::from<int>({2, 2}, {4, 0, 0, 5})}});
  samples.error({samples.random(float32, {})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(DiagPart) {
  for (const DType t : {float16, float32, float64, int32, int64, complex64, complex128}) {
    samples.add({.inputs = {samples.random(t, {3, 3})}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3, 2, 3})}});
  samples.add({.inputs = {samples.random(float64, {0, 0})}});
  samples.error({samples.random(float32, {3})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3, 4})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
