#include "caudal/ops/range_sampler.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

template <class T, class Next>
T exact_below(T n, const Next& next) {
  if ((n & (n - 1)) == 0) return n == 0 ? (next(), T{0}) : next() & (n - 1);
  const T least = static_cast<T>(~T{0} % n + 1);
  T number = next();
  while (number < least) number = next();
  return number % n;
}

class UniformSampler final : public RangeSampler {
 public:
  explicit UniformSampler(std::int64_t range)
      : RangeSampler(range), probability_(static_cast<float>(1.0 / static_cast<double>(range))) {}
  std::int64_t draw(PhiloxDraws& draws) const override {
    return static_cast<std::int64_t>(draws.below64(static_cast<std::uint64_t>(range())));
  }
  float probability(std::int64_t) const override { return probability_; }

 private:
  float probability_;
};

class LogUniformSampler final : public RangeSampler {
 public:
  explicit LogUniformSampler(std::int64_t range)
      : RangeSampler(range), log_range_(std::log1p(static_cast<double>(range))) {}
  std::int64_t draw(PhiloxDraws& draws) const override {
    return (static_cast<std::int64_t>(std::exp(draws.double_fraction() * log_range_)) - 1) % range();
  }
  float probability(std::int64_t value) const override {
    const auto k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range_);
  }

 private:
  double log_range_;
};

// Sums of weights in a tree over 2^depth leaves: node 1 is the root, the children of n are 2n and 2n + 1.
class LearnedSampler final : public RangeSampler {
 public:
  explicit LearnedSampler(std::int64_t range) : RangeSampler(range) {
    if (range >= INT32_MAX) throw invalid_argument("range_max is ", range, "; it must be less than ", INT32_MAX);
    leaves_ = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(range)));
    tree_ = Tensor::zeros(DType::kInt32, Shape{2 * leaves_});
    std::fill_n(nodes() + leaves_, range, 1);
    sum_up();
  }

  std::int64_t draw(PhiloxDraws& draws) const override {
    auto position = static_cast<std::int64_t>(draws.below32(static_cast<std::uint32_t>(total())));
    std::int64_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (position < nodes()[node]) continue;
      position -= nodes()[node];
      ++node;
    }
    return node - leaves_;
  }
  float probability(std::int64_t value) const override {
    return static_cast<float>(nodes()[leaves_ + value]) / static_cast<float>(total());
  }
  bool learns() const override { return true; }
  void learn(const std::int64_t* values, std::int64_t n) override {
    n = std::min<std::int64_t>(n, INT32_MAX - total());
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t node = leaves_ + values[i]; node > 0; node /= 2) ++nodes()[node];
    }
  }
  std::string save() const override {
    return {reinterpret_cast<const char*>(nodes() + leaves_), static_cast<std::size_t>(range()) * sizeof(std::int32_t)};
  }
  void restore(std::string_view bytes) override {
    if (bytes.size() != static_cast<std::size_t>(range()) * sizeof(std::int32_t)) {
      throw data_loss("the weights of a sampler of ", range(), " classes have ", bytes.size(), " bytes");
    }
    std::memcpy(nodes() + leaves_, bytes.data(), bytes.size());
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < range(); ++k) {
      const std::int32_t weight = nodes()[leaves_ + k];
      if (weight < 1 || (sum += weight) > INT32_MAX) throw data_loss("the weights of a sampler are out of range");
    }
    sum_up();
  }

 private:
  std::int32_t* nodes() { return tree_.data<std::int32_t>(); }
  const std::int32_t* nodes() const { return tree_.data<std::int32_t>(); }
  std::int32_t total() const { return nodes()[1]; }
  void sum_up() {
    for (std::int64_t node = leaves_ - 1; node > 0; --node) nodes()[node] = nodes()[2 * node] + nodes()[2 * node + 1];
  }

  std::int64_t leaves_ = 0;
  Tensor tree_;
};

// Walker's method of aliases: a class, or with some probability its alias.
class FixedSampler final : public RangeSampler {
 public:
  FixedSampler(std::int64_t range, std::vector<float> weights, float total)
      : RangeSampler(range),
        weights_(std::move(weights)),
        total_(total),
        keep_(weights_.size(), 1),
        alias_(weights_.size()) {
    double sum = 0;
    for (const float weight : weights_) sum += static_cast<double>(weight);
    std::vector<double> shares;
    std::vector<std::int32_t> high, low;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      alias_[i] = static_cast<std::int32_t>(i);
      // The product is a float's, as in TensorFlow.
      shares.push_back(static_cast<double>(weights_[i] * static_cast<float>(weights_.size())) / sum);
      (shares.back() < 1 ? low : high).push_back(alias_[i]);
    }
    while (!high.empty() && !low.empty()) {
      const auto l = static_cast<std::size_t>(low.back()), h = static_cast<std::size_t>(high.back());
      low.pop_back();
      high.pop_back();
      alias_[l] = static_cast<std::int32_t>(h);
      keep_[l] = static_cast<float>(shares[l]);
      shares[h] -= 1 - shares[l];
      (shares[h] < 1 ? low : high).push_back(static_cast<std::int32_t>(h));
    }
  }

  std::int64_t possible() const override {
    return std::ranges::count_if(weights_, [](float weight) { return weight > 0; });
  }
  std::int64_t draw(PhiloxDraws& draws) const override {
    const float fraction = draws.fraction();
    const std::uint32_t i = draws.below32(static_cast<std::uint32_t>(weights_.size()));
    return fraction < keep_[i] ? static_cast<std::int64_t>(i) : alias_[i];
  }
  float probability(std::int64_t value) const override { return weights_[static_cast<std::size_t>(value)] / total_; }

 private:
  std::vector<float> weights_;
  float total_;
  std::vector<float> keep_;  // the chance that the class itself is taken
  std::vector<std::int32_t> alias_;
};

}  // namespace

std::uint32_t PhiloxDraws::below32(std::uint32_t n) {
  return exact_below(n, [this] { return singles_(); });
}

std::uint64_t PhiloxDraws::below64(std::uint64_t n) {
  return exact_below(n, [this] {
    const std::uint64_t low = singles_();
    return low | std::uint64_t{singles_()} << 32;
  });
}

std::unique_ptr<RangeSampler> make_uniform_sampler(std::int64_t range) {
  return std::make_unique<UniformSampler>(range);
}
std::unique_ptr<RangeSampler> make_log_uniform_sampler(std::int64_t range) {
  return std::make_unique<LogUniformSampler>(range);
}
std::unique_ptr<RangeSampler> make_learned_sampler(std::int64_t range) {
  return std::make_unique<LearnedSampler>(range);
}

std::unique_ptr<RangeSampler> make_fixed_sampler(std::int64_t range, const std::vector<float>& weights,
                                                 const FixedWeights& options) {
  const auto count = [&](std::int64_t numbers) {
    return numbers <= options.shard ? 0 : (numbers - options.shard + options.shards - 1) / options.shards;
  };
  if (options.shard >= options.shards) {
    throw invalid_argument("shard ", options.shard, " must be less than num_shards ", options.shards);
  }
  const std::int64_t reserved = count(std::max<std::int64_t>(0, options.reserved));
  if (reserved > range) throw invalid_argument(reserved, " reserved classes are more than range_max ", range);
  std::vector<float> kept(static_cast<std::size_t>(reserved), 0);
  float total = 0;
  // TensorFlow goes on counting at the number of reserved classes that are kept.
  std::int64_t number = reserved;
  for (const float weight : weights) {
    if (number++ % options.shards != options.shard) continue;
    const float distorted = std::pow(weight, options.distortion);
    if (!(distorted >= 0) || std::isinf(distorted)) throw invalid_argument("a unigram has the weight ", weight);
    total += distorted;
    kept.push_back(distorted);
  }
  if (std::ssize(kept) != range) {
    throw invalid_argument("range_max is ", range, ", but there are weights for ", kept.size(), " classes");
  }
  if (!(total > 0)) throw invalid_argument("all unigrams have the weight 0");
  return std::make_unique<FixedSampler>(range, std::move(kept), total);
}

std::vector<float> vocabulary_weights(std::string_view text) {
  std::vector<float> weights;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string_view field = line.substr(line.rfind(',') + 1);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    float weight = 0;
    const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), weight);
    if (error != std::errc() || last != field.data() + field.size()) {
      throw invalid_argument("vocabulary line \"", line, "\" does not end with a weight");
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace caudal::inline v0
