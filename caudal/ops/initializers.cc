#include "caudal/ops/initializers.h"

#include <algorithm>
#include <cmath>

#include "caudal/base/error.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0 {
namespace {

Operand sizes(const Shape& shape) {
  std::vector<int> dims;
  for (const auto d : shape.dims()) dims.push_back(static_cast<int>(d));
  return Operand(dims);
}

struct Fans {
  double in = 1, out = 1;
};

// TensorFlow's rule: the last two sizes are inputs and outputs, those before them the window.
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[-2]), window * static_cast<double>(shape[-1])};
}

Initializer scaled(double scale, const char* mode, const char* distribution, const RandomInitializerOptions& options) {
  return variance_scaling_initializer(
      {.scale = scale, .mode = mode, .distribution = distribution, .seed = options.seed});
}

}  // namespace

Initializer zeros_initializer() {
  return [](const Shape& shape, DType dtype) { return zeros(sizes(shape), dtype); };
}

Initializer ones_initializer() {
  return [](const Shape& shape, DType dtype) { return ones(sizes(shape), dtype); };
}

Initializer constant_initializer(Tensor value) {
  return [value = std::move(value)](const Shape& shape, DType dtype) {
    return constant(value, {.dtype = dtype, .shape = shape});
  };
}

Initializer random_uniform_initializer(double minval, double maxval, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    return random_uniform(sizes(shape),
                          {.minval = Operand(minval), .maxval = Operand(maxval), .dtype = dtype, .seed = options.seed});
  };
}

Initializer random_normal_initializer(double mean, double stddev, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    return random_normal(sizes(shape), {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = options.seed});
  };
}

Initializer truncated_normal_initializer(double mean, double stddev, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    return truncated_normal(sizes(shape), {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = options.seed});
  };
}

Initializer variance_scaling_initializer(const VarianceScalingOptions& options) {
  const auto& o = options;
  if (!(o.scale > 0))
    throw invalid_argument("variance_scaling_initializer: scale is ", o.scale, "; it must be above 0");
  if (o.mode != "fan_in" && o.mode != "fan_out" && o.mode != "fan_avg") {
    throw invalid_argument("variance_scaling_initializer: mode '", o.mode, "' is unknown")
        .hint("Use \"fan_in\", \"fan_out\" or \"fan_avg\".");
  }
  if (o.distribution != "truncated_normal" && o.distribution != "normal" && o.distribution != "untruncated_normal" &&
      o.distribution != "uniform") {
    throw invalid_argument("variance_scaling_initializer: distribution '", o.distribution, "' is unknown")
        .hint("Use \"truncated_normal\", \"untruncated_normal\" or \"uniform\".");
  }
  return [o](const Shape& shape, DType dtype) {
    const Fans fans = fans_of(shape);
    const double n = o.mode == "fan_in" ? fans.in : o.mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
    const double variance = o.scale / std::max(1.0, n);
    if (o.distribution == "uniform") {
      const double limit = std::sqrt(3.0 * variance);
      return random_uniform_initializer(-limit, limit, {o.seed}).function()(shape, dtype);
    }
    if (o.distribution == "untruncated_normal") {
      return random_normal_initializer(0.0, std::sqrt(variance), {o.seed}).function()(shape, dtype);
    }
    // Cutting at two standard deviations makes the deviation smaller by this factor.
    constexpr double kTruncated = .87962566103423978;
    return truncated_normal_initializer(0.0, std::sqrt(variance) / kTruncated, {o.seed}).function()(shape, dtype);
  };
}

Initializer glorot_uniform_initializer(const RandomInitializerOptions& options) {
  return scaled(1, "fan_avg", "uniform", options);
}
Initializer glorot_normal_initializer(const RandomInitializerOptions& options) {
  return scaled(1, "fan_avg", "truncated_normal", options);
}
Initializer he_uniform(const RandomInitializerOptions& options) { return scaled(2, "fan_in", "uniform", options); }
Initializer he_normal(const RandomInitializerOptions& options) {
  return scaled(2, "fan_in", "truncated_normal", options);
}
Initializer lecun_uniform(const RandomInitializerOptions& options) { return scaled(1, "fan_in", "uniform", options); }
Initializer lecun_normal(const RandomInitializerOptions& options) {
  return scaled(1, "fan_in", "truncated_normal", options);
}

}  // namespace caudal::inline v0
