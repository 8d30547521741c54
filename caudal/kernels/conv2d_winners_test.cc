#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/pool.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

// A convolution with pooling behind it.
struct Stack {
  std::string name;
  int64_t batch, height, width, channels, rows, columns, stride, filters;
  bool same;
  int64_t pool = 2, pool_stride = 2;
  bool pool_same = false;

  Conv2dShape conv() const {
    Conv2dShape shape;
    Window2d& w = shape.window;
    w.batch = batch, w.height = height, w.width = width, w.channels = channels;
    w.window_height = rows, w.window_width = columns, w.stride_height = w.stride_width = stride;
    w.rows = same ? same_padding(height, rows, stride) : valid_padding(height, rows, stride);
    w.columns = same ? same_padding(width, columns, stride) : valid_padding(width, columns, stride);
    shape.out_channels = filters;
    return shape;
  }
  Window2d pooling() const {
    const Conv2dShape shape = conv();
    Window2d w;
    w.batch = batch, w.height = shape.window.out_height(), w.width = shape.window.out_width(), w.channels = filters;
    w.window_height = w.window_width = pool, w.stride_height = w.stride_width = pool_stride;
    w.rows = pool_same ? same_padding(w.height, pool, pool_stride) : valid_padding(w.height, pool, pool_stride);
    w.columns = pool_same ? same_padding(w.width, pool, pool_stride) : valid_padding(w.width, pool, pool_stride);
    return w;
  }
};

const std::vector<Stack>& stacks() {
  static const std::vector<Stack> all = {
      {"LeNet's first", 5, 28, 28, 1, 5, 5, 1, 6, true},
      {"LeNet's second", 5, 14, 14, 6, 5, 5, 1, 16, false},
      {"the book's", 3, 28, 28, 32, 3, 3, 2, 64, true},
      {"stride 1, many channels", 2, 9, 11, 16, 3, 3, 1, 20, true},
      {"one channel, wide", 2, 6, 75, 1, 3, 2, 1, 12, false},
      {"odd in all", 2, 13, 12, 5, 3, 4, 1, 7, true},
      {"overlapping windows", 2, 9, 9, 3, 3, 3, 1, 4, false, 3, 2},
      {"padded windows", 2, 9, 9, 3, 3, 3, 1, 4, false, 2, 2, true},
      {"large filters", 1, 20, 20, 3, 9, 11, 1, 5, true},
  };
  return all;
}

class WinnersTest : public ::testing::Test {
 protected:
  void start(const Stack& stack) {
    shape_ = stack.conv(), window_ = stack.pooling();
    in_ = random_values(shape_.window.in_pixels() * stack.channels, 1);
    filter_ = random_values(shape_.patch() * stack.filters, 2);
    bias_ = random_values(stack.filters, 3);
    whole_.resize(static_cast<std::size_t>(window_.in_pixels() * stack.filters));
    pooled_.resize(static_cast<std::size_t>(window_.out_pixels() * stack.filters));
    winners_.resize(pooled_.size());
    grad_ = random_values(static_cast<int64_t>(pooled_.size()), 4);
    const IsaCap plain(Isa::kPlain);
    conv2d_reference(pool_, DType::kFloat, shape_, in_.data(), filter_.data(), whole_.data(), {bias_.data(), true});
    max_pool_winners(pool_, window_, whole_.data(), pooled_.data(), winners_.data());
  }
  // The dense gradient of what the convolution made.
  std::vector<float> whole_gradient(std::vector<float>& bias_grad) {
    const IsaCap plain(Isa::kPlain);
    std::vector<float> gradient(whole_.size());
    bias_grad.assign(bias_.size(), 0);
    max_pool_winners_grad(pool_, window_, grad_.data(), winners_.data(), pooled_.data(), gradient.data(),
                          bias_grad.data());
    return gradient;
  }

  ThreadPool pool_{1}, two_{2};
  Conv2dShape shape_;
  Window2d window_;
  std::vector<float> in_, filter_, bias_, whole_, pooled_, grad_;
  std::vector<uint8_t> winners_;
};

TEST_F(WinnersTest, PoolingFindsTheFirstGreatest) {
  for (const Stack& stack : stacks()) {
    start(stack);
    std::vector<float> pooled(pooled_.size());
    max_pool(pool_, DType::kFloat, window_, whole_.data(), pooled.data());
    EXPECT_EQ(pooled, pooled_) << stack.name;
    for (const Isa isa : test_isas()) {
      const IsaCap cap(isa);
      std::vector<uint8_t> winners(winners_.size());
      max_pool_winners(two_, window_, whole_.data(), pooled.data(), winners.data());
      EXPECT_EQ(pooled, pooled_) << stack.name << isa_name(isa);
      EXPECT_EQ(winners, winners_) << stack.name << isa_name(isa);
    }
    std::vector<float> dense(whole_.size()), bias_grad, have = whole_gradient(bias_grad);
    max_pool_grad(pool_, DType::kFloat, window_, whole_.data(), grad_.data(), dense.data());
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = whole_[i] > 0 ? dense[i] : 0;
    EXPECT_LT(worst_error(have, dense), 1e-6) << stack.name;
  }
}

TEST_F(WinnersTest, ConvolutionAndPoolingAreOne) {
  for (const Stack& stack : stacks()) {
    start(stack);
    for (const Isa isa : test_isas()) {
      const IsaCap cap(isa);
      std::vector<float> pooled(pooled_.size());
      std::vector<uint8_t> winners(winners_.size());
      conv2d_max_pool(two_, shape_, window_, in_.data(), filter_.data(), {bias_.data(), true}, pooled.data(),
                      winners.data());
      EXPECT_LT(worst_error(pooled, pooled_), 1e-5) << stack.name << ' ' << isa_name(isa);
      for (std::size_t i = 0; i < winners.size(); ++i) {
        // Where all are shut, or two are as good as equal, any may win.
        if (pooled_[i] > 0 && winners[i] != winners_[i]) {
          ADD_FAILURE() << stack.name << ' ' << isa_name(isa) << " winner " << i;
        }
      }
    }
  }
}

TEST_F(WinnersTest, GradientsAreTheDenseOnes) {
  for (const Stack& stack : stacks()) {
    start(stack);
    std::vector<float> bias_want;
    const std::vector<float> gradient = whole_gradient(bias_want);
    std::vector<float> filter_want(filter_.size()), in_want(in_.size());
    conv2d_backward_filter_reference(pool_, DType::kFloat, shape_, in_.data(), gradient.data(), filter_want.data());
    conv2d_backward_data_reference(pool_, DType::kFloat, shape_, filter_.data(), gradient.data(), in_want.data());
    for (const Isa isa : test_isas()) {
      const IsaCap cap(isa);
      std::vector<float> filter(filter_.size()), bias(bias_.size()), in(in_.size());
      conv2d_max_pool_backward_filter(two_, shape_, window_, in_.data(), grad_.data(), winners_.data(), pooled_.data(),
                                      filter.data(), bias.data());
      conv2d_max_pool_backward_data(two_, shape_, window_, filter_.data(), grad_.data(), winners_.data(),
                                    pooled_.data(), in.data(), nullptr);
      const std::string where = stack.name + ' ' + std::string(isa_name(isa));
      EXPECT_LT(worst_error(filter, filter_want), 1e-4) << where;
      EXPECT_LT(worst_error(bias, bias_want), 1e-4) << where;
      EXPECT_LT(worst_error(in, in_want), 1e-4) << where;

      std::vector<float> alone(filter.size()), gated(in.size());
      conv2d_max_pool_backward_filter(pool_, shape_, window_, in_.data(), grad_.data(), winners_.data(), pooled_.data(),
                                      alone.data(), bias.data());
      EXPECT_TRUE(same_bits(alone, filter)) << where;
      conv2d_max_pool_backward_data(pool_, shape_, window_, filter_.data(), grad_.data(), winners_.data(),
                                    pooled_.data(), gated.data(), in_.data());
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = in_[i] > 0 ? in[i] : 0;
      EXPECT_EQ(gated, in) << where;
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0::kernels
