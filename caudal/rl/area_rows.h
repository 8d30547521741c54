// The loops of AreaResizer over one row, plain and for AVX2. Both give the same values.
//
// Memory: `row` of mix_columns and `sums` of mean_columns have kRowPadding readable elements behind their end. Thread
// safety: functions of their arguments.
#pragma once

#include <cstdint>

namespace caudal::inline v0::rl {

inline constexpr int kRowPadding = 64;
// Most taps of a column that the AVX2 loops of averages take.
inline constexpr int kVectorTaps = 4;
inline constexpr int kWideLanes = 32;

// Columns of a resizing: output i is made of `taps` source places from first[i] on.
struct ColumnTaps {
  int source = 0, size = 0, taps = 0;
  const std::int32_t* first = nullptr;
  const std::int32_t* weight = nullptr;  // [size, taps]
  // The same as pairs of 16 bits, for taps up to kVectorTaps: pairs[(2 * block + half) * 8 + lane] has the weights of
  // taps 2 * half and 2 * half + 1 of output 8 * block + lane. Null where weights or sums are too large.
  const std::uint32_t* pairs = nullptr;
  // The same for AVX-512: blocks of kWideLanes outputs whose source places lie within 2 * kWideLanes. Block b starts at
  // place wide_first[b]; output lane l takes tap t at place wide_first[b] + wide_place[(b * taps + t) * kWideLanes + l]
  // with weight wide_weight[...]. Null where a block spans more.
  const std::int32_t* wide_first = nullptr;
  const std::uint16_t *wide_place = nullptr, *wide_weight = nullptr;
};

// sums[x] (+)= weight * row[x] for `width` values.
void add_weighted(const std::uint8_t* row, std::uint16_t weight, int width, bool first, std::uint16_t* sums);

// Division by `total` as a product: n / total == (n * multiplier) >> shift.
struct MeanDivider {
  std::uint32_t total = 1, multiplier = 0;
  int shift = 0;
  // The same with a product of 16 bits by 16, of which the high half counts; multiplier 0 where none is exact.
  std::uint32_t high_multiplier = 0;
  int high_shift = 0;
  // Finds a multiplier that is exact for all n up to `most` with products that fit 32 bits. False if there is none.
  bool find(std::uint32_t most);
};

// For each output the rounded mean sum / total of its weighted column sums; `halfway` gets a 1 where the mean lies
// halfway between two values (then it is rounded up), else a 0. Returns whether there is a halfway one.
// `out` and `halfway` have room for whole blocks of kWideLanes. REQUIRES: total is even, 255 * total + total / 2 <
// 65536, the divider was found for that.
bool mean_columns(const ColumnTaps& columns, const std::uint16_t* sums, const MeanDivider& divider, std::uint8_t* out,
                  std::uint8_t* halfway);

// mixed[i] = row[first] * weight0 + row[first + 1] * weight1.
void mix_columns(const ColumnTaps& columns, const std::uint8_t* row, std::int32_t* mixed);

// The vertical pass of OpenCV's bilinear interpolation of bytes.
void mix_rows(const std::int32_t* upper, const std::int32_t* lower, int upper_weight, int lower_weight, int width,
              std::uint8_t* out);

}  // namespace caudal::inline v0::rl
