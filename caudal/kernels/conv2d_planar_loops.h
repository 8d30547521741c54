// Convolution of one-channel images with few filters, and max-pooling by 2 x 2 behind it, generic over a vector type V
// as in gemm_tile.h and included like it. The lanes are neighbouring pixels: with 6 filters the lanes of the usual
// tiles would mostly be empty.
//
// V also has evens(a, b) and odds(a, b) of the elements of a followed by b, beats, pick and store_bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "caudal/kernels/conv2d_planar_tables.h"

namespace caudal::inline v0::kernels {
namespace {

constexpr int kPixelVectors = 2;  // of each of two rows: as many pixels make one vector of pooled ones

// The pooled values of C filters and 2 V::kWidth pixels of two rows of the convolution, to out[filter][pixel].
template <class V, int C>
void planar_block(const PlanarConv& conv, const float* image, const float* weights, const float* bias, float* out,
                  std::uint8_t* winners) {
  using Reg = typename V::Reg;
  Reg acc[2][C][kPixelVectors];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
    const Reg start = V::broadcast(bias + c);
#pragma GCC unroll 2
    for (int x = 0; x < kPixelVectors; ++x) acc[0][c][x] = acc[1][c][x] = start;
  }
  for (int64_t i = 0; i <= conv.rows; ++i) {  // a row of the image serves both rows of the convolution
    const float* row = image + i * conv.stride;
    const int64_t row_weights = conv.columns * conv.filters;
    const float* upper = weights + (i < conv.rows ? i : 0) * row_weights;
    const float* lower = weights + (i > 0 ? i - 1 : 0) * row_weights;
    for (int64_t j = 0; j < conv.columns; ++j) {
      Reg pixels[kPixelVectors];
#pragma GCC unroll 2
      for (int x = 0; x < kPixelVectors; ++x) pixels[x] = V::load(row + j + x * V::kWidth);
      if (i < conv.rows) {
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
          const Reg weight = V::broadcast(upper + j * conv.filters + c);
#pragma GCC unroll 2
          for (int x = 0; x < kPixelVectors; ++x) acc[0][c][x] = V::fma(weight, pixels[x], acc[0][c][x]);
        }
      }
      if (i > 0) {
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
          const Reg weight = V::broadcast(lower + j * conv.filters + c);
#pragma GCC unroll 2
          for (int x = 0; x < kPixelVectors; ++x) acc[1][c][x] = V::fma(weight, pixels[x], acc[1][c][x]);
        }
      }
    }
  }
  static constexpr float kPlaces[] = {0, 1, 2, 3};
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
    Reg best = V::evens(acc[0][c][0], acc[0][c][1]), place = V::zero();
    const Reg others[] = {V::odds(acc[0][c][0], acc[0][c][1]), V::evens(acc[1][c][0], acc[1][c][1]),
                          V::odds(acc[1][c][0], acc[1][c][1])};
#pragma GCC unroll 3
    for (int p = 0; p < 3; ++p) {
      const auto better = V::beats(others[p], best);
      best = V::pick(better, others[p], best);
      place = V::pick(better, V::broadcast(kPlaces + p + 1), place);
    }
    if (conv.relu) {  // where all are shut, the first is taken, as by pooling behind the ReLU
      place = V::pick(V::beats(best, V::zero()), place, V::zero());
      best = V::max_zero(best);
    }
    V::store(out + c * V::kWidth, best);
    V::store_bytes(winners + c * V::kWidth, place);
  }
}

template <class V, int... C>
void planar_filters(int filters, std::integer_sequence<int, C...>, const PlanarConv& conv, const float* image,
                    const float* weights, const float* bias, float* out, std::uint8_t* winners) {
  using Block = void (*)(const PlanarConv&, const float*, const float*, const float*, float*, std::uint8_t*);
  static constexpr Block kBlocks[] = {planar_block<V, C + 1>...};
  kBlocks[filters - 1](conv, image, weights, bias, out, winners);
}

// One pooled row.
template <class V, int kMostFilters>
void planar_row(const PlanarConv& conv, const float* image, const float* weights, const float* bias, float* out,
                std::uint8_t* winners) {
  alignas(64) float values[kMostFilters * V::kWidth];
  alignas(64) std::uint8_t places[kMostFilters * V::kWidth];
  for (int64_t x = 0; x < conv.pooled; x += V::kWidth) {
    const int64_t count = conv.pooled - x < V::kWidth ? conv.pooled - x : V::kWidth;
    for (int64_t c = 0; c < conv.filters; c += kMostFilters) {
      const int filters = static_cast<int>(conv.filters - c < kMostFilters ? conv.filters - c : kMostFilters);
      planar_filters<V>(filters, std::make_integer_sequence<int, kMostFilters>{}, conv, image + 2 * x, weights + c,
                        bias + c, values, places);
      for (int64_t p = 0; p < count; ++p) {
        for (int k = 0; k < filters; ++k) {
          out[(x + p) * conv.filters + c + k] = values[k * V::kWidth + p];
          winners[(x + p) * conv.filters + c + k] = places[k * V::kWidth + p];
        }
      }
    }
  }
}

}  // namespace
}  // namespace caudal::inline v0::kernels
