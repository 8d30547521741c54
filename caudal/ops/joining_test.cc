// Samples of joining for the harness.
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::kMovedTypes;
using harness::longs;
using harness::Samples;

CAUDAL_OP_SAMPLES(ConcatV2) {
  for (const DType t : kMovedTypes)
    samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {2, 1})}, Tensor(1)}});
  samples.add({.inputs = {{samples.random(float64, {2, 2, 3}), samples.random(float64, {2, 1, 3}),
                           samples.random(float64, {2, 0, 3})},
                          Tensor(1)}});
  samples.add({.inputs = {{samples.random(float32, {70, 33}), samples.random(float32, {70, 1}),
                           samples.random(float32, {70, 130})},
                          Tensor(-1)}});
  samples.add(
      {.inputs = {{samples.random(float64, {0, 3}), samples.random(float64, {2, 3})}, Tensor(std::int64_t{-2})}});
  samples.error({{samples.random(float32, {2, 3}), samples.random(float32, {3, 3})}, Tensor(1)},
                Code::kInvalidArgument);
  samples.error({{samples.random(float32, {2}), samples.random(float32, {2})}, Tensor(1)}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Concat) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {Tensor(0), {samples.random(t, {2, 3}), samples.random(t, {1, 3})}}});
  }
  samples.add({.inputs = {Tensor(-1), {samples.random(float64, {2, 3}), samples.random(float64, {2, 2})}}});
  samples.error({Tensor(2), {samples.random(float32, {2, 3}), samples.random(float32, {2, 3})}},
                Code::kInvalidArgument);
  samples.error({Tensor(0), {samples.random(float32, {2, 3}), samples.random(float32, {2, 2})}},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(ConcatOffset) {
  samples.add({.inputs = {Tensor(1), {ints({2, 3}), ints({2, 5})}}, .expected = {ints({0, 0}), ints({0, 3})}});
  samples.add({.inputs = {Tensor(-2), {longs({2, 3}), longs({4, 3}), longs({1, 3})}},
               .expected = {longs({0, 0}), longs({2, 0}), longs({6, 0})}});
  samples.error({Tensor(1), {ints({2, 3}), ints({3, 5})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Split) {
  for (const DType t : kMovedTypes)
    samples.add({.inputs = {Tensor(-1), samples.random(t, {2, 4})}, .attrs = {{"num_split", 2}}});
  samples.add({.inputs = {Tensor(1), samples.random(float64, {2, 3, 2})}, .attrs = {{"num_split", 3}}});
  samples.add({.inputs = {Tensor(0), samples.random(float64, {0, 3})}, .attrs = {{"num_split", 2}}});
  samples.add({.inputs = {Tensor(0), samples.random(float64, {4})}, .attrs = {{"num_split", 1}}});
  samples.add({.inputs = {Tensor(1), samples.random(float32, {64, 198})}, .attrs = {{"num_split", 6}}});
  samples.error({Tensor(0), samples.random(float32, {3})}, Code::kInvalidArgument, {{"num_split", 2}});
  samples.error({Tensor(1), samples.random(float32, {4})}, Code::kInvalidArgument, {{"num_split", 2}});
}
CAUDAL_OP_SAMPLES(SplitV) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {5, 2}), ints({2, -1, 0}), Tensor(0)}, .attrs = {{"num_split", 3}}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 5}), longs({3, 2}), Tensor(-1)}, .attrs = {{"num_split", 2}}});
  samples.add({.inputs = {samples.random(float64, {2, 5}), Tensor::from<std::int8_t>({3}, {1, 1, 3}), Tensor(1)},
               .attrs = {{"num_split", 3}},
               .shape_unknown = true});
  samples.add({.inputs = {samples.random(float64, {0, 2}), ints({0, 0}), Tensor(0)}, .attrs = {{"num_split", 2}}});
  samples.error({samples.random(float32, {5}), ints({-1, -1}), Tensor(0)}, Code::kInvalidArgument, {{"num_split", 2}});
  samples.error({samples.random(float32, {5}), ints({6, -1}), Tensor(0)}, Code::kInvalidArgument, {{"num_split", 2}});
  samples.error({samples.random(float32, {5}), ints({2, 2}), Tensor(0)}, Code::kInvalidArgument, {{"num_split", 2}});
}
CAUDAL_OP_SAMPLES(Pack) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {{samples.random(t, {2, 3}), samples.random(t, {2, 3})}}, .attrs = {{"axis", 1}}});
  }
  samples.add({.inputs = {{samples.random(float64, {}), samples.random(float64, {})}}});
  samples.add(
      {.inputs = {{samples.random(float64, {0, 2}), samples.random(float64, {0, 2})}}, .attrs = {{"axis", -1}}});
  samples.add({.inputs = {{samples.random(float64, {2, 3})}}, .attrs = {{"axis", -2}}});
  samples.add(
      {.inputs = {{samples.random(float32, {70, 65}), samples.random(float32, {70, 65})}}, .attrs = {{"axis", 2}}});
  samples.error({{samples.random(float32, {2}), samples.random(float32, {2})}}, Code::kInvalidArgument, {{"axis", 2}});
  samples.error({{samples.random(float32, {2}), samples.random(float32, {3})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(Unpack) {
  for (const DType t : kMovedTypes) {
    samples.add({.inputs = {samples.random(t, {2, 3})}, .attrs = {{"num", 3}, {"axis", -1}}});
  }
  samples.add({.inputs = {samples.random(float64, {2, 3, 2})}, .attrs = {{"num", 2}}});
  samples.add({.inputs = {samples.random(float64, {3})}, .attrs = {{"num", 3}}});
  samples.add({.inputs = {samples.random(float32, {0, 3})}, .attrs = {{"num", 3}, {"axis", 1}}});
  samples.add({.inputs = {samples.random(float32, {130, 5})}, .attrs = {{"num", 5}, {"axis", 1}}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num", 3}});
  samples.error({samples.random(float32, {2})}, Code::kInvalidArgument, {{"num", 2}, {"axis", 1}});
}
CAUDAL_OP_SAMPLES(Tile) {
  for (const DType t : kMovedTypes) samples.add({.inputs = {samples.random(t, {2, 3}), ints({2, 1})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), longs({3, 0})}});
  samples.add({.inputs = {samples.random(float64, {}), ints({})}});
  samples.add({.inputs = {samples.random(float64, {2, 1, 3}), ints({1, 4, 2})}});
  samples.add({.inputs = {samples.random(float64, {2, 3}), ints({1, 1})}});
  samples.add({.inputs = {samples.random(float32, {37, 19}), ints({3, 33})}});
  samples.error({samples.random(float32, {2, 3}), ints({2})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2}), ints({-1})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
