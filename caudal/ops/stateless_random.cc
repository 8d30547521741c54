#include "caudal/ops/stateless_random.h"

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random_fill.h"

namespace caudal::inline v0 {
namespace {

constexpr int kPhilox = 1, kAutomatic = 3;  // numbers of algorithms

// --- Shape functions ---

// Inputs: shape, then a seed or key, counter, alg, then scalars.
template <bool by_key>
void filled_shape(ShapeContext& c) {
  c.with_rank(0, 1);
  if (by_key) {
    check_key_shape(c, 1);
  } else {
    check_seed_shape(c, 1);
  }
  for (int i = by_key ? 4 : 2; i < c.num_inputs(); ++i) c.with_rank(i, 0);
  c.set_output(0, c.input_as_shape(0));
}

void multinomial_shape(ShapeContext& c) {
  check_seed_shape(c, 2);
  c.set_output(0, multinomial_shape_of(c));
}

void shuffle_shape(ShapeContext& c) {
  check_key_shape(c, 1);
  c.set_output(0, c.input(0));
}

void key_counter_shape(ShapeContext& c) {
  check_seed_shape(c, 0);
  c.set_output(0, PartialShape({1}));
  c.set_output(1, PartialShape({2}));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape::scalar());
}

// --- Kernels ---

template <bool by_key>
PhiloxRandom generator_of(const RunContext& c) {
  return by_key ? generator_of_key(c, 1) : generator_of_seed(c, 1);
}

template <Distribution distribution, bool by_key>
void run_fill(RunContext& c) {
  const PhiloxRandom generator = generator_of<by_key>(c);
  fill_random(c.pool(), distribution, generator, c.allocate_output(0, shape_from(c.input(0), "shape")));
}

template <bool by_key>
void run_uniform_int(RunContext& c) {
  const Tensor &minval = c.input(by_key ? 4 : 2), &maxval = c.input(by_key ? 5 : 3);
  const PhiloxRandom generator = generator_of<by_key>(c);
  Tensor& out = c.allocate_output(0, shape_from(c.input(0), "shape"));
  check_bounds(minval, maxval);
  if (out.num_elements() == 0) return;
  check_range(minval, maxval);
  fill_random_int(c.pool(), generator, minval, maxval, out);
}

template <bool by_key>
void run_full_int(RunContext& c) {
  const PhiloxRandom generator = generator_of<by_key>(c);
  fill_random_bits(c.pool(), generator, c.allocate_output(0, shape_from(c.input(0), "shape")));
}

void run_multinomial(RunContext& c) {
  const PhiloxRandom generator = generator_of_seed(c, 2);
  Tensor& out = c.allocate_output(0, multinomial_output(c.input(0), c.input(1)));
  if (out.num_elements() > 0) fill_multinomial(c.pool(), generator, c.input(0), out);
}

void run_shuffle(RunContext& c) {
  const PhiloxRandom generator = generator_of_key(c, 1);
  const Tensor& in = c.input(0);
  shuffle_rows(generator, in, c.allocate_output(0, in.shape()));
}

void run_key_counter(RunContext& c) {
  const PhiloxRandom generator = generator_of_seed(c, 0);
  *c.allocate_output(0, {1}).data<std::uint64_t>() = key_of(generator);
  write_counter(generator, c.allocate_output(1, {2}).data<std::uint64_t>());
  if (c.num_outputs() > 2) *c.allocate_output(2, {}).data<std::int32_t>() = kPhilox;
}

void run_get_alg(RunContext& c) { *c.allocate_output(0, {}).data<std::int32_t>() = kPhilox; }

}  // namespace

// --- Registrations ---

#define CAUDAL_REGISTER_STATELESS(v1, v2, distribution)                                                           \
  CAUDAL_REGISTER_OP({                                                                                            \
      .name = v1,                                                                                                 \
      .inputs = "shape: T; seed: Tseed",                                                                          \
      .outputs = "output: dtype",                                                                                 \
      .attrs = "dtype: {half, bfloat16, float, double} = DT_FLOAT; T: {int32, int64} = DT_INT32; Tseed: {int32, " \
               "int64} = DT_INT64",                                                                               \
      .shape = filled_shape<false>,                                                                               \
      .gradient = not_differentiable,                                                                             \
      .cpu = kernel_of<run_fill<Distribution::distribution, false>>,                                              \
  });                                                                                                             \
  CAUDAL_REGISTER_OP({                                                                                            \
      .name = v2,                                                                                                 \
      .inputs = "shape: Tshape; key: uint64; counter: uint64; alg: int32",                                        \
      .outputs = "output: dtype",                                                                                 \
      .attrs = "dtype: {half, bfloat16, float, double} = DT_FLOAT; Tshape: {int32, int64} = DT_INT32",            \
      .shape = filled_shape<true>,                                                                                \
      .gradient = not_differentiable,                                                                             \
      .cpu = kernel_of<run_fill<Distribution::distribution, true>>,                                               \
  })
CAUDAL_REGISTER_STATELESS("StatelessRandomUniform", "StatelessRandomUniformV2", kUniform);
CAUDAL_REGISTER_STATELESS("StatelessRandomNormal", "StatelessRandomNormalV2", kNormal);
CAUDAL_REGISTER_STATELESS("StatelessTruncatedNormal", "StatelessTruncatedNormalV2", kTruncatedNormal);
#undef CAUDAL_REGISTER_STATELESS

CAUDAL_REGISTER_OP({.name = "StatelessRandomUniformInt",
                    .inputs = "shape: T; seed: Tseed; minval: dtype; maxval: dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {int32, int64}; T: {int32, int64}; Tseed: {int32, int64} = DT_INT64",
                    .shape = filled_shape<false>,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_uniform_int<false>>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomUniformIntV2",
                    .inputs = "shape: Tshape; key: uint64; counter: uint64; alg: int32; minval: dtype; maxval: dtype",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {int32, int64, uint32, uint64}; Tshape: {int32, int64} = DT_INT32",
                    .shape = filled_shape<true>,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_uniform_int<true>>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomUniformFullInt",
                    .inputs = "shape: T; seed: Tseed",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {int32, int64, uint32, uint64} = DT_UINT64; T: {int32, int64} = DT_INT32; "
                             "Tseed: {int32, int64, uint32, uint64} = DT_INT64",
                    .shape = filled_shape<false>,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_full_int<false>>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomUniformFullIntV2",
                    .inputs = "shape: Tshape; key: uint64; counter: uint64; alg: int32",
                    .outputs = "output: dtype",
                    .attrs = "dtype: {int32, int64, uint32, uint64} = DT_UINT64; Tshape: {int32, int64} = DT_INT32",
                    .shape = filled_shape<true>,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_full_int<true>>});
CAUDAL_REGISTER_OP({.name = "StatelessMultinomial",
                    .inputs = "logits: T; num_samples: int32; seed: Tseed",
                    .outputs = "output: output_dtype",
                    .attrs = "T: realnumbertype; Tseed: {int32, int64} = DT_INT64; "
                             "output_dtype: {int32, int64} = DT_INT64",
                    .shape = multinomial_shape,
                    .gradient = not_differentiable,
                    .cpu = kernel_of<run_multinomial>});
CAUDAL_REGISTER_OP({.name = "StatelessShuffle",
                    .inputs = "value: T; key: uint64; counter: uint64; alg: int32",
                    .outputs = "output: T",
                    .attrs = "T: type",
                    .shape = shuffle_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_shuffle>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomGetKeyCounter",
                    .inputs = "seed: Tseed",
                    .outputs = "key: uint64; counter: uint64",
                    .attrs = "Tseed: {int32, int64} = DT_INT64",
                    .shape = key_counter_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_key_counter>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomGetKeyCounterAlg",
                    .inputs = "seed: Tseed",
                    .outputs = "key: uint64; counter: uint64; alg: int32",
                    .attrs = "Tseed: {int32, int64} = DT_INT64",
                    .shape = key_counter_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_key_counter>});
CAUDAL_REGISTER_OP({.name = "StatelessRandomGetAlg",
                    .outputs = "alg: int32",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_get_alg>});

// --- Public functions ---

namespace raw_ops {

KeyCounter stateless_random_get_key_counter(const Operand& seed, const OpOptions& options) {
  Node& node = OpBuilder("StatelessRandomGetKeyCounter", options).input(seed, DType::kInt32).build_node();
  return {node.output(0), node.output(1)};
}

}  // namespace raw_ops

namespace random {
namespace {

// A V2 op with the generator that the seed stands for.
OpBuilder seeded(std::string_view op, const Operand& first, const Operand& seed, std::string name = {}) {
  const raw_ops::KeyCounter generator = raw_ops::stateless_random_get_key_counter(seed);
  OpBuilder builder(op, {.name = std::move(name)});
  builder.input(first, DType::kInt32).input(generator.key).input(generator.counter).input(kAutomatic, DType::kInt32);
  return builder;
}

bool is_int(DType dtype) {
  return dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kUint32 || dtype == DType::kUint64;
}

std::string scope_name(const std::string& given, const char* otherwise) { return given.empty() ? otherwise : given; }

Output scaled_normal(std::string_view op, const char* name, const Operand& shape, const Operand& seed,
                     const StatelessNormalOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, name));
  const Output mean = options.mean.to_output(options.dtype);
  const Output stddev = options.stddev.to_output(options.dtype);
  const Output normal = seeded(op, shape, seed).attr("dtype", options.dtype).build();
  return add(normal * stddev, mean, {.name = scope.prefix()});
}

}  // namespace

Output stateless_uniform(const Operand& shape, const Operand& seed, const StatelessUniformOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "stateless_random_uniform"));
  if (is_int(options.dtype)) {
    if (!options.minval && !options.maxval) {
      return seeded("StatelessRandomUniformFullIntV2", shape, seed, scope.prefix())
          .attr("dtype", options.dtype)
          .build();
    }
    if (!options.minval || !options.maxval) {
      throw invalid_argument("stateless_uniform of ", options.dtype, " needs both minval and maxval, or neither")
          .made_at(short_location(options.where));
    }
    return seeded("StatelessRandomUniformIntV2", shape, seed, scope.prefix())
        .input(*options.minval, options.dtype)
        .input(*options.maxval, options.dtype)
        .build();
  }
  const Output uniform = seeded("StatelessRandomUniformV2", shape, seed).attr("dtype", options.dtype).build();
  const Output low = options.minval.value_or(Operand(0)).to_output(options.dtype);
  const Output high = options.maxval.value_or(Operand(1)).to_output(options.dtype);
  return add(uniform * (high - low), low, {.name = scope.prefix()});
}

Output stateless_normal(const Operand& shape, const Operand& seed, const StatelessNormalOptions& options) {
  return scaled_normal("StatelessRandomNormalV2", "stateless_random_normal", shape, seed, options);
}

Output stateless_truncated_normal(const Operand& shape, const Operand& seed, const StatelessNormalOptions& options) {
  return scaled_normal("StatelessTruncatedNormalV2", "stateless_truncated_normal", shape, seed, options);
}

Output stateless_categorical(const Operand& logits, const Operand& num_samples, const Operand& seed,
                             const StatelessCategoricalOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(scope_name(options.name, "stateless_categorical"));
  return OpBuilder("StatelessMultinomial", {})
      .input(logits, DType::kFloat)
      .input(num_samples, DType::kInt32)
      .input(seed, DType::kInt32)
      .attr("output_dtype", options.dtype)
      .build();
}

Output split(const Operand& seed, std::int64_t num, const OpOptions& options) {
  const LocationScope where(options.where);
  const Output given = seed.to_output(DType::kInt32);
  return stateless_uniform(std::vector<std::int64_t>{num, 2}, given,
                           {.minval = {}, .dtype = given.dtype(), .name = options.name, .where = options.where});
}

Output fold_in(const Operand& seed, const Operand& data, const OpOptions& options) {
  const LocationScope where(options.where);
  const Output number = data.to_output(DType::kInt32);
  const Output first = stateless_uniform(Tensor(std::vector<int>{}), seed, {.minval = {}, .dtype = number.dtype()});
  return stack({first, number}, 0, {.name = options.name});
}

namespace experimental {

Output stateless_shuffle(const Operand& value, const Operand& seed, const OpOptions& options) {
  const LocationScope where(options.where);
  return seeded("StatelessShuffle", value, seed, options.name).build();
}

}  // namespace experimental
}  // namespace random
}  // namespace caudal::inline v0
