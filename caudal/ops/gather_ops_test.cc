// Samples of gather ops for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kMovedTypes;
using harness::kUsualTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(Gather) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {4, 3}), ints({3, 0, 3})}});
  samples.add({.inputs = {samples.random(float64, {3, 2}), Tensor::from<std::int64_t>({2, 2}, {2, 0, 0, 1})}});
  samples.add({.inputs = {samples.random(float64, {3}), Tensor(1)}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), ints({})}});
  samples.error({samples.random(float32, {4}), ints({4})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {}), ints({0})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(GatherV2) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {4, 3}), ints({3, 0, 3}), Tensor(0)}});
  samples.add(
      {.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<std::int64_t>({2, 2}, {0, 2, 1, 1}), Tensor(1)}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<int>({2, 2}, {0, 2, 1, 1}), Tensor(1)},
               .attrs = {{"batch_dims", 1}}});
  samples.add({.inputs = {samples.random(float64, {2, 2, 3}), Tensor::from<int>({2, 2}, {0, 2, 1, 1}), Tensor(-1)},
               .attrs = {{"batch_dims", 1}}});
  samples.add({.inputs = {samples.random(float32, {4, 3}), Tensor(DType::kInt32, Shape{0}), Tensor(0)}});
  samples.add(
      {.inputs = {samples.random(float64, {2, 3}), Tensor::from<std::int16_t>({2}, {2, 1}), Tensor(std::int64_t{-1})}});
  samples.add({.inputs = {samples.random(float64, {3, 2}), Tensor(2), Tensor(0)}});
  samples.add({.inputs = {samples.random(float32, {500, 67}),
                          harness::random_tensor(int32, {900}, 1, {.low = 0, .high = 499}), Tensor(0)}});
  samples.add({.inputs = {samples.random(float32, {67, 500}),
                          harness::random_tensor(int32, {300}, 2, {.low = 0, .high = 499}), Tensor(1)}});
  samples.error({samples.random(float32, {4}), ints({0}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), Tensor::from<int>({3, 1}, {0, 0, 0}), Tensor(1)},
                Code::kInvalidArgument, {{"batch_dims", 1}});
  samples.error({samples.random(float32, {4}), ints({-1}), Tensor(0)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(GatherNd) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {3, 4}), Tensor::from<int>({2, 2}, {0, 3, 2, 1})}});
  }
  samples.add({.inputs = {samples.random(float64, {3, 2}), Tensor::from<std::int64_t>({2, 1}, {2, 2})}});
  samples.add({.inputs = {samples.random(float64, {2, 3, 2}), Tensor::from<std::int16_t>({2, 1, 2}, {1, 2, 0, 0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), Tensor(int32, {4, 0})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), ints({1, 2})}});
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(int32, {0, 2})}});
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 2}, {0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 1}, {3})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ScatterNd) {
  for (const DType t : kUsualTypes) {
    samples.add({.inputs = {Tensor::from<int>({3, 1}, {0, 2, 0}), samples.random(t, {3, 2}), ints({4, 2})}});
  }
  samples.add(
      {.inputs = {Tensor::from<std::int64_t>({2, 2}, {0, 2, 1, 1}), samples.random(float64, {2}), longs({2, 3})}});
  samples.add({.inputs = {Tensor(int32, {0, 1}), samples.random(float64, {0, 2}), ints({3, 2})}});
  samples.error({Tensor::from<int>({1, 1}, {0}), samples.random(float32, {2}), ints({4})}, Code::kInvalidArgument);
  samples.error({Tensor::from<int>({1, 1}, {-1}), samples.random(float32, {1}), ints({4})}, Code::kInvalidArgument);
  samples.error({Tensor::from<int>({1, 1}, {4}), samples.random(float32, {1}), ints({4})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(OneHot) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {ints({1, -1, 3}), Tensor(3), samples.random(t, {}), samples.random(t, {})}});
  }
  samples.add({.inputs = {Tensor::from<std::int64_t>({2, 2}, {1, 0, 5, 2}), Tensor(3), Tensor(5.0F), Tensor(1.0F)},
               .attrs = {{"axis", 1}}});
  samples.add({.inputs = {Tensor::from<std::uint8_t>({2}, {1, 200}), Tensor(3), Tensor(1.0F), Tensor(0.0F)},
               .expected = {Tensor::from<float>({2, 3}, {0, 1, 0, 0, 0, 0})}});
  samples.add({.inputs = {Tensor::from<std::int8_t>({2}, {-1, 0}), Tensor(2), Tensor(1.0F), Tensor(0.0F)},
               .attrs = {{"axis", 0}},
               .expected = {Tensor::from<float>({2, 2}, {0, 1, 0, 0})}});
  samples.add({.inputs = {Tensor(2), Tensor(4), Tensor(1), Tensor(0)}, .expected = {ints({0, 0, 1, 0})}});
  samples.add({.inputs = {ints({0, 1}), Tensor(0), Tensor(1.0F), Tensor(0.0F)}});
  samples.add({.inputs = {harness::random_tensor(int32, {700}, 3, {.low = -1, .high = 70}), Tensor(70), Tensor(1.0F),
                          Tensor(0.0F)}});
  samples.error({ints({1}), Tensor(3), Tensor(1.0F), Tensor(0.0F)}, Code::kInvalidArgument, {{"axis", 2}});
  samples.error({ints({1}), Tensor(-1), Tensor(1.0F), Tensor(0.0F)}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
