// Max-pooling that remembers its winners in a byte each.
#include <algorithm>
#include <limits>
#include <vector>

#include "caudal/kernels/pool.h"
#include "caudal/kernels/pool_tables.h"

namespace caudal::inline v0::kernels {
namespace {

int64_t pooled_row(const Window2d& w) { return w.out_width() * w.channels; }

// One row of pooled pixels.
void pool_row(const Window2d& w, const float* image, int64_t y, float* out, uint8_t* winners) {
  for (int64_t x = 0; x < w.out_width(); ++x, out += w.channels, winners += w.channels) {
    const WindowBox box = window_box(w, y, x);
    std::fill(out, out + w.channels, -std::numeric_limits<float>::infinity());
    std::fill(winners, winners + w.channels, uint8_t{0});
    const int64_t top = y * w.stride_height - w.rows.before, left = x * w.stride_width - w.columns.before;
    bool first = true;
    for (int64_t row = box.top; row < box.bottom; ++row) {
      for (int64_t column = box.left; column < box.right; ++column) {
        const float* in = image + (row * w.width + column) * w.channels;
        const auto place = static_cast<uint8_t>((row - top) * w.window_width + column - left);
        for (int64_t c = 0; c < w.channels; ++c) {
          // NaN wins, the first one.
          if (first || in[c] > out[c] || (in[c] != in[c] && out[c] == out[c])) out[c] = in[c], winners[c] = place;
        }
        first = false;
      }
    }
  }
}

void spread_image(const Window2d& w, const float* grad, const uint8_t* winners, const float* gate, float* in_grad,
                  float* bias_grad) {
  std::fill(in_grad, in_grad + w.height * w.width * w.channels, 0.0F);
  for (int64_t y = 0; y < w.out_height(); ++y) {
    for (int64_t x = 0; x < w.out_width(); ++x) {
      const int64_t at = (y * w.out_width() + x) * w.channels;
      const int64_t top = y * w.stride_height - w.rows.before, left = x * w.stride_width - w.columns.before;
      for (int64_t c = 0; c < w.channels; ++c) {
        if (gate != nullptr && !(gate[at + c] > 0)) continue;
        const int64_t row = top + winners[at + c] / w.window_width, column = left + winners[at + c] % w.window_width;
        in_grad[(row * w.width + column) * w.channels + c] += grad[at + c];
        bias_grad[c] += grad[at + c];
      }
    }
  }
}

}  // namespace

void max_pool_winners(ThreadPool& pool, const Window2d& w, const float* in, float* out, uint8_t* winners) {
  const int64_t grain = 1 + 65536 / (1 + pooled_row(w) * w.window_height * w.window_width);
  const PoolLoops* fast = pool_loops();
  const auto run_row = fast != nullptr ? fast->max_winners_row : pool_row;
  pool.parallel_for(w.batch * w.out_height(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* image = in + row / w.out_height() * w.height * w.width * w.channels;
      run_row(w, image, row % w.out_height(), out + row * pooled_row(w), winners + row * pooled_row(w));
    }
  });
}

void max_pool_winners_grad(ThreadPool& pool, const Window2d& w, const float* grad, const uint8_t* winners,
                           const float* gate, float* in_grad, float* bias_grad) {
  const int64_t image_size = w.height * w.width * w.channels, pooled = w.out_height() * pooled_row(w);
  std::vector<float> sums(static_cast<std::size_t>(w.batch * w.channels));
  pool.parallel_for(w.batch, 1 + 65536 / (1 + image_size), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      spread_image(w, grad + image * pooled, winners + image * pooled,
                   gate != nullptr ? gate + image * pooled : nullptr, in_grad + image * image_size,
                   sums.data() + image * w.channels);
    }
  });
  if (bias_grad == nullptr) return;
  std::fill(bias_grad, bias_grad + w.channels, 0.0F);
  for (int64_t image = 0; image < w.batch; ++image) {
    for (int64_t c = 0; c < w.channels; ++c) bias_grad[c] += sums[static_cast<std::size_t>(image * w.channels + c)];
  }
}

}  // namespace caudal::inline v0::kernels
