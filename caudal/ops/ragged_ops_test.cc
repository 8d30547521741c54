#include "caudal/ops/ragged_ops.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::ints;
using harness::longs;
using harness::SampleInput;
using harness::Samples;
using Strings = std::vector<std::string>;

TEST(Ragged, RowsOfRowsBecomeDense) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const RaggedTensor rows{constant(ints({1, 2, 3, 4, 5})), constant(longs({0, 2, 2, 5})), {constant(longs({0, 2, 3}))}};
  EXPECT_TRUE(identical(session.run(ragged::to_tensor(rows)),
                        Tensor::from<int>({2, 2, 3}, {1, 2, 0, 0, 0, 0, 3, 4, 5, 0, 0, 0})));
  EXPECT_TRUE(identical(session.run(ragged::to_sparse(rows).dense_shape), longs({2, 2, 3})));
}

CAUDAL_OP_SAMPLES(RaggedTensorToTensor) {
  const AttrMap splits = {{"row_partition_types", Strings{"ROW_SPLITS"}}};
  const AttrMap ids = {{"row_partition_types", Strings{"FIRST_DIM_SIZE", "VALUE_ROWIDS"}}};
  const AttrMap two = {{"row_partition_types", Strings{"ROW_SPLITS", "ROW_SPLITS"}}};
  const Tensor all(std::int64_t{-1}), values = ints({1, 2, 3, 4, 5});
  for (const DType t : harness::kMovedTypes) {
    samples.add({.inputs = {all, samples.random(t, {5}), samples.random(t, {}), {longs({0, 2, 2, 5})}},
                 .attrs = splits,
                 .shape_unknown = true});
    samples.add(
        {.inputs = {ints({-1, 2}), samples.random(t, {5}), samples.random(t, {}), {Tensor(4), ints({0, 0, 2, 2, 2})}},
         .attrs = ids,
         .shape_unknown = true});
  }
  for (const Shape& filling : {Shape{}, Shape{2}, Shape{1}}) {
    samples.add({.inputs = {all, samples.random(float64, {3, 2}), samples.random(float64, filling), {longs({0, 2, 3})}},
                 .attrs = splits,
                 .shape_unknown = true});
  }
  samples.add({.inputs = {all,
                          samples.random(float64, {5}),
                          samples.random(float64, {}),
                          {longs({0, 2, 3}), longs({0, 2, 2, 5})}},
               .attrs = two,
               .shape_unknown = true});
  samples.add({.inputs = {longs({2, 1}), values, Tensor(0), {longs({0, 2, 2, 5})}},
               .attrs = splits,
               .expected = {Tensor::from<int>({2, 1}, {1, 0})}});
  samples.add({.inputs = {longs({4, 4}), values, Tensor(-1), {longs({0, 2, 2, 5})}},
               .attrs = splits,
               .expected = {Tensor::from<int>({4, 4}, {1, 2, -1, -1, -1, -1, -1, -1, 3, 4, 5, -1, -1, -1, -1, -1})}});
  samples.add({.inputs = {all, ints({}), Tensor(0), {longs({0})}}, .attrs = splits, .shape_unknown = true});
  const auto fails = [&](const Tensor& shape, const Tensor& filling, const SampleInput& partitions,
                         const AttrMap& attrs) {
    samples.error({shape, values, filling, partitions}, Code::kInvalidArgument, attrs);
  };
  fails(all, Tensor(0), {longs({0, 3, 2, 5})}, splits);
  fails(all, Tensor(0), {longs({1, 3, 5})}, splits);
  fails(all, Tensor(0), {longs({})}, splits);
  fails(all, ints({0}), {longs({0, 5})}, splits);
  fails(longs({-1, -1, -1}), Tensor(0), {longs({0, 5})}, splits);
  fails(longs({-2, -1}), Tensor(0), {longs({0, 5})}, splits);
  fails(all, Tensor(0), {longs({0, 5})}, {{"row_partition_types", Strings{"X"}}});
  fails(all, Tensor(0), {longs({0, 0, 1})}, {{"row_partition_types", Strings{"VALUE_ROWIDS"}}});
  fails(all, Tensor(0), {Tensor(std::int64_t{2}), longs({0, 0, 2, 2, 2})}, ids);
  fails(all, Tensor(0), {longs({0, 5})}, two);
}
CAUDAL_OP_SAMPLES(RaggedTensorToSparse) {
  for (const DType t : harness::kMovedTypes) {
    samples.add({.inputs = {{longs({0, 2, 2, 5})}, samples.random(t, {5})}, .shape_unknown = true});
  }
  samples.add({.inputs = {{ints({0, 2, 3})}, samples.random(float64, {3, 2})}, .shape_unknown = true});
  samples.add({.inputs = {{longs({0, 2, 3}), longs({0, 2, 2, 5})}, ints({1, 2, 3, 4, 5})},
               .expected = {Tensor::from<std::int64_t>({5, 3}, {0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 2}),
                            ints({1, 2, 3, 4, 5}), longs({2, 2, 3})},
               .shape_unknown = true});
  samples.add({.inputs = {{longs({0})}, ints({})}, .shape_unknown = true});
  for (const Tensor& splits : {longs({0, 2, 3}), longs({1, 2, 5}), longs({0, 3, 2, 5}), longs({})}) {
    samples.error({{splits}, ints({1, 2, 3, 4, 5})}, Code::kInvalidArgument);
  }
}
CAUDAL_OP_SAMPLES(RaggedRange) {
  for (const DType t : {float32, float64, int32, int64}) {
    for (const DType s : {int32, int64}) {
      samples.add({.inputs = {convert_number(ints({5, 0, 3}), t), convert_number(ints({0, 5, 3}), t),
                              convert_number(ints({-2, 2, 1}), t)},
                   .attrs = {{"Tsplits", s}},
                   .shape_unknown = true});
    }
  }
  samples.add({.inputs = {ints({0, 5, 8}), ints({3, 5, 12}), Tensor(1)},
               .expected = {longs({0, 3, 3, 7}), ints({0, 1, 2, 8, 9, 10, 11})},
               .shape_unknown = true});
  samples.error({ints({0}), ints({1}), Tensor(0)}, Code::kInvalidArgument);
  samples.error({ints({0, 1}), ints({1, 2, 3}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({Tensor::from<int>({1, 1}, {0}), ints({1}), Tensor(1)}, Code::kInvalidArgument);
  samples.error({longs({0}), longs({std::int64_t{1} << 62}), longs({1})}, Code::kResourceExhausted);
}

}  // namespace
}  // namespace caudal::inline v0
