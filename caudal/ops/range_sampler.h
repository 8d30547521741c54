// Distributions over the classes 0 .. range - 1 from which candidate samplers draw, number for number as TensorFlow's.
//
// Thread safety: const members from any thread; learn() alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/philox.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Integers and fractions from one stream of 32-bit numbers.
class PhiloxDraws {
 public:
  explicit PhiloxDraws(const PhiloxRandom& generator) : singles_(generator) {}
  float fraction() { return uniform_float(singles_()); }
  double double_fraction() {
    const std::uint32_t first = singles_(), second = singles_();
    return uniform_double(first, second);
  }
  // [0, n), all equally likely: numbers that would favour some are drawn again. Of 0: 0.
  std::uint32_t below32(std::uint32_t n);
  std::uint64_t below64(std::uint64_t n);

 private:
  PhiloxSingles singles_;
};

class RangeSampler {
 public:
  explicit RangeSampler(std::int64_t range) : range_(range) {}
  virtual ~RangeSampler() = default;

  std::int64_t range() const { return range_; }
  // How many classes can be drawn at all.
  virtual std::int64_t possible() const { return range_; }
  virtual std::int64_t draw(PhiloxDraws& draws) const = 0;
  // REQUIRES: value in [0, range).
  virtual float probability(std::int64_t value) const = 0;
  // What the sampler makes of the classes that were true. Only learning samplers do.
  virtual void learn(const std::int64_t* /*values*/, std::int64_t /*n*/) {}
  virtual bool learns() const { return false; }
  // The state of one that learns, and going there. restore() throws DATA_LOSS.
  virtual std::string save() const { return {}; }
  virtual void restore(std::string_view /*bytes*/) {}

 private:
  const std::int64_t range_;
};

std::unique_ptr<RangeSampler> make_uniform_sampler(std::int64_t range);
// P(k) = log((k + 2) / (k + 1)) / log(range + 1): for classes sorted by falling frequency (Zipf).
std::unique_ptr<RangeSampler> make_log_uniform_sampler(std::int64_t range);
// Weights of 1, to which each true class that is seen adds 1. Throws INVALID_ARGUMENT for 2^31 - 1 classes or more,
// RESOURCE_EXHAUSTED.
std::unique_ptr<RangeSampler> make_learned_sampler(std::int64_t range);

struct FixedWeights {
  float distortion = 1;  // weights are raised to this power
  std::int64_t reserved = 0, shards = 1, shard = 0;
};
// Given weights: first `reserved` classes of weight 0; only those whose number modulo `shards` is `shard` count. Throws
// INVALID_ARGUMENT unless `range` weights come out, all finite and not negative, some not 0.
std::unique_ptr<RangeSampler> make_fixed_sampler(std::int64_t range, const std::vector<float>& weights,
                                                 const FixedWeights& options);
// The weights of a vocabulary: the last of the comma-separated fields of each line. Throws INVALID_ARGUMENT with the
// line.
std::vector<float> vocabulary_weights(std::string_view text);

}  // namespace caudal::inline v0
