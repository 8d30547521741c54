#include "caudal/ops/dropout.h"

#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0::nn {
namespace {

Error fault(const DropoutOptions& options, const std::string& what) {
  return invalid_argument("dropout: ", what).made_at(short_location(options.where));
}

// The mask's shape: as given, -1 replaced by x's sizes, or that of x.
Output mask_shape(const Output& x, const DropoutOptions& options) {
  if (!options.noise_shape) return shape_of(x);
  const Tensor* value = options.noise_shape->value();
  if (value == nullptr) return options.noise_shape->to_output();
  std::vector<std::int64_t> sizes = value->to_int64s();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0) continue;
    if (x.shape().rank() == static_cast<int>(sizes.size())) sizes[i] = x.shape().dim(static_cast<int>(i));
    if (sizes[i] < 0) {
      throw fault(options, "size " + std::to_string(i) + " of noise_shape cannot be taken from " + x.describe());
    }
  }
  return int32_vector(sizes);
}

// x / (1 - rate) where uniform numbers of [0, 1) are at least `rate`, else 0.
Output drop(const Output& x, const Output& scaled, const Operand& rate, const DropoutOptions& options) {
  const Output uniform = random_uniform(mask_shape(x, options), {.dtype = x.dtype(), .seed = options.seed});
  const Output zero = Operand(0).to_output(x.dtype());
  const Output keep = greater_equal(uniform, rate);
  const Output result = OpBuilder("SelectV2", {}).input(keep).input(scaled).input(zero).build();
  result.set_shape(x.shape());
  return result;
}

}  // namespace

Output dropout(const Operand& input, const DropoutOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "dropout" : options.name);
  if (options.rate.has_value() == options.keep_prob.has_value()) {
    throw fault(options, "give either rate or keep_prob (= 1 - rate)");
  }
  const Output x = input.to_output(DType::kFloat);
  if (!is_floating(x.dtype())) throw fault(options, "x must be floating, not " + x.describe());
  const Operand& given = options.rate ? *options.rate : *options.keep_prob;
  if (const Tensor* number = given.value()) {
    const double value = number->to_double();
    const double rate = options.rate ? value : 1 - value;
    if (!(rate >= 0 && rate < 1)) {
      throw fault(options, options.rate ? "rate must be in [0, 1)" : "keep_prob must be in (0, 1]");
    }
    if (rate == 0) {
      get_seed(x.graph(), options.seed);  // the ops that follow draw the same seeds as with another rate
      return x;
    }
    return drop(x, x * (1 / (1 - rate)), rate, options);
  }
  const Output tensor = cast(given.to_output(), x.dtype());
  const Output rate = options.rate ? tensor : 1 - tensor;
  return drop(x, x / (1 - rate), rate, options);
}

}  // namespace caudal::inline v0::nn
