#include "caudal/ops/random_counts.h"

#include <cmath>
#include <limits>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/binomial_draws.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/random_draws.h"
#include "caudal/ops/random_fill.h"
#include "caudal/ops/random_state.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0 {
namespace {

using CountTypes = kernels::TypeList<Half, float, double, std::int32_t, std::int64_t>;

// --- Shape functions ---

void poisson_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, joined_shape(c.input_as_shape(0), c.input(1)));
}

void stateless_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  check_seed_shape(c, 1);
  c.set_output(0, c.input_as_shape(0));
}

// --- Kernels ---

// Exponential waiting times until one unit of time has passed (Knuth, volume 2): multiplied as uniform numbers.
double by_products(double rate, double largest, PhiloxRandom& generator) {
  const double enough = std::exp(-rate);
  UniformDraws uniform;
  double product = 1, count = 0;
  for (;;) {
    product *= uniform(generator);
    if (product <= enough && count <= largest) return count;
    // With NaN no draw would ever be enough.
    if (std::isnan(rate)) return rate;
    ++count;
  }
}

// W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993: algorithm PTRS.
double by_rejection(double rate, double largest, PhiloxRandom& generator) {
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  UniformDraws uniform;
  for (int tries = 0;; ++tries) {
    const double u = uniform(generator) - 0.5;
    const double v = uniform(generator);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (k > largest) {
      // A rate beyond the type: no draw would ever fit.
      if (tries > 1 << 20) throw invalid_argument("a Poisson rate of ", rate, " is too large for the output type");
      continue;
    }
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double s = std::log(v * inverse_alpha / (a / (us * us) + b));
    const double t = -rate + k * log_rate - std::lgamma(k + 1);
    if (s <= t) return k;
  }
}

template <class U>
U draw_poisson(double rate, PhiloxRandom& generator) {
  using W = kernels::Wide<U>;
  constexpr bool kHalf = std::is_same_v<U, Half>;
  const double largest = kHalf ? 65504.0 : static_cast<double>(std::numeric_limits<W>::max());
  if (std::isinf(rate) && rate > 0) {
    return U(std::numeric_limits<W>::has_infinity ? std::numeric_limits<W>::infinity() : std::numeric_limits<W>::max());
  }
  const double count = rate >= 10 ? by_rejection(rate, largest, generator) : by_products(rate, largest, generator);
  if constexpr (std::is_integral_v<U>) {
    return std::isnan(count) ? std::numeric_limits<U>::min() : static_cast<U>(count);
  } else {
    return U(static_cast<W>(count));
  }
}

void fill_poisson(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& rate, Tensor& out) {
  const std::int64_t parameters = rate.num_elements();
  std::vector<double> rates;
  kernels::dispatch(CountTypes(), rate.dtype(), "a Poisson rate", [&]<class T>() {
    for (const T& value : rate.flat<T>()) rates.push_back(static_cast<double>(static_cast<kernels::Wide<T>>(value)));
  });
  kernels::dispatch(CountTypes(), out.dtype(), "a Poisson number", [&]<class U>() {
    U* values = out.data<U>();
    for_each_draw(pool, parameters, out.num_elements() / parameters, kReservedSamplesPerOutput, generator,
                  [&](std::int64_t p, PhiloxRandom& own, std::int64_t at) {
                    values[at] = draw_poisson<U>(rates[static_cast<std::size_t>(p)], own);
                  });
  });
}

void run_poisson(RunContext& c) {
  const Tensor& rate = c.input(1);
  Tensor& out = c.allocate_output(0, joined_shape(shape_from(c.input(0), "shape"), rate.shape()));
  if (out.num_elements() == 0) return;
  const PhiloxRandom generator = c.state<RandomState>().philox().reserve_outputs(
      static_cast<std::uint64_t>(out.num_elements()), kReservedSamplesPerOutput);
  fill_poisson(c.pool(), generator, rate, out);
}

void run_stateless_poisson(RunContext& c) {
  const PhiloxRandom generator = generator_of_seed(c, 1);
  const Shape shape = shape_from(c.input(0), "shape");
  Tensor& out = c.allocate_output(0, shape);
  if (out.num_elements() == 0) return;
  check_ends_with(shape, c.input(2).shape());
  fill_poisson(c.pool(), generator, c.input(2), out);
}

void run_stateless_binomial(RunContext& c) {
  const PhiloxRandom generator = generator_of_seed(c, 1);
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  fill_binomial(c.pool(), generator, c.input(2), c.input(3), out);
}

std::unique_ptr<Kernel> prepare_stateless_binomial(PrepareContext& c) {
  if (!is_floating(c.input_type(2))) throw unimplemented("no kernel for ", c.input_type(2), " on CPU");
  return kernel_of<run_stateless_binomial>(c);
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "RandomPoisson",
                    .inputs = "shape: S; rate: dtype",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; dtype: {half, float, double}",
                    .stateful = true,
                    .deprecated_version = 25,
                    .shape = poisson_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_poisson>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "RandomPoissonV2",
                    .inputs = "shape: S; rate: R",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; "
                             "R: {half, float, double, int32, int64} = DT_DOUBLE; "
                             "dtype: {half, float, double, int32, int64} = DT_INT64",
                    .stateful = true,
                    .shape = poisson_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_poisson>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "StatelessRandomPoisson",
                    .inputs = "shape: T; seed: Tseed; lam: Rtype",
                    .outputs = "output: dtype",
                    .attrs = "Rtype: {half, float, double, int32, int64}; dtype: {half, float, double, int32, int64}; "
                             "T: {int32, int64}; Tseed: {int32, int64} = DT_INT64",
                    .shape = stateless_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_stateless_poisson>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomBinomial",
                    .inputs = "shape: S; seed: Tseed; counts: T; probs: T",
                    .outputs = "output: dtype",
                    .attrs = "S: {int32, int64}; Tseed: {int32, int64} = DT_INT64; "
                             "T: {half, float, double, int32, int64} = DT_DOUBLE; "
                             "dtype: {half, float, double, int32, int64} = DT_INT64",
                    .shape = stateless_shape,
                    .gradient = not_differentiable,
                    .cpu = prepare_stateless_binomial});

// --- Public functions ---

Output random_poisson_v2(const Operand& shape, const Operand& lam, const RandomPoissonOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "random_poisson" : options.name);
  const Output rate = lam.to_output(DType::kFloat);
  const RandomSeeds seeds = get_seed(rate.graph(), options.seed);
  return OpBuilder("RandomPoissonV2", {})
      .input(shape, DType::kInt32)
      .input(rate)
      .attr("dtype", options.dtype)
      .attr("seed", seeds.seed)
      .attr("seed2", seeds.seed2)
      .build();
}

namespace random {

Output poisson(const Operand& shape, const Operand& lam, const RandomPoissonOptions& options) {
  return random_poisson_v2(shape, lam, options);
}

Output stateless_poisson(const Operand& shape, const Operand& seed, const Operand& lam,
                         const StatelessPoissonOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "stateless_random_poisson" : options.name);
  const Output size = shape.to_output(DType::kInt32);
  return OpBuilder("StatelessRandomPoisson", {})
      .input(size)
      .input(seed, DType::kInt32)
      .input(broadcast_to(lam.to_output(DType::kFloat), size))
      .attr("dtype", options.dtype)
      .build();
}

Output stateless_binomial(const Operand& shape, const Operand& seed, const Operand& counts, const Operand& probs,
                          const StatelessBinomialOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "stateless_random_binomial" : options.name);
  DType dtype = common_dtype({&probs, &counts});
  if (!is_floating(dtype)) dtype = DType::kFloat;
  return OpBuilder("StatelessRandomBinomial", {})
      .input(shape, DType::kInt32)
      .input(seed, DType::kInt32)
      .input(counts, dtype)
      .input(probs, dtype)
      .attr("dtype", options.output_dtype)
      .build();
}

}  // namespace random
}  // namespace caudal::inline v0
