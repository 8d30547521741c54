#include "caudal/ops/variable_nd.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

using harness::ints;
using harness::longs;
using harness::Samples;
using Floats = std::vector<float>;

class VariableNd : public testing::TestWithParam<bool> {
 protected:
  Variable make(const Shape& shape, const Floats& values) {
    return Variable(Tensor::from<float>(shape, values), {.use_resource = GetParam()});
  }
  static Floats run(const Variable& variable, const Output& update) {
    Session session;
    session.run(variable.initializer());
    return session.run(update).to_vector<float>();
  }
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_P(VariableNd, UpdatesPlaces) {
  const Variable v = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor places = Tensor::from<int>({3, 2}, {0, 2, 1, 0, 0, 2});
  const Output updates = constant({10.0F, 20.0F, 30.0F});
  EXPECT_EQ(run(v, scatter_nd_update(v, places, updates)), (Floats{1, 2, 30, 20, 5, 6}));
  EXPECT_EQ(run(v, scatter_nd_add(v, places, updates)), (Floats{1, 2, 43, 24, 5, 6}));
  EXPECT_EQ(run(v, scatter_nd_sub(v, places, updates)), (Floats{1, 2, -37, -16, 5, 6}));
  EXPECT_EQ(run(v, scatter_nd_min(v, places, constant({0.0F, 20.0F, 1.0F}))), (Floats{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(run(v, scatter_nd_max(v, places, constant({0.0F, 20.0F, 1.0F}))), (Floats{1, 2, 3, 20, 5, 6}));
  // Whole rows.
  EXPECT_EQ(run(v, scatter_nd_add(v, Tensor::from<int>({1, 1}, {1}), Tensor::from<float>({1, 3}, {1, 1, 1}))),
            (Floats{1, 2, 3, 5, 6, 7}));
}

TEST_P(VariableNd, AssignsToSlices) {
  const Variable v = make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(v, strided_slice_assign(v, {0, 1}, {2, 3}, {1, 1}, Tensor::from<float>({2, 2}, {7, 8, 9, 10}))),
            (Floats{1, 7, 8, 4, 9, 10}));
  EXPECT_EQ(run(v, strided_slice_assign(v, {1}, {0}, {1}, 0.0F, {.shrink_axis_mask = 1})), (Floats{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(run(v, strided_slice_assign(v, {0, 2}, {0, 0}, {1, -2}, constant({5.0F, 6.0F}),
                                        {.begin_mask = 1, .end_mask = 3})),
            (Floats{6, 2, 5, 6, 5, 5}));
}

TEST_P(VariableNd, RefusesPlacesOutside) {
  const Variable v = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const Output update = scatter_nd_update(v, placeholder(int32, {1, 2}), constant({1.0F}));
  Session session;
  session.run(v.initializer());
  const Output places = graph_.tensor("Placeholder:0");
  try {
    session.run({update}, {{places, Tensor::from<int>({1, 2}, {2, 0})}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("indices[0] = [2,0] does not index into shape [2,3]"), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(BothKinds, VariableNd, testing::Bool(),
                         [](const auto& info) { return info.param ? "resource" : "reference"; });

TEST(TensorScatter, EqualValuesShareTheGradient) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = constant({1.0F, 5.0F, 2.0F}), updates = constant({5.0F, 5.0F, 1.0F});
  const Output y = tensor_scatter_nd_max(x, Tensor::from<int>({3, 1}, {1, 1, 2}), updates);
  const auto slopes = gradients({y}, {x, updates}, {.grad_ys = {constant({1.0F, 3.0F, 7.0F})}});
  Session session;
  EXPECT_EQ(session.run(y).to_vector<float>(), (Floats{1, 5, 2}));
  EXPECT_EQ(session.run(slopes[0].dense()).to_vector<float>(), (Floats{1, 1, 7}));
  EXPECT_EQ(session.run(slopes[1].dense()).to_vector<float>(), (Floats{1, 1, 0}));
}

TEST(ResourceGatherNd, HasTensorFlowsGradient) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v(Tensor::from<float>({3, 2}, Floats{1, 2, 3, 4, 5, 6}), {.use_resource = true});
  const Output rows = raw_ops::resource_gather_nd(v.handle(), Tensor::from<int>({2, 1}, {2, 0}), float32);
  const Output places = raw_ops::resource_gather_nd(v.handle(), Tensor::from<int>({2, 2}, {2, 0, 2, 0}), float32);
  EXPECT_EQ(rows.shape(), (PartialShape{2, 2}));
  const auto sparse = gradients({rows}, {v.handle()}), dense = gradients({places}, {v.handle()});
  ASSERT_TRUE(sparse[0].is_sparse());
  Session session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(rows).to_vector<float>(), (Floats{5, 6, 1, 2}));
  EXPECT_EQ(session.run(places).to_vector<float>(), (Floats{5, 5}));
  EXPECT_EQ(session.run(sparse[0].slices().indices).to_vector<int>(), (std::vector{2, 0}));
  EXPECT_EQ(session.run(dense[0].dense()).to_vector<float>(), (Floats{0, 0, 0, 0, 2, 0}));
}

const std::vector<DType> kReal = {float32, float64, float16, bfloat16, int8,   int16,
                                  int32,   int64,   uint8,   uint16,   uint32, uint64};
const std::vector<DType> kFlagsToo = [] {
  auto types = harness::kNumberTypes;
  types.push_back(boolean);
  return types;
}();

enum class Kind { kReference, kResource, kValue };

void add_scatters(Samples& samples, Kind kind, const std::vector<DType>& types) {
  const auto target = [&](Tensor value) {
    if (kind == Kind::kValue) return harness::SampleValue(std::move(value));
    return kind == Kind::kResource ? Samples::resource_variable(value) : Samples::variable(value);
  };
  for (const DType type : types) {
    samples.add({.inputs = {target(samples.random(type, {4})), Tensor::from<int>({3, 1}, {2, 0, 2}),
                            samples.random(type, {3})}});
    samples.add({.inputs = {target(samples.random(type, {3, 2, 3})),
                            Tensor::from<std::int64_t>({2, 1, 2}, {2, 1, 0, 0}), samples.random(type, {2, 1, 3})}});
  }
  samples.add({.inputs = {target(samples.random(float32, {3, 0})), Tensor::from<int>({1, 1}, {1}),
                          samples.random(float32, {1, 0})}});
  samples.add({.inputs = {target(samples.random(float32, {3})), Tensor(int32, {0, 1}), samples.random(float32, {0})}});
  samples.add({.inputs = {target(samples.random(float32, {300, 40})),
                          samples.random(int32, {500, 2}, {.low = 0, .high = 39}), samples.random(float32, {500})}});
  samples.error({target(samples.random(float32, {3})), Tensor::from<int>({1, 1}, {3}), samples.random(float32, {1})},
                Code::kInvalidArgument, {}, "indices[0] = [3] does not index into shape [3]");
  samples.error({target(samples.random(float32, {3})), Tensor::from<int>({1, 1}, {0}), samples.random(float32, {2})},
                Code::kInvalidArgument);
  samples.error({target(samples.random(float32, {3})), Tensor::from<int>({1, 2}, {0, 0}), samples.random(float32, {1})},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ScatterNdUpdate) { add_scatters(samples, Kind::kReference, harness::kUsualTypes); }
CAUDAL_OP_SAMPLES(ScatterNdAdd) { add_scatters(samples, Kind::kReference, harness::kNumberTypes); }
CAUDAL_OP_SAMPLES(ScatterNdSub) { add_scatters(samples, Kind::kReference, harness::kNumberTypes); }
CAUDAL_OP_SAMPLES(ScatterNdMin) { add_scatters(samples, Kind::kReference, kReal); }
CAUDAL_OP_SAMPLES(ScatterNdMax) { add_scatters(samples, Kind::kReference, kReal); }
CAUDAL_OP_SAMPLES(ResourceScatterNdUpdate) { add_scatters(samples, Kind::kResource, harness::kUsualTypes); }
CAUDAL_OP_SAMPLES(ResourceScatterNdAdd) { add_scatters(samples, Kind::kResource, kFlagsToo); }
CAUDAL_OP_SAMPLES(ResourceScatterNdSub) { add_scatters(samples, Kind::kResource, kFlagsToo); }
CAUDAL_OP_SAMPLES(ResourceScatterNdMin) { add_scatters(samples, Kind::kResource, kReal); }
CAUDAL_OP_SAMPLES(ResourceScatterNdMax) { add_scatters(samples, Kind::kResource, kReal); }
CAUDAL_OP_SAMPLES(ScatterNdNonAliasingAdd) { add_scatters(samples, Kind::kValue, kFlagsToo); }

CAUDAL_OP_SAMPLES(TensorScatterAdd) { add_scatters(samples, Kind::kValue, harness::kNumberTypes); }
CAUDAL_OP_SAMPLES(TensorScatterSub) { add_scatters(samples, Kind::kValue, harness::kNumberTypes); }
CAUDAL_OP_SAMPLES(TensorScatterMin) { add_scatters(samples, Kind::kValue, kReal); }
CAUDAL_OP_SAMPLES(TensorScatterMax) { add_scatters(samples, Kind::kValue, kReal); }
CAUDAL_OP_SAMPLES(TensorScatterUpdate) {
  // TensorFlow's gradient of a place that is named twice goes to both updates.
  for (const DType type : harness::kUsualTypes) {
    samples.add({.inputs = {samples.random(type, {4}), Tensor::from<int>({3, 1}, {2, 0, 2}), samples.random(type, {3})},
                 .gradient = harness::Check::kNo});
    samples.add({.inputs = {samples.random(type, {3, 2, 3}), Tensor::from<std::int64_t>({2, 1, 2}, {2, 1, 0, 0}),
                            samples.random(type, {2, 1, 3})}});
  }
  samples.add({.inputs = {samples.random(float32, {3}), Tensor(int32, {0, 1}), samples.random(float32, {0})}});
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 1}, {3}), samples.random(float32, {1})},
                Code::kInvalidArgument, {}, "indices[0] = [3] does not index into shape [3]");
  samples.error({samples.random(float32, {3}), Tensor::from<int>({1, 1}, {0}), samples.random(float32, {2})},
                Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(ResourceGatherNd) {
  samples.covered_by("ResourceGatherNd.HasTensorFlowsGradient");
  for (const DType type : harness::kUsualTypes) {
    samples.add(
        {.inputs = {Samples::resource_variable(samples.random(type, {3, 2})), Tensor::from<int>({2, 1}, {2, 0})},
         .attrs = {{"dtype", type}}});
    samples.add({.inputs = {Samples::resource_variable(samples.random(type, {3, 2})),
                            Tensor::from<std::int64_t>({2, 1, 2}, {2, 0, 0, 1})},
                 .attrs = {{"dtype", type}}});
  }
  samples.error({Samples::resource_variable(samples.random(float32, {3})), Tensor::from<int>({1, 1}, {3})},
                Code::kInvalidArgument, {{"dtype", float32}});
}

void add_slice_assignments(Samples& samples, bool resource) {
  const auto target = resource ? Samples::resource_variable : Samples::variable;
  for (const DType type : harness::kUsualTypes) {
    samples.add({.inputs = {target(samples.random(type, {3, 4})), ints({0, 1}), ints({2, 4}), ints({1, 2}),
                            samples.random(type, {2, 2})}});
    samples.add(
        {.inputs = {target(samples.random(type, {3})), longs({2}), longs({0}), longs({-1}), samples.random(type, {})}});
  }
  for (const DType type : {DType::kQint8, DType::kQuint8, DType::kQint32}) {
    samples.add(
        {.inputs = {target(samples.random(type, {3})), ints({0}), ints({2}), ints({1}), samples.random(type, {2})}});
  }
  samples.error({target(samples.random(float32, {3})), ints({0}), ints({2}), ints({1}), samples.random(float32, {3})},
                Code::kInvalidArgument);
  samples.error({target(samples.random(float32, {3})), ints({0}), ints({2}), ints({0}), samples.random(float32, {2})},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StridedSliceAssign) { add_slice_assignments(samples, false); }
CAUDAL_OP_SAMPLES(ResourceStridedSliceAssign) { add_slice_assignments(samples, true); }

}  // namespace
}  // namespace caudal
