// Whole random numbers: of Poisson and of binomial distributions.
//
// With TensorFlow's stream, methods and order. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct RandomPoissonOptions {
  DType dtype = DType::kFloat;  // half, float32, float64, int32, int64
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `shape` numbers for each rate `lam` (half, float32, float64, int32, int64): shape + lam's shape. Below a rate of 10
// by products of uniform numbers (Knuth), above by transformed rejection (Hörmann 1993).
CAUDAL_API Output random_poisson_v2(const Operand& shape, const Operand& lam, const RandomPoissonOptions& options = {});

namespace random {

CAUDAL_API Output poisson(const Operand& shape, const Operand& lam, const RandomPoissonOptions& options = {});

struct StatelessPoissonOptions {
  DType dtype = DType::kInt32;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of the whole `shape`, to which lam broadcasts.
CAUDAL_API Output stateless_poisson(const Operand& shape, const Operand& seed, const Operand& lam,
                                    const StatelessPoissonOptions& options = {});

struct StatelessBinomialOptions {
  DType output_dtype = DType::kInt32;  // half, float32, float64, int32, int64
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// How many of `counts` trials succeed with probability `probs`, both of one type (half, float32, float64): numbers of
// the whole `shape`, which must end with the parameters' common shape. Below a mean of 10 by inversion, above by
// transformed rejection (Hörmann 1993).
CAUDAL_API Output stateless_binomial(const Operand& shape, const Operand& seed, const Operand& counts,
                                     const Operand& probs, const StatelessBinomialOptions& options = {});

}  // namespace random
}  // namespace caudal::inline v0
