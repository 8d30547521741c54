// Normalisation by hand: moments of a tensor, and scaling by them (tf.nn).
//
// Thread safety: as building a graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/reduction.h"

namespace caudal::inline v0::nn {

struct Moments {
  Output mean, variance;
};
struct MomentsOptions {
  std::string name = {};
  bool keep_dims = false;
  std::source_location where = std::source_location::current();
};
// Mean and variance (divided by the count) over axes; of half and bfloat16 computed in float32.
CAUDAL_API Moments moments(const Operand& x, const Axes& axes, const MomentsOptions& options = {});
// The same with a weight for every element; weights broadcast.
CAUDAL_API Moments weighted_moments(const Operand& x, const Axes& axes, const Operand& frequency_weights,
                                    const MomentsOptions& options = {});

struct SufficientStatistics {
  Output counts, mean_ss, variance_ss;  // number of elements, sum of x - shift, sum of (x - shift)^2
  Output shift;                         // none if there is none
};
struct SufficientStatisticsOptions {
  std::optional<Operand> shift = {};  // near the mean, for precision
  bool keep_dims = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
CAUDAL_API SufficientStatistics sufficient_statistics(const Operand& x, const Axes& axes,
                                                      const SufficientStatisticsOptions& options = {});
// Moments from such statistics, which may have been added up over batches (the shift must be the same).
CAUDAL_API Moments normalize_moments(const Output& counts, const Output& mean_ss, const Output& variance_ss,
                                     const Output& shift = {}, const OpOptions& options = {});

struct BatchNormalizationOptions {
  std::optional<Operand> offset = {};  // beta
  std::optional<Operand> scale = {};   // gamma
  float variance_epsilon = 0.001F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// (x - mean) / sqrt(variance + variance_epsilon) * scale + offset; all broadcast to x.
CAUDAL_API Output batch_normalization(const Operand& x, const Operand& mean, const Operand& variance,
                                      const BatchNormalizationOptions& options = {});

struct L2NormalizeOptions {
  float epsilon = 1e-12F;  // lower bound of the sum of squares
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// x / sqrt(max(sum(x^2), epsilon)) along axes.
CAUDAL_API Output l2_normalize(const Operand& x, const Axes& axes, const L2NormalizeOptions& options = {});

// The share of elements that are 0, a float32 scalar.
CAUDAL_API Output zero_fraction(const Operand& value, const OpOptions& options = {});

}  // namespace caudal::inline v0::nn
