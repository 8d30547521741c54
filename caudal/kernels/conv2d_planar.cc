#include "caudal/kernels/conv2d_planar.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "caudal/kernels/conv2d_geometry.h"
#include "caudal/kernels/conv2d_planar_tables.h"
#include "caudal/kernels/isa.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int64_t kMostFilters = 12;    // beyond, the lanes of the usual tiles are fuller
constexpr int64_t kTaskWork = 1 << 18;  // multiply-adds worth a hand-over between threads

const PlanarLoops* loops() {
  const Isa isa = kernel_isa();
  return isa == Isa::kAvx512 ? &planar_loops_avx512() : isa == Isa::kAvx2 ? &planar_loops_avx2() : nullptr;
}

bool is_planar(const Conv2dShape& shape, const Window2d& pool) {
  const Window2d& w = shape.window;
  return w.channels == 1 && shape.groups == 1 && shape.out_channels <= kMostFilters && w.stride_height == 1 &&
         w.stride_width == 1 && w.dilation_height == 1 && w.dilation_width == 1 && pool.window_height == 2 &&
         pool.window_width == 2 && pool.stride_height == 2 && pool.stride_width == 2 && pool.rows.before == 0 &&
         pool.columns.before == 0 && 2 * pool.out_height() <= pool.height && 2 * pool.out_width() <= pool.width;
}

// value where gate > 0, else 0; without a branch, which no one could predict.
float gated(float value, float gate) {
  const int32_t all_ones_if_open = -static_cast<int32_t>(gate > 0);
  return std::bit_cast<float>(std::bit_cast<int32_t>(value) & all_ones_if_open);
}

// The gradient of the filters, by parts of the batch whose number depends on shapes only.
class PlanarFilterGradient {
 public:
  PlanarFilterGradient(const PlanarLoops& loops, const Conv2dShape& shape, const Window2d& pool)
      : loops_(loops), w_(shape.window), p_(pool), geometry_(shape.window) {
    planes_.rows = w_.window_height;
    planes_.columns = w_.window_width;
    planes_.filters = shape.out_channels;
    planes_.stride = geometry_.row_stride;
    planes_.height = 2 * p_.out_height();
    planes_.pitch = (2 * p_.out_width() + loops.width - 1) / loops.width * loops.width;
    planes_.size = planes_.height * planes_.pitch;
    vectors_ = shape.patch() * shape.out_channels;
  }

  void run(ThreadPool& pool, const float* in, const float* grad, const uint8_t* winners, const float* gate,
           float* filter_grad, float* bias_grad) const {
    const int64_t work = planes_.size * vectors_;
    const int64_t wanted = std::clamp<int64_t>(w_.batch * work / kTaskWork, 1, std::min(kMostParts, w_.batch));
    const int64_t grain = (w_.batch + wanted - 1) / wanted, parts = (w_.batch + grain - 1) / grain;
    float* sums = thread_scratch_of<float>(ScratchSlot::kPartial, static_cast<std::size_t>(parts * part_size()));
    std::fill(sums, sums + parts * part_size(), 0.0F);
    pool.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t image = part * grain; image < std::min(w_.batch, (part + 1) * grain); ++image) {
          add_image(in, grad, winners, gate, image, sums + part * part_size());
        }
      }
    });
    for (int64_t part = 1; part < parts; ++part) {
      for (int64_t i = 0; i < part_size(); ++i) sums[i] += sums[part * part_size() + i];
    }
    for (int64_t i = 0; i < vectors_; ++i) filter_grad[i] = loops_.sum(sums + i * loops_.width);
    if (bias_grad != nullptr) std::copy_n(sums + vectors_ * loops_.width, planes_.filters, bias_grad);
  }

 private:
  static constexpr int64_t kMostParts = 8;

  // Vectors for the taps, and one number a filter for its bias.
  int64_t part_size() const { return (vectors_ + planes_.filters) * loops_.width; }

  void add_image(const float* in, const float* grad, const uint8_t* winners, const float* gate, int64_t image,
                 float* sums) const {
    float* planes =
        thread_scratch_of<float>(ScratchSlot::kProduct, static_cast<std::size_t>(planes_.filters * planes_.size));
    std::fill(planes, planes + planes_.filters * planes_.size, 0.0F);
    float* bias_sums = sums + vectors_ * loops_.width;
    int64_t at = image * p_.out_height() * p_.out_width() * planes_.filters;
    for (int64_t y = 0; y < p_.out_height(); ++y) {
      for (int64_t x = 0; x < p_.out_width(); ++x) {
        float* pixel = planes + 2 * y * planes_.pitch + 2 * x;
        for (int64_t o = 0; o < planes_.filters; ++o, ++at) {
          const float value = gate == nullptr ? grad[at] : gated(grad[at], gate[at]);
          pixel[o * planes_.size + (winners[at] >> 1) * planes_.pitch + (winners[at] & 1)] = value;
          bias_sums[o] += value;
        }
      }
    }
    const float* pixels = padded_band(w_, geometry_, in, image, 0, w_.out_height(), loops_.spare);
    loops_.filter(planes_, pixels, planes, sums);
  }

  const PlanarLoops& loops_;
  const Window2d &w_, &p_;
  const Geometry geometry_;
  PlanarPlanes planes_;
  int64_t vectors_;  // of sums
};

}  // namespace

bool conv2d_max_pool_backward_filter_planar(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window,
                                            const float* in, const float* pooled_grad, const uint8_t* winners,
                                            const float* gate, float* filter_grad, float* bias_grad) {
  const PlanarLoops* fast = loops();
  if (fast == nullptr || !is_planar(shape, pool_window)) return false;
  PlanarFilterGradient(*fast, shape, pool_window).run(pool, in, pooled_grad, winners, gate, filter_grad, bias_grad);
  return true;
}

bool conv2d_max_pool_planar(ThreadPool& pool, const Conv2dShape& shape, const Window2d& pool_window, const float* in,
                            const float* filter, const ConvTail& tail, float* pooled, uint8_t* winners) {
  const PlanarLoops* fast = loops();
  if (fast == nullptr || !is_planar(shape, pool_window)) return false;
  const Window2d& w = shape.window;
  const Geometry geometry(w);
  const std::vector<float> zeros(static_cast<std::size_t>(shape.out_channels));
  const float* bias = tail.bias != nullptr ? static_cast<const float*>(tail.bias) : zeros.data();
  const PlanarConv conv{.rows = w.window_height,
                        .columns = w.window_width,
                        .filters = shape.out_channels,
                        .stride = geometry.row_stride,
                        .pooled = pool_window.out_width(),
                        .relu = tail.relu};
  const int64_t rows = pool_window.out_height(), row_size = pool_window.out_width() * shape.out_channels;
  const int64_t image_work = w.out_height() * w.out_width() * shape.patch() * shape.out_channels;
  const int64_t grain = (kTaskWork + image_work - 1) / image_work;
  pool.parallel_for(w.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const float* pixels = padded_band(w, geometry, in, image, 0, w.out_height(), fast->spare);
      for (int64_t y = 0; y < rows; ++y) {
        const int64_t to = (image * rows + y) * row_size;
        fast->row(conv, pixels + 2 * y * geometry.row_stride, filter, bias, pooled + to, winners + to);
      }
    }
  });
  return true;
}

}  // namespace caudal::inline v0::kernels
