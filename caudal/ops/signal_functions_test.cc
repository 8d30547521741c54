#include "caudal/ops/signal_functions.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

using Floats = std::vector<float>;

// All values are those of tf.signal in TensorFlow 2.21.
class SignalTest : public testing::Test {
 protected:
  void expect(const Tensor& want, const Output& got, double tolerance = 1e-6) {
    EXPECT_EQ(harness::difference(want, Session().run(got), tolerance), "");
  }
  Graph graph_;
  GraphScope scope_{graph_};
  const Output x_ = constant(Floats{1, 2, 4, 3, -1, 0.5F, 2.5F});
};

TEST_F(SignalTest, Windows) {
  expect(Tensor(Floats{0, 0.5F, 1, 0.5F}), signal::hann_window(4));
  expect(Tensor(Floats{0, 0.5F, 1, 0.5F, 0}), signal::hann_window(5));
  expect(Tensor(Floats{1}), signal::hann_window(1));
  expect(Tensor(Floats{0.08F, 0.77F, 0.77F, 0.08F}), signal::hamming_window(4, {.periodic = false}));
  EXPECT_THROW(signal::hann_window(0), Error);
}

TEST_F(SignalTest, Frames) {
  expect(Tensor::from<float>({3, 3}, {1, 2, 4, 4, 3, -1, -1, 0.5F, 2.5F}), signal::frame(x_, 3, 2));
  expect(Tensor::from<float>({4, 4}, {1, 2, 4, 3, 4, 3, -1, 0.5F, -1, 0.5F, 2.5F, 9, 2.5F, 9, 9, 9}),
         signal::frame(x_, 4, 2, {.pad_end = true, .pad_value = 9}));
  const Output frames = constant(Tensor::from<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  expect(Tensor(Floats{1, 2, 7, 5, 13, 8, 9}), signal::overlap_and_add(frames, 2));
  EXPECT_EQ(Session().run(signal::frame(x_, 9, 1)).shape(), Shape({0, 9}));
}

TEST_F(SignalTest, CosineTransforms) {
  expect(Tensor(Floats{24, 3.759548F, -2.3215518F, -13.396425F, 4.524459F, 3.5918782F, -2.1539893F}), signal::dct(x_));
  expect(Tensor(Floats{4.535574F, 1.0047816F, -0.62046087F, -3.5803456F, 1.2092127F, 0.95996994F, -0.57567793F}),
         signal::dct(x_, {.orthonormal = true}));
  expect(Tensor(Floats{17.09796F, 1.0137513F, -2.3702328F, -14, 4.2941685F, 1.9155619F, -0.95120865F}),
         signal::idct(x_));
  expect(Tensor(Floats{4.6803255F, 0.38163963F, -0.52276814F, -3.6309543F, 1.2583681F, 0.6226584F, -0.14351788F}),
         signal::idct(x_, {.orthonormal = true}));
}

TEST_F(SignalTest, ShortTimeTransforms) {
  using C = std::complex<float>;
  const Output transforms = signal::stft(x_, 4, 2);
  expect(Tensor::from<C>({2, 3}, {C(6.5F, 0), C(-4, 0.5F), C(1.5F, 0), C(0.75F, 0), C(1, -1.25F), C(-2.75F, 0)}),
         transforms);
  expect(Tensor(Floats{0, 0.5F, 4, 1.5F, -1, 0.125F}), signal::inverse_stft(transforms, 4, 2));
}

TEST_F(SignalTest, Shifts) {
  expect(Tensor(Floats{-1, 0.5F, 2.5F, 1, 2, 4, 3}), signal::fftshift(x_));
  expect(Tensor(Floats{3, -1, 0.5F, 2.5F, 1, 2, 4}), signal::ifftshift(x_));
  const Tensor y = harness::random_tensor(float32, {3, 4, 5});
  expect(y, signal::ifftshift(signal::fftshift(y)));
  expect(y, signal::ifftshift(signal::fftshift(y, {.axes = {1}}), {.axes = {-2}}));
}

}  // namespace
}  // namespace caudal::inline v0
