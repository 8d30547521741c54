// The register tiles of gemm, generic over a vector type V. To be included by one file per instruction set, after its
// `#pragma GCC target` and its definition of V; everything here has internal linkage, so that no two files share code.
//
// V: T, Reg, Mask, kWidth, zero, broadcast, load, store, load_n, store_n (mask), mask(n), fma, add, mul, max_zero,
// max (the second if one is NaN), where_positive(gate, value) (else 0), sum, transpose(src, stride, dst, stride) of a
// kBlock x kBlock block.
#pragma once

#include <cstdint>
#include <limits>

#include "caudal/kernels/gemm_kernels.h"

namespace caudal::inline v0::kernels {
namespace {

template <class V>
using Reg = typename V::Reg;

template <class V>
inline __attribute__((always_inline)) Reg<V> apply_tail(Reg<V> sum, Reg<V> old, Reg<V> bias,
                                                        const TileTail<typename V::T>& tail) {
  if (tail.alpha != typename V::T{1}) sum = V::mul(sum, V::broadcast(&tail.alpha));
  if (tail.beta != typename V::T{0}) sum = V::fma(V::broadcast(&tail.beta), old, sum);
  if (tail.bias != nullptr) sum = V::add(sum, bias);
  if (tail.relu) sum = V::max_zero(sum);
  return sum;
}

template <class V>
inline __attribute__((always_inline)) void store_tile(Reg<V> sum, typename V::T* c, int64_t n, int64_t column,
                                                      const TileTail<typename V::T>& tail) {
  const bool reads = tail.beta != typename V::T{0};
  const Reg<V> none = V::zero();
  if (n >= V::kWidth) {
    const Reg<V> bias = tail.bias != nullptr ? V::load(tail.bias + column) : none;
    Reg<V> value = apply_tail<V>(sum, reads ? V::load(c) : none, bias, tail);
    if (tail.gated) value = V::where_positive(V::load(tail.gate_of(c)), value);
    V::store(c, value);
  } else {
    const auto mask = V::mask(static_cast<int>(n));
    const Reg<V> bias = tail.bias != nullptr ? V::load_n(tail.bias + column, mask) : none;
    Reg<V> value = apply_tail<V>(sum, reads ? V::load_n(c, mask) : none, bias, tail);
    if (tail.gated) value = V::where_positive(V::load_n(tail.gate_of(c), mask), value);
    V::store_n(c, value, mask);
  }
}

// The tails of nearly all products: alpha = 1, beta 0 or 1.
template <class T>
bool has_plain_scales(const TileTail<T>& tail) {
  return tail.alpha == T{1} && (tail.beta == T{0} || tail.beta == T{1});
}

// The sums of a tile to C for plain scales. kMasked: the last vector of a row is not full.
template <class V, int R, int C, bool kMasked>
inline __attribute__((always_inline)) void store_plain(const Reg<V> (&acc)[R][C], typename V::Mask mask,
                                                       typename V::T* c, int64_t ldc,
                                                       const TileTail<typename V::T>& tail) {
  using T = typename V::T;
  const auto load = [mask](const T* from, int j) {
    return kMasked && j == C - 1 ? V::load_n(from + j * V::kWidth, mask) : V::load(from + j * V::kWidth);
  };
  const auto store = [mask](T* to, int j, Reg<V> value) {
    if (kMasked && j == C - 1) {
      V::store_n(to + j * V::kWidth, value, mask);
    } else {
      V::store(to + j * V::kWidth, value);
    }
  };
  const bool reads = tail.beta != T{0};
  if (!reads && tail.bias == nullptr && !tail.relu && !tail.gated) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) store(c + i * ldc, j, acc[i][j]);
    }
    return;
  }
  const T lowest = tail.relu ? T{0} : -std::numeric_limits<T>::infinity();
  const Reg<V> floor = V::broadcast(&lowest);
  Reg<V> bias[C];
#pragma GCC unroll 2
  for (int j = 0; j < C; ++j) bias[j] = tail.bias != nullptr ? load(tail.bias, j) : V::zero();
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) {
      T* at = c + i * ldc;
      Reg<V> value = acc[i][j];
      if (reads) value = V::add(value, load(at, j));
      value = V::max(floor, V::add(value, bias[j]));
      if (tail.gated) value = V::where_positive(load(tail.gate_of(at), j), value);
      store(at, j, value);
    }
  }
}

template <class V, int R, int C>
inline __attribute__((always_inline)) void store_sums(const Reg<V> (&acc)[R][C], int64_t n, typename V::T* c,
                                                      int64_t ldc, const TileTail<typename V::T>& tail) {
  using T = typename V::T;
  const int64_t last = n - (C - 1) * V::kWidth;  // elements of the last vector
  if (has_plain_scales(tail)) {
    if (last >= V::kWidth) return store_plain<V, R, C, false>(acc, typename V::Mask{}, c, ldc, tail);
    return store_plain<V, R, C, true>(acc, V::mask(static_cast<int>(last)), c, ldc, tail);
  }
  alignas(64) T sums[R][C * V::kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) V::store(&sums[i][j * V::kWidth], acc[i][j]);
  }
#pragma GCC unroll 1
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 1
    for (int j = 0; j < C; ++j) {
      const int at = j * V::kWidth;
      store_tile<V>(V::load(&sums[i][at]), c + i * ldc + at, n - at, at, tail);
    }
  }
}

// R rows by C vectors of C. Rows of A are reached from every third one, which saves address registers. With kPacks, B
// is read in place, no further than column n, and copied to `panel` on the way: the copy costs nothing beside the
// products, and the tiles below read the panel.
template <class V, int R, int C, bool kPacks>
void tile(int64_t n, const Pieces& pieces, Strided<typename V::T> a, const typename V::T* b, int64_t b_stride,
          typename V::T* panel, typename V::T* c, int64_t ldc, const TileTail<typename V::T>& tail) {
  using T = typename V::T;
  constexpr int kGroups = (R + 2) / 3;
  constexpr int kAhead = 16;  // rows of B
  const int64_t last = n - (C - 1) * V::kWidth;
  const auto mask = V::mask(static_cast<int>(last < V::kWidth ? last : V::kWidth));
  Reg<V> acc[R][C];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    __builtin_prefetch(c + i * ldc, 1);
    if (C == 2) __builtin_prefetch(c + i * ldc + V::kWidth, 1);
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) acc[i][j] = V::zero();
  }
  const int64_t row = a.row, length = pieces.length;
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    const T* rows[kGroups];
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) rows[g] = a.data + pieces.offsets[piece] + 3 * g * row;
    for (int64_t p = 0; p < length; ++p) {
      Reg<V> values[C];
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j) {
        values[j] = kPacks && j == C - 1 ? V::load_n(b + j * V::kWidth, mask) : V::load(b + j * V::kWidth);
        if (kPacks) {
          __builtin_prefetch(b + kAhead * b_stride + j * V::kWidth);
          V::store(panel + j * V::kWidth, values[j]);
        }
      }
      if (kPacks) panel += 2 * V::kWidth;
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Reg<V> value = V::broadcast(rows[i / 3] + (i % 3) * row);
#pragma GCC unroll 2
        for (int j = 0; j < C; ++j) acc[i][j] = V::fma(value, values[j], acc[i][j]);
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; ++g) rows[g] += a.col;
      b += b_stride;
    }
  }
  store_sums<V, R, C>(acc, n, c, ldc, tail);
}

template <class V>
using TileFn = void (*)(int64_t, const Pieces&, Strided<typename V::T>, const typename V::T*, int64_t, typename V::T*,
                        typename V::T*, int64_t, const TileTail<typename V::T>&);

template <class V, int C, bool kPacks, int... I>
TileFn<V> pick_tile(int rows, std::integer_sequence<int, I...>) {
  static constexpr TileFn<V> kTiles[] = {tile<V, I + 1, C, kPacks>...};
  return kTiles[rows - 1];
}

// Rows are cut into tiles of nearly equal height: 50 rows are 13 + 13 + 12 + 12, not 14 + 14 + 14 + 8. With a panel,
// the first tile fills it from B and the others read it.
template <class V, int kRows>
void block_and_pack(int64_t rows, int64_t n, const Pieces& pieces, Strided<typename V::T> a, const typename V::T* b,
                    int64_t b_stride, typename V::T* panel, typename V::T* c, int64_t ldc,
                    const TileTail<typename V::T>& tail) {
  const auto sequence = std::make_integer_sequence<int, kRows>{};
  const int64_t tiles = (rows + kRows - 1) / kRows;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t begin = rows * t / tiles, end = rows * (t + 1) / tiles;
    const int height = static_cast<int>(end - begin);
    const bool packs = panel != nullptr && t == 0;
    const TileFn<V> fn =
        n > V::kWidth ? (packs ? pick_tile<V, 2, true>(height, sequence) : pick_tile<V, 2, false>(height, sequence))
                      : (packs ? pick_tile<V, 1, true>(height, sequence) : pick_tile<V, 1, false>(height, sequence));
    fn(n, pieces, {a.data + begin * a.row, a.row, a.col}, b, b_stride, panel, c + begin * ldc, ldc, tail);
    if (packs) b = panel, b_stride = 2 * V::kWidth;
  }
}

template <class V, int kRows>
void block(int64_t rows, int64_t n, const Pieces& pieces, Strided<typename V::T> a, const typename V::T* b,
           int64_t b_stride, typename V::T* c, int64_t ldc, const TileTail<typename V::T>& tail) {
  block_and_pack<V, kRows>(rows, n, pieces, a, b, b_stride, nullptr, c, ldc, tail);
}

template <class V>
void add_rows(int64_t rows, int64_t n, const typename V::T* from, int64_t from_stride, typename V::T* to,
              int64_t to_stride) {
  const int64_t full = n / V::kWidth * V::kWidth;
  const auto mask = V::mask(static_cast<int>(n - full));
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    for (int64_t i = 0; i < full; i += V::kWidth) V::store(to + i, V::add(V::load(to + i), V::load(from + i)));
    if (full < n) V::store_n(to + full, V::add(V::load_n(to + full, mask), V::load_n(from + full, mask)), mask);
  }
}

template <class V>
void pack_rows(int64_t k, int64_t n, Strided<typename V::T> b, typename V::T* panel) {
  constexpr int kWidth = V::kWidth;
  const auto low = V::mask(static_cast<int>(n < kWidth ? n : kWidth));
  const auto high = V::mask(static_cast<int>(n > kWidth ? n - kWidth : 0));
  for (int64_t p = 0; p < k; ++p) {
    const auto* row = b.data + p * b.row;
    V::store(panel, n >= kWidth ? V::load(row) : V::load_n(row, low));
    V::store(panel + kWidth, n == 2 * kWidth ? V::load(row + kWidth)
                             : n > kWidth    ? V::load_n(row + kWidth, high)
                                             : V::zero());
    panel += 2 * kWidth;
  }
}

template <class V>
void pack(int64_t k, int64_t n, Strided<typename V::T> b, typename V::T* panel) {
  constexpr int kStride = 2 * V::kWidth, kBlock = V::kBlock;
  if (b.col == 1) return pack_rows<V>(k, n, b, panel);
  int64_t p = 0;
  if (b.row == 1) {
    for (; p + kBlock <= k; p += kBlock) {
      int64_t j = 0;
      for (; j + kBlock <= n; j += kBlock)
        V::transpose(b.data + p + j * b.col, b.col, panel + p * kStride + j, kStride);
      for (int64_t q = p; q < p + kBlock; ++q) {
        for (int64_t i = j; i < kStride; ++i) panel[q * kStride + i] = i < n ? b.data[q + i * b.col] : 0;
      }
    }
  }
  for (; p < k; ++p) {
    for (int64_t j = 0; j < kStride; ++j) panel[p * kStride + j] = j < n ? b.data[p * b.row + j * b.col] : 0;
  }
}

// One row of A: C vectors of the result at a time, B read in place.
template <class V, int C>
void row_columns(int64_t n, int64_t k, Strided<typename V::T> a, Strided<typename V::T> b, typename V::T* c,
                 int64_t column, const TileTail<typename V::T>& tail) {
  Reg<V> acc[C];
#pragma GCC unroll 8
  for (int j = 0; j < C; ++j) acc[j] = V::zero();
  const bool partial = n < C * V::kWidth;
  const auto mask = V::mask(static_cast<int>(partial ? n : 0));
  for (int64_t p = 0; p < k; ++p) {
    const Reg<V> value = V::broadcast(a.data + p * a.col);
    const auto* source = b.data + p * b.row;
    if (C == 1 && partial) {
      acc[0] = V::fma(value, V::load_n(source, mask), acc[0]);
    } else {
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) acc[j] = V::fma(value, V::load(source + j * V::kWidth), acc[j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < C; ++j) store_tile<V>(acc[j], c + j * V::kWidth, n - j * V::kWidth, column + j * V::kWidth, tail);
}

// Two rows of op(B)^T at a time would not be faster: the loop waits for memory.
template <class V>
typename V::T dot(int64_t k, const typename V::T* a, const typename V::T* b) {
  Reg<V> acc[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
  int64_t p = 0;
  for (; p + 4 * V::kWidth <= k; p += 4 * V::kWidth) {
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) acc[u] = V::fma(V::load(a + p + u * V::kWidth), V::load(b + p + u * V::kWidth), acc[u]);
  }
  for (; p < k; p += V::kWidth) {
    const auto mask = V::mask(static_cast<int>(k - p < V::kWidth ? k - p : V::kWidth));
    acc[0] = V::fma(V::load_n(a + p, mask), V::load_n(b + p, mask), acc[0]);
  }
  return V::sum(V::add(V::add(acc[0], acc[1]), V::add(acc[2], acc[3])));
}

template <class V>
void row_product(int64_t n, int64_t k, Strided<typename V::T> a, Strided<typename V::T> b, typename V::T* c,
                 const TileTail<typename V::T>& tail) {
  using T = typename V::T;
  int64_t j = 0;
  if (b.col == 1) {
    for (; j + 8 * V::kWidth <= n; j += 8 * V::kWidth)
      row_columns<V, 8>(n - j, k, a, {b.data + j, b.row, 1}, c + j, j, tail);
    for (; j < n; j += V::kWidth) row_columns<V, 1>(n - j, k, a, {b.data + j, b.row, 1}, c + j, j, tail);
    return;
  }
  for (; j < n; ++j) {
    const T* column = b.data + j * b.col;
    T sum = 0;
    if (a.col == 1 && b.row == 1) {
      sum = dot<V>(k, a.data, column);
    } else {
      for (int64_t p = 0; p < k; ++p) sum += a.data[p * a.col] * column[p * b.row];
    }
    sum *= tail.alpha;
    if (tail.beta != T{0}) sum += tail.beta * c[j];
    if (tail.bias != nullptr) sum += tail.bias[j];
    if (tail.relu && sum < T{0}) sum = T{0};
    c[j] = tail.gated && !(*tail.gate_of(c + j) > T{0}) ? T{0} : sum;
  }
}

template <class V, int kRows>
constexpr GemmKernels<typename V::T> make_kernels() {
  return {kRows,          2 * V::kWidth, V::kWidth, 512, pack<V>, block<V, kRows>, block_and_pack<V, kRows>,
          row_product<V>, add_rows<V>};
}

}  // namespace
}  // namespace caudal::inline v0::kernels
