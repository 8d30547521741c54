#include "caudal/ops/random_gamma.h"

#include <cmath>
#include <limits>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/copy.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/kernels/special_functions.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/random_draws.h"
#include "caudal/ops/random_fill.h"
#include "caudal/ops/random_state.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/stateless_random.h"

namespace caudal::inline v0 {
namespace {

constexpr std::uint64_t kStretch = kReservedSamplesPerOutput;  // samples that each output owns

// --- Shape functions ---

void gamma_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, joined_shape(c.input_as_shape(0), c.input(1)));
}

template <bool by_key>
void stateless_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  if (by_key) {
    check_key_shape(c, 1);
  } else {
    check_seed_shape(c, 1);
  }
  c.set_output(0, c.input_as_shape(0));
}

// --- Kernels ---

// One number. With alpha below 1 the draw is of alpha + 1, made smaller by a power of a uniform number.
double draw_gamma(double alpha, PhiloxRandom& generator) {
  UniformDraws uniform;
  if (alpha == 1) return -std::log1p(-uniform(generator));
  const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  if (!std::isfinite(d)) return std::numeric_limits<double>::quiet_NaN();  // no draw would ever be accepted
  NormalDraws normal;
  for (;;) {
    const double x = normal(generator);
    double v = 1 + c * x;
    if (std::isnan(v)) return v;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniform(generator);
    // The first test is a squeeze that spares both logarithms.
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return alpha < 1 ? d * v * std::pow(uniform(generator), 1 / alpha) : d * v;
    }
  }
}

void fill_gamma(ThreadPool& pool, const PhiloxRandom& generator, const Tensor& alpha, Tensor& out) {
  const std::int64_t parameters = alpha.num_elements();
  kernels::dispatch(kernels::FloatTypes(), out.dtype(), "a random gamma tensor", [&]<class T>() {
    const T* alphas = alpha.data<T>();
    T* values = out.data<T>();
    for_each_draw(pool, parameters, out.num_elements() / parameters, kStretch, generator,
                  [&](std::int64_t p, PhiloxRandom& own, std::int64_t at) {
                    const double a = static_cast<double>(static_cast<kernels::Wide<T>>(alphas[p]));
                    values[at] = T(static_cast<kernels::Wide<T>>(draw_gamma(a, own)));
                  });
  });
}

void run_gamma(RunContext& c) {
  const Tensor& alpha = c.input(1);
  Tensor& out = c.allocate_output(0, joined_shape(shape_from(c.input(0), "shape"), alpha.shape()));
  if (out.num_elements() == 0) return;
  const PhiloxRandom generator =
      c.state<RandomState>().philox().reserve_outputs(static_cast<std::uint64_t>(out.num_elements()), kStretch);
  fill_gamma(c.pool(), generator, alpha, out);
}

template <bool by_key>
void run_stateless_gamma(RunContext& c) {
  const PhiloxRandom generator = by_key ? generator_of_key(c, 1) : generator_of_seed(c, 1);
  const Tensor& alpha = c.input(by_key ? 4 : 2);
  const Shape shape = shape_from(c.input(0), "shape");
  Tensor& out = c.allocate_output(0, shape);
  if (out.num_elements() == 0) return;
  check_ends_with(shape, alpha.shape());
  fill_gamma(c.pool(), generator, alpha, out);
}

// By the implicit function theorem: -(dP / d alpha) / (dP / d sample) of the distribution P (Figurnov, Mohamed, Mnih:
// "Implicit Reparameterization Gradients", 2018).
double sample_slope(double alpha, double sample) {
  if (sample == 0) return 0;
  const double log_density = (alpha - 1) * std::log(sample) - sample - std::lgamma(alpha);
  return -kernels::igamma_grad_a(alpha, sample) * std::exp(-log_density);
}

Tensor spread(RunContext& c, const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return t;
  Tensor wide = c.allocate_temporary(t.dtype(), shape);
  std::vector<std::int64_t> dims(static_cast<std::size_t>(shape.rank()), 1);
  std::ranges::copy(t.shape().dims(), dims.end() - t.rank());
  kernels::broadcast_to(c.pool(), static_cast<std::int64_t>(dtype_size(t.dtype())), t.raw(), dims, wide.raw(),
                        shape.dims());
  return wide;
}

void run_gamma_grad(RunContext& c) {
  const Shape shape = *broadcast(c.input(0).shape(), c.input(1).shape()).to_shape();
  Tensor& out = c.allocate_output(0, shape);
  const Tensor alpha = spread(c, c.input(0), shape), sample = spread(c, c.input(1), shape);
  kernels::dispatch(kernels::TypeList<float, double>(), out.dtype(), "RandomGammaGrad", [&]<class T>() {
    c.pool().parallel_for(shape.num_elements(), 128, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double slope =
            sample_slope(static_cast<double>(alpha.data<T>()[i]), static_cast<double>(sample.data<T>()[i]));
        out.data<T>()[i] = static_cast<T>(slope);
      }
    });
  });
}

// --- Gradients ---

// The gradient of alpha: that of the samples of each, added up. `leading`: how many dimensions of samples there are.
Output alpha_gradient(GradientContext& c, const Output& alpha, const Output& leading) {
  const Output ones = OpBuilder("Fill", {})
                          .input(OpBuilder("Reshape", {}).input(leading).input({1}).build())
                          .input(1, DType::kInt32)
                          .build();
  const Output shape = OpBuilder("ConcatV2", {}).inputs({ones, shape_of(alpha)}).input(0).build();
  const Output spread = OpBuilder("Reshape", {}).input(alpha).input(shape).build();
  const Output slope = raw_ops::random_gamma_grad(spread, c.output(0));
  const Output axes = OpBuilder("Range", {}).input(0).input(leading).input(1).build();
  return OpBuilder("Sum", {}).input(c.grad(0) * slope).input(axes).build();
}

Output length_of_shape(GradientContext& c) { return OpBuilder("Size", {}).input(c.input(0)).build(); }

void gamma_gradient(GradientContext& c) { c.set_input_grad(1, alpha_gradient(c, c.input(1), length_of_shape(c))); }

template <int alpha>
void stateless_gamma_gradient(GradientContext& c) {
  const Output rank = OpBuilder("Rank", {}).input(c.input(alpha)).build();
  c.set_input_grad(alpha, alpha_gradient(c, c.input(alpha), length_of_shape(c) - rank));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "RandomGamma",
                    .inputs = "shape: S; alpha: T",
                    .outputs = "output: T",
                    .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; T: {half, float, double}",
                    .stateful = true,
                    .shape = gamma_shape,
                    .gradient = gamma_gradient,
                    .cpu = kernel_of<run_gamma>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "StatelessRandomGammaV2",
                    .inputs = "shape: T; seed: Tseed; alpha: dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {half, float, double}; T: {int32, int64}; Tseed: {int32, int64} = DT_INT64",
                    .shape = stateless_shape<false>,
                    .gradient = stateless_gamma_gradient<2>,
                    .cpu = kernel_of<run_stateless_gamma<false>>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomGammaV3",
                    .inputs = "shape: shape_dtype; key: uint64; counter: uint64; alg: int32; alpha: dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {half, float, double}; shape_dtype: {int32, int64} = DT_INT32",
                    .shape = stateless_shape<true>,
                    .gradient = stateless_gamma_gradient<4>,
                    .cpu = kernel_of<run_stateless_gamma<true>>});
CAUDAL_REGISTER_OP({.name = "RandomGammaGrad",
                    .inputs = "alpha: T; sample: T",
                    .outputs = "output: T",
                    .attrs = "T: {float, double}",
                    .shape = broadcast_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_gamma_grad>});

// --- Public functions ---

namespace raw_ops {

Output random_gamma_grad(const Operand& alpha, const Operand& sample, const OpOptions& options) {
  const DType dtype = common_dtype({&alpha, &sample});
  return OpBuilder("RandomGammaGrad", options).input(alpha, dtype).input(sample, dtype).build();
}

}  // namespace raw_ops

namespace {

// alpha and beta of one shape, and the samples of alpha over beta, at least the least positive number.
struct GammaParameters {
  Output alpha, beta;

  GammaParameters(const Operand& a, const std::optional<Operand>& b, DType dtype)
      : alpha(a.to_output(dtype)), beta(b.value_or(Operand(1)).to_output(dtype)) {
    if (alpha.dtype() != dtype || beta.dtype() != dtype) {
      throw invalid_argument("alpha of ", alpha.dtype(), " and beta of ", beta.dtype(), " must be ", dtype);
    }
    if (alpha.shape() == beta.shape() && alpha.shape().is_fully_known()) return;
    const PartialShape common = broadcast(alpha.shape(), beta.shape());
    const Output shape = common.is_fully_known() ? int32_vector(common.dims())
                                                 : broadcast_dynamic_shape(shape_of(alpha), shape_of(beta));
    alpha = broadcast_to(alpha, shape);
  }

  Output scaled(const Output& samples, const std::string& name) const {
    const double least = samples.dtype() == DType::kDouble  ? std::numeric_limits<double>::min()
                         : samples.dtype() == DType::kFloat ? static_cast<double>(std::numeric_limits<float>::min())
                                                            : 6.103515625e-05;
    return maximum(convert_number(Tensor(least), samples.dtype()), samples / beta, {.name = name});
  }
};

}  // namespace

Output random_gamma(const Operand& shape, const Operand& alpha, const RandomGammaOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "random_gamma" : options.name);
  const GammaParameters parameters(alpha, options.beta, options.dtype);
  const RandomSeeds seeds = get_seed(parameters.alpha.graph(), options.seed);
  const Output samples = OpBuilder("RandomGamma", {})
                             .input(shape, DType::kInt32)
                             .input(parameters.alpha)
                             .attr("seed", seeds.seed)
                             .attr("seed2", seeds.seed2)
                             .build();
  return parameters.scaled(samples, scope.prefix());
}

namespace random {

Output gamma(const Operand& shape, const Operand& alpha, const RandomGammaOptions& options) {
  return random_gamma(shape, alpha, options);
}

Output stateless_gamma(const Operand& shape, const Operand& seed, const Operand& alpha,
                       const StatelessGammaOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "stateless_random_gamma" : options.name);
  const GammaParameters parameters(alpha, options.beta, options.dtype);
  const raw_ops::KeyCounter generator = raw_ops::stateless_random_get_key_counter(seed);
  const Output samples = OpBuilder("StatelessRandomGammaV3", {})
                             .input(shape, DType::kInt32)
                             .input(generator.key)
                             .input(generator.counter)
                             .input(3, DType::kInt32)
                             .input(parameters.alpha)
                             .build();
  return parameters.scaled(samples, scope.prefix());
}

}  // namespace random
}  // namespace caudal::inline v0
