#include "caudal/rl/area_rows.h"

#include <immintrin.h>

#include <cstring>

#include "caudal/kernels/isa.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kLanes = 8;

bool has_avx2() { return kernels::kernel_isa() >= Isa::kAvx2; }

// The multiples of kLanes come from the vector loops, the rest from the plain ones.

bool mean_columns_plain(const ColumnTaps& columns, int begin, const std::uint16_t* sums, const MeanDivider& divider,
                        std::uint8_t* out, std::uint8_t* halfway) {
  bool any = false;
  for (int i = begin; i < columns.size; ++i) {
    std::uint32_t sum = divider.total / 2;
    for (int t = 0; t < columns.taps; ++t)
      sum += static_cast<std::uint32_t>(columns.weight[i * columns.taps + t]) * sums[columns.first[i] + t];
    const std::uint32_t mean = (sum * divider.multiplier) >> divider.shift;
    out[i] = static_cast<std::uint8_t>(mean);
    halfway[i] = sum == mean * divider.total;
    any |= halfway[i] != 0;
  }
  return any;
}

__attribute__((target("avx2"))) __m256i gather(const void* base, __m256i index, bool of_words) {
  const auto* words = static_cast<const int*>(base);
  return of_words ? _mm256_i32gather_epi32(words, index, 2) : _mm256_i32gather_epi32(words, index, 1);
}

// Low bytes of eight 32-bit lanes.
__attribute__((target("avx2"))) void store_bytes(std::uint8_t* out, __m256i lanes) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
}

__attribute__((target("avx2"))) bool mean_columns_avx2(const ColumnTaps& columns, int end, const std::uint16_t* sums,
                                                       const MeanDivider& divider, std::uint8_t* out,
                                                       std::uint8_t* halfway) {
  const __m256i half = _mm256_set1_epi32(static_cast<int>(divider.total / 2));
  const __m256i total = _mm256_set1_epi32(static_cast<int>(divider.total));
  const __m256i multiplier = _mm256_set1_epi32(static_cast<int>(divider.multiplier));
  const __m128i shift = _mm_cvtsi32_si128(divider.shift);
  const __m256i two = _mm256_set1_epi32(2), one = _mm256_set1_epi32(1);
  __m256i any = _mm256_setzero_si256();
  for (int i = 0; i < end; i += kLanes) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns.first + i));
    const auto* pairs = reinterpret_cast<const __m256i*>(columns.pairs + 2 * i);
    __m256i sum = _mm256_madd_epi16(gather(sums, first, true), _mm256_loadu_si256(pairs));
    if (columns.taps > 2)
      sum = _mm256_add_epi32(
          sum, _mm256_madd_epi16(gather(sums, _mm256_add_epi32(first, two), true), _mm256_loadu_si256(pairs + 1)));
    sum = _mm256_add_epi32(sum, half);
    const __m256i mean = _mm256_srl_epi32(_mm256_mullo_epi32(sum, multiplier), shift);
    const __m256i tie = _mm256_cmpeq_epi32(sum, _mm256_mullo_epi32(mean, total));
    any = _mm256_or_si256(any, tie);
    store_bytes(out + i, mean);
    store_bytes(halfway + i, _mm256_and_si256(tie, one));
  }
  return _mm256_testz_si256(any, any) == 0;
}

// Sums of up to 16 bits in one lane each, so 32 outputs at once; the quotient comes from the high half of a product.
__attribute__((target("avx512f,avx512bw,avx512vl"))) bool mean_columns_avx512(const ColumnTaps& columns,
                                                                              const std::uint16_t* sums,
                                                                              const MeanDivider& divider,
                                                                              std::uint8_t* out,
                                                                              std::uint8_t* halfway) {
  const __m512i half = _mm512_set1_epi16(static_cast<short>(divider.total / 2));
  const __m512i total = _mm512_set1_epi16(static_cast<short>(divider.total));
  const __m512i multiplier = _mm512_set1_epi16(static_cast<short>(divider.high_multiplier));
  const __m128i shift = _mm_cvtsi32_si128(divider.high_shift);
  std::uint32_t any = 0;
  for (int i = 0, block = 0; i < columns.size; i += kWideLanes, ++block) {
    const std::uint16_t* from = sums + columns.wide_first[block];
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + kWideLanes);
    __m512i sum = half;
    for (int t = 0; t < columns.taps; ++t) {
      const std::ptrdiff_t k = static_cast<std::ptrdiff_t>(block * columns.taps + t) * kWideLanes;
      const __m512i values = _mm512_permutex2var_epi16(low, _mm512_loadu_si512(columns.wide_place + k), high);
      sum = _mm512_add_epi16(sum, _mm512_mullo_epi16(values, _mm512_loadu_si512(columns.wide_weight + k)));
    }
    const __m512i mean = _mm512_srl_epi16(_mm512_mulhi_epu16(sum, multiplier), shift);
    const __mmask32 tie = _mm512_cmpeq_epi16_mask(sum, _mm512_mullo_epi16(mean, total));
    any |= tie;
    _mm512_mask_cvtepi16_storeu_epi8(out + i, ~__mmask32{0}, mean);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halfway + i), _mm256_maskz_set1_epi8(tie, 1));
  }
  return any != 0;
}

__attribute__((target("avx2"))) void add_weighted_avx2(const std::uint8_t* row, std::uint16_t weight, int width,
                                                       bool first, std::uint16_t* sums) {
  const __m256i factor = _mm256_set1_epi16(static_cast<short>(weight));
  for (int x = 0; x < width; x += 16) {
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + x)));
    const __m256i product = _mm256_mullo_epi16(wide, factor);
    auto* to = reinterpret_cast<__m256i*>(sums + x);
    _mm256_storeu_si256(to, first ? product : _mm256_add_epi16(_mm256_loadu_si256(to), product));
  }
}

__attribute__((target("avx2"))) void mix_columns_avx2(const ColumnTaps& columns, int end, const std::uint8_t* row,
                                                      std::int32_t* mixed) {
  // Bytes 0 and 1 of each lane become two words.
  const __m256i spread =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
  for (int i = 0; i < end; i += kLanes) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns.first + i));
    const __m256i values = _mm256_shuffle_epi8(gather(row, first, false), spread);
    const auto* pairs = reinterpret_cast<const __m256i*>(columns.pairs + 2 * i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(mixed + i), _mm256_madd_epi16(values, _mm256_loadu_si256(pairs)));
  }
}

__attribute__((target("avx2"))) void mix_rows_avx2(const std::int32_t* upper, const std::int32_t* lower,
                                                   int upper_weight, int lower_weight, int end, std::uint8_t* out) {
  const __m256i weights[] = {_mm256_set1_epi32(upper_weight), _mm256_set1_epi32(lower_weight)};
  const __m256i two = _mm256_set1_epi32(2);
  for (int i = 0; i < end; i += kLanes) {
    const auto part = [&](const std::int32_t* row, __m256i weight) __attribute__((target("avx2"))) {
      const __m256i values = _mm256_srai_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + i)), 4);
      return _mm256_srai_epi32(_mm256_mullo_epi32(values, weight), 16);
    };
    const __m256i sum = _mm256_add_epi32(part(upper, weights[0]), part(lower, weights[1]));
    store_bytes(out + i, _mm256_srai_epi32(_mm256_add_epi32(sum, two), 2));
  }
}

}  // namespace

void add_weighted(const std::uint8_t* row, std::uint16_t weight, int width, bool first, std::uint16_t* sums) {
  const int vectors = has_avx2() ? width / 16 * 16 : 0;
  if (vectors > 0) add_weighted_avx2(row, weight, vectors, first, sums);
  for (int x = vectors; x < width; ++x)
    sums[x] = static_cast<std::uint16_t>((first ? 0 : sums[x]) + static_cast<std::uint32_t>(weight) * row[x]);
}

bool MeanDivider::find(std::uint32_t most) {
  for (high_shift = 0; high_shift < 16 && high_multiplier == 0; ++high_shift) {
    const std::uint32_t candidate = ((std::uint32_t{1} << (16 + high_shift)) + total - 1) / total;
    if (candidate > UINT16_MAX) break;
    bool exact = true;
    for (std::uint32_t n = 0; n <= most && exact; ++n) exact = (n * candidate >> 16) >> high_shift == n / total;
    if (!exact) continue;
    high_multiplier = candidate;
    break;
  }
  for (shift = 31; shift >= 16; --shift) {
    const std::uint64_t candidate = ((std::uint64_t{1} << shift) + total - 1) / total;
    if (candidate * most >= (std::uint64_t{1} << 32)) continue;
    multiplier = static_cast<std::uint32_t>(candidate);
    bool exact = true;
    for (std::uint32_t n = 0; n <= most && exact; ++n) exact = (n * multiplier) >> shift == n / total;
    return exact;
  }
  return false;
}

bool mean_columns(const ColumnTaps& columns, const std::uint16_t* sums, const MeanDivider& divider, std::uint8_t* out,
                  std::uint8_t* halfway) {
  if (columns.wide_first != nullptr && divider.high_multiplier != 0 && kernels::kernel_isa() >= Isa::kAvx512)
    return mean_columns_avx512(columns, sums, divider, out, halfway);
  const int vectors = columns.pairs != nullptr && has_avx2() ? columns.size / kLanes * kLanes : 0;
  bool any = false;
  if (vectors > 0) any = mean_columns_avx2(columns, vectors, sums, divider, out, halfway);
  return mean_columns_plain(columns, vectors, sums, divider, out, halfway) || any;
}

void mix_columns(const ColumnTaps& columns, const std::uint8_t* row, std::int32_t* mixed) {
  const int vectors = has_avx2() ? columns.size / kLanes * kLanes : 0;
  if (vectors > 0) mix_columns_avx2(columns, vectors, row, mixed);
  for (int i = vectors; i < columns.size; ++i)
    mixed[i] = row[columns.first[i]] * columns.weight[2 * i] + row[columns.first[i] + 1] * columns.weight[2 * i + 1];
}

void mix_rows(const std::int32_t* upper, const std::int32_t* lower, int upper_weight, int lower_weight, int width,
              std::uint8_t* out) {
  const int vectors = has_avx2() ? width / kLanes * kLanes : 0;
  if (vectors > 0) mix_rows_avx2(upper, lower, upper_weight, lower_weight, vectors, out);
  for (int i = vectors; i < width; ++i) {
    const std::int32_t sum = ((upper_weight * (upper[i] >> 4)) >> 16) + ((lower_weight * (lower[i] >> 4)) >> 16);
    out[i] = static_cast<std::uint8_t>((sum + 2) >> 2);
  }
}

}  // namespace caudal::inline v0::rl
