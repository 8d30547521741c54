#include "caudal/kernels/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caudal/kernels/dispatch.h"

namespace caudal::inline v0::kernels {
namespace {

using Types = TypeList<float, Half, BFloat16>;

// Values of one piece of work.
constexpr int64_t kGrain = 32768;

// Rows of `channels * inner` values that make one piece.
int64_t rows_per_piece(const ChannelLayout& layout) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, layout.channels * layout.inner));
}

// Calls value(index, channel) for all values, in parallel over rows.
template <class Value>
void for_values(ThreadPool& pool, const ChannelLayout& layout, const Value& value) {
  pool.parallel_for(layout.outer, rows_per_piece(layout), [&](int64_t begin, int64_t end) {
    int64_t at = begin * layout.channels * layout.inner;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < layout.channels; ++c) {
        for (int64_t i = 0; i < layout.inner; ++i) value(at++, c);
      }
    }
  });
}

// Two sums per channel, of first(index, channel) and second(index, channel); the second follows the first in the
// result. Pieces combine in order.
template <class First, class Second>
std::vector<double> sums(ThreadPool& pool, const ChannelLayout& layout, const First& first, const Second& second) {
  const auto channels = static_cast<size_t>(layout.channels);
  const int64_t pieces = ThreadPool::num_chunks(layout.outer, rows_per_piece(layout));
  std::vector<double> partial(static_cast<size_t>(pieces) * 2 * channels);
  pool.parallel_chunks(layout.outer, rows_per_piece(layout), [&](int64_t piece, int64_t begin, int64_t end) {
    double* a = partial.data() + static_cast<size_t>(piece) * 2 * channels;
    double* b = a + channels;
    int64_t at = begin * layout.channels * layout.inner;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < layout.channels; ++c) {
        for (int64_t i = 0; i < layout.inner; ++i, ++at) {
          a[c] += first(at, c);
          b[c] += second(at, c);
        }
      }
    }
  });
  std::vector<double> total(2 * channels);
  for (size_t i = 0; i < partial.size(); ++i) total[i % total.size()] += partial[i];
  return total;
}

float inverse_deviation(float variance, float epsilon) { return 1.0F / std::sqrt(variance + epsilon); }

}  // namespace

void batch_statistics(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* x, float* mean,
                      float* variance) {
  const auto nothing = [](int64_t, int64_t) { return 0.0; };
  const auto count = static_cast<double>(layout.count());
  dispatch(Types(), dtype, "batch normalisation", [&]<class T>() {
    const T* in = static_cast<const T*>(x);
    const auto total = sums(
        pool, layout, [&](int64_t i, int64_t) { return static_cast<float>(in[i]); }, nothing);
    for (int64_t c = 0; c < layout.channels; ++c) mean[c] = static_cast<float>(total[static_cast<size_t>(c)] / count);
    const auto squares = sums(
        pool, layout,
        [&](int64_t i, int64_t c) {
          const double apart = static_cast<double>(static_cast<float>(in[i])) - mean[c];
          return apart * apart;
        },
        nothing);
    for (int64_t c = 0; c < layout.channels; ++c) {
      variance[c] = static_cast<float>(squares[static_cast<size_t>(c)] / count);
    }
  });
}

void batch_normalize(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* x, const float* mean,
                     const float* variance, const float* scale, const float* offset, float epsilon, void* y) {
  std::vector<float> factor(static_cast<size_t>(layout.channels));
  for (size_t c = 0; c < factor.size(); ++c) factor[c] = inverse_deviation(variance[c], epsilon) * scale[c];
  const float* factors = factor.data();
  dispatch(Types(), dtype, "batch normalisation", [&]<class T>() {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    for_values(pool, layout, [=](int64_t i, int64_t c) {
      out[i] = static_cast<T>((static_cast<float>(in[i]) - mean[c]) * factors[c] + offset[c]);
    });
  });
}

void batch_normalize_grad(ThreadPool& pool, DType dtype, const ChannelLayout& layout, const void* dy, const void* x,
                          const float* scale, const float* mean, const float* variance, float epsilon, bool training,
                          void* dx, float* dscale, float* doffset) {
  const auto channels = static_cast<size_t>(layout.channels);
  dispatch(Types(), dtype, "batch normalisation", [&]<class T>() {
    const T* grad = static_cast<const T*>(dy);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(dx);
    const auto total = sums(
        pool, layout, [&](int64_t i, int64_t) { return static_cast<float>(grad[i]); },
        [&](int64_t i, int64_t c) {
          return static_cast<double>(static_cast<float>(grad[i])) * (static_cast<float>(in[i]) - mean[c]);
        });
    // dx = factor * (dy - shift - (x - mean) * slope)
    std::vector<float> factor(channels), shift(channels), slope(channels);
    for (size_t c = 0; c < channels; ++c) {
      const float r = inverse_deviation(variance[c], epsilon);
      const auto count = static_cast<double>(layout.count());
      doffset[c] = static_cast<float>(total[c]);
      dscale[c] = static_cast<float>(total[channels + c] * r);
      factor[c] = scale[c] * r;
      if (!training) continue;
      shift[c] = static_cast<float>(total[c] / count);
      slope[c] = static_cast<float>(total[channels + c] / count * r * r);
    }
    const float *f = factor.data(), *s = shift.data(), *k = slope.data();
    for_values(pool, layout, [=](int64_t i, int64_t c) {
      const float apart = static_cast<float>(in[i]) - mean[c];
      out[i] = static_cast<T>(f[c] * (static_cast<float>(grad[i]) - s[c] - apart * k[c]));
    });
  });
}

}  // namespace caudal::inline v0::kernels
