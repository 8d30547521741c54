#include "caudal/kernels/conv3d.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/gemm.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kBlockElements = 1 << 20;  // of the patch matrix held at a time

// An output row: its place in the batch and along planes and rows.
struct Row {
  int64_t entry, plane, row;
};

template <class T>
class Convolution {
 public:
  Convolution(ThreadPool& pool, const Conv3dShape& shape)
      : pool_(pool),
        s_(shape),
        w_(shape.window),
        rows_(w_.batch * w_.out[0].out * w_.out[1].out),
        block_(std::clamp<int64_t>(kBlockElements / std::max<int64_t>(1, columns() * s_.patch()), 1,
                                   std::max<int64_t>(1, rows_))),
        patches_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(block_ * columns() * s_.patch()))) {}

  void forward(const T* in, const T* filter, T* out) {
    for_each_block([&](int64_t begin, int64_t end, int64_t group) {
      gather(in + group * channels(), begin, end);
      gemm(pool_,
           {.m = (end - begin) * columns(),
            .n = out_channels(),
            .k = s_.patch(),
            .ldb = s_.out_channels,
            .ldc = s_.out_channels},
           patches_.get(), filter + group * out_channels(), output(out, begin, group));
    });
  }

  void backward_data(const T* filter, const T* grad, T* in_grad) {
    std::fill_n(in_grad, w_.batch * w_.in_pixels() * w_.channels, T{0});
    for_each_block([&](int64_t begin, int64_t end, int64_t group) {
      gemm(pool_,
           {.m = (end - begin) * columns(),
            .n = s_.patch(),
            .k = out_channels(),
            .transpose_b = true,
            .lda = s_.out_channels,
            .ldb = s_.out_channels},
           output(grad, begin, group), filter + group * out_channels(), patches_.get());
      scatter(in_grad + group * channels(), begin, end);
    });
  }

  void backward_filter(const T* in, const T* grad, T* filter_grad) {
    for_each_block([&](int64_t begin, int64_t end, int64_t group) {
      gather(in + group * channels(), begin, end);
      gemm(pool_,
           {.m = s_.patch(),
            .n = out_channels(),
            .k = (end - begin) * columns(),
            .transpose_a = true,
            .ldb = s_.out_channels,
            .ldc = s_.out_channels},
           patches_.get(), output(grad, begin, group), filter_grad + group * out_channels(),
           {.beta = begin == 0 ? 0.0 : 1.0});
    });
  }

 private:
  int64_t columns() const { return w_.out[2].out; }
  int64_t channels() const { return w_.channels / s_.groups; }  // of one group, as the next
  int64_t out_channels() const { return s_.out_channels / s_.groups; }

  // The first output of a row and a group.
  template <class U>
  U* output(U* out, int64_t row, int64_t group) const {
    return out + row * columns() * s_.out_channels + group * out_channels();
  }
  Row row(int64_t index) const {
    const int64_t planes = w_.out[0].out, rows = w_.out[1].out;
    return {index / (planes * rows), index / rows % planes, index % rows};
  }

  template <class Fn>
  void for_each_block(const Fn& fn) {
    for (int64_t group = 0; group < s_.groups; ++group) {
      for (int64_t begin = 0; begin < rows_; begin += block_) fn(begin, std::min(rows_, begin + block_), group);
    }
  }

  // Where tap k of the window of output place `at` lies along an axis.
  int64_t tap(std::size_t axis, int64_t at, int64_t k) const {
    return at * w_.stride[axis] + k * w_.dilation[axis] - w_.out[axis].before;
  }

  const T* pixels(const T* in, int64_t entry, int64_t plane, int64_t row) const {
    return in + ((entry * w_.in[0] + plane) * w_.in[1] + row) * w_.in[2] * w_.channels;
  }

  void gather(const T* in, int64_t begin, int64_t end) {
    pool_.parallel_for(end - begin, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        gather_row(in, row(begin + i), patches_.get() + i * columns() * s_.patch());
    });
  }

  void gather_row(const T* in, const Row& at, T* patches) const {
    const int64_t line = w_.window[2] * channels();
    for (int64_t k = 0; k < w_.window[0]; ++k) {
      const int64_t plane = tap(0, at.plane, k);
      for (int64_t i = 0; i < w_.window[1]; ++i) {
        const int64_t y = tap(1, at.row, i);
        const bool inside = plane >= 0 && plane < w_.in[0] && y >= 0 && y < w_.in[1];
        const T* source = inside ? pixels(in, at.entry, plane, y) : nullptr;
        T* target = patches + (k * w_.window[1] + i) * line;
        for (int64_t x = 0; x < columns(); ++x, target += s_.patch()) gather_line(source, x, target);
      }
    }
  }

  // The taps of one window row; zero outside the image.
  void gather_line(const T* source, int64_t x, T* target) const {
    if (source == nullptr) {
      std::fill_n(target, w_.window[2] * channels(), T{0});
      return;
    }
    for (int64_t j = 0; j < w_.window[2]; ++j, target += channels()) {
      const int64_t column = tap(2, x, j);
      if (column < 0 || column >= w_.in[2]) {
        std::fill_n(target, channels(), T{0});
      } else {
        std::copy_n(source + column * w_.channels, channels(), target);
      }
    }
  }

  // Adds the gradients of patches where they were taken from. Threads share the planes of the input, so that each sum
  // has one writer and one order.
  void scatter(T* in_grad, int64_t begin, int64_t end) {
    pool_.parallel_for(w_.in[0], 1, [&](int64_t first_plane, int64_t last_plane) {
      for (int64_t i = begin; i < end; ++i) {
        const Row at = row(i);
        for (int64_t k = 0; k < w_.window[0]; ++k) {
          const int64_t plane = tap(0, at.plane, k);
          if (plane >= first_plane && plane < last_plane) {
            scatter_plane(patches_.get() + (i - begin) * columns() * s_.patch(), at, k, plane, in_grad);
          }
        }
      }
    });
  }

  void scatter_plane(const T* patches, const Row& at, int64_t k, int64_t plane, T* in_grad) const {
    for (int64_t i = 0; i < w_.window[1]; ++i) {
      const int64_t y = tap(1, at.row, i);
      if (y < 0 || y >= w_.in[1]) continue;
      T* target = const_cast<T*>(pixels(in_grad, at.entry, plane, y));
      for (int64_t x = 0; x < columns(); ++x) {
        const T* source = patches + x * s_.patch() + (k * w_.window[1] + i) * w_.window[2] * channels();
        for (int64_t j = 0; j < w_.window[2]; ++j, source += channels()) {
          const int64_t column = tap(2, x, j);
          if (column < 0 || column >= w_.in[2]) continue;
          T* sum = target + column * w_.channels;
          for (int64_t c = 0; c < channels(); ++c) sum[c] += source[c];
        }
      }
    }
  }

  ThreadPool& pool_;
  const Conv3dShape& s_;
  const Window3d& w_;
  const int64_t rows_;   // output rows, all planes and batch entries one after the other
  const int64_t block_;  // rows whose patches are held at a time
  std::unique_ptr<T[]> patches_;
};

enum class Pass { kForward, kData, kFilter };

template <class T>
void run_typed(ThreadPool& pool, Pass pass, const Conv3dShape& shape, const T* a, const T* b, T* result) {
  Convolution<T> convolution(pool, shape);
  if (pass == Pass::kForward) return convolution.forward(a, b, result);
  if (pass == Pass::kData) return convolution.backward_data(a, b, result);
  convolution.backward_filter(a, b, result);
}

void run_narrow(ThreadPool& pool, DType dtype, Pass pass, const Conv3dShape& shape, const void* a, const void* b,
                void* result) {
  const int64_t in = shape.window.batch * shape.window.in_pixels() * shape.window.channels;
  const int64_t out = shape.window.batch * shape.window.out_pixels() * shape.out_channels;
  const int64_t filter = shape.patch() * shape.out_channels;
  const auto floats = [](int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); };
  std::vector<float> left = floats(pass == Pass::kData ? filter : in);
  std::vector<float> right = floats(pass == Pass::kForward ? filter : out);
  std::vector<float> wide = floats(pass == Pass::kForward ? out : pass == Pass::kData ? in : filter);
  widen(pool, dtype, a, left.data(), static_cast<int64_t>(left.size()));
  widen(pool, dtype, b, right.data(), static_cast<int64_t>(right.size()));
  run_typed(pool, pass, shape, left.data(), right.data(), wide.data());
  narrow(pool, dtype, wide.data(), result, static_cast<int64_t>(wide.size()));
}

void run(ThreadPool& pool, DType dtype, Pass pass, const Conv3dShape& shape, const void* a, const void* b,
         void* result) {
  if (dtype == DType::kFloat) {
    run_typed(pool, pass, shape, static_cast<const float*>(a), static_cast<const float*>(b),
              static_cast<float*>(result));
  } else if (dtype == DType::kDouble) {
    run_typed(pool, pass, shape, static_cast<const double*>(a), static_cast<const double*>(b),
              static_cast<double*>(result));
  } else if (dtype == DType::kHalf || dtype == DType::kBFloat16) {
    run_narrow(pool, dtype, pass, shape, a, b, result);
  } else {
    throw unimplemented("a three-dimensional convolution of ", dtype_name(dtype), " has no kernel");
  }
}

// Calls fn(input pixel, tap, output pixel) for all that meet.
template <class Fn>
void for_each_tap(const Window3d& w, const Fn& fn) {
  const auto taps = [&](std::size_t axis, int64_t at, const auto& inner) {
    for (int64_t k = 0; k < w.window[axis]; ++k) {
      const int64_t in = at * w.stride[axis] + k * w.dilation[axis] - w.out[axis].before;
      if (in >= 0 && in < w.in[axis]) inner(k, in);
    }
  };
  int64_t out = 0;
  for (int64_t b = 0; b < w.batch; ++b) {
    for (int64_t z = 0; z < w.out[0].out; ++z) {
      for (int64_t y = 0; y < w.out[1].out; ++y) {
        for (int64_t x = 0; x < w.out[2].out; ++x, ++out) {
          taps(0, z, [&](int64_t k, int64_t plane) {
            taps(1, y, [&](int64_t i, int64_t row) {
              taps(2, x, [&](int64_t j, int64_t column) {
                fn(((b * w.in[0] + plane) * w.in[1] + row) * w.in[2] + column, (k * w.window[1] + i) * w.window[2] + j,
                   out);
              });
            });
          });
        }
      }
    }
  }
}

// Adds all products: of the input, the filter and the output one is the sum.
template <class Fn>
void for_each_product(const Conv3dShape& s, const Fn& fn) {
  for_each_tap(s.window, [&](int64_t in, int64_t tap, int64_t out) {
    const int64_t channels = s.window.channels / s.groups, outputs = s.out_channels / s.groups;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        fn(in * s.window.channels + o / outputs * channels + c, (tap * channels + c) * s.out_channels + o,
           out * s.out_channels + o);
      }
    }
  });
}

}  // namespace

void conv3d(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* in, const void* filter, void* out) {
  run(pool, dtype, Pass::kForward, shape, in, filter, out);
}

void conv3d_backward_data(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* filter, const void* grad,
                          void* in_grad) {
  run(pool, dtype, Pass::kData, shape, filter, grad, in_grad);
}

void conv3d_backward_filter(ThreadPool& pool, DType dtype, const Conv3dShape& shape, const void* in, const void* grad,
                            void* filter_grad) {
  run(pool, dtype, Pass::kFilter, shape, in, grad, filter_grad);
}

void conv3d_reference(const Conv3dShape& shape, const double* in, const double* filter, double* out) {
  std::fill_n(out, shape.window.batch * shape.window.out_pixels() * shape.out_channels, 0.0);
  for_each_product(shape, [&](int64_t i, int64_t f, int64_t o) { out[o] += in[i] * filter[f]; });
}

void conv3d_backward_data_reference(const Conv3dShape& shape, const double* filter, const double* grad,
                                    double* in_grad) {
  std::fill_n(in_grad, shape.window.batch * shape.window.in_pixels() * shape.window.channels, 0.0);
  for_each_product(shape, [&](int64_t i, int64_t f, int64_t o) { in_grad[i] += filter[f] * grad[o]; });
}

void conv3d_backward_filter_reference(const Conv3dShape& shape, const double* in, const double* grad,
                                      double* filter_grad) {
  std::fill_n(filter_grad, shape.patch() * shape.out_channels, 0.0);
  for_each_product(shape, [&](int64_t i, int64_t f, int64_t o) { filter_grad[f] += in[i] * grad[o]; });
}

}  // namespace caudal::inline v0::kernels
