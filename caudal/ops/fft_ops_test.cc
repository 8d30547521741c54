#include "caudal/ops/fft_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"
#include "tests/harness/random_tensor.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;

void fft_samples(Samples& samples, int rank) {
  const std::vector<std::vector<std::int64_t>> sizes = {{1, 1, 1}, {2, 3, 4}, {3, 1, 5}, {1, 2, 7}};
  for (const DType t : {complex64, complex128}) {
    for (const auto& size : sizes) {
      std::vector<std::int64_t> dims(size.end() - rank, size.end());
      samples.add({.inputs = {samples.random(t, Shape(dims))}, .attrs = {{"Tcomplex", t}}});
      dims.insert(dims.begin(), 2);
      samples.add({.inputs = {samples.random(t, Shape(dims))}, .attrs = {{"Tcomplex", t}}});
    }
    const std::vector<std::int64_t> empty(static_cast<std::size_t>(rank), 0);
    samples.add({.inputs = {samples.random(t, Shape(empty))}, .attrs = {{"Tcomplex", t}}});
  }
  if (rank > 1) samples.error({samples.random(complex64, {3})}, Code::kInvalidArgument);
  samples.error({samples.random(complex64, {})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(FFT) { fft_samples(samples, 1); }
CAUDAL_OP_SAMPLES(IFFT) { fft_samples(samples, 1); }
CAUDAL_OP_SAMPLES(FFT2D) { fft_samples(samples, 2); }
CAUDAL_OP_SAMPLES(IFFT2D) { fft_samples(samples, 2); }
CAUDAL_OP_SAMPLES(FFT3D) { fft_samples(samples, 3); }
CAUDAL_OP_SAMPLES(IFFT3D) { fft_samples(samples, 3); }

void real_fft_samples(Samples& samples, int rank, bool inverse) {
  const std::vector<std::vector<int>> all = {{1, 1, 1}, {2, 3, 4}, {3, 2, 5}, {1, 3, 6}, {2, 2, 2}};
  for (const bool wide : {false, true}) {
    const AttrMap attrs{{"Treal", wide ? float64 : float32}, {"Tcomplex", wide ? complex128 : complex64}};
    const DType in = wide ? (inverse ? complex128 : float64) : (inverse ? complex64 : float32);
    for (const auto& sizes : all) {
      const std::vector<int> lengths(sizes.end() - rank, sizes.end());
      std::vector<std::int64_t> dims(lengths.begin(), lengths.end());
      if (inverse) dims.back() = dims.back() / 2 + 1;
      dims.insert(dims.begin(), 2);
      samples.add({.inputs = {samples.random(in, Shape(dims)), Tensor(lengths)}, .attrs = attrs});
      // More than the transform needs.
      for (std::size_t i = 1; i < dims.size(); ++i) dims[i] += 1;
      samples.add({.inputs = {samples.random(in, Shape(dims)), Tensor(lengths)}, .attrs = attrs});
    }
  }
  const std::vector<int> five(static_cast<std::size_t>(rank), 5);
  const DType in = inverse ? complex64 : float32;
  samples.error({samples.random(in, Shape(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 2))), Tensor(five)},
                Code::kInvalidArgument);
  samples.error({samples.random(in, {}), Tensor(five)}, Code::kInvalidArgument);
  samples.error({samples.random(in, {9, 9, 9}), Tensor(std::vector<int>(static_cast<std::size_t>(rank), -1))},
                Code::kInvalidArgument);
  samples.error({samples.random(in, {9, 9, 9}), Tensor(std::vector<int>(static_cast<std::size_t>(rank) + 1, 2))},
                Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(RFFT) { real_fft_samples(samples, 1, false); }
CAUDAL_OP_SAMPLES(RFFT2D) { real_fft_samples(samples, 2, false); }
CAUDAL_OP_SAMPLES(RFFT3D) { real_fft_samples(samples, 3, false); }
CAUDAL_OP_SAMPLES(IRFFT) { real_fft_samples(samples, 1, true); }
CAUDAL_OP_SAMPLES(IRFFT2D) { real_fft_samples(samples, 2, true); }
CAUDAL_OP_SAMPLES(IRFFT3D) { real_fft_samples(samples, 3, true); }

class FftTest : public testing::Test {
 protected:
  Tensor run(const Output& output) { return Session().run(output); }
  Graph graph_;
  GraphScope scope_{graph_};
};

Tensor by_definition(const Tensor& x) {
  const auto in = x.flat<std::complex<double>>();
  const auto n = static_cast<int>(in.size());
  Tensor y(complex128, x.shape());
  for (int k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (int j = 0; j < n; ++j) {
      const double turns = static_cast<double>(static_cast<std::int64_t>(j) * k % n) / n;
      sum += in[static_cast<std::size_t>(j)] * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
    y.data<std::complex<double>>()[k] = sum;
  }
  return y;
}

// Lengths of every kind: powers, small factors, large primes (by the chirp transform) and their multiples.
TEST_F(FftTest, AgreesWithTheDefinition) {
  for (const int n : {1, 2, 8, 60, 61, 67, 101, 134, 509, 1018}) {
    const Tensor x = harness::random_tensor(complex128, {n});
    const Tensor want = by_definition(x);
    EXPECT_EQ(harness::difference(want, run(signal::fft(x)), 1e-11), "") << n;
    EXPECT_EQ(harness::difference(x, run(signal::ifft(want)), 1e-11), "") << n;
  }
}

TEST_F(FftTest, RealTransformsPadAndCut) {
  // tf.signal.rfft([1., 2., 3.], fft_length=[4]) and fft_length=[2]
  const Output x = constant({1.0, 2.0, 3.0});
  using C = std::complex<float>;
  EXPECT_EQ(harness::difference(Tensor::from<C>({3}, {C(6, 0), C(-2, -2), C(2, 0)}),
                                run(signal::rfft(x, {.fft_length = Operand({4})})), 1e-6),
            "");
  EXPECT_EQ(harness::difference(Tensor::from<C>({2}, {C(3, 0), C(-1, 0)}),
                                run(signal::rfft(x, {.fft_length = Operand({2})})), 1e-6),
            "");
}

TEST_F(FftTest, InversesOfRealTransforms) {
  const Tensor x = harness::random_tensor(float64, {2, 4, 6, 8});
  EXPECT_EQ(harness::difference(x, run(signal::irfft(signal::rfft(x))), 1e-12), "");
  EXPECT_EQ(harness::difference(x, run(signal::irfft2d(signal::rfft2d(x))), 1e-12), "");
  EXPECT_EQ(harness::difference(x, run(signal::irfft3d(signal::rfft3d(x))), 1e-12), "");
  const Output odd = constant(harness::random_tensor(float64, {7}));
  EXPECT_EQ(harness::difference(run(odd), run(signal::irfft(signal::rfft(odd), {.fft_length = Operand({7})})), 1e-12),
            "");
}

}  // namespace
}  // namespace caudal::inline v0
