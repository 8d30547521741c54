#include "caudal/ops/scan.h"

#include <gtest/gtest.h>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

const std::vector<DType> kTypes = {float16, bfloat16, float32, float64, int8,   int16,     int32,
                                   int64,   uint8,    uint16,  uint32,  uint64, complex64, complex128};

void scans(Samples& samples) {
  const harness::ValueRange range = {.low = 0.5, .high = 1.5};
  for (const DType dtype : kTypes) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const AttrMap attrs = {{"exclusive", exclusive}, {"reverse", reverse}};
        // TensorFlow's gradient of Cumprod does not conjugate.
        const auto gradient =
            is_complex(dtype) && samples.op() == "Cumprod" ? harness::Check::kNo : harness::Check::kAuto;
        samples.add({.inputs = {samples.random(dtype, {5}, range), Tensor(0)}, .attrs = attrs, .gradient = gradient});
        samples.add({.inputs = {samples.random(dtype, {2, 3, 2}, range), Tensor(std::int64_t{-2})},
                     .attrs = attrs,
                     .gradient = gradient});
      }
    }
  }
  samples.add({.inputs = {samples.random(float32, {17, 300, 5}, range), Tensor(1)}, .tolerance = 1e-4});
  samples.add({.inputs = {samples.random(float32, {2, 0, 3}), Tensor(1)}});
  samples.error({samples.random(float32, {2, 3}), Tensor(2)}, Code::kInvalidArgument);
  samples.error({Tensor(1.0F), Tensor(0)}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Cumsum) {
  scans(samples);
  samples.add({.inputs = {Tensor(std::vector<int>{1, 2, 3}), Tensor(0)},
               .attrs = {{"exclusive", true}, {"reverse", true}},
               .expected = {Tensor(std::vector<int>{5, 3, 0})}});
}
CAUDAL_OP_SAMPLES(Cumprod) {
  scans(samples);
  samples.add({.inputs = {Tensor(std::vector<int>{2, 3, 4}), Tensor(0)},
               .attrs = {{"exclusive", true}},
               .expected = {Tensor(std::vector<int>{1, 2, 6})}});
}

}  // namespace
}  // namespace caudal::inline v0
