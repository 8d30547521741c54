#include <gtest/gtest.h>

#include <vector>

#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Longs = std::vector<std::int64_t>;

const std::vector<DType> kCounted = {int32, int64, float32, float64};

Tensor places(std::int64_t columns, const Longs& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size()) / columns, columns}, values);
}

CAUDAL_OP_SAMPLES(DenseCountSparseOutput) {
  for (const DType t : kCounted) {
    for (const DType value : {int32, int64}) {
      for (const bool binary : {false, true}) {
        const AttrMap attrs{{"binary_output", binary}, {"minlength", std::int64_t{3}}};
        samples.add({.inputs = {samples.random(value, {2, 5}, {-1, 6}), samples.random(t, {2, 5})},
                     .attrs = attrs,
                     .shape_unknown = true});
        samples.add({.inputs = {samples.random(value, {6}, {0, 6}), Tensor(t, Shape({0}))},
                     .attrs = attrs,
                     .shape_unknown = true});
      }
    }
  }
  const Tensor none(int32, Shape({0})), values = Tensor::from<int>({2, 3}, {3, 2, 1, 5, 4, 4});
  samples.add({.inputs = {values, none},
               .attrs = {{"binary_output", false}},
               .expected = {places(2, {0, 1, 0, 2, 0, 3, 1, 4, 1, 5}), Tensor(std::vector<int>{1, 1, 1, 2, 1}),
                            Tensor(Longs{2, 6})},
               .shape_unknown = true});
  samples.add(
      {.inputs = {values, none},
       .attrs = {{"binary_output", true}, {"maxlength", std::int64_t{5}}},
       .expected = {places(2, {0, 1, 0, 2, 0, 3, 1, 4}), Tensor(std::vector<int>{1, 1, 1, 1}), Tensor(Longs{2, 5})},
       .shape_unknown = true});
  samples.add({.inputs = {Tensor(std::vector<int>{2, -1, 2}), Tensor(std::vector<float>{1.5F, 9, 2})},
               .attrs = {{"binary_output", false}, {"minlength", std::int64_t{7}}},
               .expected = {places(1, {2}), Tensor(std::vector<float>{3.5F}), Tensor(Longs{7})},
               .shape_unknown = true});
  const AttrMap attrs{{"binary_output", false}};
  samples.error({Tensor(3), none}, Code::kInvalidArgument, attrs, "1 or 2-dimensional");
  samples.error({Tensor::zeros(int32, {0, 3}), none}, Code::kInvalidArgument, attrs);
  samples.error({values, Tensor(std::vector<int>{1, 2})}, Code::kInvalidArgument, attrs);
}

CAUDAL_OP_SAMPLES(SparseCountSparseOutput) {
  const Tensor indices = places(2, {0, 0, 0, 2, 2, 0, 2, 2, 2, 3}), shape(Longs{3, 4}), none(int32, Shape({0}));
  for (const DType t : kCounted) {
    for (const DType value : {int32, int64}) {
      const AttrMap attrs{{"binary_output", value == int64}};
      samples.add({.inputs = {indices, samples.random(value, {5}, {0, 6}), shape, samples.random(t, {5})},
                   .attrs = attrs,
                   .shape_unknown = true});
    }
  }
  const AttrMap attrs{{"binary_output", false}};
  samples.add(
      {.inputs = {indices, Tensor(std::vector<int>{3, 1, 5, 4, 4}), shape, none},
       .attrs = attrs,
       .expected = {places(2, {0, 1, 0, 3, 2, 4, 2, 5}), Tensor(std::vector<int>{1, 1, 2, 1}), Tensor(Longs{3, 6})},
       .shape_unknown = true});
  samples.add({.inputs = {places(1, {0, 3}), Tensor(std::vector<int>{7, 7}), Tensor(Longs{5}), none},
               .attrs = attrs,
               .expected = {places(1, {7}), Tensor(std::vector<int>{2}), Tensor(Longs{8})},
               .shape_unknown = true});
  const Tensor two(std::vector<int>{1, 2});
  samples.error({places(2, {0, 0, 3, 0}), two, shape, none}, Code::kInvalidArgument, attrs);
  samples.error({places(2, {0, 0}), two, shape, none}, Code::kInvalidArgument, attrs, "do not match");
  samples.error({places(2, {0, 0, 1, 0}), two, shape, Tensor(std::vector<int>{1})}, Code::kInvalidArgument, attrs,
                "must have the same shape");
}

CAUDAL_OP_SAMPLES(RaggedCountSparseOutput) {
  const Tensor splits(Longs{0, 4, 4, 7}), none(int32, Shape({0}));
  for (const DType t : kCounted) {
    for (const DType value : {int32, int64}) {
      const AttrMap attrs{{"binary_output", value == int64}};
      samples.add({.inputs = {splits, samples.random(value, {7}, {0, 6}), samples.random(t, {7})},
                   .attrs = attrs,
                   .shape_unknown = true});
    }
  }
  const AttrMap attrs{{"binary_output", false}};
  const Tensor values(std::vector<int>{1, 1, 2, 1, 2, 10, 5});
  samples.add({.inputs = {splits, values, Tensor(std::vector<int>{1, 2, 3, 4, 5, 6, 7})},
               .attrs = attrs,
               .expected = {places(2, {0, 1, 0, 2, 2, 2, 2, 5, 2, 10}), Tensor(std::vector<int>{7, 3, 5, 7, 6}),
                            Tensor(Longs{3, 11})},
               .shape_unknown = true});
  samples.error({Tensor(Longs{}), values, none}, Code::kInvalidArgument, attrs, "at least 2 elements");
  samples.error({Tensor(Longs{1, 7}), values, none}, Code::kInvalidArgument, attrs, "Splits must start with 0");
  samples.error({Tensor(Longs{0, 5}), values, none}, Code::kInvalidArgument, attrs, "Splits must end with");
}

}  // namespace
}  // namespace caudal::inline v0
