// Dropout (Srivastava et al. 2014), scaled so that the expected sum stays.
//
// Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

// Say `rate` or `keep_prob` (= 1 - rate), as a number or as a scalar tensor.
struct DropoutOptions {
  std::optional<Operand> keep_prob = {};
  // Shape of the mask, broadcast to x: {batch, 1, 1, channels} drops whole channels. -1: x's size, which must be known.
  std::optional<Operand> noise_shape = {};
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::optional<Operand> rate = {};
  std::source_location where = std::source_location::current();
};

// Elements of x (floating) are 0 with probability `rate`, independently, else x / (1 - rate). The gradient has the same
// mask. With the number 0 as rate x itself is returned. Throws INVALID_ARGUMENT if both or none of rate and keep_prob
// are given, or a number outside 0 <= rate < 1. A rate tensor of 1 drops everything.
CAUDAL_API Output dropout(const Operand& x, const DropoutOptions& options);

}  // namespace caudal::inline v0::nn
