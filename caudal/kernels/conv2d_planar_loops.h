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

// --- The filters' gradient ---

// For J neighbouring taps of a row of the filters and C filters: the products of shifted images and planes, pixel by
// pixel, added to sums[tap][filter] of vectors.
template <class V, int J, int C>
void planar_taps(const PlanarPlanes& planes, const float* image, const float* plane, float* sums) {
  typename V::Reg acc[J][C];
#pragma GCC unroll 8
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) acc[j][c] = V::load(sums + (j * planes.filters + c) * V::kWidth);
  }
  for (int64_t y = 0; y < planes.height; ++y) {
    for (int64_t x = 0; x < planes.pitch; x += V::kWidth) {
      typename V::Reg slopes[C];
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) slopes[c] = V::load(plane + c * planes.size + x);
#pragma GCC unroll 8
      for (int j = 0; j < J; ++j) {
        auto pixels = V::load(image + x + j);
        asm("" : "+v"(pixels));  // loaded once: most lie across two cache lines
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) acc[j][c] = V::fma(pixels, slopes[c], acc[j][c]);
      }
    }
    image += planes.stride, plane += planes.pitch;
  }
#pragma GCC unroll 8
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) V::store(sums + (j * planes.filters + c) * V::kWidth, acc[j][c]);
  }
}

template <class V, int J, int... C>
void pick_planar_filters(int filters, std::integer_sequence<int, C...>, const PlanarPlanes& planes, const float* image,
                         const float* plane, float* sums) {
  using Taps = void (*)(const PlanarPlanes&, const float*, const float*, float*);
  static constexpr Taps kTaps[] = {planar_taps<V, J, C + 1>...};
  kTaps[filters - 1](planes, image, plane, sums);
}

template <class V, int kMostFilters, int... J>
void pick_planar_taps(int taps, int filters, std::integer_sequence<int, J...>, const PlanarPlanes& planes,
                      const float* image, const float* plane, float* sums) {
  using Pick = void (*)(int, const PlanarPlanes&, const float*, const float*, float*);
  static constexpr Pick kPicks[] = {[](int n, const PlanarPlanes& p, const float* i, const float* g, float* s) {
    pick_planar_filters<V, J + 1>(n, std::make_integer_sequence<int, kMostFilters>{}, p, i, g, s);
  }...};
  kPicks[taps - 1](filters, planes, image, plane, sums);
}

template <class V, int kMostTaps, int kMostFilters>
void planar_filter(const PlanarPlanes& planes, const float* image, const float* plane, float* sums) {
  for (int64_t i = 0; i < planes.rows; ++i) {
    for (int64_t j = 0; j < planes.columns; j += kMostTaps) {
      const int taps = static_cast<int>(planes.columns - j < kMostTaps ? planes.columns - j : kMostTaps);
      for (int64_t c = 0; c < planes.filters; c += kMostFilters) {
        const int filters = static_cast<int>(planes.filters - c < kMostFilters ? planes.filters - c : kMostFilters);
        pick_planar_taps<V, kMostFilters>(taps, filters, std::make_integer_sequence<int, kMostTaps>{}, planes,
                                          image + i * planes.stride + j, plane + c * planes.size,
                                          sums + ((i * planes.columns + j) * planes.filters + c) * V::kWidth);
      }
    }
  }
}

template <class V>
float planar_sum(const float* sums) {
  return V::sum(V::load(sums));
}

}  // namespace
}  // namespace caudal::inline v0::kernels
