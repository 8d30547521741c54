#include "caudal/kernels/depthwise.h"

#include <gtest/gtest.h>

#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

Window2d make_window(int64_t batch, int64_t height, int64_t width, int64_t channels, int64_t stride, int64_t dilation) {
  Window2d w;
  w.batch = batch, w.height = height, w.width = width, w.channels = channels;
  w.window_height = 3, w.window_width = 2;
  w.stride_height = w.stride_width = stride, w.dilation_height = w.dilation_width = dilation;
  w.rows = same_padding(height, 3, stride, dilation), w.columns = same_padding(width, 2, stride, dilation);
  return w;
}

// A depthwise filter is a grouped one with one input channel a group: [taps, c, m] is [taps, 1, c * m].
template <class T>
void compare_with_grouped(double tolerance) {
  ThreadPool one(1), two(2);
  const DType dtype = dtype_of<T>();
  for (const Window2d& w :
       {make_window(20, 9, 8, 17, 1, 1), make_window(2, 9, 8, 3, 2, 1), make_window(1, 9, 8, 3, 1, 2)}) {
    for (const int64_t m : {1, 3}) {
      const Conv2dShape grouped{w, w.channels * m, w.channels};
      const auto in = random_values<T>(w.in_pixels() * w.channels, 1), filter = random_values<T>(6 * w.channels * m, 2);
      const auto grad = random_values<T>(w.out_pixels() * w.channels * m, 3);
      std::vector<T> expected[3] = {std::vector<T>(grad.size()), std::vector<T>(in.size()),
                                    std::vector<T>(filter.size())};
      std::vector<T> result[3] = {expected[0], expected[1], expected[2]},
                     again[3] = {expected[0], expected[1], expected[2]};
      conv2d_reference(one, dtype, grouped, in.data(), filter.data(), expected[0].data());
      conv2d_backward_data_reference(one, dtype, grouped, filter.data(), grad.data(), expected[1].data());
      conv2d_backward_filter_reference(one, dtype, grouped, in.data(), grad.data(), expected[2].data());
      for (ThreadPool* pool : {&one, &two}) {
        auto& r = pool == &one ? result : again;
        depthwise_conv2d(*pool, dtype, w, m, in.data(), filter.data(), r[0].data());
        depthwise_conv2d_backward_data(*pool, dtype, w, m, filter.data(), grad.data(), r[1].data());
        depthwise_conv2d_backward_filter(*pool, dtype, w, m, in.data(), grad.data(), r[2].data());
      }
      for (int i = 0; i < 3; ++i) {
        ASSERT_LT(worst_error(result[i], expected[i]), tolerance) << i;
        ASSERT_TRUE(same_bits(result[i], again[i])) << i;
      }
    }
  }
}

TEST(Depthwise, IsTheGroupedConvolution) {
  compare_with_grouped<float>(5e-5);
  compare_with_grouped<double>(1e-12);
  compare_with_grouped<Half>(2e-3);
  compare_with_grouped<BFloat16>(2e-2);
}

}  // namespace
}  // namespace caudal::inline v0::kernels
