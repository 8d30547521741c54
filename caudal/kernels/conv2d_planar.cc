#include "caudal/kernels/conv2d_planar.h"

#include <algorithm>
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

}  // namespace

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
