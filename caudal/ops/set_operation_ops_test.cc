#include "caudal/ops/set_operation_ops.h"

#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Strings = std::vector<std::string>;

const std::vector<DType> kTypes = {int8, int16, int32, int64, uint8, uint16, string};

Tensor rows(std::int64_t width, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / width, width}, values);
}
Tensor grid(const std::vector<int>& values) {
  return Tensor::from<int>({2, static_cast<std::int64_t>(values.size()) / 2}, values);
}

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(DenseToDenseSetOperation) {
  for (const DType t : kTypes) {
    for (const std::string operation : {"a-b", "b-a", "intersection", "union"}) {
      samples.add({.inputs = {samples.random(t, {2, 4}, {.low = 0, .high = 5}),
                              samples.random(t, {2, 3}, {.low = 0, .high = 5})},
                   .attrs = {{"set_operation", operation}},
                   .shape_unknown = true});
    }
  }
  const Tensor a = grid({1, 2, 3, 3, 9, 8, 7, 7}), b = grid({3, 1, 0, 7, 5, 9});
  samples.add({.inputs = {a, b},
               .attrs = {{"set_operation", "intersection"}},
               .expected = {rows(2, {0, 0, 0, 1, 1, 0, 1, 1}), ints({1, 3, 7, 9}), longs({2, 2})},
               .shape_unknown = true});
  samples.add({.inputs = {a, b},
               .attrs = {{"set_operation", "A-B"}},
               .expected = {rows(2, {0, 0, 1, 0}), ints({2, 8}), longs({2, 1})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor::from<int>({1, 2, 2}, {1, 2, 3, 4}), Tensor::from<int>({1, 2, 1}, {2, 4})},
               .attrs = {{"set_operation", "intersection"}},
               .expected = {rows(3, {0, 0, 0, 0, 1, 0}), ints({2, 4}), longs({1, 2, 1})},
               .shape_unknown = true});
  samples.add(
      {.inputs = {Tensor(int32, {2, 0}), grid({1, 2})}, .attrs = {{"set_operation", "union"}}, .shape_unknown = true});
  samples.error({a, b}, Code::kInvalidArgument, {{"set_operation", "xx"}});
  samples.error({ints({1}), ints({2})}, Code::kInvalidArgument, {{"set_operation", "union"}});
  samples.error({a, Tensor::from<int>({1, 1}, {1})}, Code::kInvalidArgument, {{"set_operation", "union"}});
}
CAUDAL_OP_SAMPLES(DenseToSparseSetOperation) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {samples.random(t, {2, 4}, {.low = 0, .high = 5}), rows(2, {0, 0, 0, 5, 1, 2}),
                            samples.random(t, {3}, {.low = 0, .high = 5}), longs({2, 6})},
                 .attrs = {{"set_operation", "union"}},
                 .shape_unknown = true});
  }
  const Tensor a = grid({1, 2, 3, 3, 9, 8, 7, 7});
  samples.add({.inputs = {a, rows(2, {0, 0, 0, 5, 1, 2}), ints({3, 1, 7}), longs({2, 6})},
               .attrs = {{"set_operation", "union"}},
               .expected = {rows(2, {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2}), ints({1, 2, 3, 7, 8, 9}), longs({2, 3})},
               .shape_unknown = true});
  samples.error({a, rows(2, {1, 0, 0, 5}), ints({3, 1}), longs({2, 6})}, Code::kInvalidArgument,
                {{"set_operation", "union"}});
  samples.error({a, rows(2, {0, 0}), ints({3}), longs({3, 6})}, Code::kInvalidArgument, {{"set_operation", "union"}});
}
CAUDAL_OP_SAMPLES(SparseToSparseSetOperation) {
  for (const DType t : kTypes) {
    samples.add({.inputs = {rows(2, {0, 0, 2, 1}), samples.random(t, {2}), longs({3, 2}), rows(2, {0, 0, 0, 5, 1, 2}),
                            samples.random(t, {3}), longs({3, 6})},
                 .attrs = {{"set_operation", "b-a"}},
                 .shape_unknown = true});
  }
  samples.add({.inputs = {rows(2, {0, 0, 2, 1}), ints({5, 6}), longs({3, 2}), rows(2, {0, 0, 0, 5, 1, 2}),
                          ints({5, 1, 7}), longs({3, 6})},
               .attrs = {{"set_operation", "a-b"}},
               .expected = {rows(2, {2, 0}), ints({6}), longs({3, 1})},
               .shape_unknown = true});
  samples.error({rows(2, {5, 0}), ints({5}), longs({3, 2}), rows(2, {0, 0}), ints({5}), longs({3, 6})},
                Code::kInvalidArgument, {{"set_operation", "a-b"}});
}
CAUDAL_OP_SAMPLES(SetSize) {
  for (const DType t : kTypes) {
    samples.add(
        {.inputs = {rows(2, {0, 0, 0, 1, 2, 1}), samples.random(t, {3}), longs({3, 2})}, .shape_unknown = true});
  }
  samples.add({.inputs = {rows(3, {0, 0, 0, 0, 1, 0, 1, 1, 1}), ints({5, 5, 6}), longs({2, 2, 2})},
               .expected = {Tensor::from<int>({2, 2}, {1, 1, 0, 1})},
               .shape_unknown = true});
  samples.error({rows(2, {2, 0, 0, 1}), ints({5, 5}), longs({3, 2})}, Code::kInvalidArgument);
  samples.error({rows(1, {0}), ints({5}), longs({3})}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
