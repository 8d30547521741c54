// TensorFlow's random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) with
// TensorFlow's seeding, conversions and order of use, so that a seeded graph draws what TensorFlow draws: integers and
// uniforms bit for bit, normals up to the last bits of libm.
//
//   PhiloxState state(seed, seed2);                                       // of a stateful op
//   fill_normal(state.reserve_outputs(n, kReservedSamplesPerOutput), std::span(values), pool);
//
// An output array is cut into groups, one 128-bit sample each (four 32-bit or two 64-bit values); group i always comes
// from sample i of the generator, so that results do not depend on the number of threads. A truncated normal needs a
// varying number of samples: each of its groups owns a region of kReservedSamplesPerOutput 32-bit samples per value.
// Half and BFloat16 versions: caudal/tensor/random.h.
//
// Thread safety: PhiloxRandom is a value; PhiloxState may be shared.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <span>

#include "caudal/base/export.h"
#include "caudal/base/thread_pool.h"

namespace caudal::inline v0 {

class PhiloxRandom {
 public:
  using Sample = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;
  // The constants of the paper.
  static constexpr int kRounds = 10;
  static constexpr uint32_t kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;
  static void raise(Key* key) {
    (*key)[0] += 0x9E3779B9;
    (*key)[1] += 0xBB67AE85;
  }

  PhiloxRandom() = default;
  // As stateful ops seed it from their attributes.
  explicit PhiloxRandom(uint64_t seed, uint64_t seed2 = 0)
      : counter_{0, 0, static_cast<uint32_t>(seed2), static_cast<uint32_t>(seed2 >> 32)},
        key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}
  PhiloxRandom(const Sample& counter, const Key& key) : counter_(counter), key_(key) {}
  // As stateless ops seed it from their seed input: the two numbers are scrambled into key and counter.
  static PhiloxRandom stateless(uint64_t seed, uint64_t seed2) {
    PhiloxRandom scramble({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed2),
                           static_cast<uint32_t>(seed2 >> 32)},
                          {0x3ec8f720, 0x02461e29});
    const Sample mixed = scramble();
    return PhiloxRandom({0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]});
  }

  const Sample& counter() const { return counter_; }
  const Key& key() const { return key_; }

  // Passes over `count` samples of 128 bits.
  void skip(uint64_t count) {
    const uint64_t low = counter_[0] | (uint64_t{counter_[1]} << 32);
    const uint64_t sum = low + count;
    counter_[0] = static_cast<uint32_t>(sum);
    counter_[1] = static_cast<uint32_t>(sum >> 32);
    if (sum < low && ++counter_[2] == 0) ++counter_[3];
  }

  // The next sample.
  Sample operator()() {
    Sample x = counter_;
    Key key = key_;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t a = uint64_t{kFactor0} * x[0];
      const uint64_t b = uint64_t{kFactor1} * x[2];
      x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(a)};
      raise(&key);
    }
    skip(1);
    return x;
  }

 private:
  Sample counter_{};
  Key key_{};
};

// One 32-bit number at a time from a PhiloxRandom.
class PhiloxSingles {
 public:
  explicit PhiloxSingles(const PhiloxRandom& generator) : generator_(generator) {}
  uint32_t operator()() {
    if (used_ == 4) {
      sample_ = generator_();
      used_ = 0;
    }
    return sample_[used_++];
  }

 private:
  PhiloxRandom generator_;
  PhiloxRandom::Sample sample_{};
  int used_ = 4;
};

// 32-bit samples that stateful random ops set aside per output value.
inline constexpr int kReservedSamplesPerOutput = 256;

// The generator of one stateful op: each execution takes the next stretch of the stream.
class CAUDAL_API PhiloxState {
 public:
  // Draws both seeds from the system if both are zero, as TensorFlow does.
  PhiloxState(uint64_t seed, uint64_t seed2);
  // Continues where `generator` stands.
  explicit PhiloxState(const PhiloxRandom& generator) : generator_(generator) {}

  // The generator for the next `samples` 128-bit samples.
  PhiloxRandom reserve_samples(uint64_t samples);
  // For `outputs` values of `per_output` samples of 128 bits each: TensorFlow's conservative rule.
  PhiloxRandom reserve_outputs(uint64_t outputs, uint64_t per_output) { return reserve_samples(outputs * per_output); }

  // For checkpoints: where the stream stands, and going there.
  PhiloxRandom generator() const;
  void set_generator(const PhiloxRandom& generator);

 private:
  mutable std::mutex mutex_;
  PhiloxRandom generator_;
};

// Conversions of raw bits.
float uniform_float(uint32_t bits);                                    // [0, 1), 23 bits
double uniform_double(uint32_t high, uint32_t low);                    // [0, 1), 52 bits
std::array<float, 2> box_muller(uint32_t x0, uint32_t x1);             // two standard normals
std::array<double, 2> box_muller_double(const PhiloxRandom::Sample&);  // two standard normals

// Fill `out` in row-major order.
CAUDAL_API void fill_uniform(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool);   // [0, 1)
CAUDAL_API void fill_uniform(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool);  // [0, 1)
// Standard normals.
CAUDAL_API void fill_normal(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool);
CAUDAL_API void fill_normal(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool);
// Standard normals; values beyond two standard deviations are drawn again.
CAUDAL_API void fill_truncated_normal(const PhiloxRandom& generator, std::span<float> out, ThreadPool& pool);
CAUDAL_API void fill_truncated_normal(const PhiloxRandom& generator, std::span<double> out, ThreadPool& pool);
// lo + x mod (hi - lo), of 32 or 64 random bits. REQUIRES: lo < hi.
CAUDAL_API void fill_uniform_int(const PhiloxRandom& generator, int32_t lo, int32_t hi, std::span<int32_t> out,
                                 ThreadPool& pool);
CAUDAL_API void fill_uniform_int(const PhiloxRandom& generator, int64_t lo, int64_t hi, std::span<int64_t> out,
                                 ThreadPool& pool);
// All bits random.
CAUDAL_API void fill_bits(const PhiloxRandom& generator, std::span<uint32_t> out, ThreadPool& pool);
CAUDAL_API void fill_bits(const PhiloxRandom& generator, std::span<uint64_t> out, ThreadPool& pool);

// The next `count` samples of the stream at once, several times faster than one by one; `generator` moves on.
CAUDAL_API void philox_samples(PhiloxRandom* generator, PhiloxRandom::Sample* out, size_t count);

// The layouts, for types and distributions beyond those above. `group(sample)` turns a 128-bit sample into kGroup
// values.
template <int kGroup, class T, class Group>
void fill_philox_groups(const PhiloxRandom& generator, std::span<T> out, ThreadPool& pool, const Group& group) {
  constexpr int64_t kBatch = 64;
  const int64_t size = static_cast<int64_t>(out.size());
  pool.parallel_for((size + kGroup - 1) / kGroup, 1024, [&](int64_t begin, int64_t end) {
    PhiloxRandom stream = generator;
    stream.skip(static_cast<uint64_t>(begin));
    std::array<PhiloxRandom::Sample, kBatch> samples;
    while (begin < end) {
      const int64_t batch = std::min(kBatch, end - begin);
      philox_samples(&stream, samples.data(), static_cast<size_t>(batch));
      for (int64_t i = 0; i < batch; ++i, ++begin) {
        const std::array<T, kGroup> values = group(samples[i]);
        const int64_t offset = begin * kGroup;
        if (offset + kGroup <= size) {
          std::copy_n(values.begin(), kGroup, out.data() + offset);
        } else {
          std::copy_n(values.begin(), size - offset, out.data() + offset);
        }
      }
    }
  });
}

// Groups that draw as many samples as it takes: `group(singles)` returns kGroup values, each group from its own region.
template <int kGroup, class T, class Group>
void fill_philox_regions(const PhiloxRandom& generator, std::span<T> out, ThreadPool& pool, const Group& group) {
  constexpr int64_t kSkipPerGroup = kGroup * kReservedSamplesPerOutput / 4;
  const int64_t size = static_cast<int64_t>(out.size());
  pool.parallel_for((size + kGroup - 1) / kGroup, 512, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) {
      PhiloxRandom stream = generator;
      stream.skip(static_cast<uint64_t>(begin * kSkipPerGroup));
      PhiloxSingles singles(stream);
      const std::array<T, kGroup> values = group(singles);
      const int64_t offset = begin * kGroup;
      std::copy_n(values.begin(), std::min<int64_t>(kGroup, size - offset), out.data() + offset);
    }
  });
}

// Four standard normals within two standard deviations, in the order in which they are drawn.
std::array<float, 4> truncated_normals(PhiloxSingles& singles);

}  // namespace caudal::inline v0
