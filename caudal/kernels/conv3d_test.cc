#include "caudal/kernels/conv3d.h"

#include <gtest/gtest.h>

#include "caudal/kernels/test_util.h"

namespace caudal::inline v0::kernels {
namespace {

Conv3dShape make_shape(int64_t batch, const Window3d::Sizes& in, int64_t channels, const Window3d::Sizes& window,
                       int64_t out_channels, int64_t stride, int64_t dilation, bool same, int64_t groups = 1) {
  Window3d w;
  w.batch = batch, w.in = in, w.channels = channels, w.window = window;
  w.stride = {stride, stride, stride}, w.dilation = {dilation, dilation, dilation};
  for (std::size_t d = 0; d < 3; ++d) {
    w.out[d] = (same ? same_padding : valid_padding)(in[d], window[d], stride, dilation);
  }
  return {w, out_channels, groups};
}

std::vector<Conv3dShape> shapes() {
  return {make_shape(2, {4, 5, 6}, 3, {2, 3, 3}, 7, 1, 1, true),
          make_shape(1, {5, 7, 6}, 2, {3, 3, 2}, 5, 2, 1, false),
          make_shape(2, {6, 6, 7}, 1, {2, 2, 3}, 4, 1, 2, true),
          make_shape(1, {2, 3, 2}, 4, {5, 5, 5}, 3, 1, 1, true),  // larger than the volume
          make_shape(3, {3, 3, 3}, 6, {1, 1, 1}, 9, 2, 1, true),  // no window sees the rest
          make_shape(2, {3, 4, 4}, 6, {2, 2, 2}, 4, 1, 1, true, 2),
          make_shape(2, {12, 40, 40}, 16, {3, 3, 3}, 2, 1, 1, true)};  // more than one block of patches
}

template <class T>
void compare_with_reference(double tolerance) {
  ThreadPool one(1), two(2);
  int index = 0;
  for (const Conv3dShape& s : shapes()) {
    const int64_t in_size = s.window.batch * s.window.in_pixels() * s.window.channels;
    const int64_t out_size = s.window.batch * s.window.out_pixels() * s.out_channels;
    const auto in = random_values<T>(in_size, 1), filter = random_values<T>(s.patch() * s.out_channels, 2),
               grad = random_values<T>(out_size, 3);
    const auto wide = [](const std::vector<T>& values) {
      std::vector<double> result;
      for (const T& value : values) result.push_back(static_cast<double>(value));
      return result;
    };
    std::vector<double> out(grad.size()), data(in.size()), weights(filter.size());
    conv3d_reference(s, wide(in).data(), wide(filter).data(), out.data());
    conv3d_backward_data_reference(s, wide(filter).data(), wide(grad).data(), data.data());
    conv3d_backward_filter_reference(s, wide(in).data(), wide(grad).data(), weights.data());
    std::vector<T> results[2][3];
    for (ThreadPool* pool : {&one, &two}) {
      auto& r = results[pool == &two];
      r[0].resize(grad.size()), r[1].resize(in.size()), r[2].resize(filter.size());
      conv3d(*pool, dtype_of<T>(), s, in.data(), filter.data(), r[0].data());
      conv3d_backward_data(*pool, dtype_of<T>(), s, filter.data(), grad.data(), r[1].data());
      conv3d_backward_filter(*pool, dtype_of<T>(), s, in.data(), grad.data(), r[2].data());
    }
    const std::vector<double>* expected[] = {&out, &data, &weights};
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(results[0][pass], results[1][pass]) << "shape " << index << " pass " << pass;
      double largest = 0;
      for (std::size_t i = 0; i < expected[pass]->size(); ++i) {
        const double want = (*expected[pass])[i];
        largest = std::max(largest, std::abs(static_cast<double>(results[0][pass][i]) - want) / (1 + std::abs(want)));
      }
      EXPECT_LT(largest, tolerance) << "shape " << index << " pass " << pass;
    }
    ++index;
  }
}

TEST(Conv3d, FloatAgreesWithReference) { compare_with_reference<float>(2e-4); }
TEST(Conv3d, DoubleAgreesWithReference) { compare_with_reference<double>(1e-12); }

}  // namespace
}  // namespace caudal::inline v0::kernels
