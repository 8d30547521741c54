#include "caudal/kernels/conv2d.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "caudal/kernels/conv2d_geometry.h"
#include "caudal/kernels/conv2d_planar.h"
#include "caudal/kernels/convert.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/kernels/gemm_kernels.h"
#include "caudal/kernels/isa.h"
#include "caudal/kernels/pool.h"
#include "caudal/kernels/pool_tables.h"
#include "caudal/kernels/scratch.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kTaskWork = 1 << 18;         // multiply-adds worth a hand-over between threads
constexpr int64_t kProductElements = 1 << 15;  // of patch gradients held at a time
constexpr int64_t kPartialElements = 1 << 22;  // of partial filter gradients, all together

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
class Convolution {
 public:
  Convolution(ThreadPool& pool, const GemmKernels<T>& kernels, const Conv2dShape& shape)
      : pool_(pool), k_(kernels), s_(shape), w_(shape.window), g_(shape.window) {}

  void forward(const T* in, const T* filter, T* out, const TileTail<T>& tail) {
    const T* packed = pack({filter, s_.out_channels, 1}, s_.patch(), s_.out_channels);
    const std::vector<int64_t> offsets = patch_offsets();
    const int64_t grain = ceil_div(kTaskWork, std::max<int64_t>(1, w_.out_width() * s_.patch() * s_.out_channels));
    pool_.parallel_for(w_.batch * w_.out_height(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t image = row / w_.out_height(), first = row % w_.out_height();
        const int64_t last = std::min(w_.out_height(), first + end - row);
        T* target = out + (image * w_.out_height() + first) * w_.out_width() * s_.out_channels;
        forward_band(in, packed, target, tail, offsets, image, first, last);
        row += last - first;
      }
    });
  }

  // `forward` and pooling behind it, some pooled rows at a time.
  void forward_pooled(const T* in, const T* filter, const TileTail<T>& tail, const Window2d& pool,
                      const PoolLoops& loops, T* pooled, uint8_t* winners) {
    const T* packed = pack({filter, s_.out_channels, 1}, s_.patch(), s_.out_channels);
    const std::vector<int64_t> offsets = patch_offsets();
    const int64_t row_work = pool.window_height * w_.out_width() * s_.patch() * s_.out_channels;
    const int64_t row_size = w_.out_width() * s_.out_channels, pooled_size = pool.out_width() * s_.out_channels;
    pool_.parallel_for(w_.batch * pool.out_height(), ceil_div(kTaskWork, row_work), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t image = row / pool.out_height(), y = row % pool.out_height();
        const int64_t top = y * pool.stride_height - pool.rows.before;
        const int64_t first = std::max<int64_t>(0, top), last = std::min(w_.out_height(), top + pool.window_height);
        T* rows = thread_scratch_of<T>(ScratchSlot::kProduct, static_cast<std::size_t>((last - first) * row_size));
        forward_band(in, packed, rows, tail, offsets, image, first, last);
        Window2d band = pool;  // the same windows, in an image of these rows
        band.height = last - first;
        band.rows.before += first;
        loops.max_winners_row(band, rows, y, pooled + row * pooled_size, winners + row * pooled_size);
      }
    });
  }

  void backward_data(const T* filter, const T* grad, T* in_grad) {
    const T* packed = pack({filter, 1, s_.out_channels}, s_.out_channels, s_.patch());
    pool_.parallel_for(w_.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) backward_data_image(packed, grad, in_grad, image);
    });
  }

  void backward_filter(const T* in, const T* grad, T* filter_grad) {
    const int64_t elements = s_.patch() * s_.out_channels, panels = ceil_div(s_.out_channels, k_.nr);
    const int64_t wanted = std::clamp<int64_t>(kPartialElements / elements, 1, std::min<int64_t>(8, w_.batch));
    const int64_t grain = ceil_div(w_.batch, wanted), parts = ceil_div(w_.batch, grain);
    const int64_t panel_tasks = parts >= 4 ? 1 : panels;
    T* partial = thread_scratch_of<T>(ScratchSlot::kPartial, static_cast<std::size_t>((parts - 1) * elements));
    pool_.parallel_for(parts * panel_tasks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t part = task / panel_tasks, panel = task % panel_tasks;
        T* target = part == 0 ? filter_grad : partial + (part - 1) * elements;
        const int64_t first_panel = panels * panel / panel_tasks, last_panel = panels * (panel + 1) / panel_tasks;
        for (int64_t image = part * grain; image < std::min(w_.batch, (part + 1) * grain); ++image) {
          backward_filter_image(in, grad, target, image, image == part * grain, first_panel, last_panel);
        }
      }
    });
    pool_.parallel_for(elements, 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < parts; ++part) {
        k_.add_rows(1, end - begin, partial + (part - 1) * elements + begin, 0, filter_grad + begin, 0);
      }
    });
  }

 private:
  const T* pack(Strided<T> b, int64_t k, int64_t n) {
    T* packed = thread_scratch_of<T>(ScratchSlot::kPackedB, static_cast<std::size_t>(packed_elements(k_, k, n)));
    pool_.parallel_for(ceil_div(n, k_.nr), 1 + 32768 / (1 + k * k_.nr),
                       [&](int64_t begin, int64_t end) { pack_panels(k_, k, n, b, begin, end, packed); });
    return packed;
  }

  // Neighbouring taps of a filter row read one contiguous stretch, unless the filter is dilated.
  bool whole_rows() const { return w_.dilation_width == 1; }
  int64_t piece_length() const { return (whole_rows() ? w_.window_width : 1) * w_.channels; }

  // Where each piece of a patch begins, in the order of the filter.
  std::vector<int64_t> patch_offsets() const {
    std::vector<int64_t> offsets;
    for (int64_t i = 0; i < w_.window_height; ++i) {
      for (int64_t j = 0; j < (whole_rows() ? 1 : w_.window_width); ++j) {
        offsets.push_back(i * w_.dilation_height * g_.row_stride + j * w_.dilation_width * w_.channels);
      }
    }
    return offsets;
  }

  const T* band(const T* in, int64_t image, int64_t first, int64_t last) const {
    return padded_band(w_, g_, in, image, first, last);
  }

  // Output rows [first, last) of an image to `target`.
  void forward_band(const T* in, const T* packed, T* target, const TileTail<T>& tail,
                    const std::vector<int64_t>& offsets, int64_t image, int64_t first, int64_t last) const {
    const T* pixels = band(in, image, first, last);
    const int64_t step = w_.stride_height * g_.row_stride, pixel_step = w_.stride_width * w_.channels;
    const bool flat = step == w_.out_width() * pixel_step;  // output rows follow each other as pixels do
    const int64_t lines = flat ? 1 : last - first,
                  pixels_a_line = flat ? (last - first) * w_.out_width() : w_.out_width();
    const Pieces pieces{static_cast<int64_t>(offsets.size()), piece_length(), offsets.data()};
    for (int64_t column = 0; column < s_.out_channels; column += k_.nr) {
      const int64_t width = std::min<int64_t>(k_.nr, s_.out_channels - column);
      TileTail<T> part = tail;
      if (part.bias != nullptr) part.bias += column;
      for (int64_t line = 0; line < lines; ++line) {
        k_.block(pixels_a_line, width, pieces, {pixels + line * step, pixel_step, 1}, packed + column * s_.patch(),
                 k_.nr, target + line * w_.out_width() * s_.out_channels + column, s_.out_channels, part);
      }
    }
  }

  // The gradients of all patches of some output rows by one product, added where the patches overlap.
  void backward_data_image(const T* packed, const T* grad, T* in_grad, int64_t image) const {
    const int64_t image_size = w_.height * w_.width * w_.channels, patch = s_.patch();
    T* result = in_grad + image * image_size;
    const int64_t sum_size = g_.direct ? image_size : g_.height * g_.row_stride;
    T* sums = g_.direct ? result : thread_scratch_of<T>(ScratchSlot::kSlab, static_cast<std::size_t>(sum_size));
    std::fill(sums, sums + sum_size, T{0});
    const int64_t pixels = w_.out_height() * w_.out_width();
    const int64_t block = std::clamp<int64_t>(kProductElements / patch / k_.mr * k_.mr, k_.mr, pixels + k_.mr);
    T* product = thread_scratch_of<T>(ScratchSlot::kProduct, static_cast<std::size_t>(block * patch));
    for (int64_t begin = 0; begin < pixels; begin += block) {
      const int64_t end = std::min(pixels, begin + block);
      multiply_packed(k_, end - begin, patch, s_.out_channels,
                      Strided<T>{grad + (image * pixels + begin) * s_.out_channels, s_.out_channels, 1}, packed,
                      product, patch, TileTail<T>{});
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        const int64_t y = pixel / w_.out_width(), x = pixel % w_.out_width();
        add_patch(product + (pixel - begin) * patch,
                  sums + y * w_.stride_height * g_.row_stride + x * w_.stride_width * w_.channels);
      }
    }
    if (!g_.direct) crop_padding(w_, g_, sums, result);
  }

  void add_patch(const T* patch, T* target) const {
    const int64_t filter_row = w_.window_width * w_.channels, step = w_.dilation_height * g_.row_stride;
    if (whole_rows()) return k_.add_rows(w_.window_height, filter_row, patch, filter_row, target, step);
    for (int64_t i = 0; i < w_.window_height; ++i) {
      k_.add_rows(w_.window_width, w_.channels, patch + i * filter_row, w_.channels, target + i * step,
                  w_.dilation_width * w_.channels);
    }
  }

  // Rows of the product are filter taps, its inner dimension the pixels of the image.
  void backward_filter_image(const T* in, const T* grad, T* filter_grad, int64_t image, bool first, int64_t first_panel,
                             int64_t last_panel) const {
    const T* pixels = band(in, image, 0, w_.out_height());
    const int64_t count = w_.out_height() * w_.out_width();
    const T* slopes = grad + image * count * s_.out_channels;
    const std::vector<int64_t> taps = patch_offsets();
    std::vector<int64_t> lines;
    for (int64_t y = 0; y < w_.out_height(); ++y) lines.push_back(y * w_.stride_height * g_.row_stride);
    const Pieces pieces{w_.out_height(), w_.out_width(), lines.data()};
    const TileTail<T> tail{1, first ? T{0} : T{1}, nullptr, false};
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      const int64_t column = panel * k_.nr, width = std::min<int64_t>(k_.nr, s_.out_channels - column);
      const T* b = slopes + column;
      int64_t stride = s_.out_channels;
      if (width % k_.width != 0) {  // a full vector would read past the end
        T* copy = thread_scratch_of<T>(ScratchSlot::kProduct, static_cast<std::size_t>(count * k_.nr));
        k_.pack(count, width, {b, stride, 1}, copy);
        b = copy, stride = k_.nr;
      }
      for (std::size_t tap = 0; tap < taps.size(); ++tap) {
        k_.block(piece_length(), width, pieces, {pixels + taps[tap], 1, w_.stride_width * w_.channels}, b, stride,
                 filter_grad + static_cast<int64_t>(tap) * piece_length() * s_.out_channels + column, s_.out_channels,
                 tail);
      }
    }
  }

  ThreadPool& pool_;
  const GemmKernels<T>& k_;
  const Conv2dShape& s_;
  const Window2d& w_;
  const Geometry g_;
};

enum class Pass { kForward, kData, kFilter };

int64_t in_elements(const Conv2dShape& s) { return s.window.in_pixels() * s.window.channels; }
int64_t out_elements(const Conv2dShape& s) { return s.window.out_pixels() * s.out_channels; }
int64_t filter_elements(const Conv2dShape& s) { return s.patch() * s.out_channels; }

// The operands of a pass in the order of its function: two inputs and the result.
template <class T>
void run_typed(ThreadPool& pool, const GemmKernels<T>& kernels, Pass pass, const Conv2dShape& shape, const void* a,
               const void* b, void* result, const ConvTail& tail) {
  Convolution<T> convolution(pool, kernels, shape);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  auto* out = static_cast<T*>(result);
  switch (pass) {
    case Pass::kForward:
      return convolution.forward(left, right, out, {1, 0, static_cast<const T*>(tail.bias), tail.relu});
    case Pass::kData:
      return convolution.backward_data(left, right, out);
    case Pass::kFilter:
      return convolution.backward_filter(left, right, out);
  }
}

void run_reference(ThreadPool& pool, DType dtype, Pass pass, const Conv2dShape& shape, const void* a, const void* b,
                   void* result, const ConvTail& tail) {
  switch (pass) {
    case Pass::kForward:
      return conv2d_reference(pool, dtype, shape, a, b, result, tail);
    case Pass::kData:
      return conv2d_backward_data_reference(pool, dtype, shape, a, b, result);
    case Pass::kFilter:
      return conv2d_backward_filter_reference(pool, dtype, shape, a, b, result);
  }
}

void run_narrow(ThreadPool& pool, DType dtype, Pass pass, const Conv2dShape& shape, const void* a, const void* b,
                void* result, const ConvTail& tail) {
  const int64_t in = in_elements(shape), out = out_elements(shape), filter = filter_elements(shape);
  const int64_t counts[3] = {pass == Pass::kData ? filter : in, pass == Pass::kForward ? filter : out,
                             pass == Pass::kForward ? out
                             : pass == Pass::kData  ? in
                                                    : filter};
  const int64_t bias_count = tail.bias != nullptr ? shape.out_channels : 0;
  auto* wide_a = thread_scratch_of<float>(ScratchSlot::kConvert,
                                          static_cast<std::size_t>(counts[0] + counts[1] + counts[2] + bias_count));
  float *wide_b = wide_a + counts[0], *wide_result = wide_b + counts[1], *wide_bias = wide_result + counts[2];
  widen(pool, dtype, a, wide_a, counts[0]);
  widen(pool, dtype, b, wide_b, counts[1]);
  if (bias_count > 0) widen(pool, dtype, tail.bias, wide_bias, bias_count);
  run_typed<float>(pool, *gemm_kernels<float>(kernel_isa()), pass, shape, wide_a, wide_b, wide_result,
                   {bias_count > 0 ? wide_bias : nullptr, tail.relu});
  narrow(pool, dtype, wide_result, result, counts[2]);
}

void run(ThreadPool& pool, DType dtype, Pass pass, const Conv2dShape& shape, const void* a, const void* b, void* result,
         const ConvTail& tail) {
  const bool fast =
      kernel_isa() != Isa::kPlain && shape.groups == 1 && in_elements(shape) > 0 && out_elements(shape) > 0;
  if (fast && dtype == DType::kFloat) {
    run_typed<float>(pool, *gemm_kernels<float>(kernel_isa()), pass, shape, a, b, result, tail);
  } else if (fast && dtype == DType::kDouble) {
    run_typed<double>(pool, *gemm_kernels<double>(kernel_isa()), pass, shape, a, b, result, tail);
  } else if (fast && (dtype == DType::kHalf || dtype == DType::kBFloat16)) {
    run_narrow(pool, dtype, pass, shape, a, b, result, tail);
  } else {
    run_reference(pool, dtype, pass, shape, a, b, result, tail);
  }
}

}  // namespace

void conv2d(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* filter, void* out,
            const ConvTail& tail) {
  run(pool, dtype, Pass::kForward, shape, in, filter, out, tail);
}

void conv2d_backward_data(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* filter, const void* grad,
                          void* in_grad, const void* gate) {
  run(pool, dtype, Pass::kData, shape, filter, grad, in_grad, {});
  if (gate == nullptr) return;
  const BinaryLoop relu_grad = find_binary(BinaryOp::kReluGrad, dtype);
  const int64_t count[] = {in_elements(shape)};
  (void)broadcast_binary(pool, relu_grad, in_grad, count, gate, count, in_grad, count);  // ReluGrad has no faults
}

void conv2d_max_pool(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window, const float* in,
                     const float* filter, const ConvTail& tail, float* pooled, uint8_t* winners) {
  if (conv2d_max_pool_planar(pool, shape, pool_window, in, filter, tail, pooled, winners)) return;
  const GemmKernels<float>* kernels = gemm_kernels<float>(kernel_isa());
  if (kernels != nullptr && shape.groups == 1 && shape.window.in_pixels() * shape.window.channels > 0) {
    const TileTail<float> tile{1, 0, static_cast<const float*>(tail.bias), tail.relu};
    Convolution<float> convolution(pool, *kernels, shape);
    return convolution.forward_pooled(in, filter, tile, pool_window, *pool_loops(), pooled, winners);
  }
  std::vector<float> whole(static_cast<std::size_t>(out_elements(shape)));
  conv2d(pool, DType::kFloat, shape, in, filter, whole.data(), tail);
  max_pool_winners(pool, pool_window, whole.data(), pooled, winners);
}

void conv2d_backward_filter(ThreadPool& pool, DType dtype, const Conv2dShape& shape, const void* in, const void* grad,
                            void* filter_grad) {
  run(pool, dtype, Pass::kFilter, shape, in, grad, filter_grad, {});
}

}  // namespace caudal::inline v0::kernels
