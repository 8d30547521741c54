#include "caudal/ops/linalg_least_squares.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using harness::Check;
using harness::Samples;

void samples_of_types(Samples& samples, const std::vector<DType>& dtypes) {
  for (const DType t : dtypes) {
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{3, 3}, {4, 2}, {2, 4}}) {
      // The regulariser is taken as a constant.
      samples.add({.inputs = {samples.random(t, {m, n}), samples.random(t, {m, 2}), 0.4},
                   .second_order = Check::kNo,
                   .undifferentiated_inputs = {2}});
      samples.add({.inputs = {samples.random(t, {2, m, n}), samples.random(t, {2, m, 1}), 0.0},
                   .attrs = {{"fast", false}},
                   .gradient = Check::kNo,
                   .tolerance = 1e-4});
    }
  }
  samples.add(
      {.inputs = {samples.random(float64, {0, 3}), samples.random(float64, {0, 2}), 0.4}, .gradient = Check::kNo});
  samples.add(
      {.inputs = {samples.random(float64, {3, 0}), samples.random(float64, {3, 2}), 0.4}, .gradient = Check::kNo});
  const Tensor a = samples.random(float32, {3, 2}), b = samples.random(float32, {3, 1});
  samples.error({a, samples.random(float32, {2, 1}), 0.0}, Code::kInvalidArgument);
  samples.error({a, samples.random(float32, {2, 3, 1}), 0.0}, Code::kInvalidArgument);
  samples.error({a, b, -1.0}, Code::kInvalidArgument);
  samples.error({a, b, Tensor(std::vector<double>{0.5})}, Code::kInvalidArgument);
  samples.error({Tensor::from<float>({2, 2}, {1, 2, 2, 4}), samples.random(float32, {2, 1}), 0.0},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(MatrixSolveLs) { samples_of_types(samples, {float32, float64, complex64, complex128}); }
CAUDAL_OP_SAMPLES(BatchMatrixSolveLs) { samples_of_types(samples, {float32, float64}); }

TEST(LstsqTest, OfLowRankTheShortest) {
  Graph graph;
  const GraphScope scope(graph);
  const Output a = constant(Tensor::from<double>({3, 2}, {1, 1, 1, 1, 1, 1})),
               b = constant(Tensor::from<double>({3, 1}, {1, 2, 3}));
  EXPECT_EQ(harness::difference(Tensor::from<double>({2, 1}, {1, 1}),
                                Session().run(linalg::lstsq(a, b, {.fast = false})), 1e-12),
            "");
  EXPECT_THROW(Session().run(linalg::lstsq(a, b)), Error);
}

}  // namespace
}  // namespace caudal::inline v0
