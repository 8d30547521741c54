// Random numbers: TensorFlow's streams (caudal/base/philox.h).
//
// Every op draws from its own stream, set by two numbers: the graph's seed (set_random_seed) and the op's (`seed`).
//
//   graph seed | op seed | stream
//   none       | none    | differs from run to run
//   none       | given   | (87654321, op seed): TensorFlow's
//   given      | given   | (graph seed, op seed): TensorFlow's
//   given      | none    | (graph seed, k) for the k-th such op of the graph, counted from 0
//
// Seeds are taken modulo 2^31 - 1. Each execution continues the stream where the last one ended; the session keeps that
// place. Thread safety: as building a graph; executions may run concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Sets the default graph's seed for the random ops that are made from now on.
CAUDAL_API void set_random_seed(std::int64_t seed);

struct RandomSeeds {
  std::int64_t seed = 0;
  std::int64_t seed2 = 0;
};
// The attributes of a random op in `graph`, by the table above.
CAUDAL_API RandomSeeds get_seed(Graph& graph, std::optional<std::int64_t> op_seed);

struct RandomUniformOptions {
  std::optional<Operand> minval = {};  // default 0
  std::optional<Operand> maxval = {};  // default 1 for floating types; integer types need one
  DType dtype = DType::kFloat;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of [minval, maxval), equally likely: half, bfloat16, float32, float64, int32 or int64. `shape`: an int32 or
// int64 vector. Throws INVALID_ARGUMENT for another type, or an integer type without maxval.
CAUDAL_API Output random_uniform(const Operand& shape, const RandomUniformOptions& options = {});

struct RandomNormalOptions {
  Operand mean = 0.0F;
  Operand stddev = 1.0F;
  DType dtype = DType::kFloat;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Normally distributed numbers: half, bfloat16, float32 or float64. `mean` and `stddev` broadcast to `shape`.
CAUDAL_API Output random_normal(const Operand& shape, const RandomNormalOptions& options = {});
// The same; values more than two standard deviations from the mean are drawn again.
CAUDAL_API Output truncated_normal(const Operand& shape, const RandomNormalOptions& options = {});

struct RandomShuffleOptions {
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `value` with the entries of its first dimension in random order. Any type.
CAUDAL_API Output random_shuffle(const Operand& value, const RandomShuffleOptions& options = {});

struct MultinomialOptions {
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  DType output_dtype = DType::kInt64;
  std::source_location where = std::source_location::current();
};
// Classes drawn by unnormalised log probabilities `logits` [batch, classes]: int32 or int64 [batch, num_samples].
CAUDAL_API Output multinomial(const Operand& logits, const Operand& num_samples,
                              const MultinomialOptions& options = {});

}  // namespace caudal::inline v0
