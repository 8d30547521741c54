// Initial values of variables.
//
//   auto w = tf::get_variable("w", {.shape = {784, 10}, .initializer = tf::glorot_uniform_initializer()});
//
// Thread safety: values; calling one is building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// Makes the initial value of a variable of a given shape and type, or is one value. A default-made one is "none".
class CAUDAL_API Initializer {
 public:
  using Function = std::function<Output(const Shape& shape, DType dtype)>;

  Initializer() = default;
  template <class F>
    requires std::is_invocable_r_v<Output, const F&, const Shape&, DType>
  Initializer(F function) : function_(std::move(function)) {}       // NOLINT
  Initializer(const Operand& value) : value_(value) {}              // NOLINT
  Initializer(const Output& value) : value_(Operand(value)) {}      // NOLINT
  Initializer(Tensor value) : value_(Operand(std::move(value))) {}  // NOLINT

  explicit operator bool() const { return function_ != nullptr || value_.has_value(); }
  // A value brings its own shape.
  const std::optional<Operand>& value() const { return value_; }
  const Function& function() const { return function_; }

 private:
  Function function_;
  std::optional<Operand> value_;
};

// While it lives, initialisers called in this thread make a part of a larger variable: those that scale by the number
// of inputs and outputs take those of the whole. Used by get_partitioned_variable().
class CAUDAL_API PartOfVariable {
 public:
  explicit PartOfVariable(const Shape& whole);
  ~PartOfVariable();
  PartOfVariable(const PartOfVariable&) = delete;
  PartOfVariable& operator=(const PartOfVariable&) = delete;

 private:
  const Shape* outer_;
};

CAUDAL_API Initializer zeros_initializer();
CAUDAL_API Initializer ones_initializer();
// `value`, a number or a tensor that fills the shape in row-major order.
CAUDAL_API Initializer constant_initializer(Tensor value);

struct RandomInitializerOptions {
  std::optional<std::int64_t> seed = {};
};
CAUDAL_API Initializer random_uniform_initializer(double minval = -0.05, double maxval = 0.05,
                                                  const RandomInitializerOptions& options = {});
CAUDAL_API Initializer random_normal_initializer(double mean = 0.0, double stddev = 1.0,
                                                 const RandomInitializerOptions& options = {});
// Values more than two standard deviations from the mean are drawn again.
CAUDAL_API Initializer truncated_normal_initializer(double mean = 0.0, double stddev = 1.0,
                                                    const RandomInitializerOptions& options = {});

struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
  std::optional<std::int64_t> seed = {};
};
// Random numbers of variance scale / n, n the number of inputs or outputs of one unit (of a convolution: times the
// size of the window). Throws INVALID_ARGUMENT for an unknown mode or distribution, or scale <= 0.
CAUDAL_API Initializer variance_scaling_initializer(const VarianceScalingOptions& options = {});
// Glorot: variance 2 / (inputs + outputs). He: 2 / inputs. LeCun: 1 / inputs.
CAUDAL_API Initializer glorot_uniform_initializer(const RandomInitializerOptions& options = {});
CAUDAL_API Initializer glorot_normal_initializer(const RandomInitializerOptions& options = {});
CAUDAL_API Initializer he_uniform(const RandomInitializerOptions& options = {});
CAUDAL_API Initializer he_normal(const RandomInitializerOptions& options = {});
CAUDAL_API Initializer lecun_uniform(const RandomInitializerOptions& options = {});
CAUDAL_API Initializer lecun_normal(const RandomInitializerOptions& options = {});

// How much larger weights may be than 1 / sqrt(inputs) before an activation function: "linear", "sigmoid" and "softmax"
// 1, "tanh" 5/3, "relu", "elu", "swish" and "gelu" sqrt(2), "leaky_relu" sqrt(2 / (1 + slope^2)), "selu" 3/4. Throws
// INVALID_ARGUMENT for another name.
CAUDAL_API double activation_gain(std::string_view activation, double slope = 0.01);
// variance_scaling_initializer with the scale gain^2 of an activation function; options.scale multiplies it.
CAUDAL_API Initializer activation_initializer(std::string_view activation, const VarianceScalingOptions& options = {});

// Uniform numbers of [-limit, limit], limit = factor * sqrt(3 / inputs), all dimensions but the last being inputs.
CAUDAL_API Initializer uniform_unit_scaling_initializer(double factor = 1.0,
                                                        const RandomInitializerOptions& options = {});
// gain times a matrix with orthonormal columns (or rows, if there are fewer), uniform among all such (Saxe et al.
// 2014); of more dimensions the last against all others. Throws INVALID_ARGUMENT below two dimensions.
CAUDAL_API Initializer orthogonal_initializer(double gain = 1.0, const RandomInitializerOptions& options = {});
// For convolutions: zeros but for the middle of the window, where an orthogonal matrix stands (Xiao et al. 2018). Shape
// [window, inputs, outputs], inputs at most outputs: INVALID_ARGUMENT.
CAUDAL_API Initializer convolution_delta_orthogonal(double gain = 1.0, const RandomInitializerOptions& options = {});
// gain on the diagonal of a matrix, else 0. Throws INVALID_ARGUMENT unless there are two dimensions.
CAUDAL_API Initializer identity_initializer(double gain = 1.0);

}  // namespace caudal::inline v0

// As tf.contrib.layers had them.
namespace caudal::inline v0::contrib::layers {

struct VarianceScalingOptions {
  double factor = 2.0;
  std::string mode = "FAN_IN";  // or "FAN_OUT", "FAN_AVG"
  bool uniform = false;
  std::optional<std::int64_t> seed = {};
};
// Variance factor / n; truncated normal numbers are drawn with 1.3 times that variance. The defaults are He's.
// Throws INVALID_ARGUMENT for an unknown mode or factor <= 0.
CAUDAL_API Initializer variance_scaling_initializer(const VarianceScalingOptions& options = {});

struct XavierOptions {
  bool uniform = true;
  std::optional<std::int64_t> seed = {};
};
CAUDAL_API Initializer xavier_initializer(const XavierOptions& options = {});

}  // namespace caudal::inline v0::contrib::layers
