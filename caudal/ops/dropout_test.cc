#include "caudal/ops/dropout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/random.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
namespace {

class Dropout : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};

  static void expect_nine_of_ten(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values) {
      ASSERT_TRUE(value == 0 || value == 1.1111112F) << value;
      sum += value;
    }
    EXPECT_NEAR(sum / static_cast<double>(values.size()), 1, 0.002);
  }
};

TEST_F(Dropout, KeepProbAndRateSayTheSame) {
  const Output x = ones({1000000});
  expect_nine_of_ten(session_.run(nn::dropout(x, {.keep_prob = 0.9, .seed = 1})).to_vector<float>());
  expect_nine_of_ten(session_.run(nn::dropout(x, {.seed = 1, .rate = 0.1})).to_vector<float>());
  const Output rate = placeholder(float32, {});
  expect_nine_of_ten(session_.run(nn::dropout(x, {.seed = 1, .rate = rate}), {{rate, 0.1F}}).to_vector<float>());
}

TEST_F(Dropout, ZeroRateDropsNothing) {
  const Output x = ones({1000});
  EXPECT_EQ(nn::dropout(x, {.rate = 0}), x);
  EXPECT_EQ(nn::dropout(x, {.keep_prob = 1}), x);
  const Output keep = placeholder(float32, {});
  const auto values = session_.run(nn::dropout(x, {.keep_prob = keep}), {{keep, 1.0F}}).to_vector<float>();
  EXPECT_EQ(values, std::vector<float>(1000, 1.0F));
}

TEST_F(Dropout, ZeroRateTakesASeedAllTheSame) {
  set_random_seed(1);
  nn::dropout(ones({3}), {.rate = 0});
  EXPECT_EQ(get_seed(graph_, {}).seed2, 1);
}

TEST_F(Dropout, RefusesWhatIsNoRate) {
  const Output x = ones({3});
  EXPECT_THROW(nn::dropout(x, {.rate = 1}), Error);
  EXPECT_THROW(nn::dropout(x, {.rate = -0.1}), Error);
  EXPECT_THROW(nn::dropout(x, {.keep_prob = 0}), Error);
  EXPECT_THROW(nn::dropout(x, {.keep_prob = 1.5}), Error);
  EXPECT_THROW(nn::dropout(x, {}), Error);
  EXPECT_THROW(nn::dropout(x, {.keep_prob = 0.5, .rate = 0.5}), Error);
  EXPECT_THROW(nn::dropout(constant({1, 2}), {.rate = 0.5}), Error);
}

TEST_F(Dropout, TensorRateOfOneDropsAll) {
  const Output rate = placeholder(float32, {});
  const auto values = session_.run(nn::dropout(ones({100}), {.rate = rate}), {{rate, 1.0F}}).to_vector<float>();
  EXPECT_EQ(values, std::vector<float>(100, 0.0F));
}

TEST_F(Dropout, NoiseShapeDropsWholeRows) {
  const Output x = ones({50, 4});
  const Output y = nn::dropout(x, {.noise_shape = Operand({-1, 1}), .seed = 3, .rate = 0.5});
  EXPECT_EQ(y.shape(), PartialShape({50, 4}));
  const auto values = session_.run(y).to_vector<float>();
  int dropped = 0;
  for (std::size_t r = 0; r < 50; ++r) {
    for (std::size_t c = 1; c < 4; ++c) EXPECT_EQ(values[4 * r + c], values[4 * r]);
    dropped += values[4 * r] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 25, 15);
  const Output unknown = placeholder(float32, {-1, 4});
  EXPECT_THROW(nn::dropout(unknown, {.noise_shape = Operand({-1, 1}), .rate = 0.5}), Error);
}

TEST_F(Dropout, GradientHasTheForwardMask) {
  const Output x = placeholder(float32, {1000});
  const Output y = nn::dropout(x, {.seed = 1, .rate = 0.5});
  const Output slope = gradients({y}, {x})[0].dense();
  const Tensor ones_value = Tensor::from<float>({1000}, std::vector<float>(1000, 1.0F));
  const auto both = session_.run({y, slope}, {{x, ones_value}});
  EXPECT_EQ(both[0].to_vector<float>(), both[1].to_vector<float>());
}

// tf.compat.v1.nn.dropout(tf.ones([12]), rate=0.4, seed=7) of TensorFlow 2.21.
TEST_F(Dropout, MaskIsTensorFlows) {
  const auto values = session_.run(nn::dropout(ones({12}), {.seed = 7, .rate = 0.4})).to_vector<float>();
  std::string mask;
  for (const float value : values) mask += value == 0 ? '0' : '1';
  EXPECT_EQ(mask, "110011011110");
}

}  // namespace
}  // namespace caudal::inline v0
