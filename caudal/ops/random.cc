#include "caudal/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/kernels/dispatch.h"
#include "caudal/kernels/numeric.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random_state.h"
#include "caudal/tensor/random.h"

namespace caudal::inline v0 {

// --- State ---

std::string RandomState::save() const {
  const PhiloxRandom generator = philox_.generator();
  std::string bytes;
  const auto append = [&](std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(word >> shift));
  };
  for (const std::uint32_t word : generator.counter()) append(word);
  for (const std::uint32_t word : generator.key()) append(word);
  return bytes;
}

void RandomState::restore(std::string_view bytes) {
  if (bytes.size() != 24) throw data_loss("the state of a random op has ", bytes.size(), " bytes; 24 are wanted");
  const auto word = [&](std::size_t i) {
    std::uint32_t value = 0;
    for (std::size_t b = 0; b < 4; ++b) {
      value |= std::uint32_t{static_cast<unsigned char>(bytes[4 * i + b])} << (8 * b);
    }
    return value;
  };
  philox_.set_generator(PhiloxRandom({word(0), word(1), word(2), word(3)}, {word(4), word(5)}));
}

std::unique_ptr<NodeState> make_random_state(const NodeInfo& node) {
  return std::make_unique<RandomState>(static_cast<std::uint64_t>(node.attr<std::int64_t>("seed")),
                                       static_cast<std::uint64_t>(node.attr<std::int64_t>("seed2")));
}

namespace {

// --- Shape functions ---

void shape_argument_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  for (int i = 1; i < c.num_inputs(); ++i) c.with_rank(i, 0);  // bounds
  c.set_output(0, c.input_as_shape(0));
}

void multinomial_shape(ShapeContext& c) {
  const PartialShape logits = c.with_rank(0, 2);
  c.with_rank(1, 0);
  const Tensor* samples = c.constant_input(1);
  const std::int64_t count = samples == nullptr ? PartialShape::kUnknown : samples->item<std::int32_t>();
  if (samples != nullptr && count < 0) throw invalid_argument("num_samples is ", count, "; it must not be negative");
  c.set_output(0, PartialShape({logits.dim(0), count}));
}

// --- Kernels ---

PhiloxRandom reserve(RunContext& c, std::int64_t outputs) {
  return c.state<RandomState>().philox().reserve_outputs(static_cast<std::uint64_t>(outputs),
                                                         kReservedSamplesPerOutput);
}

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

template <Distribution distribution>
void run_random(RunContext& c) {
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  const PhiloxRandom generator = reserve(c, out.num_elements());
  kernels::dispatch(kernels::FloatTypes(), out.dtype(), "a random tensor", [&]<class T>() {
    if constexpr (distribution == Distribution::kUniform) {
      fill_uniform(generator, out.flat<T>(), c.pool());
    } else if constexpr (distribution == Distribution::kNormal) {
      fill_normal(generator, out.flat<T>(), c.pool());
    } else {
      fill_truncated_normal(generator, out.flat<T>(), c.pool());
    }
  });
}

void run_uniform_int(RunContext& c) {
  const Tensor& minval = c.input(1);
  const Tensor& maxval = c.input(2);
  if (minval.rank() != 0 || maxval.rank() != 0) {
    throw invalid_argument("minval ", minval.describe(), " and maxval ", maxval.describe(), " must be scalars");
  }
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  if (out.num_elements() == 0) return;
  using Types = kernels::TypeList<std::int32_t, std::int64_t>;
  kernels::dispatch(Types(), out.dtype(), "a random integer tensor", [&]<class T>() {
    const T lo = minval.item<T>();
    const T hi = maxval.item<T>();
    if (lo >= hi) throw invalid_argument("minval ", lo, " must be less than maxval ", hi);
    fill_uniform_int(reserve(c, out.num_elements()), lo, hi, out.flat<T>(), c.pool());
  });
}

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

void run_shuffle(RunContext& c) {
  const Tensor& in = c.input(0);
  const std::int64_t size = in.rank() == 0 ? 1 : in.dim(0);
  Tensor& out = c.allocate_output(0, in.shape());
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (in.num_elements() > 1 && size > 1) {
    // Fisher-Yates from the front; one 32-bit number per step.
    const auto samples = static_cast<std::uint64_t>(size - 1 + 3) / 4;
    PhiloxSingles singles(c.state<RandomState>().philox().reserve_samples(samples));
    for (std::int64_t i = 0; i + 1 < size; ++i) {
      std::swap(order[i], order[i + singles() % static_cast<std::uint32_t>(size - i)]);
    }
  }
  if (in.num_elements() > 0) copy_rows(in, order, in.num_elements() / size, out);
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
void draw_classes(RunContext& c, const PhiloxRandom& generator, const Tensor& logits, Tensor& out) {
  const std::int64_t classes = logits.dim(1);
  const std::int64_t samples = out.dim(1);
  // Row b continues where row b - 1 ends: two 32-bit numbers per sample.
  c.pool().parallel_for(logits.dim(0), 16, [&](std::int64_t begin, std::int64_t end) {
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

void run_multinomial(RunContext& c) {
  const Tensor& logits = c.input(0);
  const Tensor& num_samples = c.input(1);
  if (logits.rank() != 2) throw invalid_argument("logits must be [batch, classes], not ", logits.describe());
  if (num_samples.rank() != 0) throw invalid_argument("num_samples must be a scalar, not ", num_samples.describe());
  const std::int64_t samples = num_samples.item<std::int32_t>();
  if (samples < 0) throw invalid_argument("num_samples is ", samples, "; it must not be negative");
  if (logits.dim(1) < 1) throw invalid_argument("logits ", logits.describe(), " have no classes");
  Tensor& out = c.allocate_output(0, Shape{logits.dim(0), samples});
  if (out.num_elements() == 0) return;
  // TensorFlow's CPU kernel sets aside two numbers for each sample, rounded up to groups of four.
  const PhiloxRandom generator = reserve(c, logits.dim(0) * ((samples + 3) / 4 * 4 * 2));
  kernels::dispatch(kernels::FloatTypes(), logits.dtype(), "Multinomial", [&]<class T>() {
    if (out.dtype() == DType::kInt32) {
      draw_classes<T, std::int32_t>(c, generator, logits, out);
    } else {
      draw_classes<T, std::int64_t>(c, generator, logits, out);
    }
  });
}

}  // namespace

// --- Registrations ---

CAUDAL_REGISTER_OP({.name = "RandomUniform",
                    .inputs = "shape: T",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}",
                    .stateful = true,
                    .shape = shape_argument_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_random<Distribution::kUniform>>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "RandomStandardNormal",
                    .inputs = "shape: T",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}",
                    .stateful = true,
                    .shape = shape_argument_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_random<Distribution::kNormal>>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "TruncatedNormal",
                    .inputs = "shape: T",
                    .outputs = "output: dtype",
                    .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}",
                    .stateful = true,
                    .shape = shape_argument_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_random<Distribution::kTruncatedNormal>>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "RandomUniformInt",
                    .inputs = "shape: T; minval: Tout; maxval: Tout",
                    .outputs = "output: Tout",
                    .attrs = "seed: int = 0; seed2: int = 0; Tout: {int32, int64}; T: {int32, int64}",
                    .stateful = true,
                    .shape = shape_argument_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_uniform_int>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP({.name = "RandomShuffle",
                    .inputs = "value: T",
                    .outputs = "output: T",
                    .attrs = "seed: int = 0; seed2: int = 0; T: type",
                    .stateful = true,
                    .shape = unchanged_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_shuffle>,
                    .state = make_random_state});
CAUDAL_REGISTER_OP(
    {.name = "Multinomial",
     .inputs = "logits: T; num_samples: int32",
     .outputs = "output: output_dtype",
     .attrs = "seed: int = 0; seed2: int = 0; T: realnumbertype; output_dtype: {int32, int64} = DT_INT64",
     .stateful = true,
     .shape = multinomial_shape,
     .gradient = not_differentiable,
     .cpu = kernel_of<run_multinomial>,
     .state = make_random_state});

// --- Public functions ---

void set_random_seed(std::int64_t seed) { default_graph().set_seed(seed); }

RandomSeeds get_seed(Graph& graph, std::optional<std::int64_t> op_seed) {
  constexpr std::int64_t kModulus = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kDefaultGraphSeed = 87654321;
  const std::optional<std::int64_t> graph_seed = graph.seed();
  if (!graph_seed && !op_seed) return {};
  const auto truncate = [](std::int64_t seed) { return (seed % kModulus + kModulus) % kModulus; };
  if (graph_seed && !op_seed) op_seed = graph.next_op_seed();
  const RandomSeeds seeds = {graph_seed ? truncate(*graph_seed) : kDefaultGraphSeed, truncate(*op_seed)};
  // Two zeros would ask the kernel for a seed of its own.
  if (seeds.seed == 0 && seeds.seed2 == 0) return {0, kModulus};
  return seeds;
}

namespace {

OpBuilder random_op(std::string_view op, const Operand& first, std::optional<std::int64_t> seed,
                    std::string name = {}) {
  const Output input = first.to_output();
  const RandomSeeds seeds = get_seed(input.graph(), seed);
  OpBuilder builder(op, {.name = std::move(name)});
  builder.input(input).attr("seed", seeds.seed).attr("seed2", seeds.seed2);
  return builder;
}

// The scope of a composition, named like TensorFlow's, in which the result bears the scope's own name.
std::string scope_name(const std::string& asked, std::string_view fallback) {
  return asked.empty() ? std::string(fallback) : asked;
}

Output scaled_normal(std::string_view op, std::string_view name, const Operand& shape,
                     const RandomNormalOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, name));
  const Output mean = options.mean.to_output(options.dtype);
  const Output stddev = options.stddev.to_output(options.dtype);
  const Output normal = random_op(op, shape, options.seed).attr("dtype", options.dtype).build();
  return add(normal * stddev, mean, {.name = scope.prefix()});
}

}  // namespace

Output random_uniform(const Operand& shape, const RandomUniformOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "random_uniform"));
  const bool integer = options.dtype == DType::kInt32 || options.dtype == DType::kInt64;
  const Operand minval = options.minval.value_or(Operand(0));
  if (integer) {
    if (!options.maxval) {
      throw invalid_argument("random_uniform of ", options.dtype, " needs a maxval")
          .made_at(short_location(options.where));
    }
    return random_op("RandomUniformInt", shape, options.seed, scope.prefix())
        .input(minval, options.dtype)
        .input(*options.maxval, options.dtype)
        .build();
  }
  const Output uniform = random_op("RandomUniform", shape, options.seed).attr("dtype", options.dtype).build();
  if (!options.minval && !options.maxval) return uniform;
  const Output low = minval.to_output(options.dtype);
  const Output high = options.maxval.value_or(Operand(1)).to_output(options.dtype);
  return add(uniform * (high - low), low, {.name = scope.prefix()});
}

Output random_normal(const Operand& shape, const RandomNormalOptions& options) {
  return scaled_normal("RandomStandardNormal", "random_normal", shape, options);
}

Output truncated_normal(const Operand& shape, const RandomNormalOptions& options) {
  return scaled_normal("TruncatedNormal", "truncated_normal", shape, options);
}

Output random_shuffle(const Operand& value, const RandomShuffleOptions& options) {
  const LocationScope where(options.where);
  return random_op("RandomShuffle", value, options.seed, options.name.empty() ? "RandomShuffle" : options.name).build();
}

Output multinomial(const Operand& logits, const Operand& num_samples, const MultinomialOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "multinomial"));
  return random_op("Multinomial", logits, options.seed)
      .input(num_samples, DType::kInt32)
      .attr("output_dtype", options.output_dtype)
      .build();
}

}  // namespace caudal::inline v0
