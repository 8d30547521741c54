// Random numbers without state: the same seed gives the same numbers, TensorFlow's.
//
//   Output x = random::stateless_normal({3, 2}, {7, 17});
//
// seed: int32 or int64 [2]. Two outputs made from one seed are the same numbers again, whatever their distributions:
// use split() or fold_in() to make seeds of a seed. The stream is Philox 4x32-10 (caudal/base/philox.h).
// Errors: INVALID_ARGUMENT for a seed that is not [2], and integer bounds without numbers between them. Thread safety:
// as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {
namespace random {

struct StatelessUniformOptions {
  std::optional<Operand> minval = 0;   // integers without minval and maxval: all values of the type
  std::optional<Operand> maxval = {};  // default 1 for floating types
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of [minval, maxval), equally likely: half, bfloat16, float32, float64, int32, int64; all values also of
// uint32 and uint64.
CAUDAL_API Output stateless_uniform(const Operand& shape, const Operand& seed,
                                    const StatelessUniformOptions& options = {});

struct StatelessNormalOptions {
  Operand mean = 0.0F;
  Operand stddev = 1.0F;
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Normally distributed numbers: half, bfloat16, float32 or float64. `mean` and `stddev` broadcast to `shape`.
CAUDAL_API Output stateless_normal(const Operand& shape, const Operand& seed,
                                   const StatelessNormalOptions& options = {});
// The same; values more than two standard deviations from the mean are drawn again.
CAUDAL_API Output stateless_truncated_normal(const Operand& shape, const Operand& seed,
                                             const StatelessNormalOptions& options = {});

struct StatelessCategoricalOptions {
  DType dtype = DType::kInt64;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Classes drawn by unnormalised log probabilities `logits` [batch, classes]: int32 or int64 [batch, num_samples].
CAUDAL_API Output stateless_categorical(const Operand& logits, const Operand& num_samples, const Operand& seed,
                                        const StatelessCategoricalOptions& options = {});

// `num` seeds of one: [num, 2].
CAUDAL_API Output split(const Operand& seed, std::int64_t num = 2, const OpOptions& options = {});
// A seed made of a seed and an integer, such as the number of a step: [2] of the type of `data`.
CAUDAL_API Output fold_in(const Operand& seed, const Operand& data, const OpOptions& options = {});

namespace experimental {

// `value` with the entries of its first dimension in random order. Any type.
CAUDAL_API Output stateless_shuffle(const Operand& value, const Operand& seed, const OpOptions& options = {});

}  // namespace experimental
}  // namespace random

namespace raw_ops {

struct KeyCounter {
  Output key, counter;  // uint64 [1] and [2]
};
// The generator that a seed stands for.
CAUDAL_API KeyCounter stateless_random_get_key_counter(const Operand& seed, const OpOptions& options = {});

}  // namespace raw_ops
}  // namespace caudal::inline v0
