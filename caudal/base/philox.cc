#include "caudal/base/philox.h"

#include <immintrin.h>

#include <bit>
#include <numbers>
#include <random>
#include <type_traits>

#include "caudal/base/cpu.h"

namespace caudal::inline v0 {
namespace {

// Keeps log() away from zero.
constexpr double kLeastUniform = 1.0e-7;
constexpr double kTruncateAt = 2.0;

uint64_t join(uint32_t low, uint32_t high) { return low | (uint64_t{high} << 32); }

uint64_t system_seed() {
  std::random_device device;
  return join(device(), device());
}

template <class Int>
Int shifted(Int lo, std::make_unsigned_t<Int> by) {
  return static_cast<Int>(static_cast<std::make_unsigned_t<Int>>(lo) + by);  // wraps where a signed sum would overflow
}

// 32 x 32 -> 64 bits for eight lanes; high and low halves apart.
__attribute__((target("avx2"))) inline void multiply(__m256i a, __m256i factor, __m256i* high, __m256i* low) {
  const __m256i even = _mm256_mul_epu32(a, factor);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
  *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

// Eight samples side by side. REQUIRES: the lowest counter word does not overflow among them.
__attribute__((target("avx2"))) void eight_samples(const PhiloxRandom& generator, PhiloxRandom::Sample* out) {
  const auto& counter = generator.counter();
  __m256i x0 =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(counter[0])), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  __m256i x1 = _mm256_set1_epi32(static_cast<int>(counter[1]));
  __m256i x2 = _mm256_set1_epi32(static_cast<int>(counter[2]));
  __m256i x3 = _mm256_set1_epi32(static_cast<int>(counter[3]));
  PhiloxRandom::Key key = generator.key();
  const __m256i factor0 = _mm256_set1_epi32(static_cast<int>(PhiloxRandom::kFactor0));
  const __m256i factor1 = _mm256_set1_epi32(static_cast<int>(PhiloxRandom::kFactor1));
  for (int round = 0; round < PhiloxRandom::kRounds; ++round) {
    __m256i high0, low0, high1, low1;
    multiply(x0, factor0, &high0, &low0);
    multiply(x2, factor1, &high1, &low1);
    x0 = _mm256_xor_si256(_mm256_xor_si256(high1, x1), _mm256_set1_epi32(static_cast<int>(key[0])));
    x1 = low1;
    x2 = _mm256_xor_si256(_mm256_xor_si256(high0, x3), _mm256_set1_epi32(static_cast<int>(key[1])));
    x3 = low0;
    PhiloxRandom::raise(&key);
  }
  // From four registers of eight lanes to eight samples of four words.
  const __m256i a = _mm256_unpacklo_epi32(x0, x1), b = _mm256_unpackhi_epi32(x0, x1);
  const __m256i c = _mm256_unpacklo_epi32(x2, x3), d = _mm256_unpackhi_epi32(x2, x3);
  const __m256i rows[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c), _mm256_unpacklo_epi64(b, d),
                           _mm256_unpackhi_epi64(b, d)};
  for (int i = 0; i < 4; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_castsi256_si128(rows[i]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i + 4), _mm256_extracti128_si256(rows[i], 1));
  }
}

std::array<double, 2> truncated_normals_double(PhiloxSingles& singles) {
  std::array<double, 2> out{};
  for (size_t count = 0;;) {
    const PhiloxRandom::Sample sample = {singles(), singles(), singles(), singles()};
    for (const double value : box_muller_double(sample)) {
      if (std::abs(value) >= kTruncateAt) continue;
      out[count++] = value;
      if (count == out.size()) return out;
    }
  }
}

}  // namespace

void philox_samples(PhiloxRandom* generator, PhiloxRandom::Sample* out, size_t count) {
  static const bool wide = best_isa() != Isa::kPlain;
  size_t done = 0;
  for (; wide && done + 8 <= count && generator->counter()[0] <= UINT32_MAX - 8; done += 8) {
    eight_samples(*generator, out + done);
    generator->skip(8);
  }
  for (; done < count; ++done) out[done] = (*generator)();
}

PhiloxState::PhiloxState(uint64_t seed, uint64_t seed2) {
  generator_ = seed == 0 && seed2 == 0 ? PhiloxRandom(system_seed(), system_seed()) : PhiloxRandom(seed, seed2);
}

PhiloxRandom PhiloxState::reserve_samples(uint64_t samples) {
  const std::lock_guard lock(mutex_);
  const PhiloxRandom reserved = generator_;
  generator_.skip(samples);
  return reserved;
}

PhiloxRandom PhiloxState::generator() const {
  const std::lock_guard lock(mutex_);
  return generator_;
}

void PhiloxState::set_generator(const PhiloxRandom& generator) {
  const std::lock_guard lock(mutex_);
  generator_ = generator;
}

float uniform_float(uint32_t bits) { return std::bit_cast<float>((127u << 23) | (bits & 0x7fffffu)) - 1.0f; }

double uniform_double(uint32_t high, uint32_t low) {
  return std::bit_cast<double>((uint64_t{1023} << 52) | join(low, high & 0xfffffu)) - 1.0;
}

std::array<float, 2> box_muller(uint32_t x0, uint32_t x1) {
  const float u1 = std::max(uniform_float(x0), static_cast<float>(kLeastUniform));
  const float angle = static_cast<float>(2.0 * std::numbers::pi * uniform_float(x1));
  const float radius = std::sqrt(-2.0f * std::log(u1));
  float sine, cosine;
  sincosf(angle, &sine, &cosine);
  return {sine * radius, cosine * radius};
}

std::array<double, 2> box_muller_double(const PhiloxRandom::Sample& x) {
  const double u1 = std::max(uniform_double(x[0], x[1]), kLeastUniform);
  const double angle = 2.0 * std::numbers::pi * uniform_double(x[2], x[3]);
  const double radius = std::sqrt(-2.0 * std::log(u1));
  double sine, cosine;
  sincos(angle, &sine, &cosine);
  return {sine * radius, cosine * radius};
}

std::array<float, 4> truncated_normals(PhiloxSingles& singles) {
  std::array<float, 4> out{};
  for (size_t count = 0;;) {
    const uint32_t x0 = singles();
    const uint32_t x1 = singles();
    for (const float value : box_muller(x0, x1)) {
      if (std::abs(value) >= static_cast<float>(kTruncateAt)) continue;
      out[count++] = value;
      if (count == out.size()) return out;
    }
  }
}

void fill_uniform(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool) {
  fill_philox_groups<4>(generator, out, pool, [](const PhiloxRandom::Sample& x) {
    return std::array{uniform_float(x[0]), uniform_float(x[1]), uniform_float(x[2]), uniform_float(x[3])};
  });
}

void fill_uniform(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool) {
  fill_philox_groups<2>(generator, out, pool, [](const PhiloxRandom::Sample& x) {
    return std::array{uniform_double(x[0], x[1]), uniform_double(x[2], x[3])};
  });
}

void fill_normal(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool) {
  fill_philox_groups<4>(generator, out, pool, [](const PhiloxRandom::Sample& x) {
    const auto [a, b] = box_muller(x[0], x[1]);
    const auto [c, d] = box_muller(x[2], x[3]);
    return std::array{a, b, c, d};
  });
}

void fill_normal(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool) {
  fill_philox_groups<2>(generator, out, pool, box_muller_double);
}

void fill_truncated_normal(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool) {
  fill_philox_regions<4>(generator, out, pool, truncated_normals);
}

void fill_truncated_normal(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool) {
  fill_philox_regions<2>(generator, out, pool, truncated_normals_double);
}

void fill_uniform_int(const PhiloxRandom& generator, int32_t lo, int32_t hi, std::span<int32_t> out, ThreadPool& pool) {
  const uint32_t range = static_cast<uint32_t>(hi) - static_cast<uint32_t>(lo);
  fill_philox_groups<4>(generator, out, pool, [lo, range](const PhiloxRandom::Sample& x) {
    return std::array{shifted(lo, x[0] % range), shifted(lo, x[1] % range), shifted(lo, x[2] % range),
                      shifted(lo, x[3] % range)};
  });
}

void fill_uniform_int(const PhiloxRandom& generator, int64_t lo, int64_t hi, std::span<int64_t> out, ThreadPool& pool) {
  const uint64_t range = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  fill_philox_groups<2>(generator, out, pool, [lo, range](const PhiloxRandom::Sample& x) {
    return std::array{shifted(lo, join(x[0], x[1]) % range), shifted(lo, join(x[2], x[3]) % range)};
  });
}

void fill_bits(const PhiloxRandom& generator, std::span<uint32_t> out, ThreadPool& pool) {
  fill_philox_groups<4>(generator, out, pool, [](const PhiloxRandom::Sample& x) { return x; });
}

void fill_bits(const PhiloxRandom& generator, std::span<uint64_t> out, ThreadPool& pool) {
  fill_philox_groups<2>(generator, out, pool, [](const PhiloxRandom::Sample& x) {
    return std::array{join(x[0], x[1]), join(x[2], x[3])};
  });
}

}  // namespace caudal::inline v0
