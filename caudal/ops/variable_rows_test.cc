#include "caudal/ops/variable_rows.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Floats = std::vector<float>;

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

class VariableRows : public testing::TestWithParam<bool> {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};
INSTANTIATE_TEST_SUITE_P(, VariableRows, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

// Each from [[1, 2], [3, 4], [5, 6]] with the rows [2, 0, 2]; values of TensorFlow 2.21.
TEST_P(VariableRows, ChangeInOrder) {
  using Scatter = Output (*)(const Variable&, const Operand&, const Operand&, const OpOptions&);
  const Tensor start = Tensor::from<float>({3, 2}, Floats{1, 2, 3, 4, 5, 6});
  const Tensor updates = Tensor::from<float>({3, 2}, Floats{10, 20, 30, 40, 4, 7});
  const std::pair<Scatter, Floats> cases[] = {
      {scatter_update, {30, 40, 3, 4, 4, 7}},
      {scatter_add, {31, 42, 3, 4, 19, 33}},
      {scatter_sub, {-29, -38, 3, 4, -9, -21}},
      {scatter_mul, {30, 80, 3, 4, 200, 840}},
      {scatter_div, {1.F / 30, .05F, 3, 4, .125F, .3F / 7}},
      {scatter_min, {1, 2, 3, 4, 4, 6}},
      {scatter_max, {30, 40, 3, 4, 10, 20}},
  };
  for (const auto& [scatter, expected] : cases) {
    const Variable v(start, {.use_resource = GetParam()});
    const Output result = scatter(v, {2, 0, 2}, updates, {});
    Session session;
    session.run(v.initializer());
    const auto values = session.run(result).to_vector<float>();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(values[i], expected[i]);
    EXPECT_TRUE(identical(session.run(v), session.run(v)));
  }
}

TEST_P(VariableRows, TakeOneValueForAll) {
  const Variable v(Tensor(std::vector<int>{1, 2, 3}), {.use_resource = GetParam()});
  const Output result = scatter_add(v, Tensor(std::vector<std::int64_t>{2, 0, 2}), 10);
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(result).to_vector<int>(), (std::vector{11, 2, 23}));
}

TEST_P(VariableRows, StayWhereSomethingIsWrong) {
  const Variable v(Tensor(std::vector<int>{1, 2, 3}), {.name = "v", .use_resource = GetParam()});
  const Output rows = placeholder(int32), updates = placeholder(int32);
  const Output add = scatter_add(v, rows, updates), divide = scatter_div(v, rows, updates);
  EXPECT_EQ(code_of([&] { scatter_add(v, {0, 1}, Tensor(std::vector<int>{1, 2, 3})); }), Code::kInvalidArgument);
  const auto values = [](std::vector<int> list) { return Tensor(std::move(list)); };
  Session session;
  EXPECT_EQ(code_of([&] {
              session.run(add, {{rows, values({0})}, {updates, values({1})}});
            }),
            Code::kFailedPrecondition);
  session.run(v.initializer());
  for (const int bad : {-1, 3}) {
    EXPECT_EQ(code_of([&] {
                session.run(add, {{rows, values({0, bad})}, {updates, values({1, 1})}});
              }),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(code_of([&] {
              session.run(add, {{rows, values({0, 1})}, {updates, values({1})}});
            }),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] {
              session.run(divide, {{rows, values({0, 1})}, {updates, values({1, 0})}});
            }),
            Code::kInvalidArgument);
  EXPECT_EQ(session.run(v).to_vector<int>(), (std::vector{1, 2, 3}));
}

TEST(ResourceGather, ReadsRowsAndHasTheirGradient) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor::from<float>({3, 2}, Floats{1, 2, 3, 4, 5, 6}), {.use_resource = true});
  const Output rows = raw_ops::resource_gather(v.handle(), Tensor::from<int>({2, 2}, {2, 0, 2, 2}), float32);
  EXPECT_EQ(rows.shape(), (PartialShape{2, 2, 2}));
  const auto grads = gradients({rows}, {v.handle()});
  ASSERT_TRUE(grads[0].is_sparse());
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(rows).to_vector<float>(), (Floats{5, 6, 1, 2, 5, 6, 5, 6}));
  const IndexedSlices& slices = grads[0].slices();
  EXPECT_EQ(session.run(slices.indices).to_vector<int>(), (std::vector{2, 0, 2, 2}));
  EXPECT_EQ(session.run(slices.values).shape(), (Shape{4, 2}));
  EXPECT_EQ(session.run(slices.dense_shape).to_vector<int>(), (std::vector{3, 2}));
}

using harness::Samples;

const std::vector<DType> kNumbers = {float32, float64, float16, bfloat16, int8,   int16,     int32,
                                     int64,   uint8,   uint16,  uint32,   uint64, complex64, complex128};
const std::vector<DType> kOrdered = {float32, float64, float16, bfloat16, int32, int64};
const std::vector<DType> kReal = {float32, float64, float16, bfloat16, int8,   int16,
                                  int32,   int64,   uint8,   uint16,   uint32, uint64};
const std::vector<DType> kAny = {float32, float64, float16, bfloat16, int8,    int16,     int32,      int64,
                                 uint8,   uint16,  uint32,  uint64,   boolean, complex64, complex128, string};
const std::vector<DType> kGathered = {
    float32, float64, float16, bfloat16,  int8,       int16,  int32,         int64,          uint8,         uint16,
    uint32,  uint64,  boolean, complex64, complex128, string, DType::kQint8, DType::kQuint8, DType::kQint32};

void add_scatters(Samples& samples, bool resource, const std::vector<DType>& types) {
  const auto variable = resource ? Samples::resource_variable : Samples::variable;
  const auto value = [&](DType type, const Shape& shape) {
    return samples.random(type, shape, {.low = 1, .high = 5});  // no division by zero
  };
  for (const DType type : types) {
    const Tensor rows(std::vector<int>{2, 0, 2}), wide = Tensor::from<std::int64_t>({2, 1}, {1, 1});
    samples.add({.inputs = {variable(value(type, {3})), rows, value(type, {3})}});
    samples.add({.inputs = {variable(value(type, {3, 17})), rows, value(type, {3, 17})}});
    samples.add({.inputs = {variable(value(type, {3, 2, 3})), wide, value(type, {2, 1, 2, 3})}});
    samples.add({.inputs = {variable(value(type, {3, 5})), rows, value(type, {})}});
    samples.add({.inputs = {variable(value(type, {3, 0})), rows, value(type, {3, 0})}});
    samples.add({.inputs = {variable(value(type, {3})), Tensor(std::vector<int>{}), value(type, {0})}});
  }
  samples.add({.inputs = {variable(value(float32, {4, 70000})), Tensor(std::vector<int>{1, 3, 1}),
                          value(float32, {3, 70000})}});
  samples.error({variable(value(float32, {3})), Tensor(std::vector<int>{3}), value(float32, {1})},
                Code::kInvalidArgument, {}, "indices[0] = 3 is not in [0, 3)");
  samples.error({variable(value(float32, {3, 2})), Tensor(std::vector<int>{1}), value(float32, {2})},
                Code::kInvalidArgument);
  samples.error({variable(value(float32, {})), Tensor(std::vector<int>{1}), value(float32, {})},
                Code::kInvalidArgument);
}

#define CAUDAL_SCATTER_SAMPLES(op, types, resource_types)                 \
  CAUDAL_OP_SAMPLES(Scatter##op) { add_scatters(samples, false, types); } \
  CAUDAL_OP_SAMPLES(ResourceScatter##op) { add_scatters(samples, true, resource_types); }
CAUDAL_SCATTER_SAMPLES(Update, kAny, kAny)
CAUDAL_SCATTER_SAMPLES(Add, kNumbers, kNumbers)
CAUDAL_SCATTER_SAMPLES(Sub, kNumbers, kNumbers)
CAUDAL_SCATTER_SAMPLES(Mul, kNumbers, kNumbers)
CAUDAL_SCATTER_SAMPLES(Div, kNumbers, kNumbers)
CAUDAL_SCATTER_SAMPLES(Min, kOrdered, kReal)
CAUDAL_SCATTER_SAMPLES(Max, kOrdered, kReal)

CAUDAL_OP_SAMPLES(ResourceGather) {
  samples.covered_by("ResourceGather.ReadsRowsAndHasTheirGradient");
  const Tensor rows = Tensor::from<int>({2, 2}, {2, 0, 2, 2});
  samples.add({.inputs = {samples.resource_variable(samples.random(float32, {3, 2})),
                          Tensor(std::vector<std::int64_t>{2, 0, 2})},
               .attrs = {{"dtype", float32}}});
  for (const DType type : kGathered) {
    for (const Shape& shape : {Shape{3}, Shape{3, 0}, Shape{3, 17}, Shape{3, 2, 2, 2}}) {
      samples.add(
          {.inputs = {samples.resource_variable(samples.random(type, shape)), rows}, .attrs = {{"dtype", type}}});
    }
  }
  samples.add({.inputs = {samples.resource_variable(samples.random(float32, {2, 3, 2})), rows},
               .attrs = {{"dtype", float32}, {"batch_dims", 1}}});
  samples.error({samples.resource_variable(samples.random(float32, {2})), rows}, Code::kInvalidArgument,
                {{"dtype", float32}});
  samples.error({samples.resource_variable(samples.random(float32, {3})), rows}, Code::kInvalidArgument,
                {{"dtype", float32}, {"batch_dims", 2}});
}

}  // namespace
}  // namespace caudal
