#include "caudal/kernels/pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/pool_tables.h"

namespace caudal::inline v0::kernels {

const PoolLoops* pool_loops() {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? &pool_loops_avx512() : isa == Isa::kAvx2 ? &pool_loops_avx2() : nullptr;
}

namespace {

// Output rows worth a hand-over between threads.
int64_t row_grain(const Window2d& w) {
  return 1 + 65536 / (1 + w.out_width() * w.window_height * w.window_width * w.channels);
}

// Calls fn(image, y, x, output pixel) for the pixels of output rows [begin, end).
template <class Fn>
void for_pixels(const Window2d& w, int64_t begin, int64_t end, Fn&& fn) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t x = 0; x < w.out_width(); ++x) {
      fn(row / w.out_height(), row % w.out_height(), x, row * w.out_width() + x);
    }
  }
}

template <class T>
bool beats(T value, T best) {
  const auto a = static_cast<Wide<T>>(value), b = static_cast<Wide<T>>(best);
  return a > b || (a != a && b == b);
}

template <class T>
T lowest() {
  using Limits = std::numeric_limits<Wide<T>>;
  return static_cast<T>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
}

template <class T>
void max_into(const T* __restrict in, int64_t n, T* __restrict out) {
  for (int64_t c = 0; c < n; ++c) out[c] = beats(in[c], out[c]) ? in[c] : out[c];
}

template <class T>
void max_pool_rows(const Window2d& w, const T* in, T* out, int64_t begin, int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    if (const PoolLoops* fast = pool_loops()) {
      for (int64_t row = begin; row < end; ++row) {
        const T* image = in + row / w.out_height() * w.height * w.width * w.channels;
        fast->max_row(w, image, row % w.out_height(), out + row * w.out_width() * w.channels);
      }
      return;
    }
  }
  for_pixels(w, begin, end, [&](int64_t image, int64_t y, int64_t x, int64_t pixel) {
    const WindowBox box = window_box(w, y, x);
    T* best = out + pixel * w.channels;
    std::fill(best, best + w.channels, lowest<T>());
    for (int64_t row = box.top; row < box.bottom; ++row) {
      const T* line = in + ((image * w.height + row) * w.width + box.left) * w.channels;
      for (int64_t column = box.left; column < box.right; ++column, line += w.channels) {
        max_into(line, w.channels, best);
      }
    }
  });
}

// Values and places (in the image, in elements) of the maxima of one output pixel.
template <class T>
void find_maxima(const Window2d& w, const T* image, int64_t y, int64_t x, T* best, int64_t* place) {
  const WindowBox box = window_box(w, y, x);
  std::fill(best, best + w.channels, lowest<T>());
  const int64_t first = (box.top * w.width + box.left) * w.channels;
  for (int64_t c = 0; c < w.channels; ++c) place[c] = box.count() > 0 ? first + c : -1;
  for (int64_t row = box.top; row < box.bottom; ++row) {
    for (int64_t column = box.left; column < box.right; ++column) {
      const int64_t at = (row * w.width + column) * w.channels;
      for (int64_t c = 0; c < w.channels; ++c) {
        const bool better = beats(image[at + c], best[c]);
        best[c] = better ? image[at + c] : best[c];
        place[c] = better ? at + c : place[c];
      }
    }
  }
}

// Gradients of one image, summed in the wide type and rounded once.
template <class T>
class ImageSum {
 public:
  using W = Wide<T>;
  ImageSum(const Window2d& w, T* in_grad, int64_t image)
      : size_(w.height * w.width * w.channels), result_(in_grad + image * size_) {
    if constexpr (std::is_same_v<W, T>) {
      sums_ = result_;
    } else {
      own_.resize(static_cast<std::size_t>(size_));
      sums_ = own_.data();
    }
    std::fill(sums_, sums_ + size_, W{0});
  }
  ~ImageSum() {
    if constexpr (!std::is_same_v<W, T>) {
      for (int64_t i = 0; i < size_; ++i) result_[i] = static_cast<T>(sums_[i]);
    }
  }
  W* sums() { return sums_; }
  int64_t size() const { return size_; }

 private:
  int64_t size_;
  T* result_;
  W* sums_;
  std::vector<W> own_;
};

// An image's gradient is summed by one thread in the order of the output: fn(sum, image) adds all of it.
template <class T, class Fn>
void for_images(ThreadPool& pool, const Window2d& w, T* in_grad, Fn&& fn) {
  const int64_t grain =
      1 + 65536 / (1 + w.out_height() * w.out_width() * w.window_height * w.window_width * w.channels);
  pool.parallel_for(w.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      ImageSum<T> sum(w, in_grad, image);
      fn(sum, image);
    }
  });
}

// Calls fn(y, x, output pixel) for the output pixels of an image.
template <class Fn>
void for_image_pixels(const Window2d& w, int64_t image, Fn&& fn) {
  for_pixels(w, image * w.out_height(), (image + 1) * w.out_height(),
             [&](int64_t, int64_t y, int64_t x, int64_t pixel) { fn(y, x, pixel); });
}

template <class T>
void max_pool_grad_image(const Window2d& w, const T* image, const T* grad, ImageSum<T>& sum, int64_t number) {
  using W = Wide<T>;
  const int64_t row_size = w.out_width() * w.channels;
  if constexpr (std::is_same_v<T, float>) {
    if (const PoolLoops* fast = pool_loops()) {
      for (int64_t y = 0; y < w.out_height(); ++y) {
        fast->max_grad_row(w, image, y, grad + (number * w.out_height() + y) * row_size, sum.sums());
      }
      return;
    }
  }
  std::vector<T> best(static_cast<std::size_t>(w.channels));
  std::vector<int64_t> place(best.size());
  for_image_pixels(w, number, [&](int64_t y, int64_t x, int64_t pixel) {
    find_maxima(w, image, y, x, best.data(), place.data());
    for (int64_t c = 0; c < w.channels; ++c) {
      if (place[c] < 0) continue;
      W& target = sum.sums()[place[c]];
      target = wrap_add<W>(target, static_cast<W>(grad[pixel * w.channels + c]));
    }
  });
}

template <class T>
void avg_pool_rows(const Window2d& w, const T* in, T* out, int64_t begin, int64_t end) {
  using W = Wide<T>;
  std::vector<W> sums(static_cast<std::size_t>(w.channels));
  for_pixels(w, begin, end, [&](int64_t image, int64_t y, int64_t x, int64_t pixel) {
    const WindowBox box = window_box(w, y, x);
    std::fill(sums.begin(), sums.end(), W{0});
    for (int64_t row = box.top; row < box.bottom; ++row) {
      const T* line = in + ((image * w.height + row) * w.width + box.left) * w.channels;
      for (int64_t i = 0; i < (box.right - box.left) * w.channels; i += w.channels) {
        for (int64_t c = 0; c < w.channels; ++c) sums[c] += static_cast<W>(line[i + c]);
      }
    }
    const W count = static_cast<W>(box.count());
    for (int64_t c = 0; c < w.channels; ++c) out[pixel * w.channels + c] = static_cast<T>(sums[c] / count);
  });
}

}  // namespace

void max_pool(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, void* out) {
  dispatch(RealTypes{}, dtype, "max pooling", [&]<class T>() {
    pool.parallel_for(window.batch * window.out_height(), row_grain(window), [&](int64_t begin, int64_t end) {
      max_pool_rows<T>(window, static_cast<const T*>(in), static_cast<T*>(out), begin, end);
    });
  });
}

void max_pool_grad(ThreadPool& pool, DType dtype, const Window2d& w, const void* in, const void* grad, void* in_grad) {
  dispatch(RealTypes{}, dtype, "gradient of max pooling", [&]<class T>() {
    for_images<T>(pool, w, static_cast<T*>(in_grad), [&](ImageSum<T>& sum, int64_t image) {
      max_pool_grad_image<T>(w, static_cast<const T*>(in) + image * sum.size(), static_cast<const T*>(grad), sum,
                             image);
    });
  });
}

void max_pool_with_argmax(ThreadPool& pool, DType dtype, const Window2d& w, const void* in, void* out,
                          DType index_dtype, bool batch_in_index, void* argmax) {
  const int64_t image_size = w.height * w.width * w.channels;
  dispatch(RealTypes{}, dtype, "max pooling", [&]<class T>() {
    pool.parallel_for(w.batch * w.out_height(), row_grain(w), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> place(static_cast<std::size_t>(w.channels));
      for_pixels(w, begin, end, [&](int64_t image, int64_t y, int64_t x, int64_t pixel) {
        find_maxima(w, static_cast<const T*>(in) + image * image_size, y, x, static_cast<T*>(out) + pixel * w.channels,
                    place.data());
        for (int64_t c = 0; c < w.channels; ++c) {
          const int64_t index = place[c] + (batch_in_index ? image * image_size : 0), at = pixel * w.channels + c;
          if (index_dtype == DType::kInt32) {
            static_cast<int32_t*>(argmax)[at] = static_cast<int32_t>(index);
          } else {
            static_cast<int64_t*>(argmax)[at] = index;
          }
        }
      });
    });
  });
}

int64_t max_pool_grad_with_argmax(ThreadPool& pool, DType dtype, const Window2d& w, const void* grad, DType index_dtype,
                                  bool batch_in_index, const void* argmax, void* in_grad) {
  const int64_t image_size = w.height * w.width * w.channels;
  const int64_t per_image = w.out_height() * w.out_width() * w.channels;
  const auto place = [&](int64_t i) {
    const int64_t index =
        index_dtype == DType::kInt32 ? static_cast<const int32_t*>(argmax)[i] : static_cast<const int64_t*>(argmax)[i];
    return batch_in_index ? index - i / per_image * image_size : index;
  };
  for (int64_t i = 0; i < w.batch * per_image; ++i) {
    if (place(i) < 0 || place(i) >= image_size) return i;
  }
  dispatch(RealTypes{}, dtype, "gradient of max pooling", [&]<class T>() {
    using W = Wide<T>;
    for_images<T>(pool, w, static_cast<T*>(in_grad), [&](ImageSum<T>& sum, int64_t image) {
      for (int64_t i = image * per_image; i < (image + 1) * per_image; ++i) {
        W& target = sum.sums()[place(i)];
        target = wrap_add<W>(target, static_cast<W>(static_cast<const T*>(grad)[i]));
      }
    });
  });
  return -1;
}

void avg_pool(ThreadPool& pool, DType dtype, const Window2d& window, const void* in, void* out) {
  dispatch(FloatTypes{}, dtype, "average pooling", [&]<class T>() {
    pool.parallel_for(window.batch * window.out_height(), row_grain(window), [&](int64_t begin, int64_t end) {
      avg_pool_rows<T>(window, static_cast<const T*>(in), static_cast<T*>(out), begin, end);
    });
  });
}

void avg_pool_grad(ThreadPool& pool, DType dtype, const Window2d& w, const void* grad, void* in_grad) {
  dispatch(FloatTypes{}, dtype, "gradient of average pooling", [&]<class T>() {
    using W = Wide<T>;
    for_images<T>(pool, w, static_cast<T*>(in_grad), [&](ImageSum<T>& sum, int64_t image) {
      for_image_pixels(w, image, [&](int64_t y, int64_t x, int64_t pixel) {
        const WindowBox box = window_box(w, y, x);
        const W count = static_cast<W>(box.count());
        const T* slopes = static_cast<const T*>(grad) + pixel * w.channels;
        for (int64_t row = box.top; row < box.bottom; ++row) {
          for (int64_t column = box.left; column < box.right; ++column) {
            W* target = sum.sums() + (row * w.width + column) * w.channels;
            for (int64_t c = 0; c < w.channels; ++c) target[c] += static_cast<W>(slopes[c]) / count;
          }
        }
      });
    });
  });
}

}  // namespace caudal::inline v0::kernels
