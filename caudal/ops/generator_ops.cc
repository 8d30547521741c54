#include "caudal/ops/generator_ops.h"

#include <random>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/binomial_draws.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random_draws.h"
#include "caudal/ops/random_fill.h"

namespace caudal::inline v0 {
namespace {

constexpr int kPhilox = 1, kAutomatic = 3;  // numbers of algorithms
constexpr std::int64_t kStateSize = 3;      // counter, counter, key

// --- Shape functions ---

// The shape is input `at`; all inputs before it are scalars, and so are those after it unless they are parameters.
template <int at, bool bounds = false>
void filled_shape(ShapeContext& c) {
  for (int i = 0; i < at; ++i) c.with_rank(i, 0);
  c.with_rank(at, 1);
  for (int i = at + 1; bounds && i < c.num_inputs(); ++i) c.with_rank(i, 0);
  c.set_output(0, c.input_as_shape(at));
}

void skip_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) c.with_rank(i, 0);
  if (c.num_outputs() > 0) c.set_output(0, PartialShape({kStateSize}));
}

// --- Kernels ---

void check_algorithm(std::int64_t number) {
  if (number == kPhilox || number == kAutomatic) return;
  if (number == 2) throw unimplemented("the CPU has no ThreeFry generator").hint("Use 1 (Philox) or 3 (automatic).");
  throw invalid_argument("algorithm ", number, " is none").hint("Use 1 (Philox) or 3 (automatic).");
}

void check_algorithm(const Tensor& algorithm) {
  if (algorithm.rank() != 0) throw invalid_argument("the algorithm must be a scalar, not ", algorithm.describe());
  check_algorithm(algorithm.to_int64s()[0]);
}

// The generator that the variable of input 0 holds; the variable moves on by `outputs` numbers. `tagged`: the state
// begins with the algorithm.
PhiloxRandom advance(RunContext& c, std::uint64_t outputs, bool tagged = false) {
  PhiloxRandom generator;
  c.variable(0).update([&](Tensor& state) {
    const std::int64_t skipped = tagged ? 1 : 0;
    if (state.dtype() != DType::kInt64 || state.rank() != 1 || state.num_elements() < kStateSize + skipped) {
      throw invalid_argument("the state of a generator must be int64 with at least ", kStateSize + skipped,
                             " elements, not ", state.describe());
    }
    if (tagged) check_algorithm(state.data<std::int64_t>()[0]);
    auto* words = reinterpret_cast<std::uint64_t*>(state.raw()) + skipped;
    generator = philox_from(words, words[2]);
    PhiloxRandom next = generator;
    next.skip(outputs * kReservedSamplesPerOutput);
    write_counter(next, words);
  });
  return generator;
}

// Allocates the output; `shape` is that input.
Tensor& output_of(RunContext& c, int shape) { return c.allocate_output(0, shape_from(c.input(shape), "shape")); }
std::uint64_t size_of(const Tensor& tensor) { return static_cast<std::uint64_t>(tensor.num_elements()); }

template <Distribution distribution>
void run_fill(RunContext& c) {
  check_algorithm(c.input(1));
  Tensor& out = output_of(c, 2);
  fill_random(c.pool(), distribution, advance(c, size_of(out)), out);
}

void run_tagged_normal(RunContext& c) {
  Tensor& out = output_of(c, 1);
  fill_random(c.pool(), Distribution::kNormal, advance(c, size_of(out), true), out);
}

void run_full_int(RunContext& c) {
  check_algorithm(c.input(1));
  Tensor& out = output_of(c, 2);
  fill_random_bits(c.pool(), advance(c, size_of(out)), out);
}

void run_uniform_int(RunContext& c) {
  check_algorithm(c.input(1));
  check_bounds(c.input(3), c.input(4));
  check_range(c.input(3), c.input(4));
  Tensor& out = output_of(c, 2);
  fill_random_int(c.pool(), advance(c, size_of(out)), c.input(3), c.input(4), out);
}

void run_binomial(RunContext& c) {
  check_algorithm(c.input(1));
  const Tensor &counts = c.input(3), &probs = c.input(4);
  Tensor& out = output_of(c, 2);
  const auto batch = static_cast<std::uint64_t>(binomial_batch(counts, probs));
  const std::uint64_t samples = batch == 0 ? 0 : size_of(out) / batch;
  // TensorFlow's rule, which counts 100 numbers of two draws for each output.
  fill_binomial(c.pool(), advance(c, batch * 2 * 100 * (samples + 3) / 4), counts, probs, out);
}

std::unique_ptr<Kernel> prepare_binomial(PrepareContext& c) {
  if (!is_floating(c.input_type(3))) throw unimplemented("no kernel for ", c.input_type(3), " on CPU");
  return kernel_of<run_binomial>(c);
}

std::uint64_t delta_of(const RunContext& c) {
  const Tensor& delta = c.input(2);
  if (delta.rank() != 0) throw invalid_argument("delta must be a scalar, not ", delta.describe());
  return *reinterpret_cast<const std::uint64_t*>(delta.raw());  // int64 as its bits
}

void run_skip(RunContext& c) {
  check_algorithm(c.input(1));
  advance(c, delta_of(c));
}

void run_read_and_skip(RunContext& c) {
  check_algorithm(c.input(1));
  const PhiloxRandom before = advance(c, delta_of(c));
  auto* words = reinterpret_cast<std::uint64_t*>(c.allocate_output(0, {kStateSize}).raw());
  write_counter(before, words);
  words[2] = key_of(before);
}

void run_non_deterministic(RunContext& c) {
  std::random_device device;
  const auto number = [&] { return device() | std::uint64_t{device()} << 32; };
  const std::uint64_t counter[] = {number(), number()};
  fill_random_bits(c.pool(), philox_from(counter, number()), output_of(c, 0));
}

}  // namespace

// --- Registrations ---

#define CAUDAL_REGISTER_STATEFUL(op, more_inputs, default_type, shape_fn, run)          \
  CAUDAL_REGISTER_OP({                                                                  \
      .name = op,                                                                       \
      .inputs = "resource: resource; algorithm: int64; shape: shape_dtype" more_inputs, \
      .outputs = "output: dtype",                                                       \
      .attrs = "dtype: type = " default_type "; shape_dtype: type = DT_INT64",          \
      .stateful = true,                                                                 \
      .shape = shape_fn,                                                                \
      .gradient = no_gradient,                                                          \
      .cpu = kernel_of<run>,                                                            \
  })
CAUDAL_REGISTER_STATEFUL("StatefulUniform", "", "DT_FLOAT", filled_shape<2>, run_fill<Distribution::kUniform>);
CAUDAL_REGISTER_STATEFUL("StatefulStandardNormalV2", "", "DT_FLOAT", filled_shape<2>, run_fill<Distribution::kNormal>);
CAUDAL_REGISTER_STATEFUL("StatefulTruncatedNormal", "", "DT_FLOAT", filled_shape<2>,
                         run_fill<Distribution::kTruncatedNormal>);
CAUDAL_REGISTER_STATEFUL("StatefulUniformFullInt", "", "DT_UINT64", filled_shape<2>, run_full_int);
CAUDAL_REGISTER_STATEFUL("StatefulUniformInt", "; minval: dtype; maxval: dtype", "DT_INT64", (filled_shape<2, true>),
                         run_uniform_int);
#undef CAUDAL_REGISTER_STATEFUL

CAUDAL_REGISTER_OP({.name = "StatefulStandardNormal",
                    .inputs = "resource: resource; shape: shape_dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type = DT_FLOAT; shape_dtype: type = DT_INT64",
                    .stateful = true,
                    .deprecated_version = 29,
                    .shape = filled_shape<1>,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_tagged_normal>});
CAUDAL_REGISTER_OP({.name = "StatefulRandomBinomial",
                    .inputs = "resource: resource; algorithm: int64; shape: S; counts: T; probs: T",
                    .outputs = "output: dtype",
                    .attrs = "S: {int32, int64}; T: {half, float, double, int32, int64} = DT_DOUBLE; "
                             "dtype: {half, float, double, int32, int64} = DT_INT64",
                    .stateful = true,
                    .shape = filled_shape<2>,
                    .gradient = no_gradient,
                    .cpu = prepare_binomial});
CAUDAL_REGISTER_OP({.name = "RngSkip",
                    .inputs = "resource: resource; algorithm: int64; delta: int64",
                    .stateful = true,
                    .shape = skip_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_skip>});
CAUDAL_REGISTER_OP({.name = "RngReadAndSkip",
                    .inputs = "resource: resource; alg: int32; delta: uint64",
                    .outputs = "value: int64",
                    .stateful = true,
                    .shape = skip_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_read_and_skip>});
CAUDAL_REGISTER_OP({.name = "NonDeterministicInts",
                    .inputs = "shape: shape_dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: type = DT_INT64; shape_dtype: type = DT_INT64",
                    .stateful = true,
                    .shape = filled_shape<0>,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_non_deterministic>});

// --- Public functions ---

namespace random {

struct Generator::KeyCounter {
  Output key, counter;
};

Generator Generator::from_seed(std::int64_t seed, const GeneratorOptions& options) {
  return from_state(Tensor(std::vector<std::int64_t>{seed, 0, 0}), options);
}

Generator Generator::from_state(const Operand& state, const GeneratorOptions& options) {
  const LocationScope where(options.where);
  return Generator(
      Variable(state, {.trainable = false, .name = options.name, .use_resource = true, .where = options.where}));
}

Output Generator::skip(const Operand& delta, const OpOptions& options) const {
  const LocationScope where(options.where);
  Output count = delta.to_output(DType::kInt64);
  if (count.dtype() != DType::kUint64) count = OpBuilder("Cast", {}).input(count).attr("DstT", DType::kUint64).build();
  return OpBuilder("RngReadAndSkip", {.name = options.name})
      .input(state_.handle())
      .input(kAutomatic, DType::kInt32)
      .input(count)
      .build();
}

Generator::KeyCounter Generator::reserve(const Output& shape) const {
  const Output sizes = OpBuilder("Cast", {}).input(shape).attr("DstT", DType::kInt64).build();
  const Output state = skip(OpBuilder("Prod", {}).input(sizes).input({0}).build());
  const auto part = [&](int begin, int size) {
    const Output words = OpBuilder("Slice", {}).input(state).input({begin}).input({size}).build();
    return OpBuilder("Bitcast", {}).input(words).attr("type", DType::kUint64).build();
  };
  return {part(2, 1), part(0, 2)};
}

namespace {

template <class Generator>
OpBuilder drawn(std::string_view op, const Output& shape, const Generator& generator, std::string name = {}) {
  OpBuilder builder(op, {.name = std::move(name)});
  builder.input(shape).input(generator.key).input(generator.counter).input(kAutomatic, DType::kInt32);
  return builder;
}

Output scaled(const Output& normal, const GeneratorNormalOptions& options, const std::string& name) {
  return add(normal * options.stddev.to_output(options.dtype), options.mean.to_output(options.dtype), {.name = name});
}

std::string scope_name(const std::string& given, const char* otherwise) { return given.empty() ? otherwise : given; }

}  // namespace

Output Generator::normal(const Operand& shape, const GeneratorNormalOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "stateful_normal"));
  const Output size = shape.to_output(DType::kInt32);
  const Output drawn_normal =
      drawn("StatelessRandomNormalV2", size, reserve(size)).attr("dtype", options.dtype).build();
  return scaled(drawn_normal, options, scope.prefix());
}

Output Generator::truncated_normal(const Operand& shape, const GeneratorNormalOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "truncated_normal"));
  const Output size = shape.to_output(DType::kInt32);
  const Output drawn_normal =
      drawn("StatelessTruncatedNormalV2", size, reserve(size)).attr("dtype", options.dtype).build();
  return scaled(drawn_normal, options, scope.prefix());
}

Output Generator::uniform(const Operand& shape, const GeneratorUniformOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "stateful_uniform"));
  const Output size = shape.to_output(DType::kInt32);
  if (is_integer(options.dtype)) {
    if (!options.minval || !options.maxval) {
      throw invalid_argument("uniform of ", options.dtype, " needs minval and maxval")
          .hint("Use uniform_full_int() for all values.")
          .made_at(short_location(options.where));
    }
    return drawn("StatelessRandomUniformIntV2", size, reserve(size), scope.prefix())
        .input(*options.minval, options.dtype)
        .input(*options.maxval, options.dtype)
        .build();
  }
  const Output uniform = drawn("StatelessRandomUniformV2", size, reserve(size)).attr("dtype", options.dtype).build();
  const Output low = options.minval.value_or(Operand(0)).to_output(options.dtype);
  const Output high = options.maxval.value_or(Operand(1)).to_output(options.dtype);
  return add(uniform * (high - low), low, {.name = scope.prefix()});
}

Output Generator::uniform_full_int(const Operand& shape, DType dtype, const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "stateful_uniform_full_int"));
  const Output size = shape.to_output(DType::kInt32);
  return drawn("StatelessRandomUniformFullIntV2", size, reserve(size), scope.prefix()).attr("dtype", dtype).build();
}

Output Generator::binomial(const Operand& shape, const Operand& counts, const Operand& probs, DType dtype,
                           const OpOptions& options) const {
  const LocationScope where(options.where);
  DType parameters = common_dtype({&probs, &counts});
  if (!is_floating(parameters)) parameters = DType::kFloat;
  return OpBuilder("StatefulRandomBinomial", options)
      .input(state_.handle())
      .input(kPhilox, DType::kInt64)
      .input(shape, DType::kInt32)
      .input(counts, parameters)
      .input(probs, parameters)
      .attr("dtype", dtype)
      .build();
}

}  // namespace random
}  // namespace caudal::inline v0
