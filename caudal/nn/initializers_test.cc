// Initialisers against TensorFlow 2.21: with an op seed they draw the same numbers.
#include "caudal/ops/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caudal/base/error.h"
#include "caudal/nn/nn_case.h"
#include "caudal/ops/partitioned_variable.h"
#include "tests/harness/compare.h"

namespace caudal {
namespace {

Output made(const Initializer& initializer, const Shape& shape) { return initializer.function()(shape, float32); }

TEST(Initializers, DrawTensorFlowsNumbers) {
  const NnCase c("initializers");
  const Shape window{3, 2, 4}, matrix{4, 6};
  EXPECT_EQ(
      c.check(
          {made(variance_scaling_initializer(
                    {.scale = 1.5, .mode = "fan_in", .distribution = "truncated_normal", .seed = 11}),
                window),
           made(variance_scaling_initializer({.scale = 2, .mode = "fan_out", .distribution = "uniform", .seed = 11}),
                window),
           made(variance_scaling_initializer(
                    {.scale = 0.7, .mode = "fan_avg", .distribution = "untruncated_normal", .seed = 11}),
                window),
           made(random_uniform_initializer(-0.2, 0.3, {12}), matrix),
           made(random_normal_initializer(0.1, 0.5, {13}), matrix),
           made(truncated_normal_initializer(0.1, 0.5, {14}), matrix), made(glorot_uniform_initializer({15}), matrix),
           made(glorot_normal_initializer({16}), matrix), made(he_normal({17}), matrix), made(he_uniform({18}), matrix),
           made(lecun_normal({19}), matrix), made(lecun_uniform({20}), matrix), made(identity_initializer(2), matrix)}),
      "");
}

TEST(Initializers, OfContribToo) {
  const NnCase c("slim_variance_scaling");
  using contrib::layers::variance_scaling_initializer;
  EXPECT_EQ(c.check({made(variance_scaling_initializer({.seed = 3}), {4, 6}),
                     made(contrib::layers::xavier_initializer({.seed = 4}), {4, 6}),
                     made(variance_scaling_initializer({.factor = 1.5, .mode = "FAN_OUT", .seed = 5}), {3, 3, 2, 4})}),
            "");
}

TEST(Initializers, PartsScaleByTheWhole) {
  const NnCase c("partitioned_initializer");
  const Partitioner cut = fixed_size_partitioner(2);
  get_partitioned_variable("g", {.shape = {4, 6}, .initializer = glorot_uniform_initializer({3})}, cut);
  get_partitioned_variable("u", {.shape = {4, 6}, .initializer = uniform_unit_scaling_initializer(1.5, {4})}, cut);
  Session session;
  session.run(global_variables_initializer());
  ASSERT_EQ(global_variables().size(), 4U);
  for (const Variable& part : global_variables()) {
    EXPECT_EQ(harness::difference(c.value("var:" + part.op_name()), session.run(part), 1e-6), "") << part.name();
  }
}

TEST(Initializers, Orthogonal) {
  const NnCase c("orthogonal");
  EXPECT_EQ(c.check({made(orthogonal_initializer(1, {5}), {6, 4}), made(orthogonal_initializer(2, {6}), {3, 2, 8})},
                    {.tolerance = 3e-6}),
            "");
  Session session;
  const Tensor delta = session.run(made(convolution_delta_orthogonal(1, {7}), {3, 3, 2, 4}));
  double middle = 0, all = 0;
  for (std::int64_t i = 0; i < delta.num_elements(); ++i) {
    const double square = std::pow(delta.data<float>()[i], 2);
    all += square;
    if (i / 8 == 4) middle += square;
  }
  EXPECT_NEAR(middle, 2, 1e-5);
  EXPECT_NEAR(all, 2, 1e-5);
}

TEST(Initializers, GainsFollowTheActivation) {
  EXPECT_DOUBLE_EQ(activation_gain("relu"), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(activation_gain("leaky_relu", 1.0), 1.0);
  EXPECT_THROW(activation_gain("unknown"), Error);
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Tensor relu = session.run(made(activation_initializer("relu", {.seed = 1}), {30, 20}));
  const Tensor he = session.run(made(he_normal({1}), {30, 20}));
  for (int i = 0; i < 600; ++i) EXPECT_NEAR(relu.data<float>()[i], he.data<float>()[i], 1e-6);
}

TEST(Initializers, ShapesThatDoNotFitAreErrors) {
  Graph graph;
  const GraphScope scope(graph);
  EXPECT_THROW(made(identity_initializer(), {3}), Error);
  EXPECT_THROW(made(orthogonal_initializer(), {3}), Error);
  EXPECT_THROW(made(convolution_delta_orthogonal(), {3, 4, 2}), Error);
  EXPECT_THROW(contrib::layers::variance_scaling_initializer({.mode = "fan_in"}), Error);
}

}  // namespace
}  // namespace caudal
