#include "caudal/kernels/pool.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

Window2d make_window(int64_t batch, int64_t height, int64_t width, int64_t channels, int64_t size, int64_t stride,
                     bool same) {
  Window2d w;
  w.batch = batch, w.height = height, w.width = width, w.channels = channels;
  w.window_height = w.window_width = size, w.stride_height = w.stride_width = stride;
  w.rows = (same ? same_padding : valid_padding)(height, size, stride, 1);
  w.columns = (same ? same_padding : valid_padding)(width, size, stride, 1);
  return w;
}

const Window2d kWindows[] = {make_window(50, 28, 28, 6, 2, 2, false), make_window(2, 7, 6, 5, 3, 2, true),
                             make_window(3, 5, 5, 17, 3, 1, true),    make_window(1, 4, 4, 1, 2, 3, true),
                             make_window(2, 2, 2, 3, 5, 1, true),     make_window(2, 2, 2, 3, 5, 1, false)};

struct Plain {
  std::vector<float> max, mean, max_grad, mean_grad;
  std::vector<int64_t> place;
};

// All of it by the definition, an output element at a time.
Plain plain(const Window2d& w, const std::vector<float>& in, const std::vector<float>& grad) {
  Plain p;
  p.max_grad.resize(in.size()), p.mean_grad.resize(in.size());
  for (int64_t i = 0; i < w.out_pixels() * w.channels; ++i) {
    const int64_t c = i % w.channels, x = i / w.channels % w.out_width();
    const int64_t y = i / w.channels / w.out_width() % w.out_height(),
                  b = i / w.channels / w.out_width() / w.out_height();
    std::vector<int64_t> inside;
    for (int64_t dy = 0; dy < w.window_height; ++dy) {
      for (int64_t dx = 0; dx < w.window_width; ++dx) {
        const int64_t row = y * w.stride_height + dy - w.rows.before,
                      column = x * w.stride_width + dx - w.columns.before;
        if (row >= 0 && row < w.height && column >= 0 && column < w.width) {
          inside.push_back(((b * w.height + row) * w.width + column) * w.channels + c);
        }
      }
    }
    int64_t best = inside[0];
    double sum = 0;
    for (const int64_t at : inside) {
      if (in[at] > in[best]) best = at;
      sum += in[at];
    }
    p.max.push_back(in[best]), p.place.push_back(best), p.mean.push_back(static_cast<float>(sum / inside.size()));
    p.max_grad[best] += grad[i];
    for (const int64_t at : inside) p.mean_grad[at] += grad[i] / static_cast<float>(inside.size());
  }
  return p;
}

TEST(Pool, AgreesWithTheDefinition) {
  ThreadPool pool(2);
  for (const Window2d& w : kWindows) {
    std::vector<float> in = random_values(w.in_pixels() * w.channels);
    for (float& value : in) value = std::round(value);  // many ties
    const std::vector<float> grad = random_values(w.out_pixels() * w.channels, 2);
    const Plain expected = plain(w, in, grad);
    std::vector<float> out(grad.size()), back(in.size(), 7);
    max_pool(pool, DType::kFloat, w, in.data(), out.data());
    EXPECT_EQ(out, expected.max);
    max_pool_grad(pool, DType::kFloat, w, in.data(), grad.data(), back.data());
    EXPECT_EQ(back, expected.max_grad);
    std::vector<int64_t> place(grad.size());
    max_pool_with_argmax(pool, DType::kFloat, w, in.data(), out.data(), DType::kInt64, true, place.data());
    EXPECT_EQ(out, expected.max);
    EXPECT_EQ(place, expected.place);
    back.assign(in.size(), 7);
    EXPECT_EQ(
        max_pool_grad_with_argmax(pool, DType::kFloat, w, grad.data(), DType::kInt64, true, place.data(), back.data()),
        -1);
    EXPECT_EQ(back, expected.max_grad);
    avg_pool(pool, DType::kFloat, w, in.data(), out.data());
    EXPECT_LT(worst_error(out, expected.mean), 1e-6);
    avg_pool_grad(pool, DType::kFloat, w, grad.data(), back.data());
    EXPECT_LT(worst_error(back, expected.mean_grad), 1e-6);
  }
}

TEST(Pool, OtherTypes) {
  ThreadPool pool(1);
  const Window2d w = make_window(1, 1, 4, 1, 2, 2, true);
  const int8_t in[4] = {-5, -3, 7, 2};
  int8_t out[2];
  max_pool(pool, DType::kInt8, w, in, out);
  EXPECT_TRUE(out[0] == -3 && out[1] == 7);
  const Half halves[4] = {Half(1.0F), Half(2.0F), Half(NAN), Half(5.0F)};
  Half result[2];
  max_pool(pool, DType::kHalf, w, halves, result);
  EXPECT_TRUE(static_cast<float>(result[0]) == 2 && std::isnan(static_cast<float>(result[1])));
  avg_pool(pool, DType::kHalf, w, halves, result);
  EXPECT_EQ(static_cast<float>(result[0]), 1.5F);
  EXPECT_THROW(avg_pool(pool, DType::kInt32, w, in, out), Error);
}

TEST(Pool, TheFirstOfEqualMaximaGetsTheGradient) {
  ThreadPool pool(1);
  const Window2d w = make_window(1, 2, 2, 1, 2, 2, false);
  const float in[4] = {1, 2, 2, 2}, grad[1] = {3};
  float back[4];
  max_pool_grad(pool, DType::kFloat, w, in, grad, back);
  EXPECT_EQ(std::vector<float>(back, back + 4), (std::vector<float>{0, 3, 0, 0}));
}

TEST(Pool, ForeignIndicesAreChecked) {
  ThreadPool pool(1);
  const Window2d w = make_window(2, 2, 2, 1, 2, 2, false);
  const float grad[2] = {1, 1};
  float back[8];
  const int32_t bad[2] = {0, 4};
  EXPECT_EQ(max_pool_grad_with_argmax(pool, DType::kFloat, w, grad, DType::kInt32, false, bad, back), 1);
  const int32_t other_image[2] = {4, 4};
  EXPECT_EQ(max_pool_grad_with_argmax(pool, DType::kFloat, w, grad, DType::kInt32, true, other_image, back), 0);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
