#include "caudal/ops/fingerprint.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

CAUDAL_OP_SAMPLES(Fingerprint) {
  const Tensor method(std::string("farmhash64"));
  for (const DType t : harness::kUsualTypes) samples.add({.inputs = {samples.random(t, {3, 2, 5}), method}});
  samples.add({.inputs = {samples.random(string, {4}), method}});
  samples.add({.inputs = {samples.random(string, {2, 3}), method}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), method}});
  samples.error({Tensor(1.0F), method}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2}), Tensor(std::string("md5"))}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
