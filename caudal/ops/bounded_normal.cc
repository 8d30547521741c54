#include "caudal/ops/bounded_normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "caudal/autodiff/gradient.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/ops/elementwise.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"
#include "caudal/ops/random_draws.h"
#include "caudal/ops/random_fill.h"
#include "caudal/ops/random_state.h"
#include "caudal/tensor/random.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxTries = 1000;

// --- Shape functions ---

void bounded_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  c.set_output(0, c.input_as_shape(0));
}

void stateless_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  check_seed_shape(c, 1);
  PartialShape all = c.input(2);
  for (int i = 3; i < 6; ++i) all = broadcast(all, c.input(i));
  c.set_output(0, c.input_as_shape(0));
}

// --- Kernels ---

// A number that is rounded to half after every operation, as TensorFlow computes in that type.
class Rounded {
 public:
  Rounded() = default;
  explicit Rounded(double value) : value_(static_cast<float>(Half(static_cast<float>(value)))) {}
  explicit Rounded(Half value) : value_(static_cast<float>(value)) {}
  explicit operator float() const { return value_; }
  friend Rounded operator+(Rounded a, Rounded b) { return of(a.value_ + b.value_); }
  friend Rounded operator-(Rounded a, Rounded b) { return of(a.value_ - b.value_); }
  friend Rounded operator*(Rounded a, Rounded b) { return of(a.value_ * b.value_); }
  friend Rounded operator/(Rounded a, Rounded b) { return of(a.value_ / b.value_); }
  friend Rounded operator-(Rounded a) { return of(-a.value_); }
  friend Rounded exp(Rounded a) { return of(std::exp(a.value_)); }
  friend Rounded log(Rounded a) { return of(std::log(a.value_)); }
  friend Rounded sqrt(Rounded a) { return of(std::sqrt(a.value_)); }
  friend bool isfinite(Rounded a) { return std::isfinite(a.value_); }
  friend auto operator<=>(Rounded a, Rounded b) { return a.value_ <=> b.value_; }
  friend bool operator==(Rounded a, Rounded b) { return a.value_ == b.value_; }

 private:
  static Rounded of(float value) { return Rounded(static_cast<double>(value)); }
  float value_ = 0;
};

// What the stream gives at a time.
template <class T>
struct Draws {
  static constexpr int kGroup = 4;
  static std::array<T, 4> normals(PhiloxRandom& generator) {
    const auto x = generator();
    const auto [a, b] = box_muller(x[0], x[1]);
    const auto [c, d] = box_muller(x[2], x[3]);
    return {T(a), T(b), T(c), T(d)};
  }
  static std::array<T, 4> uniforms(PhiloxRandom& generator) {
    const auto x = generator();
    std::array<T, 4> group;
    for (std::size_t i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, Rounded>) {
        group[i] = T(static_cast<double>(x[i] & 0x3ff) / 1024);  // ten random bits
      } else {
        group[i] = uniform_float(x[i]);
      }
    }
    return group;
  }
};
template <>
struct Draws<double> {
  static constexpr int kGroup = 2;
  static std::array<double, 2> normals(PhiloxRandom& generator) { return box_muller_double(generator()); }
  static std::array<double, 2> uniforms(PhiloxRandom& generator) { return uniform_pair(generator()); }
};

// The distribution of one set of parameters, moved so that the mean is 0 and the deviation 1.
template <class T>
class BoundedNormal {
 public:
  BoundedNormal(T mean, T deviation, T least, T greatest) : mean_(mean), deviation_(deviation) {
    using std::isfinite;
    using std::sqrt;
    if (!(deviation > T(0.0) && least < greatest && (isfinite(least) || isfinite(greatest)))) {
      throw invalid_argument("numbers of mean ", double_of(mean), " and deviation ", double_of(deviation), " between ",
                             double_of(least), " and ", double_of(greatest), " do not exist");
    }
    // A bound on one side only becomes the lower one; two on one side of the mean become positive.
    if ((!isfinite(least) && least < T(0.0)) || greatest < mean) {
      std::swap(least, greatest);
      deviation_ = -deviation;
    }
    low_ = (least - mean) / deviation_;
    high_ = (greatest - mean) / deviation_;
  }

  // Gives `count` numbers to emit(i, number); each call starts with fresh draws of the generator.
  template <class Emit>
  void draw(PhiloxRandom& generator, std::int64_t count, const Emit& emit) const {
    using std::exp;
    using std::sqrt;
    const T root = sqrt(low_ * low_ + T(4.0));
    const T cutoff = T(2.0) * exp(T(0.5) + (low_ * (low_ - root)) / T(4.0)) / (low_ + root);
    const bool centred = (low_ < T(-1.3) && high_ >= T(0.0)) || (high_ > T(1.3) && low_ <= T(0.0));
    std::int64_t done = 0;
    int tries = 0;
    // True once everything is drawn.
    const auto judge = [&](bool accepted, T number) {
      if (accepted) {
        emit(done++, number * deviation_ + mean_);
        tries = 0;
      } else if (++tries > kMaxTries) {
        throw internal_error("no number between the bounds in ", kMaxTries, " draws");
      }
      return done == count;
    };
    while (done < count) {
      if (centred) {
        from_normals(generator, judge);
      } else if (high_ - low_ < cutoff) {
        from_uniforms(generator, judge);
      } else {
        from_exponentials(generator, (low_ + root) / T(2.0), judge);
      }
    }
  }

 private:
  template <class Judge>
  void from_normals(PhiloxRandom& generator, const Judge& judge) const {
    for (const T x : Draws<T>::normals(generator)) {
      if (judge(x >= low_ && x <= high_, x)) return;
    }
  }

  template <class Judge>
  void from_uniforms(PhiloxRandom& generator, const Judge& judge) const {
    using std::exp;
    const T top = low_ < T(0.0) ? T(0.0) : low_ * low_;
    const auto places = Draws<T>::uniforms(generator), heights = Draws<T>::uniforms(generator);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const T z = places[i] * (high_ - low_) + low_;
      if (judge(heights[i] <= exp((top - z * z) / T(2.0)), z)) return;
    }
  }

  template <class Judge>
  void from_exponentials(PhiloxRandom& generator, T alpha, const Judge& judge) const {
    using std::exp;
    using std::log;
    const auto draws = Draws<T>::uniforms(generator);
    for (std::size_t i = 0; i < draws.size(); i += 2) {
      const T z = -log(draws[i]) / alpha + low_;
      const T x = low_ < alpha ? alpha - z : low_ - alpha;
      if (judge(draws[i + 1] <= exp(-x * x / T(2.0)) && z < high_, z)) return;
    }
  }

  static double double_of(T value) {
    if constexpr (std::is_same_v<T, double>) return value;
    return static_cast<double>(static_cast<float>(value));
  }

  T mean_, deviation_, low_, high_;
};

// The numbers of T in which an element type is computed, and its memory.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, Half>, Rounded, T>;
template <class T>
Computed<T> load(const Tensor& tensor, std::int64_t i) {
  return Computed<T>(tensor.data<T>()[i]);
}
template <class T>
T stored(Computed<T> value) {
  if constexpr (std::is_same_v<T, Half>)
    return Half(static_cast<float>(value));
  else
    return value;
}

using Types = kernels::TypeList<Half, float, double>;

struct Parameters {
  const Tensor *mean, *deviation, *least, *greatest;
  template <class T>
  BoundedNormal<Computed<T>> at(std::int64_t m, std::int64_t d, std::int64_t l, std::int64_t g) const {
    return {load<T>(*mean, m), load<T>(*deviation, d), load<T>(*least, l), load<T>(*greatest, g)};
  }
};

// Inputs shape, then four scalars or vectors of rows.
void run_bounded(RunContext& c) {
  const Shape shape = shape_from(c.input(0), "shape");
  if (shape.rank() == 0) throw invalid_argument("shape must not be empty");
  const Parameters parameters{&c.input(1), &c.input(2), &c.input(3), &c.input(4)};
  Tensor& out = c.allocate_output(0, shape);
  for (int i = 1; i < 5; ++i) {
    if (c.input(i).rank() > 1)
      throw invalid_argument("parameters must be scalars or vectors, not ", c.input(i).describe());
  }
  const auto alone = [&](int i) { return c.input(i).num_elements() == 1; };
  std::int64_t batches = shape[0], samples = batches == 0 ? 0 : shape.num_elements() / batches;
  if (alone(1) && alone(2) && c.input(3).rank() == 0 && c.input(4).rank() == 0) {
    constexpr std::int64_t kBatch = 100;  // as TensorFlow cuts numbers with one set of parameters
    batches = (shape.num_elements() + kBatch - 1) / kBatch;
    samples = kBatch;
  }
  for (int i = 1; i < 5; ++i) {
    if (!alone(i) && c.input(i).num_elements() != batches) {
      throw invalid_argument("parameters must have 1 or ", batches, " entries, not ", c.input(i).describe());
    }
  }
  PhiloxRandom generator = c.state<RandomState>().philox().reserve_samples(
      static_cast<std::uint64_t>(batches * 2 * kMaxTries * (samples + 3) / 4));
  kernels::dispatch(Types(), out.dtype(), "a bounded normal tensor", [&]<class T>() {
    T* values = out.data<T>();
    for (std::int64_t b = 0; b < batches; ++b) {
      const auto entry = [&](int i) { return alone(i) ? 0 : b; };
      const auto distribution = parameters.at<T>(entry(1), entry(2), entry(3), entry(4));
      const std::int64_t begin = b * samples, end = std::min(begin + samples, out.num_elements());
      distribution.draw(generator, end - begin,
                        [&](std::int64_t i, Computed<T> x) { values[begin + i] = stored<T>(x); });
    }
  });
}

void run_stateless(RunContext& c) {
  PhiloxRandom generator = generator_of_seed(c, 1);
  const Shape shape = shape_from(c.input(0), "shape");
  PartialShape common = c.input(2).shape();
  for (int i = 3; i < 6; ++i) common = broadcast(common, c.input(i).shape());
  const Shape batch = *common.to_shape();
  check_ends_with(shape, batch);
  Tensor& out = c.allocate_output(0, shape);
  if (out.num_elements() == 0) return;
  const Parameters parameters{&c.input(2), &c.input(3), &c.input(4), &c.input(5)};
  const std::vector<std::int64_t> at[] = {
      broadcast_offsets(c.input(2).shape(), batch), broadcast_offsets(c.input(3).shape(), batch),
      broadcast_offsets(c.input(4).shape(), batch), broadcast_offsets(c.input(5).shape(), batch)};
  const std::int64_t batches = batch.num_elements(), samples = out.num_elements() / batches;
  kernels::dispatch(Types(), out.dtype(), "a bounded normal tensor", [&]<class T>() {
    T* values = out.data<T>();
    for (std::int64_t b = 0; b < batches; ++b) {
      const auto i = static_cast<std::size_t>(b);
      parameters.at<T>(at[0][i], at[1][i], at[2][i], at[3][i])
          .draw(generator, samples, [&](std::int64_t s, Computed<T> x) { values[s * batches + b] = stored<T>(x); });
    }
  });
}

// --- Gradient ---

// The normal distribution's cumulative function.
Output ndtr(const Output& x) { return 0.5 * erfc(-x * std::numbers::sqrt2 / 2.0); }

// By the implicit function theorem (Figurnov, Mohamed, Mnih: "Implicit Reparameterization Gradients", 2018).
void stateless_gradient(GradientContext& c) {
  const Output mean = c.input(2), deviation = c.input(3), grad = c.grad(0);
  const auto standard = [&](const Output& x) { return (x - mean) / deviation; };
  const Output low = standard(c.input(4)), high = standard(c.input(5)), x = standard(c.output(0));
  const bool wide = mean.dtype() == DType::kDouble, half = mean.dtype() == DType::kHalf;
  const double tiny = wide   ? std::numeric_limits<double>::min()
                      : half ? 6.103515625e-05
                             : static_cast<double>(std::numeric_limits<float>::min());
  const double epsilon = wide   ? std::numeric_limits<double>::epsilon()
                         : half ? 0.0009765625
                                : static_cast<double>(std::numeric_limits<float>::epsilon());
  const auto constant = [&](double value) { return convert_number(Tensor(value), mean.dtype()); };
  Output share = (ndtr(x) - ndtr(low)) / (ndtr(high) - ndtr(low));
  share = minimum(maximum(share, constant(tiny)), constant(1 - epsilon));
  const auto density_ratio = [&](const Output& bound) { return 0.5 * (square(x) - square(bound)); };
  const auto set = [&](int i, const Output& product) {
    c.set_input_grad(i, sum_to_shape_of(product, c.input(i), product));
  };
  set(2, grad);
  set(3, grad * x);
  set(4, grad * exp(density_ratio(low) + log1p(-share)));
  set(5, grad * exp(density_ratio(high) + log(share)));
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "ParameterizedTruncatedNormal",
                    .inputs = "shape: T; means: dtype; stdevs: dtype; minvals: dtype; maxvals: dtype",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}",
                    .stateful = true,
                    .shape = bounded_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_bounded>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "StatelessParameterizedTruncatedNormal",
                    .inputs = "shape: S; seed: Tseed; means: dtype; stddevs: dtype; minvals: dtype; maxvals: dtype",
                    .outputs = "output: dtype",
                    .attrs = "S: {int32, int64}; Tseed: {int32, int64} = DT_INT64; dtype: {half, float, double}",
                    .shape = stateless_shape,
                    .gradient = stateless_gradient,
                    .cpu = kernel_of<run_stateless>});

// --- Public functions ---

Output parameterized_truncated_normal(const Operand& shape, const ParameterizedTruncatedNormalOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "parameterized_truncated_normal" : options.name);
  const Output size = shape.to_output(DType::kInt32);
  const RandomSeeds seeds = get_seed(size.graph(), options.seed);
  return OpBuilder("ParameterizedTruncatedNormal", {})
      .input(size)
      .input(options.means, options.dtype)
      .input(options.stddevs, options.dtype)
      .input(options.minvals, options.dtype)
      .input(options.maxvals, options.dtype)
      .attr("seed", seeds.seed)
      .attr("seed2", seeds.seed2)
      .build();
}

namespace random {

Output stateless_parameterized_truncated_normal(const Operand& shape, const Operand& seed,
                                                const StatelessBoundedNormalOptions& options) {
  DType dtype = common_dtype({&options.means, &options.stddevs, &options.minvals, &options.maxvals});
  if (!is_floating(dtype)) dtype = DType::kFloat;
  return OpBuilder("StatelessParameterizedTruncatedNormal", {.name = options.name, .where = options.where})
      .input(shape, DType::kInt32)
      .input(seed, DType::kInt32)
      .input(options.means, dtype)
      .input(options.stddevs, dtype)
      .input(options.minvals, dtype)
      .input(options.maxvals, dtype)
      .build();
}

}  // namespace random
}  // namespace caudal::inline v0
