#include "caudal/runtime/profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/roof.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/matmul.h"

namespace caudal {
namespace {

TEST(Profile, TellsTimesAndCostsOfNodes) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(float32, {-1, 64}, {.name = "x"});
  const Output product = matmul(x, x, {.transpose_b = true, .name = "square"});
  const Output y = exp(product, {.name = "y"});
  Session session(graph);
  const Feeds feeds = {{x, Tensor(float32, {32, 64})}};
  std::ranges::fill(const_cast<Tensor&>(feeds[0].value).flat<float>(), 0.01F);
  const Profile profile = profile_steps(session, {y}, feeds, 3);
  EXPECT_EQ(profile.steps, 3);
  EXPECT_GT(profile.step_microseconds, 0);
  ASSERT_EQ(profile.rows.size(), 2U);
  EXPECT_EQ(profile.rows[0].name, "square");
  EXPECT_EQ(profile.rows[0].op, "MatMul");
  EXPECT_EQ(profile.rows[0].cost.multiplications, 32 * 32 * 64);
  EXPECT_GT(profile.rows[0].microseconds, 0);
  EXPECT_GT(profile.rows[0].gflops(), 0);
  EXPECT_EQ(profile.rows[1].cost.multiplications, 0);
  EXPECT_EQ(profile.rows[1].cost.bytes, 2 * 4 * 32 * 32);
  const auto ops = profile.by_op();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_GE(ops[0].microseconds, ops[1].microseconds);
  EXPECT_EQ(profile.slowest()[0].op, ops[0].op);
  EXPECT_THROW(profile_steps(session, {y}, feeds, 0), Error);
}

TEST(Profile, RoofIsMeasured) {
  ThreadPool pool(1);
  const kernels::Roof roof = kernels::measure_roof(pool);
  EXPECT_GT(roof.gflops, 0.1);
  EXPECT_GT(roof.gbytes, 0.1);
  EXPECT_EQ(roof.threads, 1);
}

}  // namespace
}  // namespace caudal
