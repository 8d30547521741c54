#include "caudal/ops/accumulator_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/graph/scope.h"
#include "caudal/ops/accumulator_resource.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class AccumulatorOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_;
};

// Values of TensorFlow 2.21.
TEST_F(AccumulatorOps, GiveMeanOrSum) {
  for (const DType dtype : {float16, float32}) {
    for (const bool mean : {true, false}) {
      const ConditionalAccumulator sum(dtype, {.shape = {3}, .reduction_type = mean ? "MEAN" : "SUM"});
      const Output gradient = placeholder(float32);
      const Operation apply = sum.apply_grad(cast(gradient, dtype));
      for (const Floats& values : {Floats{1.1F, 2, 3}, {.3F, 5, 1e-3F}, {7, 8, 9}}) {
        session_.run(apply, {{gradient, Tensor(values)}});
      }
      EXPECT_EQ(session_.run(sum.num_accumulated()).item<int>(), 3);
      const Tensor taken = session_.run(cast(sum.take_grad(3), float64));
      const double expected[2][2][3] = {
          {{2.798828125, 5, 4}, {8.3984375, 15, 12}},
          {{2.799999952316284, 5, 4.000333309173584}, {8.399999618530273, 15, 12.000999450683594}}};
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(taken.data<double>()[i], expected[dtype == float32 ? 1 : 0][mean ? 0 : 1][i]);
      }
      EXPECT_EQ(session_.run(sum.num_accumulated()).item<int>(), 0);
    }
  }
}

TEST_F(AccumulatorOps, DropStaleGradients) {
  const ConditionalAccumulator sum(float32, {.shape = PartialShape::scalar()});
  const Output step = placeholder(int64);
  const Operation apply = sum.apply_grad(2.F, step), forward = sum.set_global_step(5);
  const Output taken = sum.take_grad(1), count = sum.num_accumulated();
  session_.run(forward);
  session_.run(apply, {{step, Tensor(std::int64_t{4})}});
  EXPECT_EQ(session_.run(count).item<int>(), 0);
  session_.run(apply, {{step, Tensor(std::int64_t{5})}});
  EXPECT_EQ(session_.run(taken).item<float>(), 2);
  session_.run(apply, {{step, Tensor(std::int64_t{5})}});  // the step is 6 now
  EXPECT_EQ(session_.run(count).item<int>(), 0);
}

TEST_F(AccumulatorOps, RefuseOtherShapes) {
  const Output gradient = placeholder(float32);
  const ConditionalAccumulator any(float32), columns(float32, {.shape = {-1, 2}});
  session_.run(any.apply_grad(Tensor(Floats{1, 2})));
  const Tensor three(Floats{1, 2, 3});
  EXPECT_NE(error_of([&] {
              session_.run(any.apply_grad(gradient), {{gradient, three}});
            }).find("Shape mismatch: expected [2], got [3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              session_.run(columns.apply_grad(gradient), {{gradient, three}});
            }).find("Shape mismatch: expected [?,2], got [3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { columns.apply_grad(three); }).find("gradients of accumulator"), std::string::npos);
  EXPECT_NE(error_of([&] { session_.run(any.take_grad(0)); }).find("Argument num_required must be positive, but was 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { session_.run(ConditionalAccumulator(int32).num_accumulated()); }).find("UNIMPLEMENTED"),
            std::string::npos);
}

// Values of TensorFlow 2.21.
TEST_F(AccumulatorOps, MergeRowsOfSparseGradients) {
  const SparseConditionalAccumulator sum(float32, {.shape = {10, 2}});
  session_.run(sum.apply_grad({0, 2}, Tensor::from<float>({2, 2}, {1, 2, 3, 4}), Operand({10, 2})));
  session_.run(sum.apply_grad({2, 5}, Tensor::from<float>({2, 2}, {10, 20, 30, 40})));
  session_.run(sum.apply_grad(Tensor(Longs{1}), Tensor::from<float>({1, 2}, {7, 7})));
  EXPECT_EQ(session_.run(sum.num_accumulated()).item<int>(), 3);
  const IndexedSlices taken = sum.take_indexed_slices_grad(2);
  const auto values = session_.run({taken.indices, taken.values, taken.dense_shape});
  EXPECT_EQ(values[0].to_vector<std::int64_t>(), (Longs{0, 1, 2, 5}));
  EXPECT_EQ(values[1].to_vector<float>(), (Floats{1, 2, 7, 7, 6.5, 12, 30, 40}));
  EXPECT_EQ(values[2].to_vector<std::int64_t>(), (Longs{10, 2}));
}

TEST_F(AccumulatorOps, RefuseSparseGradientsThatDoNotFit) {
  const SparseConditionalAccumulator sum(float32, {.shape = {10, 2}});
  const Tensor two = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  const auto refused = [&](const Operand& indices, const Tensor& values, const std::optional<Operand>& shape = {}) {
    return error_of([&] { session_.run(sum.apply_grad(indices, values, shape)); });
  };
  EXPECT_NE(refused({0, 2}, Tensor::zeros(float32, {2, 3})).find("expected values dim 1 to be 2, got 3"),
            std::string::npos);
  EXPECT_NE(refused({0, 12}, two).find("index of slice 1 exceeded limits of shape; index is 12 exceeded 10"),
            std::string::npos);
  EXPECT_NE(refused({0, 2}, two, Operand({10, 3})).find("expected shape dim 1 to be 2, got 3"), std::string::npos);
  EXPECT_NE(refused({0, 2}, two, Operand(Tensor(Longs{10}))).find("expected shape rank at least 2, got 1"),
            std::string::npos);
  EXPECT_NE(refused(Tensor(Longs{0}), two).find("Expected 1 non-empty input values, got 2"), std::string::npos);
  EXPECT_NE(refused(Tensor(std::int64_t{0}), two).find("Input indices should be vector"), std::string::npos);
  EXPECT_NE(refused({0, 2}, Tensor(Floats{1, 2})).find("expected values rank at least 2, got 1"), std::string::npos);
  EXPECT_EQ(session_.run(sum.num_accumulated()).item<int>(), 0);
}

// The older ops, whose handle is a reference.
TEST_F(AccumulatorOps, WorkByReference) {
  const Output ref = OpBuilder("ConditionalAccumulator", {})
                         .attr("dtype", float32)
                         .attr("shape", PartialShape::scalar())
                         .attr("reduction_type", "SUM")
                         .build();
  const auto count = OpBuilder("AccumulatorNumAccumulated", {}).input(ref).build();
  const auto step =
      OpBuilder("AccumulatorSetGlobalStep", {}).input(ref).input(Tensor(std::int64_t{0})).build_operation();
  const auto apply = OpBuilder("AccumulatorApplyGradient", {})
                         .input(ref)
                         .input(Tensor(std::int64_t{0}))
                         .input(Tensor(3.F))
                         .build_operation();
  const auto take = OpBuilder("AccumulatorTakeGradient", {}).input(ref).input(2).attr("dtype", float32).build();
  const auto wrong = OpBuilder("AccumulatorTakeGradient", {}).input(ref).input(2).attr("dtype", float64).build();
  session_.run(step);
  session_.run(apply);
  session_.run(apply);
  EXPECT_EQ(session_.run(count).item<int>(), 2);
  EXPECT_NE(error_of([&] { session_.run(wrong); }).find("Signature mismatch"), std::string::npos);
  EXPECT_EQ(session_.run(take).item<float>(), 6);
}

TEST(DenseAccumulator, ServesWhoWaitsFirst) {
  const auto sum = std::make_shared<internal::DenseAccumulator>(
      internal::AccumulatorResource::Spec{.name = "a", .dtype = float32, .shape = PartialShape::scalar()});
  std::string order;
  CancellationToken token;
  const auto note = [&](const std::string& name) {
    return [&order, name](const Error* error, std::vector<Tensor> result) {
      order += name + (error != nullptr ? "!" : "=" + std::to_string(static_cast<int>(result[0].item<float>()))) + " ";
    };
  };
  sum->take(nullptr, 2, note("two"));
  sum->take(&token, 1, note("cancelled"));
  sum->take(nullptr, 1, note("one"));
  sum->apply(0, Tensor(4.F));
  token.cancel(cancelled("stop"));
  sum->apply(0, Tensor(6.F));
  sum->apply(1, Tensor(9.F));
  EXPECT_EQ(order, "cancelled! two=5 one=9 ");
}

CAUDAL_OP_SAMPLES(ConditionalAccumulator) { samples.covered_by("AccumulatorOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(AccumulatorApplyGradient) { samples.covered_by("AccumulatorOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(AccumulatorTakeGradient) { samples.covered_by("AccumulatorOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(AccumulatorNumAccumulated) { samples.covered_by("AccumulatorOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(AccumulatorSetGlobalStep) { samples.covered_by("AccumulatorOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(ResourceConditionalAccumulator) { samples.covered_by("AccumulatorOps.GiveMeanOrSum"); }
CAUDAL_OP_SAMPLES(ResourceAccumulatorApplyGradient) { samples.covered_by("AccumulatorOps.GiveMeanOrSum"); }
CAUDAL_OP_SAMPLES(ResourceAccumulatorTakeGradient) { samples.covered_by("AccumulatorOps.GiveMeanOrSum"); }
CAUDAL_OP_SAMPLES(ResourceAccumulatorNumAccumulated) { samples.covered_by("AccumulatorOps.GiveMeanOrSum"); }
CAUDAL_OP_SAMPLES(ResourceAccumulatorSetGlobalStep) { samples.covered_by("AccumulatorOps.DropStaleGradients"); }
CAUDAL_OP_SAMPLES(SparseConditionalAccumulator) { samples.covered_by("AccumulatorOps.MergeRowsOfSparseGradients"); }
CAUDAL_OP_SAMPLES(SparseAccumulatorApplyGradient) { samples.covered_by("AccumulatorOps.MergeRowsOfSparseGradients"); }
CAUDAL_OP_SAMPLES(SparseAccumulatorTakeGradient) { samples.covered_by("AccumulatorOps.MergeRowsOfSparseGradients"); }

}  // namespace
}  // namespace caudal
