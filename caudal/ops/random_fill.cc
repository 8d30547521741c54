#include "caudal/ops/random_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "caudal/base/error.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/tensor/random.h"

namespace caudal::inline v0 {
namespace {

using IntTypes = kernels::TypeList<std::int32_t, std::int64_t>;

// out[i] = in[order[i]] for rows of `row` elements.
void copy_rows(const Tensor& in, const std::vector<std::int64_t>& order, std::int64_t row, Tensor& out) {
  const auto typed = [&]<class T>(const T* from, T* to) {
    for (const std::int64_t source : order) to = std::copy_n(from + source * row, row, to);
  };
  switch (in.dtype()) {
    case DType::kString:
      return typed(in.data<std::string>(), out.data<std::string>());
    case DType::kResource:
      return typed(in.data<ResourceHandle>(), out.data<ResourceHandle>());
    case DType::kVariant:
      return typed(in.data<Variant>(), out.data<Variant>());
    default:
      row *= static_cast<std::int64_t>(dtype_size(in.dtype()));
      typed(in.raw(), out.raw());
  }
}

// Running totals of exp(logit - max) over the finite logits.
template <class T>
void cumulate(const T* logits, std::vector<double>& totals) {
  const auto value = [](T x) { return static_cast<double>(static_cast<kernels::Wide<T>>(x)); };
  double max = std::numeric_limits<double>::lowest();
  for (std::size_t j = 0; j < totals.size(); ++j) {
    if (std::isfinite(value(logits[j]))) max = std::max(max, value(logits[j]));
  }
  double total = 0;
  for (std::size_t j = 0; j < totals.size(); ++j) {
    const double logit = value(logits[j]);
    if (std::isfinite(logit)) total += std::exp(logit - max);
    totals[j] = total;
  }
}

template <class T, class Index>
void draw_classes(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& logits, Tensor& out) {
  const std::int64_t classes = logits.dim(1);
  const std::int64_t samples = out.dim(1);
  // Row b continues where row b - 1 ends: two 32-bit numbers per sample.
  pool.parallel_for(logits.dim(0), 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> totals(static_cast<std::size_t>(classes));
    PhiloxRandom stream = generator;
    stream.skip(static_cast<std::uint64_t>(begin * samples / 2));
    PhiloxSingles singles(stream);
    if (begin * samples % 2 != 0) singles(), singles();
    for (std::int64_t b = begin; b < end; ++b) {
      cumulate(logits.data<T>() + b * classes, totals);
      for (std::int64_t j = 0; j < samples; ++j) {
        const std::uint32_t first = singles();
        const std::uint32_t second = singles();
        const double wanted = uniform_double(first, second) * totals.back();
        const auto found = std::ranges::upper_bound(totals, wanted);
        out.data<Index>()[b * samples + j] = static_cast<Index>(found - totals.begin());
      }
    }
  });
}

}  // namespace

void fill_random(ThreadPool& pool, Distribution distribution, const PhiloxRandom& generator, Tensor& out) {
  kernels::dispatch(kernels::FloatTypes(), out.dtype(), "a random tensor", [&]<class T>() {
    switch (distribution) {
      case Distribution::kUniform:
        return fill_uniform(generator, out.flat<T>(), pool);
      case Distribution::kNormal:
        return fill_normal(generator, out.flat<T>(), pool);
      case Distribution::kTruncatedNormal:
        return fill_truncated_normal(generator, out.flat<T>(), pool);
    }
  });
}

void check_bounds(const Tensor& minval, const Tensor& maxval) {
  if (minval.rank() != 0 || maxval.rank() != 0) {
    throw invalid_argument("minval ", minval.describe(), " and maxval ", maxval.describe(), " must be scalars");
  }
}

void check_range(const Tensor& minval, const Tensor& maxval) {
  const std::int64_t lo = minval.to_int64s()[0], hi = maxval.to_int64s()[0];
  if (lo >= hi) throw invalid_argument("minval ", lo, " must be less than maxval ", hi);
}

void fill_random_int(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& minval, const Tensor& maxval,
                     Tensor& out) {
  kernels::dispatch(IntTypes(), out.dtype(), "a random integer tensor", [&]<class T>() {
    fill_uniform_int(generator, minval.item<T>(), maxval.item<T>(), out.flat<T>(), pool);
  });
}

void fill_random_bits(ThreadPool& pool, const PhiloxRandom& generator, Tensor& out) {
  const auto size = static_cast<std::size_t>(out.num_elements());
  switch (out.dtype()) {
    case DType::kInt32:
    case DType::kUint32:
      return fill_bits(generator, std::span(reinterpret_cast<std::uint32_t*>(out.raw()), size), pool);
    case DType::kInt64:
    case DType::kUint64:
      return fill_bits(generator, std::span(reinterpret_cast<std::uint64_t*>(out.raw()), size), pool);
    default:
      throw unimplemented("random bits of ", out.dtype(), " have no kernel");
  }
}

PartialShape multinomial_shape_of(ShapeContext& c) {
  const PartialShape logits = c.with_rank(0, 2);
  c.with_rank(1, 0);
  const Tensor* samples = c.constant_input(1);
  const std::int64_t count = samples == nullptr ? PartialShape::kUnknown : samples->item<std::int32_t>();
  if (samples != nullptr && count < 0) throw invalid_argument("num_samples is ", count, "; it must not be negative");
  return PartialShape({logits.dim(0), count});
}

Shape multinomial_output(const Tensor& logits, const Tensor& num_samples) {
  if (logits.rank() != 2) throw invalid_argument("logits must be [batch, classes], not ", logits.describe());
  if (num_samples.rank() != 0) throw invalid_argument("num_samples must be a scalar, not ", num_samples.describe());
  const std::int64_t samples = num_samples.item<std::int32_t>();
  if (samples < 0) throw invalid_argument("num_samples is ", samples, "; it must not be negative");
  if (logits.dim(1) < 1) throw invalid_argument("logits ", logits.describe(), " have no classes");
  return Shape{logits.dim(0), samples};
}

void fill_multinomial(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& logits, Tensor& out) {
  kernels::dispatch(kernels::FloatTypes(), logits.dtype(), "a draw of classes", [&]<class T>() {
    if (out.dtype() == DType::kInt32) {
      draw_classes<T, std::int32_t>(pool, generator, logits, out);
    } else {
      draw_classes<T, std::int64_t>(pool, generator, logits, out);
    }
  });
}

std::uint64_t shuffle_samples(const Tensor& in) {
  const std::int64_t size = in.rank() == 0 ? 1 : in.dim(0);
  return in.num_elements() > 1 && size > 1 ? static_cast<std::uint64_t>(size - 1 + 3) / 4 : 0;
}

void shuffle_rows(const PhiloxRandom& generator, const Tensor& in, Tensor& out) {
  const std::int64_t size = in.rank() == 0 ? 1 : in.dim(0);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle_samples(in) > 0) {
    // Fisher-Yates from the front; one 32-bit number per step.
    PhiloxSingles singles(generator);
    for (std::int64_t i = 0; i + 1 < size; ++i) {
      std::swap(order[i], order[i + singles() % static_cast<std::uint32_t>(size - i)]);
    }
  }
  if (in.num_elements() > 0) copy_rows(in, order, in.num_elements() / size, out);
}

PhiloxRandom generator_of_seed(const RunContext& c, int i) {
  const Tensor& seed = c.input(i);
  if (seed.rank() != 1 || seed.dim(0) != 2) throw invalid_argument("seed must have shape [2], not ", seed.shape());
  // 32-bit seeds are sign-extended; unsigned ones hold the same bits as their signed forms.
  const bool wide = dtype_size(seed.dtype()) == 8;
  const auto number = [&](std::size_t k) {
    return wide ? reinterpret_cast<const std::uint64_t*>(seed.raw())[k]
                : static_cast<std::uint64_t>(std::int64_t{reinterpret_cast<const std::int32_t*>(seed.raw())[k]});
  };
  return PhiloxRandom::stateless(number(0), number(1));
}

PhiloxRandom generator_of_key(const RunContext& c, int first) {
  const Tensor &key = c.input(first), &counter = c.input(first + 1), &algorithm = c.input(first + 2);
  if (algorithm.rank() != 0) throw invalid_argument("alg must be a scalar, not ", algorithm.describe());
  constexpr int kPhilox = 1, kAutomatic = 3;
  const int number = algorithm.item<std::int32_t>();
  if (number != kPhilox && number != kAutomatic) {
    throw invalid_argument("alg ", number, " is none that the CPU has").hint("Use 1 (Philox) or 3 (automatic).");
  }
  if (key.rank() != 1 || key.dim(0) != 1) throw invalid_argument("key must have shape [1], not ", key.shape());
  if (counter.rank() != 1 || counter.dim(0) < 2) {
    throw invalid_argument("counter must be a vector of at least 2 numbers, not ", counter.describe());
  }
  return philox_from(counter.data<std::uint64_t>(), key.item<std::uint64_t>());
}

void check_seed_shape(ShapeContext& c, int i) { ShapeContext::merge_dim(c.with_rank(i, 1).dim(0), 2, "seed"); }

void check_key_shape(ShapeContext& c, int first) {
  ShapeContext::merge_dim(c.with_rank(first, 1).dim(0), 1, "key");
  c.with_rank(first + 1, 1);
  c.with_rank(first + 2, 0);
}

void write_counter(const PhiloxRandom& generator, std::uint64_t* counter) {
  const auto& words = generator.counter();
  counter[0] = words[0] | std::uint64_t{words[1]} << 32;
  counter[1] = words[2] | std::uint64_t{words[3]} << 32;
}

std::uint64_t key_of(const PhiloxRandom& generator) {
  return generator.key()[0] | std::uint64_t{generator.key()[1]} << 32;
}

PhiloxRandom philox_from(const std::uint64_t* counter, std::uint64_t key) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  return PhiloxRandom({low(counter[0]), high(counter[0]), low(counter[1]), high(counter[1])}, {low(key), high(key)});
}

}  // namespace caudal::inline v0
