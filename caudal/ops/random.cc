#include "caudal/ops/random.h"

#include <vector>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random_fill.h"
#include "caudal/ops/random_state.h"

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

void multinomial_shape(ShapeContext& c) { c.set_output(0, multinomial_shape_of(c)); }

// --- Kernels ---

PhiloxRandom reserve(RunContext& c, std::int64_t outputs) {
  return c.state<RandomState>().philox().reserve_outputs(static_cast<std::uint64_t>(outputs),
                                                         kReservedSamplesPerOutput);
}

template <Distribution distribution>
void run_random(RunContext& c) {
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  fill_random(c.pool(), distribution, reserve(c, out.num_elements()), out);
}

void run_uniform_int(RunContext& c) {
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  check_bounds(c.input(1), c.input(2));
  if (out.num_elements() == 0) return;
  check_range(c.input(1), c.input(2));
  fill_random_int(c.pool(), reserve(c, out.num_elements()), c.input(1), c.input(2), out);
}

void run_shuffle(RunContext& c) {
  const Tensor& in = c.input(0);
  Tensor& out = c.allocate_output(0, in.shape());
  const std::uint64_t samples = shuffle_samples(in);
  shuffle_rows(samples == 0 ? PhiloxRandom() : c.state<RandomState>().philox().reserve_samples(samples), in, out);
}

void run_multinomial(RunContext& c) {
  Tensor& out = c.allocate_output(0, multinomial_output(c.input(0), c.input(1)));
  if (out.num_elements() == 0) return;
  // TensorFlow's CPU kernel sets aside two numbers for each sample, rounded up to groups of four.
  const std::int64_t outputs = out.dim(0) * ((out.dim(1) + 3) / 4 * 4 * 2);
  fill_multinomial(c.pool(), reserve(c, outputs), c.input(0), out);
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
