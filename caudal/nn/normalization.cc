#include "caudal/nn/normalization.h"

#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/shape_ops.h"

namespace caudal::inline v0::nn {
namespace {

bool is_16_bit(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

// A name scope that also takes the blame of the user's line.
struct Scope {
  Scope(const std::string& name, const char* default_name, const std::source_location& where)
      : location(where), names(name.empty() ? default_name : name) {}
  LocationScope location;
  NameScope names;
};

}  // namespace

Moments moments(const Operand& given, const Axes& axes, const MomentsOptions& options) {
  const Scope scope(options.name, "moments", options.where);
  const Output x = given.to_output(float32);
  const Output y = is_16_bit(x.dtype()) ? cast(x, float32) : x;
  const Output mean = reduce_mean(y, {.axis = axes, .keepdims = true, .name = "mean"});
  // The variance must not send a gradient through this mean: its part is 0 in sum, exactly.
  const Output variance = reduce_mean(squared_difference(y, stop_gradient(mean)),
                                      {.axis = axes, .keepdims = options.keep_dims, .name = "variance"});
  const Output centre = options.keep_dims ? mean : reduce_sum(mean, {.axis = axes});
  return {cast(centre, x.dtype()), cast(variance, x.dtype())};
}

Moments weighted_moments(const Operand& given, const Axes& axes, const Operand& frequency_weights,
                         const MomentsOptions& options) {
  const Scope scope(options.name, "weighted_moments", options.where);
  const Output x = given.to_output(float32);
  const Output y = is_16_bit(x.dtype()) ? cast(x, float32) : x;
  const Output weights = cast(frequency_weights.to_output(y.dtype()), y.dtype());
  const Output all_weights = weights + zeros_like(y);
  const auto sum = [&](const Output& value) { return reduce_sum(value, {.axis = axes, .keepdims = true}); };
  const Output divisor = reciprocal(sum(all_weights), {.name = "divisor"});
  const Output mean = sum(weights * y) * divisor;
  const Output variance = sum(weights * squared_difference(y, mean)) * divisor;
  const auto shaped = [&](const Output& value) {
    return cast(options.keep_dims ? value : reduce_sum(value, {.axis = axes}), x.dtype());
  };
  return {shaped(mean), shaped(variance)};
}

SufficientStatistics sufficient_statistics(const Operand& given, const Axes& axes,
                                           const SufficientStatisticsOptions& options) {
  const Scope scope(options.name, "sufficient_statistics", options.where);
  const Output x = given.to_output(float32);
  SufficientStatistics result;
  const Output counts = reduce_sum(ones_like(x), {.axis = axes, .keepdims = options.keep_dims, .name = "count"});
  // All entries are equal: one number says it.
  result.counts = reduce_max(counts);
  Output mean_ss = x, variance_ss;
  if (options.shift) {
    result.shift = options.shift->to_output(x.dtype());
    mean_ss = x - result.shift;
    variance_ss = squared_difference(x, result.shift);
  } else {
    variance_ss = square(x);
  }
  result.mean_ss = reduce_sum(mean_ss, {.axis = axes, .keepdims = options.keep_dims, .name = "mean_ss"});
  result.variance_ss = reduce_sum(variance_ss, {.axis = axes, .keepdims = options.keep_dims, .name = "var_ss"});
  return result;
}

Moments normalize_moments(const Output& counts, const Output& mean_ss, const Output& variance_ss, const Output& shift,
                          const OpOptions& options) {
  const Scope scope(options.name, "normalize", options.where);
  const Output divisor = reciprocal(counts, {.name = "divisor"});
  const Output shifted_mean = multiply(mean_ss, divisor, {.name = "shifted_mean"});
  const Output mean = shift ? add(shifted_mean, shift, {.name = "mean"}) : shifted_mean;
  const Output variance = subtract(variance_ss * divisor, square(shifted_mean), {.name = "variance"});
  return {mean, variance};
}

Output batch_normalization(const Operand& given, const Operand& mean, const Operand& variance,
                           const BatchNormalizationOptions& options) {
  const Scope scope(options.name, "batchnorm", options.where);
  const Output x = given.to_output(float32);
  const auto cast_to_x = [&](const Operand& value) { return cast(value.to_output(x.dtype()), x.dtype()); };
  Output inverse = rsqrt(variance.to_output(x.dtype()) + options.variance_epsilon);
  if (options.scale) inverse = inverse * options.scale->to_output(x.dtype());
  const Output moved = mean.to_output(x.dtype()) * inverse;
  const Output shift = options.offset ? options.offset->to_output(x.dtype()) - moved : -moved;
  return x * cast_to_x(inverse) + cast_to_x(shift);
}

Output l2_normalize(const Operand& given, const Axes& axes, const L2NormalizeOptions& options) {
  const Scope scope(options.name, "l2_normalize", options.where);
  const Output x = given.to_output(float32);
  const Output squares = reduce_sum(square(x), {.axis = axes, .keepdims = true});
  return x * rsqrt(maximum(squares, options.epsilon));
}

Output zero_fraction(const Operand& given, const OpOptions& options) {
  const Scope scope(options.name, "zero_fraction", options.where);
  const Output value = given.to_output(float32);
  const Output zeros = cast(equal(value, zeros_like(value)), float32);
  return div_no_nan(reduce_sum(zeros), cast(size(value), float32), {.name = "fraction"});
}

}  // namespace caudal::inline v0::nn
