// Samples of range ops for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::Samples;

CAUDAL_OP_SAMPLES(Range) {
  samples.add({.inputs = {Tensor(3), Tensor(10), Tensor(3)}, .expected = {ints({3, 6, 9})}});
  samples.add({.inputs = {Tensor(5), Tensor(0), Tensor(-2)}, .expected = {ints({5, 3, 1})}});
  samples.add({.inputs = {Tensor(std::int64_t{0}), Tensor(std::int64_t{0}), Tensor(std::int64_t{1})}});
  samples.add({.inputs = {Tensor(0.0F), Tensor(1.0F), Tensor(0.25F)}, .shape_unknown = true});
  samples.add({.inputs = {Tensor(0.0), Tensor(1.0), Tensor(0.25)}, .shape_unknown = true});
  for (const DType t : {float16, bfloat16}) {
    const auto number = [&](double value) { return harness::tensor_of(t, {}, {value}); };
    samples.add({.inputs = {number(0), number(1), number(0.25)}, .shape_unknown = true});
  }
  samples.error({Tensor(0), Tensor(5), Tensor(0)}, Code::kInvalidArgument);
  samples.error({Tensor(0), Tensor(5), Tensor(-1)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(LinSpace) {
  samples.add({.inputs = {Tensor(0.0F), Tensor(1.0F), Tensor(5)},
               .expected = {Tensor(std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1})}});
  samples.add({.inputs = {Tensor(2.0), Tensor(1.0), Tensor(1)}, .expected = {Tensor(std::vector<double>{2})}});
  for (const DType t : {float16, bfloat16, float32, float64}) {
    const auto number = [&](double value) { return harness::tensor_of(t, {}, {value}); };
    samples.add({.inputs = {number(-1), number(2), Tensor(std::int64_t{4})},
                 .expected = {harness::tensor_of(t, {4}, {-1, 0, 1, 2})}});
  }
  samples.add({.inputs = {Tensor(0.5), Tensor(-0.5), Tensor(67)}});
  samples.error({Tensor(0.0F), Tensor(1.0F), Tensor(0)}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
