#include "caudal/ops/row_ops.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using Ints = std::vector<int>;

CAUDAL_OP_SAMPLES(ParallelConcat) {
  samples.golden_exception(
      "ParallelConcat/0",
      "TensorFlow wants the shapes of the values known beforehand; here run-time checks are enough");
  for (const DType t : harness::kUsualTypes) {
    samples.add({.inputs = {{samples.random(t, {1, 2, 3}), samples.random(t, {1, 2, 3})}},
                 .attrs = {{"shape", PartialShape({2, 2, 3})}}});
  }
  samples.add({.inputs = {{samples.random(float32, {1})}}, .attrs = {{"shape", PartialShape({1})}}});
  const auto error = [&](const Shape& value, const PartialShape& shape) {
    samples.error({{samples.random(float32, value), samples.random(float32, value)}}, Code::kInvalidArgument,
                  {{"shape", shape}});
  };
  error({1, 2}, {2, 3});
  error({2, 2}, {2, 2});
  error({1, 2}, {3, 2});
  error({1, 2}, {2, -1});
}

void row_samples(harness::Samples& samples, const std::vector<DType>& types) {
  for (const DType t : types) {
    samples.add({.inputs = {samples.random(t, {4, 3}), Tensor(Ints{2, -1, 2, 9}), samples.random(t, {4, 3})}});
    samples.add({.inputs = {samples.random(t, {2}), Tensor(Ints{0}), samples.random(t, {1})}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(Ints{1}), samples.random(float32, {1, 3})}});
  samples.add({.inputs = {samples.random(float32, {2, 3}), Tensor(Ints{}), samples.random(float32, {0, 3})}});
  const auto error = [&](const Tensor& i, const Shape& v) {
    samples.error({samples.random(float32, {4, 3}), i, samples.random(float32, v)}, Code::kInvalidArgument);
  };
  error(Tensor(1), {1, 3});
  error(Tensor(Ints{1}), {2, 3});
  error(Tensor(Ints{1}), {1, 2});
  error(Tensor(Ints{1}), {3});
}

CAUDAL_OP_SAMPLES(InplaceUpdate) { row_samples(samples, harness::kUsualTypes); }
CAUDAL_OP_SAMPLES(InplaceAdd) { row_samples(samples, harness::kNumberTypes); }
CAUDAL_OP_SAMPLES(InplaceSub) { row_samples(samples, harness::kNumberTypes); }

TEST(RowOps, StacksInParallel) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output rows = parallel_stack({constant({1, 2}), constant({3, 4})});
  EXPECT_EQ(rows.shape(), PartialShape({2, 2}));
  EXPECT_EQ(session.run(rows).to_vector<int>(), (Ints{1, 2, 3, 4}));
  EXPECT_THROW(parallel_stack({placeholder(float32, {-1})}), Error);
  const Output changed = raw_ops::inplace_add(rows, {-1}, constant(Tensor::from<int>({1, 2}, {10, 20})));
  EXPECT_EQ(session.run(changed).to_vector<int>(), (Ints{1, 2, 13, 24}));
}

}  // namespace
}  // namespace caudal::inline v0
