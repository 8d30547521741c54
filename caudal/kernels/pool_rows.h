// Max pooling of float, a row of the output at a time, generic over a vector type V as in gemm_tile.h, with
// V::beats(a, b) (a is greater, or the first NaN), V::equal and V::pick. Included like gemm_tile.h.
#pragma once

#include <cstdint>
#include <limits>

#include "caudal/kernels/pool_tables.h"

namespace caudal::inline v0::kernels {
namespace {

template <class V>
void max_row(const Window2d& w, const float* image, int64_t y, float* out) {
  const float lowest = -std::numeric_limits<float>::infinity();
  for (int64_t x = 0; x < w.columns.out; ++x, out += w.channels) {
    const WindowBox box = window_box(w, y, x);
    for (int64_t c = 0; c < w.channels; c += V::kWidth) {
      const bool full = w.channels - c >= V::kWidth;
      const auto mask = V::mask(static_cast<int>(full ? 0 : w.channels - c));
      auto best = V::broadcast(&lowest);
      for (int64_t row = box.top; row < box.bottom; ++row) {
        const float* tap = image + (row * w.width + box.left) * w.channels + c;
        for (int64_t column = box.left; column < box.right; ++column, tap += w.channels) {
          const auto value = full ? V::load(tap) : V::load_n(tap, mask);
          best = V::pick(V::beats(value, best), value, best);
        }
      }
      if (full) {
        V::store(out + c, best);
      } else {
        V::store_n(out + c, best, mask);
      }
    }
  }
}

template <class V>
void max_winners_row(const Window2d& w, const float* image, int64_t y, float* out, uint8_t* winners) {
  const float lowest = -std::numeric_limits<float>::infinity();
  alignas(64) uint8_t places[V::kWidth];
  for (int64_t x = 0; x < w.columns.out; ++x, out += w.channels, winners += w.channels) {
    const WindowBox box = window_box(w, y, x);
    const int64_t top = y * w.stride_height - w.rows.before, left = x * w.stride_width - w.columns.before;
    const auto first = static_cast<float>((box.top - top) * w.window_width + box.left - left);
    for (int64_t c = 0; c < w.channels; c += V::kWidth) {
      const bool full = w.channels - c >= V::kWidth;
      const int count = static_cast<int>(full ? V::kWidth : w.channels - c);
      const auto mask = V::mask(count);
      auto best = V::broadcast(&lowest), winner = V::broadcast(&first);
      for (int64_t row = box.top; row < box.bottom; ++row) {
        const float* tap = image + (row * w.width + box.left) * w.channels + c;
        auto place = static_cast<float>((row - top) * w.window_width + box.left - left);
        for (int64_t column = box.left; column < box.right; ++column, tap += w.channels, place += 1) {
          const auto value = full ? V::load(tap) : V::load_n(tap, mask);
          const auto better = V::beats(value, best);
          best = V::pick(better, value, best);
          winner = V::pick(better, V::broadcast(&place), winner);
        }
      }
      if (full) {
        V::store(out + c, best);
        V::store_bytes(winners + c, winner);
      } else {
        V::store_n(out + c, best, mask);
        V::store_bytes(places, winner);
        for (int i = 0; i < count; ++i) winners[c + i] = places[i];
      }
    }
  }
}

// Two walks over a window: find the number of the first greatest tap, then add the gradient there and 0 elsewhere.
template <class V>
void max_grad_row(const Window2d& w, const float* image, int64_t y, const float* grad, float* sums) {
  const float lowest = -std::numeric_limits<float>::infinity();
  // Where windows do not overlap, nothing has been added before; reading the sums would wait for the last store.
  const bool overlaps = w.stride_height < w.window_height || w.stride_width < w.window_width;
  for (int64_t x = 0; x < w.columns.out; ++x, grad += w.channels) {
    const WindowBox box = window_box(w, y, x);
    for (int64_t c = 0; c < w.channels; c += V::kWidth) {
      const bool full = w.channels - c >= V::kWidth;
      const auto mask = V::mask(static_cast<int>(full ? V::kWidth : w.channels - c));
      auto best = V::broadcast(&lowest), winner = V::zero();
      float tap = 0;
      const auto for_taps = [&](auto&& fn) {
        for (int64_t row = box.top; row < box.bottom; ++row) {
          int64_t at = (row * w.width + box.left) * w.channels + c;
          for (int64_t column = box.left; column < box.right; ++column, at += w.channels) fn(at), tap += 1;
        }
      };
      for_taps([&](int64_t at) {
        const auto value = V::load_n(image + at, mask);
        const auto better = V::beats(value, best);
        best = V::pick(better, value, best);
        winner = V::pick(better, V::broadcast(&tap), winner);
      });
      const auto slope = V::load_n(grad + c, mask);
      tap = 0;
      for_taps([&](int64_t at) {
        const auto own = V::pick(V::equal(winner, V::broadcast(&tap)), slope, V::zero());
        V::store_n(sums + at, overlaps ? V::add(V::load_n(sums + at, mask), own) : own, mask);
      });
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0::kernels
