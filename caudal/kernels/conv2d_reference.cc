#include <algorithm>
#include <vector>

#include "caudal/kernels/conv2d.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"

namespace caudal::inline v0::kernels {
namespace {

using ConvTypes = TypeList<float, double, Half, BFloat16, int32_t>;

template <class T>
using Acc = std::conditional_t<kIsNarrowFloat<T>, float, T>;

// Calls fn(filter row * filter width + filter column, input pixel) for what lies inside the input.
template <class Fn>
void for_patch(const Window2d& w, int64_t image, int64_t y, int64_t x, Fn&& fn) {
  for (int64_t i = 0; i < w.window_height; ++i) {
    const int64_t row = y * w.stride_height + i * w.dilation_height - w.rows.before;
    if (row < 0 || row >= w.height) continue;
    for (int64_t j = 0; j < w.window_width; ++j) {
      const int64_t column = x * w.stride_width + j * w.dilation_width - w.columns.before;
      if (column >= 0 && column < w.width) fn(i * w.window_width + j, (image * w.height + row) * w.width + column);
    }
  }
}

template <class T>
void forward_rows(const Conv2dShape& s, const T* in, const T* filter, T* out, const ConvTail& tail, int64_t begin,
                  int64_t end) {
  using A = Acc<T>;
  const Window2d& w = s.window;
  const int64_t depth = w.channels / s.groups, width = s.out_channels / s.groups;
  const auto* bias = static_cast<const T*>(tail.bias);
  std::vector<A> sums(static_cast<std::size_t>(s.out_channels));
  for (int64_t pixel = begin * w.out_width(); pixel < end * w.out_width(); ++pixel) {
    const int64_t x = pixel % w.out_width(), y = pixel / w.out_width() % w.out_height();
    std::fill(sums.begin(), sums.end(), A{0});
    for_patch(w, pixel / w.out_width() / w.out_height(), y, x, [&](int64_t tap, int64_t source) {
      for (int64_t c = 0; c < w.channels; ++c) {
        const A value = static_cast<A>(in[source * w.channels + c]);
        const int64_t first = c / depth * width;
        const T* weights = filter + (tap * depth + c % depth) * s.out_channels + first;
        for (int64_t o = 0; o < width; ++o) {
          sums[first + o] = wrap_add<A>(sums[first + o], wrap_mul<A>(value, static_cast<A>(weights[o])));
        }
      }
    });
    for (int64_t o = 0; o < s.out_channels; ++o) {
      A value = sums[o];
      if (bias != nullptr) value = wrap_add<A>(value, static_cast<A>(bias[o]));
      out[pixel * s.out_channels + o] = static_cast<T>(tail.relu && value < A{0} ? A{0} : value);
    }
  }
}

template <class T>
void backward_data_image(const Conv2dShape& s, const T* filter, const T* grad, T* in_grad, int64_t image) {
  using A = Acc<T>;
  const Window2d& w = s.window;
  const int64_t depth = w.channels / s.groups, width = s.out_channels / s.groups;
  const int64_t image_size = w.height * w.width * w.channels, base = image * image_size;
  std::vector<A> sums(static_cast<std::size_t>(image_size));
  for (int64_t y = 0; y < w.out_height(); ++y) {
    for (int64_t x = 0; x < w.out_width(); ++x) {
      const T* slope = grad + ((image * w.out_height() + y) * w.out_width() + x) * s.out_channels;
      for_patch(w, image, y, x, [&](int64_t tap, int64_t target) {
        for (int64_t c = 0; c < w.channels; ++c) {
          const int64_t first = c / depth * width;
          const T* weights = filter + (tap * depth + c % depth) * s.out_channels + first;
          A sum{0};
          for (int64_t o = 0; o < width; ++o) {
            sum = wrap_add<A>(sum, wrap_mul<A>(static_cast<A>(slope[first + o]), static_cast<A>(weights[o])));
          }
          A& total = sums[target * w.channels + c - base];
          total = wrap_add<A>(total, sum);
        }
      });
    }
  }
  for (int64_t i = 0; i < image_size; ++i) in_grad[base + i] = static_cast<T>(sums[i]);
}

// One input channel of the filter at all taps.
template <class T>
void backward_filter_channel(const Conv2dShape& s, const T* in, const T* grad, T* filter_grad, int64_t channel) {
  using A = Acc<T>;
  const Window2d& w = s.window;
  const int64_t depth = w.channels / s.groups, width = s.out_channels / s.groups;
  const int64_t taps = w.window_height * w.window_width, first = channel / depth * width;
  std::vector<A> sums(static_cast<std::size_t>(taps * width));
  for (int64_t pixel = 0; pixel < w.out_pixels(); ++pixel) {
    const int64_t x = pixel % w.out_width(), y = pixel / w.out_width() % w.out_height();
    const T* slope = grad + pixel * s.out_channels + first;
    for_patch(w, pixel / w.out_width() / w.out_height(), y, x, [&](int64_t tap, int64_t source) {
      const A value = static_cast<A>(in[source * w.channels + channel]);
      for (int64_t o = 0; o < width; ++o) {
        A& total = sums[tap * width + o];
        total = wrap_add<A>(total, wrap_mul<A>(value, static_cast<A>(slope[o])));
      }
    });
  }
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t o = 0; o < width; ++o) {
      filter_grad[(tap * depth + channel % depth) * s.out_channels + first + o] = static_cast<T>(sums[tap * width + o]);
    }
  }
}

}  // namespace

void conv2d_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* filter,
                      void* out, const ConvTail& tail) {
  dispatch(ConvTypes{}, dtype, "convolution", [&]<class T>() {
    pool.parallel_for(shape.window.batch * shape.window.out_height(), 1, [&](int64_t begin, int64_t end) {
      forward_rows<T>(shape, static_cast<const T*>(in), static_cast<const T*>(filter), static_cast<T*>(out), tail,
                      begin, end);
    });
  });
}

void conv2d_backward_data_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* filter,
                                    const void* grad, void* in_grad) {
  dispatch(ConvTypes{}, dtype, "gradient of a convolution", [&]<class T>() {
    pool.parallel_for(shape.window.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        backward_data_image<T>(shape, static_cast<const T*>(filter), static_cast<const T*>(grad),
                               static_cast<T*>(in_grad), image);
      }
    });
  });
}

void conv2d_backward_filter_reference(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in,
                                      const void* grad, void* filter_grad) {
  dispatch(ConvTypes{}, dtype, "gradient of a convolution", [&]<class T>() {
    pool.parallel_for(shape.window.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel) {
        backward_filter_channel<T>(shape, static_cast<const T*>(in), static_cast<const T*>(grad),
                                   static_cast<T*>(filter_grad), channel);
      }
    });
  });
}

}  // namespace caudal::inline v0::kernels
