#include "caudal/ops/bounded_normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using Ints = std::vector<int>;
using Floats = std::vector<float>;

const std::vector<DType> kTypes = {float16, float32, float64};
const Tensor kSeed(Ints{3, 4});
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Around the mean, on one side of it, close together, open on either side.
const std::vector<double> kLeast = {-1, 2, 0.1, -kInfinity, 0.5}, kGreatest = {3, 4, 0.2, -1, kInfinity};

CAUDAL_OP_SAMPLES(ParameterizedTruncatedNormal) {
  for (const DType t : kTypes) {
    const Tensor zero = harness::tensor_of(t, {}, {0}), one = harness::tensor_of(t, {}, {1});
    const auto add = [&](const Tensor& shape, const Tensor& mean, const Tensor& least, const Tensor& greatest) {
      samples.add(
          {.inputs = {shape, mean, one, least, greatest}, .attrs = {{"seed", 3}, {"seed2", 5}}, .opaque_outputs = {0}});
    };
    add(Tensor(Ints{7, 40}), zero, harness::tensor_of(t, {}, {-1}), harness::tensor_of(t, {}, {2}));
    add(Tensor(Ints{5, 3}), zero, harness::tensor_of(t, {5}, kLeast), harness::tensor_of(t, {5}, kGreatest));
    add(Tensor(std::vector<std::int64_t>{0, 3}), zero, zero, one);
  }
  const auto error = [&](const Tensor& shape, const Tensor& mean, float deviation, float least, float greatest) {
    samples.error({shape, mean, Tensor(deviation), Tensor(least), Tensor(greatest)}, Code::kInvalidArgument);
  };
  error(Tensor(Ints{2}), Tensor(0.0F), 0, 1, 2);
  error(Tensor(Ints{2}), Tensor(0.0F), 1, 2, 1);
  error(Tensor(Ints{2}), Tensor(0.0F), 1, -kInfinity, kInfinity);
  error(Tensor(Ints{2}), Tensor(Floats{1, 2, 3}), 1, 1, 2);
  error(Tensor(Ints{}), Tensor(0.0F), 1, 1, 2);
}

CAUDAL_OP_SAMPLES(StatelessParameterizedTruncatedNormal) {
  samples.covered_by("BoundedNormal.GradientAsTensorFlow");
  for (const DType t : kTypes) {
    samples.add({.inputs = {Tensor(Ints{6, 5}), kSeed, harness::tensor_of(t, {}, {0}), harness::tensor_of(t, {1}, {1}),
                            harness::tensor_of(t, {5}, kLeast), harness::tensor_of(t, {5}, kGreatest)},
                 .gradient = Check::kNo});
    samples.add({.inputs = {Tensor(Ints{0}), kSeed, harness::tensor_of(t, {}, {0}), harness::tensor_of(t, {}, {1}),
                            harness::tensor_of(t, {}, {0}), harness::tensor_of(t, {}, {1})},
                 .gradient = Check::kNo});
  }
  const auto error = [&](const Tensor& shape, const Tensor& seed, const Tensor& mean, float least) {
    samples.error({shape, seed, mean, Tensor(1.0F), Tensor(least), Tensor(2.0F)}, Code::kInvalidArgument);
  };
  error(Tensor(Ints{2}), kSeed, Tensor(0.0F), 3);
  error(Tensor(Ints{2}), kSeed, Tensor(Floats{1, 2, 3}), 1);
  error(Tensor(Ints{2}), Tensor(Ints{2}), Tensor(0.0F), 1);
}

class BoundedNormal : public testing::Test {
 protected:
  void expect_values(const Tensor& tensor, const Floats& wanted, double tolerance) {
    const auto got = tensor.to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i])));
  }
  Output node(const Ints& shape, const Operand& means, const Operand& least, const Operand& greatest) {
    OpBuilder builder("ParameterizedTruncatedNormal", {});
    return builder.input(shape)
        .input(means, float32)
        .input(1.0F, float32)
        .input(least, float32)
        .input(greatest, float32)
        .attr("seed", 3)
        .attr("seed2", 5)
        .build();
  }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(BoundedNormal, StatelessAsTensorFlow) {
  const Output x =
      random::stateless_parameterized_truncated_normal({2, 4}, {1, 2},
                                                       {.means = constant({0.0F, 1.0F, -2.0F, 5.0F}),
                                                        .stddevs = constant({1.0F, 0.5F, 2.0F, 1.0F}),
                                                        .minvals = constant({-1.0F, 2.0F, -kInfinity, 5.1F}),
                                                        .maxvals = constant({1.0F, kInfinity, -1.0F, 5.2F})});
  expect_values(session_.run(x),
                {0.688120842F, 2.170336246F, -4.164262772F, 5.160496712F, -0.615909338F, 2.332325459F, -3.102098465F,
                 5.132663727F},
                1e-6);
}

TEST_F(BoundedNormal, GradientAsTensorFlow) {
  const Output mean = constant({0.0F, 1.0F, -2.0F, 5.0F}), deviation = constant({1.0F, 0.5F, 2.0F, 1.0F});
  const Output least = constant({-1.0F, 2.0F, -9.0F, 5.1F}), greatest = constant({1.0F, 9.0F, -1.0F, 5.2F});
  const Output x = random::stateless_parameterized_truncated_normal(
      {2, 4}, {1, 2}, {.means = mean, .stddevs = deviation, .minvals = least, .maxvals = greatest});
  const auto slopes = gradients({x}, {mean, deviation, least, greatest});
  expect_values(session_.run(slopes[0].dense()), {2, 2, 2, 2}, 1e-6);
  expect_values(session_.run(slopes[1].dense()), {0.072211504F, 5.00532341F, -0.3942312F, 0.321670532F}, 1e-4);
  expect_values(session_.run(slopes[2].dense()), {0.712700605F, 1.684318304F, 0.001823854F, 0.785842121F}, 1e-4);
  expect_values(session_.run(slopes[3].dense()), {0.78905958F, 0, 1.131819367F, 1.211778522F}, 1e-4);
}

TEST_F(BoundedNormal, StatefulAsTensorFlow) {
  const Output alike = node({2, 3}, 0.0F, -1.0F, 2.0F);
  expect_values(session_.run(alike),
                {0.746080577F, -0.641198397F, 0.168077871F, -0.530968308F, -0.266524136F, 0.394068092F}, 1e-6);
  expect_values(session_.run(alike),
                {0.822127342F, 0.368516207F, -0.217441261F, -0.484188884F, -0.190334886F, 0.499817163F}, 1e-6);
  const Output different =
      node({3, 2}, constant({0.0F, 1.0F, 2.0F}), constant({-1.0F, 3.0F, 1.9F}), constant({2.0F, 9.0F, 2.1F}));
  expect_values(session_.run(different),
                {0.746080577F, -0.641198397F, 3.070027113F, 3.20797419F, 1.980130315F, 1.967106104F}, 1e-6);
  expect_values(session_.run(different),
                {-0.056809433F, -0.342584729F, 3.957060099F, 3.209884167F, 1.989530802F, 1.920223594F}, 1e-6);
}

}  // namespace
}  // namespace caudal::inline v0
