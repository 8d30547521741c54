// The loops of conv2d_winners, generic over a vector type V as in gemm_tile.h and included like it.
#pragma once

#include <cstdint>
#include <utility>

#include "caudal/kernels/conv2d_winners_tables.h"

namespace caudal::inline v0::kernels {
namespace {

// --- Sums of patches ---

// R rows of C vectors in registers.
template <class V, int R, int C>
void add_block(const PatchRows& patch, int64_t count, const float* values, const int32_t* offsets, const float* image,
               float* sums) {
  typename V::Reg acc[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) acc[r][c] = V::load(sums + r * patch.padded + c * V::kWidth);
  }
  const int64_t stride = patch.stride;
  for (int64_t n = 0; n < count; ++n) {
    const auto value = V::broadcast(values + n);
    const float* from = image + offsets[n];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) acc[r][c] = V::fma(value, V::load(from + c * V::kWidth), acc[r][c]);
      from += stride;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) V::store(sums + r * patch.padded + c * V::kWidth, acc[r][c]);
  }
}

using AddBlock = decltype(PatchBlock::add);

template <class V, int R, int... C>
AddBlock pick_columns(int64_t columns, std::integer_sequence<int, C...>) {
  static constexpr AddBlock kBlocks[] = {add_block<V, R, C + 1>...};
  return kBlocks[columns - 1];
}

constexpr int kMostRows = 6, kMostColumns = 8;

template <int kRegisters, int R>
constexpr int kColumnsOf = kRegisters / R < kMostColumns ? kRegisters / R : kMostColumns;

template <class V, int kRegisters, int... R>
AddBlock pick_block(int64_t rows, int64_t columns, std::integer_sequence<int, R...>) {
  using Pick = AddBlock (*)(int64_t);
  static constexpr Pick kPicks[] = {[](int64_t n) {
    return pick_columns<V, R + 1>(n, std::make_integer_sequence<int, kColumnsOf<kRegisters, R + 1>>{});
  }...};
  return kPicks[rows - 1](columns);
}

// Rows and columns are cut into parts of nearly equal size.
template <class V, int kRegisters>
std::vector<PatchBlock> blocks_of(const PatchRows& patch) {
  std::vector<PatchBlock> blocks;
  const int64_t vectors = patch.padded / V::kWidth, row_parts = (patch.rows + kMostRows - 1) / kMostRows;
  for (int64_t rp = 0; rp < row_parts; ++rp) {
    const int64_t row = patch.rows * rp / row_parts, rows = patch.rows * (rp + 1) / row_parts - row;
    const int64_t most = kRegisters / rows < kMostColumns ? kRegisters / rows : kMostColumns;
    const int64_t parts = (vectors + most - 1) / most;
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t column = vectors * p / parts, columns = vectors * (p + 1) / parts - column;
      const AddBlock add = pick_block<V, kRegisters>(rows, columns, std::make_integer_sequence<int, kMostRows>{});
      blocks.push_back({add, row, column * V::kWidth});
    }
  }
  return blocks;
}

// --- What one pooled pixel hands back ---

// The winners at place (kY, kX) of the window. kSide: pixels of the region's side.
template <class V, int K, int S, int kSide, int kY, int kX>
inline __attribute__((always_inline)) void add_place(const PixelWinners& winners, const float* weights,
                                                     typename V::Reg (&acc)[kSide * kSide]) {
  constexpr int kPlace = kY * 2 + kX;
  const int32_t count = winners.counts[kPlace];
  for (int32_t n = 0; n < count; ++n) {
    const auto value = V::broadcast(winners.values[kPlace] + n);
    const float* filter = weights + winners.filters[kPlace][n];
#pragma GCC unroll 3
    for (int i = 0; i < K; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < K; ++j) {
        auto& sum = acc[(kY * S + i) * kSide + kX * S + j];
        sum = V::fma(value, V::load(filter + (i * K + j) * V::kWidth), sum);
      }
    }
  }
}

template <class V, int K, int S>
void spread_pixel(const PixelWinners& winners, const float* weights, float* image, int64_t channels, int64_t stride) {
  constexpr int kSide = K + S;
  typename V::Reg acc[kSide * kSide];
#pragma GCC unroll 32
  for (int i = 0; i < kSide * kSide; ++i) acc[i] = V::zero();
  add_place<V, K, S, kSide, 0, 0>(winners, weights, acc);
  add_place<V, K, S, kSide, 0, 1>(winners, weights, acc);
  add_place<V, K, S, kSide, 1, 0>(winners, weights, acc);
  add_place<V, K, S, kSide, 1, 1>(winners, weights, acc);
#pragma GCC unroll 8
  for (int y = 0; y < kSide; ++y, image += stride) {
#pragma GCC unroll 8
    for (int x = 0; x < kSide; ++x) {
      V::store(image + x * channels, V::add(V::load(image + x * channels), acc[y * kSide + x]));
    }
  }
}

template <class V, int kRegisters>
WinnerLoops::Spread spread_of(int64_t rows, int64_t columns, int64_t stride_height, int64_t stride_width) {
  if (rows != 3 || columns != 3 || stride_height != stride_width) return nullptr;
  if constexpr (kRegisters >= 16) {
    if (stride_height == 1) return spread_pixel<V, 3, 1>;
  }
  if constexpr (kRegisters >= 25) {
    if (stride_height == 2) return spread_pixel<V, 3, 2>;
  }
  return nullptr;
}

// --- Elements ---

template <class V>
void add_elements(int64_t n, const float* from, float* to) {
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) V::store(to + i, V::add(V::load(to + i), V::load(from + i)));
  const auto mask = V::mask(static_cast<int>(n - i));
  if (i < n) V::store_n(to + i, V::add(V::load_n(to + i, mask), V::load_n(from + i, mask)), mask);
}

template <class V>
void shut_gate(int64_t n, const float* gate, float* x) {
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) V::store(x + i, V::where_positive(V::load(gate + i), V::load(x + i)));
  const auto mask = V::mask(static_cast<int>(n - i));
  if (i < n) V::store_n(x + i, V::where_positive(V::load_n(gate + i, mask), V::load_n(x + i, mask)), mask);
}

template <class V, int kRegisters>
constexpr WinnerLoops make_winner_loops() {
  return {V::kWidth, blocks_of<V, kRegisters>, spread_of<V, kRegisters>, add_elements<V>, shut_gate<V>};
}

}  // namespace
}  // namespace caudal::inline v0::kernels
