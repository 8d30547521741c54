// Normally distributed numbers between bounds that differ from number to number.
//
// By rejection from the normal, a uniform or an exponential distribution, whichever fits the bounds (C. Robert,
// "Simulation of truncated normal variables", 1995), with TensorFlow's stream and order. Types: half, float32, float64.
// Errors: INVALID_ARGUMENT unless stddevs > 0, minvals < maxvals and one bound is finite. Thread safety: as building a
// graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct ParameterizedTruncatedNormalOptions {
  Operand means = 0.0F;
  Operand stddevs = 1.0F;
  Operand minvals = -2.0F;
  Operand maxvals = 2.0F;
  DType dtype = DType::kFloat;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of `shape`; parameters are scalars or vectors with one entry for each row of the first dimension.
CAUDAL_API Output parameterized_truncated_normal(const Operand& shape,
                                                 const ParameterizedTruncatedNormalOptions& options = {});

namespace random {

struct StatelessBoundedNormalOptions {
  Operand means = 0.0F;
  Operand stddevs = 1.0F;
  Operand minvals = -2.0F;
  Operand maxvals = 2.0F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of `shape`, which must end with the common shape of the parameters. Differentiable by all four.
CAUDAL_API Output stateless_parameterized_truncated_normal(const Operand& shape, const Operand& seed,
                                                           const StatelessBoundedNormalOptions& options = {});

}  // namespace random
}  // namespace caudal::inline v0
