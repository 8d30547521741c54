#include "caudal/ops/binomial_draws.h"

#include <cmath>
#include <limits>
#include <vector>

#include "caudal/core/shape_context.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/random_draws.h"

namespace caudal::inline v0 {
namespace {

using CountTypes = kernels::TypeList<Half, float, double, std::int32_t, std::int64_t>;
using ParameterTypes = kernels::TypeList<Half, float, double>;

// Waiting times between successes, added up until they exceed the number of trials.
double by_inversion(double count, double prob, PhiloxRandom& generator) {
  UniformDraws uniform;
  double waited = 0;
  std::int64_t successes = 0;
  for (;;) {
    waited += std::ceil(std::log(uniform(generator)) / std::log1p(-prob));
    if (waited > count) return static_cast<double>(successes);
    ++successes;
  }
}

// What Stirling's formula for log(k!) lacks.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// W. Hörmann, "The generation of binomial random variates", 1993: algorithm BTRS, with the logarithm that it lacks.
double by_rejection(double count, double prob, PhiloxRandom& generator) {
  const double deviation = std::sqrt(count * prob * (1 - prob));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double c = count * prob + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = prob / (1 - prob);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * prob);
  UniformDraws uniform;
  for (;;) {
    const double u = uniform(generator) - 0.5;
    double v = uniform(generator);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= box) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

// One draw; output number `index` has a stretch of the stream whose place depends on the method.
template <class T>
double draw_binomial(T count, T prob, const PhiloxRandom& generator, std::uint64_t index) {
  using W = kernels::Wide<T>;
  const auto trials = static_cast<double>(static_cast<W>(count));
  const W p = static_cast<W>(prob);
  if (trials <= 0 || p <= 0) return 0;
  if (std::isnan(p) || std::isnan(trials)) return std::numeric_limits<double>::quiet_NaN();
  if (p >= 1) return trials;
  const bool likely = p > W(0.5);
  // The complement and the mean are rounded to the type of the parameters.
  const W rare = likely ? static_cast<W>(T(W{1} - p)) : p;
  const W mean = static_cast<W>(T(static_cast<W>(count) * rare));
  PhiloxRandom own = generator;
  double successes;
  if (mean >= 10) {
    own.skip(256 * index);
    successes = by_rejection(trials, static_cast<double>(rare), own);
  } else {
    own.skip(42 * index);
    successes = by_inversion(trials, static_cast<double>(rare), own);
  }
  return likely ? trials - successes : successes;
}

template <class U>
U converted(double value) {
  if constexpr (std::is_integral_v<U>) {
    // NaN and what is too large become the least number, as conversions on x86 do.
    constexpr double kLimit = sizeof(U) == 4 ? 2147483648.0 : 9223372036854775808.0;
    return value > -kLimit && value < kLimit ? static_cast<U>(value) : std::numeric_limits<U>::min();
  } else {
    return U(static_cast<kernels::Wide<U>>(value));
  }
}

Shape batch_shape(const Tensor& counts, const Tensor& probs) {
  return *broadcast(counts.shape(), probs.shape()).to_shape();
}

template <class T, class U>
void fill_typed(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& counts, const Tensor& probs,
                Tensor& out) {
  const Shape batch = batch_shape(counts, probs);
  const auto count_at = broadcast_offsets(counts.shape(), batch), prob_at = broadcast_offsets(probs.shape(), batch);
  const std::int64_t parameters = batch.num_elements(), samples = out.num_elements() / parameters;
  pool.parallel_for(out.num_elements(), 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = i / samples;
      const double value = draw_binomial(counts.data<T>()[count_at[static_cast<std::size_t>(p)]],
                                         probs.data<T>()[prob_at[static_cast<std::size_t>(p)]], generator,
                                         static_cast<std::uint64_t>(i));
      out.data<U>()[i % samples * parameters + p] = converted<U>(value);
    }
  });
}

}  // namespace

std::int64_t binomial_batch(const Tensor& counts, const Tensor& probs) {
  return batch_shape(counts, probs).num_elements();
}

void fill_binomial(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& counts, const Tensor& probs,
                   Tensor& out) {
  check_ends_with(out.shape(), batch_shape(counts, probs));
  if (out.num_elements() == 0) return;
  kernels::dispatch(ParameterTypes(), counts.dtype(), "a binomial distribution", [&]<class T>() {
    kernels::dispatch(CountTypes(), out.dtype(), "a binomial number",
                      [&]<class U>() { fill_typed<T, U>(pool, generator, counts, probs, out); });
  });
}

}  // namespace caudal::inline v0
