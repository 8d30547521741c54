#include "caudal/kernels/conv2d.h"

#include <gtest/gtest.h>

#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

Conv2dShape make_shape(int64_t batch, int64_t height, int64_t width, int64_t channels, int64_t filter_height,
                       int64_t filter_width, int64_t out_channels, int64_t stride, int64_t dilation, bool same) {
  Window2d w;
  w.batch = batch, w.height = height, w.width = width, w.channels = channels;
  w.window_height = filter_height, w.window_width = filter_width;
  w.stride_height = w.stride_width = stride, w.dilation_height = w.dilation_width = dilation;
  w.rows = (same ? same_padding : valid_padding)(height, filter_height, stride, dilation);
  w.columns = (same ? same_padding : valid_padding)(width, filter_width, stride, dilation);
  return {w, out_channels, 1};
}

std::vector<Conv2dShape> shapes() {
  std::vector<Conv2dShape> all = {
      make_shape(3, 14, 14, 6, 5, 5, 16, 1, 1, false),  // LeNet conv2
      make_shape(5, 28, 28, 1, 5, 5, 6, 1, 1, true),    // LeNet conv1
      make_shape(2, 15, 14, 32, 3, 3, 64, 2, 1, true),  // book conv2, odd height
      make_shape(9, 7, 9, 5, 3, 2, 33, 1, 1, true),     // uneven everything, more images than partial sums
      make_shape(2, 12, 11, 3, 3, 3, 20, 1, 2, true),   // dilated
      make_shape(1, 9, 9, 4, 2, 3, 7, 2, 2, false),     // dilated, with stride
      make_shape(2, 6, 5, 40, 1, 1, 70, 1, 1, false),   // pointwise
      make_shape(2, 9, 9, 8, 1, 1, 16, 3, 1, true),     // pointwise with stride: no window reads the rest
      make_shape(2, 3, 2, 2, 5, 5, 4, 1, 1, true),      // filter larger than the image
      make_shape(1, 40, 37, 3, 8, 8, 32, 4, 1, false),  // Nature conv1, small
      make_shape(2, 4, 4, 600, 3, 3, 16, 1, 1, true)};  // long patches
  Conv2dShape padded = make_shape(2, 8, 9, 3, 3, 3, 5, 2, 1, false);
  padded.window.rows = explicit_padding(8, 3, 2, 1, 3, 1);
  padded.window.columns = explicit_padding(9, 3, 2, 1, 0, 4);
  all.push_back(padded);
  return all;
}

template <class T>
void compare_with_reference(double tolerance) {
  ThreadPool one(1), two(2);
  const DType dtype = dtype_of<T>();
  int index = 0;
  for (const Conv2dShape& s : shapes()) {
    const Window2d& w = s.window;
    const auto in = random_values<T>(w.in_pixels() * w.channels, 1),
               filter = random_values<T>(s.patch() * s.out_channels, 2);
    const auto grad = random_values<T>(w.out_pixels() * s.out_channels, 3), bias = random_values<T>(s.out_channels, 4);
    const ConvTail tail{bias.data(), true};
    std::vector<T> out(grad.size()), data(in.size()), weights(filter.size());
    conv2d_reference(one, dtype, s, in.data(), filter.data(), out.data(), tail);
    conv2d_backward_data_reference(one, dtype, s, filter.data(), grad.data(), data.data());
    conv2d_backward_filter_reference(one, dtype, s, in.data(), grad.data(), weights.data());
    for (const Isa isa : test_isas()) {
      const IsaCap cap(isa);
      std::vector<T> results[2][3];
      for (ThreadPool* pool : {&one, &two}) {
        auto& r = results[pool == &two];
        const T junk = static_cast<T>(7.0F);
        r[0].assign(out.size(), junk), r[1].assign(data.size(), junk), r[2].assign(weights.size(), junk);
        conv2d(*pool, dtype, s, in.data(), filter.data(), r[0].data(), tail);
        conv2d_backward_data(*pool, dtype, s, filter.data(), grad.data(), r[1].data());
        conv2d_backward_filter(*pool, dtype, s, in.data(), grad.data(), r[2].data());
      }
      ASSERT_LT(worst_error(results[0][0], out), tolerance) << "forward of shape " << index << " " << isa_name(isa);
      ASSERT_LT(worst_error(results[0][1], data), tolerance) << "data of shape " << index << " " << isa_name(isa);
      ASSERT_LT(worst_error(results[0][2], weights), tolerance) << "filter of shape " << index << " " << isa_name(isa);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(results[0][i], results[1][i])) << i << " of shape " << index;
    }
    ++index;
  }
}

TEST(Conv2d, AgreesWithTheReference) {
  compare_with_reference<float>(1e-4);
  compare_with_reference<double>(1e-12);
  compare_with_reference<Half>(4e-3);
  compare_with_reference<BFloat16>(3e-2);
}

TEST(Conv2d, ReferenceIsTheAdjointOfItself) {
  // <grad, conv(x)> = <x, backward_data(grad)> = <filter, backward_filter(grad)>.
  ThreadPool pool(1);
  for (Conv2dShape s : shapes()) {
    if (s.window.channels % 2 == 0 && s.out_channels % 2 == 0) s.groups = 2;
    const Window2d& w = s.window;
    const auto x = random_values<double>(w.in_pixels() * w.channels, 1);
    const auto filter = random_values<double>(s.patch() * s.out_channels, 2);
    const auto grad = random_values<double>(w.out_pixels() * s.out_channels, 3);
    std::vector<double> out(grad.size()), data(x.size()), weights(filter.size());
    conv2d(pool, DType::kDouble, s, x.data(), filter.data(), out.data());
    conv2d_backward_data(pool, DType::kDouble, s, filter.data(), grad.data(), data.data());
    conv2d_backward_filter(pool, DType::kDouble, s, x.data(), grad.data(), weights.data());
    double a = 0, b = 0, c = 0;
    for (std::size_t i = 0; i < out.size(); ++i) a += out[i] * grad[i];
    for (std::size_t i = 0; i < x.size(); ++i) b += x[i] * data[i];
    for (std::size_t i = 0; i < filter.size(); ++i) c += filter[i] * weights[i];
    EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(a)));
    EXPECT_NEAR(a, c, 1e-9 * (1 + std::abs(a)));
  }
}

TEST(Conv2d, KnownValues) {
  ThreadPool pool(1);
  const Conv2dShape s = make_shape(1, 2, 2, 1, 2, 2, 1, 1, 1, true);
  const float x[4] = {1, 2, 3, 4}, filter[4] = {1, 10, 100, 1000};
  for (const Isa isa : test_isas()) {
    const IsaCap cap(isa);
    float out[4];
    conv2d(pool, DType::kFloat, s, x, filter, out);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{4321, 402, 43, 4}));
    // The transposed convolution crops from the other side.
    conv2d_backward_data(pool, DType::kFloat, s, filter, x, out);
    EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{1, 12, 103, 1234}));
  }
}

TEST(Conv2d, IntegersAndEmptyShapes) {
  ThreadPool pool(2);
  const int32_t x[4] = {1, 2, 3, 4}, filter[1] = {5};
  int32_t out[4];
  conv2d(pool, DType::kInt32, make_shape(1, 2, 2, 1, 1, 1, 1, 1, 1, true), x, filter, out);
  EXPECT_EQ(std::vector<int32_t>(out, out + 4), (std::vector<int32_t>{5, 10, 15, 20}));
  const Conv2dShape none = make_shape(0, 5, 5, 2, 3, 3, 2, 1, 1, true);
  std::vector<float> gradient(36, 7);
  conv2d(pool, DType::kFloat, none, nullptr, gradient.data(), nullptr);
  conv2d_backward_filter(pool, DType::kFloat, none, nullptr, nullptr, gradient.data());
  EXPECT_EQ(gradient, std::vector<float>(36, 0));
  const Conv2dShape too_small = make_shape(1, 2, 2, 1, 3, 3, 1, 1, 1, false);
  EXPECT_EQ(too_small.window.out_pixels(), 0);
  std::vector<float> data(4, 7);
  conv2d_backward_data(pool, DType::kFloat, too_small, gradient.data(), nullptr, data.data());
  EXPECT_EQ(data, std::vector<float>(4, 0));
}

TEST(Window, SamePaddingPutsTheOddElementAtTheEnd) {
  const int64_t cases[][6] = {{28, 2, 2, 14, 0, 0}, {8, 2, 2, 4, 0, 0}, {5, 2, 1, 5, 0, 1}, {5, 2, 2, 3, 0, 1},
                              {7, 4, 2, 4, 1, 2},   {6, 3, 2, 3, 0, 1}, {4, 1, 2, 2, 0, 0}, {10, 3, 4, 3, 0, 1}};
  for (const auto& c : cases) {
    EXPECT_EQ(same_padding(c[0], c[1], c[2]), (PaddedAxis{c[3], c[4], c[5]})) << c[0] << "," << c[1] << "," << c[2];
  }
  EXPECT_EQ(same_padding(10, 3, 1, 4), (PaddedAxis{10, 4, 4}));
  EXPECT_EQ(valid_padding(10, 3, 2), (PaddedAxis{4, 0, 0}));
  EXPECT_EQ(valid_padding(2, 3, 1), (PaddedAxis{0, 0, 0}));
  EXPECT_EQ(explicit_padding(2, 3, 1, 1, 1, 0), (PaddedAxis{1, 1, 0}));
}

}  // namespace
}  // namespace caudal::inline v0::kernels
