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

}  // namespace caudal::inline v0
