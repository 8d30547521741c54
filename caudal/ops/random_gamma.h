// Numbers of gamma distributions, differentiable by alpha.
//
// By transformation and rejection (Marsaglia and Tsang 2000), in double, with TensorFlow's stream and order. Types:
// half, float32, float64. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct RandomGammaOptions {
  std::optional<Operand> beta = {};  // the inverse scale; default 1
  DType dtype = DType::kFloat;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// `shape` numbers for each alpha (and beta, broadcast): shape + alpha's shape. Never 0.
CAUDAL_API Output random_gamma(const Operand& shape, const Operand& alpha, const RandomGammaOptions& options = {});

namespace random {

CAUDAL_API Output gamma(const Operand& shape, const Operand& alpha, const RandomGammaOptions& options = {});

struct StatelessGammaOptions {
  std::optional<Operand> beta = {};
  DType dtype = DType::kFloat;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Numbers of the whole `shape`, to which alpha and beta broadcast (it must end with their common shape).
CAUDAL_API Output stateless_gamma(const Operand& shape, const Operand& seed, const Operand& alpha,
                                  const StatelessGammaOptions& options = {});

}  // namespace random

namespace raw_ops {
// d(sample) / d(alpha) of numbers drawn with alpha; broadcasts. float32, float64.
CAUDAL_API Output random_gamma_grad(const Operand& alpha, const Operand& sample, const OpOptions& options = {});
}  // namespace raw_ops

}  // namespace caudal::inline v0
