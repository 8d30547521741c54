#include "caudal/plan/cost.h"

#include <gtest/gtest.h>

#include "caudal/autodiff/gradient.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/pool.h"
#include "caudal/ops/reduction.h"
#include "caudal/runtime/cpu_device.h"

namespace caudal {
namespace {

class CostTest : public ::testing::Test {
 protected:
  NodeCost total(const std::vector<Output>& fetches, const std::vector<Output>& feeds, const std::vector<Shape>& shapes,
                 bool fuse) {
    NodeCost sum;
    const auto program = compile({.feeds = feeds, .fetches = fetches}, {.fuse = fuse}, *device_, nullptr, shapes);
    for (const auto& [name, cost] : costs_of(*program)) sum += cost;
    return sum;
  }
  Graph graph_;
  GraphScope scope_{graph_};
  std::unique_ptr<Device> device_ = make_cpu_device(1, std::make_shared<MemoryAccount>());
};

TEST_F(CostTest, ProductsByTheirSizes) {
  const Output a = placeholder(float32, {-1, 8}), b = placeholder(float32, {8, 5});
  const NodeCost cost = total({matmul(a, b)}, {a, b}, {{4, 8}, {8, 5}}, true);
  EXPECT_EQ(cost.multiplications, 4 * 8 * 5);
  EXPECT_EQ(cost.output_bytes, 4 * 5 * 4);
  EXPECT_EQ(cost.bytes, 4 * (4 * 8 + 8 * 5 + 4 * 5));
  const Output turned = matmul(b, a, {.transpose_a = true, .transpose_b = true});
  EXPECT_EQ(total({turned}, {a, b}, {{4, 8}, {8, 5}}, true).multiplications, 4 * 8 * 5);
}

// The same work whether steps are fused or not, the pooling's way back excepted.
TEST_F(CostTest, ConvolutionsAndTheirGradients) {
  const Output x = placeholder(float32, {-1, 12, 10, 3}), filter = placeholder(float32, {5, 3, 3, 7});
  const Output bias = placeholder(float32, {7});
  const Output sum = nn::bias_add(nn::conv2d(x, filter, {.padding = "SAME"}), bias);
  const std::vector<Shape> shapes = {{2, 12, 10, 3}, {5, 3, 3, 7}, {7}};
  const std::int64_t once = 2 * 12 * 10 * (5 * 3 * 3 * 7);
  const Output active = nn::relu(sum);
  for (const bool fuse : {false, true}) {
    EXPECT_EQ(total({active}, {x, filter, bias}, shapes, fuse).multiplications, once);
  }
  const Output pooled = nn::max_pool(active, {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}, .padding = "VALID"});
  std::vector<Output> all;
  for (const Gradient& gradient : gradients({reduce_sum(pooled)}, {x, filter, bias})) all.push_back(gradient.dense());
  EXPECT_EQ(total(all, {x, filter, bias}, shapes, false).multiplications, 3 * once);
  EXPECT_EQ(total(all, {x, filter, bias}, shapes, true).multiplications, once + 2 * once / 4);
}

}  // namespace
}  // namespace caudal
