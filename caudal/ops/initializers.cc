#include "caudal/ops/initializers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "caudal/base/error.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/transpose_ops.h"

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

// The shape of the whole variable of which a part is made; null outside PartOfVariable.
const Shape*& whole_shape() {
  thread_local const Shape* whole = nullptr;
  return whole;
}

// TensorFlow's rule: the last two sizes are inputs and outputs, those before them the window.
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[-2]), window * static_cast<double>(shape[-1])};
}

// 1 where row and column are equal, else 0.
Output diagonal_ones(std::int64_t rows, std::int64_t columns, DType dtype) {
  Tensor ones = Tensor::zeros(float32, Shape{rows, columns});
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) ones.data<float>()[i * columns + i] = 1;
  return constant(convert_number(ones, dtype));
}

// A matrix with orthonormal columns, rows >= columns: the Q of a matrix of normal numbers, with the signs of R's
// diagonal, without which it would not be uniform.
Output random_orthogonal(std::int64_t rows, std::int64_t columns, DType dtype,
                         const RandomInitializerOptions& options) {
  const Output a = random_normal(sizes(Shape{rows, columns}), {.dtype = dtype, .seed = options.seed});
  Node& qr = OpBuilder("Qr", {}).input(a).build_node();
  const Output diagonal = reduce_sum(qr.output(1) * diagonal_ones(columns, columns, dtype), {.axis = 1});
  return qr.output(0) * sign(diagonal);
}

Initializer scaled(double scale, const char* mode, const char* distribution, const RandomInitializerOptions& options) {
  return variance_scaling_initializer(
      {.scale = scale, .mode = mode, .distribution = distribution, .seed = options.seed});
}

}  // namespace

PartOfVariable::PartOfVariable(const Shape& whole) : outer_(whole_shape()) { whole_shape() = &whole; }
PartOfVariable::~PartOfVariable() { whole_shape() = outer_; }

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
    const Fans fans = fans_of(whole_shape() == nullptr ? shape : *whole_shape());
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

double activation_gain(std::string_view activation, double slope) {
  if (activation == "linear" || activation == "sigmoid" || activation == "softmax") return 1;
  if (activation == "tanh") return 5.0 / 3;
  if (activation == "relu" || activation == "elu" || activation == "swish" || activation == "gelu") {
    return std::numbers::sqrt2;
  }
  if (activation == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
  if (activation == "selu") return 0.75;
  throw invalid_argument("activation_gain: no gain is known for '", activation, "'")
      .hint("Use variance_scaling_initializer() with a scale of your own.");
}

Initializer activation_initializer(std::string_view activation, const VarianceScalingOptions& options) {
  VarianceScalingOptions scaled = options;
  const double gain = activation_gain(activation);
  scaled.scale *= gain * gain;
  return variance_scaling_initializer(scaled);
}

Initializer uniform_unit_scaling_initializer(double factor, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    const Shape& whole = whole_shape() == nullptr ? shape : *whole_shape();
    double inputs = 1;
    for (int i = 0; i + 1 < whole.rank(); ++i) inputs *= static_cast<double>(whole[i]);
    const double limit = std::sqrt(3 / std::max(1.0, inputs)) * factor;
    return random_uniform_initializer(-limit, limit, options).function()(shape, dtype);
  };
}

Initializer orthogonal_initializer(double gain, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    if (shape.rank() < 2) throw invalid_argument("orthogonal_initializer: ", shape, " has fewer than two dimensions");
    const std::int64_t columns = shape[-1];
    const std::int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
    const bool tall = rows >= columns;
    const Output q = random_orthogonal(tall ? rows : columns, tall ? columns : rows, dtype, options);
    return multiply(gain, reshape(tall ? q : transpose(q), sizes(shape)));
  };
}

Initializer convolution_delta_orthogonal(double gain, const RandomInitializerOptions& options) {
  return [=](const Shape& shape, DType dtype) {
    if (shape.rank() < 3 || shape.rank() > 5 || shape[-2] > shape[-1]) {
      throw invalid_argument("convolution_delta_orthogonal: the shape is ", shape)
          .hint("It is [window, inputs, outputs], with one to three window sizes, inputs at most outputs.");
    }
    const Output square = random_orthogonal(shape[-1], shape[-1], dtype, options);
    const Output rows = slice(square, {0, 0}, {static_cast<int>(shape[-2]), -1});
    std::vector<int> ones, paddings;
    for (int i = 0; i < shape.rank(); ++i) {
      const bool window = i + 2 < shape.rank();
      const int middle = window ? static_cast<int>((shape[i] - 1) / 2) : 0;
      ones.push_back(window ? 1 : static_cast<int>(shape[i]));
      paddings.push_back(middle);
      paddings.push_back(window ? static_cast<int>(shape[i]) - 1 - middle : 0);
    }
    return pad(reshape(multiply(rows, gain), ones), Tensor::from<int>({shape.rank(), 2}, paddings));
  };
}

Initializer identity_initializer(double gain) {
  return [gain](const Shape& shape, DType dtype) {
    if (shape.rank() != 2) throw invalid_argument("identity_initializer: ", shape, " has not two dimensions");
    return multiply(gain, diagonal_ones(shape[0], shape[1], dtype));
  };
}

}  // namespace caudal::inline v0

namespace caudal::inline v0::contrib::layers {

Initializer variance_scaling_initializer(const VarianceScalingOptions& options) {
  const auto& o = options;
  if (!(o.factor > 0))
    throw invalid_argument("variance_scaling_initializer: factor is ", o.factor, "; it must be above 0");
  if (o.mode != "FAN_IN" && o.mode != "FAN_OUT" && o.mode != "FAN_AVG") {
    throw invalid_argument("variance_scaling_initializer: mode '", o.mode, "' is unknown")
        .hint("Use \"FAN_IN\", \"FAN_OUT\" or \"FAN_AVG\".");
  }
  return [o](const Shape& shape, DType dtype) {
    const Fans fans = fans_of(shape);
    const double n = std::max(1.0, o.mode == "FAN_IN"    ? fans.in
                                   : o.mode == "FAN_OUT" ? fans.out
                                                         : (fans.in + fans.out) / 2);
    if (o.uniform) {
      const double limit = std::sqrt(3 * o.factor / n);
      return random_uniform_initializer(-limit, limit, {o.seed}).function()(shape, dtype);
    }
    return truncated_normal_initializer(0.0, std::sqrt(1.3 * o.factor / n), {o.seed}).function()(shape, dtype);
  };
}

Initializer xavier_initializer(const XavierOptions& options) {
  return variance_scaling_initializer(
      {.factor = 1.0, .mode = "FAN_AVG", .uniform = options.uniform, .seed = options.seed});
}

}  // namespace caudal::inline v0::contrib::layers
