#include "caudal/kernels/depthwise.h"

#include <algorithm>
#include <vector>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kTaskWork = 1 << 16;

// Calls fn(tap, input pixel) for the taps of an output pixel that lie inside the image.
template <class Fn>
void for_taps(const Window2d& w, int64_t image, int64_t y, int64_t x, Fn&& fn) {
  for (int64_t i = 0; i < w.window_height; ++i) {
    const int64_t row = y * w.stride_height + i * w.dilation_height - w.rows.before;
    if (row < 0 || row >= w.height) continue;
    for (int64_t j = 0; j < w.window_width; ++j) {
      const int64_t column = x * w.stride_width + j * w.dilation_width - w.columns.before;
      if (column >= 0 && column < w.width) fn(i * w.window_width + j, (image * w.height + row) * w.width + column);
    }
  }
}

// sums[c * m + k] += a[c] * b[c * m + k].
template <class T>
void multiply_add(int64_t channels, int64_t m, const T* a, const T* b, Wide<T>* __restrict sums) {
  using W = Wide<T>;
  if (m == 1) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<W>(a[c]) * static_cast<W>(b[c]);
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t k = 0; k < m; ++k) sums[c * m + k] += static_cast<W>(a[c]) * static_cast<W>(b[c * m + k]);
  }
}

// sums[c] += sum over k of a[c * m + k] * b[c * m + k].
template <class T>
void multiply_reduce(int64_t channels, int64_t m, const T* a, const T* b, Wide<T>* __restrict sums) {
  using W = Wide<T>;
  if (m == 1) return multiply_add<T>(channels, 1, a, b, sums);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t k = c * m; k < (c + 1) * m; ++k) sums[c] += static_cast<W>(a[k]) * static_cast<W>(b[k]);
  }
}

template <class T>
void store(const std::vector<Wide<T>>& sums, T* out) {
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<T>(sums[i]);
}

template <class T>
void forward_row(const Window2d& w, int64_t m, const T* in, const T* filter, T* out, int64_t row) {
  const int64_t outputs = w.channels * m;
  std::vector<Wide<T>> sums(static_cast<std::size_t>(outputs));
  for (int64_t x = 0; x < w.out_width(); ++x) {
    sums.assign(sums.size(), Wide<T>{0});
    for_taps(w, row / w.out_height(), row % w.out_height(), x, [&](int64_t tap, int64_t source) {
      multiply_add<T>(w.channels, m, in + source * w.channels, filter + tap * outputs, sums.data());
    });
    store<T>(sums, out + (row * w.out_width() + x) * outputs);
  }
}

template <class T>
void backward_data_image(const Window2d& w, int64_t m, const T* filter, const T* grad, T* in_grad, int64_t image) {
  const int64_t outputs = w.channels * m, size = w.height * w.width * w.channels;
  std::vector<Wide<T>> sums(static_cast<std::size_t>(size));
  for (int64_t pixel = 0; pixel < w.out_height() * w.out_width(); ++pixel) {
    const T* slope = grad + (image * w.out_height() * w.out_width() + pixel) * outputs;
    for_taps(w, image, pixel / w.out_width(), pixel % w.out_width(), [&](int64_t tap, int64_t target) {
      multiply_reduce<T>(w.channels, m, slope, filter + tap * outputs,
                         sums.data() + target * w.channels - image * size);
    });
  }
  store<T>(sums, in_grad + image * size);
}

}  // namespace

void depthwise_conv2d(ThreadPool& pool, DType dtype, const Window2d& w, int64_t multiplier, const void* in,
                      const void* filter, void* out) {
  dispatch(FloatTypes{}, dtype, "depthwise convolution", [&]<class T>() {
    const int64_t work = w.out_width() * w.window_height * w.window_width * w.channels * multiplier;
    pool.parallel_for(w.batch * w.out_height(), 1 + kTaskWork / (1 + work), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        forward_row<T>(w, multiplier, static_cast<const T*>(in), static_cast<const T*>(filter), static_cast<T*>(out),
                       row);
      }
    });
  });
}

void depthwise_conv2d_backward_data(ThreadPool& pool, DType dtype, const Window2d& w, int64_t multiplier,
                                    const void* filter, const void* grad, void* in_grad) {
  dispatch(FloatTypes{}, dtype, "gradient of a depthwise convolution", [&]<class T>() {
    pool.parallel_for(w.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        backward_data_image<T>(w, multiplier, static_cast<const T*>(filter), static_cast<const T*>(grad),
                               static_cast<T*>(in_grad), image);
      }
    });
  });
}

void depthwise_conv2d_backward_filter(ThreadPool& pool, DType dtype, const Window2d& w, int64_t multiplier,
                                      const void* in, const void* grad, void* filter_grad) {
  dispatch(FloatTypes{}, dtype, "gradient of a depthwise convolution", [&]<class T>() {
    using W = Wide<T>;
    const int64_t outputs = w.channels * multiplier, rows = w.batch * w.out_height();
    const int64_t elements = w.window_height * w.window_width * outputs;
    const int64_t grain = std::max<int64_t>(1, (rows + 15) / 16), parts = ThreadPool::num_chunks(rows, grain);
    std::vector<W> sums(static_cast<std::size_t>(std::max<int64_t>(1, parts) * elements));
    pool.parallel_chunks(rows, grain, [&](int64_t part, int64_t begin, int64_t end) {
      for (int64_t pixel = begin * w.out_width(); pixel < end * w.out_width(); ++pixel) {
        const int64_t row = pixel / w.out_width();
        for_taps(w, row / w.out_height(), row % w.out_height(), pixel % w.out_width(),
                 [&](int64_t tap, int64_t source) {
                   multiply_add<T>(w.channels, multiplier, static_cast<const T*>(in) + source * w.channels,
                                   static_cast<const T*>(grad) + pixel * outputs,
                                   sums.data() + part * elements + tap * outputs);
                 });
      }
    });
    for (int64_t part = 1; part < parts; ++part) {
      for (int64_t i = 0; i < elements; ++i) sums[i] += sums[part * elements + i];
    }
    sums.resize(static_cast<std::size_t>(elements));
    store<T>(sums, static_cast<T*>(filter_grad));
  });
}

}  // namespace caudal::inline v0::kernels
