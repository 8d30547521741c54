// The small things that layers take by name or as objects: activations, initializers, regularizers, constraints.
//
//   layers::Dense(10, {.activation = "relu"})
//   layers::Dense(10, {.activation = nn::relu, .kernel_initializer = initializers::HeNormal({.seed = 1}),
//                      .kernel_regularizer = regularizers::L2(1e-4), .kernel_constraint = constraints::MaxNorm(2)})
//
// Names are Keras's, in both spellings ("glorot_uniform", "GlorotUniform"); an unknown one is INVALID_ARGUMENT with the
// nearest. Formulas and defaults are those of Keras 3. Thread safety: values.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/keras/config.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::keras {

// A function with a class name and the arguments that it was made with, so that it can be written to a file. A
// default-made one is "none".
template <class Function>
class NamedFunction {
 public:
  NamedFunction() = default;
  NamedFunction(std::string class_name, Config config, Function function)
      : class_name_(std::move(class_name)), config_(std::move(config)), function_(std::move(function)) {}

  explicit operator bool() const { return function_ != nullptr; }
  const std::string& class_name() const { return class_name_; }
  const Config& config() const { return config_; }
  const Function& function() const { return function_; }

 private:
  std::string class_name_;
  Config config_;
  Function function_;
};

// What a layer applies to its result. "linear" is none.
class CAUDAL_API Activation : public NamedFunction<std::function<Output(const Output&)>> {
 public:
  using OpFunction = Output (*)(const Operand&, const OpOptions&);
  Activation() = default;
  Activation(const char* name) : Activation(std::string(name)) {}  // NOLINT
  Activation(const std::string& name);                             // NOLINT
  Activation(OpFunction function);                                 // NOLINT
  template <class F>
    requires(std::is_invocable_r_v<Output, const F&, const Output&> && !std::is_convertible_v<F, OpFunction> &&
             !std::is_convertible_v<F, std::string> && !std::is_base_of_v<NamedFunction, F>)
  Activation(F function) : NamedFunction("function", Config(), std::move(function)) {}  // NOLINT

  Output operator()(const Output& x) const { return function() ? function()(x) : x; }
  Config to_config() const;
  static Activation from_config(const Config& config);
};

// Draws the initial value of a weight of a shape.
class CAUDAL_API Initializer : public NamedFunction<std::function<Tensor(const Shape&, DType)>> {
 public:
  Initializer() = default;
  Initializer(const char* name) : Initializer(std::string(name)) {}  // NOLINT
  Initializer(const std::string& name);                              // NOLINT
  // The value itself; its shape must be the weight's.
  Initializer(Tensor value);  // NOLINT
  using NamedFunction::NamedFunction;

  Config to_config() const;
  static Initializer from_config(const Config& config);
};

// A penalty for a weight or a layer's output: a scalar. Without one: none.
class CAUDAL_API Regularizer : public NamedFunction<std::function<Output(const Output&)>> {
 public:
  Regularizer() = default;
  Regularizer(const char* name) : Regularizer(std::string(name)) {}  // NOLINT
  Regularizer(const std::string& name);                              // NOLINT
  using NamedFunction::NamedFunction;

  Config to_config() const;
  static Regularizer from_config(const Config& config);
};

// What a weight is replaced by after each update.
class CAUDAL_API Constraint : public NamedFunction<std::function<Output(const Output&)>> {
 public:
  Constraint() = default;
  Constraint(const char* name) : Constraint(std::string(name)) {}  // NOLINT
  Constraint(const std::string& name);                             // NOLINT
  using NamedFunction::NamedFunction;

  Config to_config() const;
  static Constraint from_config(const Config& config);
};

// With a seed the numbers are those that Keras 3 draws with TensorFlow; without one they come from
// keras::set_random_seed(), else differ from run to run.
namespace initializers {
struct Options {
  std::optional<std::int64_t> seed = {};
};
struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
  std::optional<std::int64_t> seed = {};
};
CAUDAL_API Initializer Zeros();
CAUDAL_API Initializer Ones();
CAUDAL_API Initializer Constant(double value = 0.0);
CAUDAL_API Initializer RandomNormal(double mean = 0.0, double stddev = 0.05, const Options& options = {});
CAUDAL_API Initializer RandomUniform(double minval = -0.05, double maxval = 0.05, const Options& options = {});
CAUDAL_API Initializer TruncatedNormal(double mean = 0.0, double stddev = 0.05, const Options& options = {});
CAUDAL_API Initializer VarianceScaling(const VarianceScalingOptions& options = {});
CAUDAL_API Initializer GlorotUniform(const Options& options = {});
CAUDAL_API Initializer GlorotNormal(const Options& options = {});
CAUDAL_API Initializer HeUniform(const Options& options = {});
CAUDAL_API Initializer HeNormal(const Options& options = {});
CAUDAL_API Initializer LecunUniform(const Options& options = {});
CAUDAL_API Initializer LecunNormal(const Options& options = {});
// An orthogonal matrix, by QR of normal numbers; shapes of higher rank as [all but the last, last].
CAUDAL_API Initializer Orthogonal(double gain = 1.0, const Options& options = {});
CAUDAL_API Initializer Identity(double gain = 1.0);
}  // namespace initializers

// scale * sum |w|, scale * sum w^2, and both.
namespace regularizers {
CAUDAL_API Regularizer L1(double l1 = 0.01);
CAUDAL_API Regularizer L2(double l2 = 0.01);
CAUDAL_API Regularizer L1L2(double l1 = 0.0, double l2 = 0.0);
}  // namespace regularizers

// Norms are taken over `axis` (0: over the inputs of each unit of a dense layer).
namespace constraints {
CAUDAL_API Constraint MaxNorm(double max_value = 2, std::vector<std::int64_t> axis = {0});
CAUDAL_API Constraint NonNeg();
CAUDAL_API Constraint UnitNorm(std::vector<std::int64_t> axis = {0});
CAUDAL_API Constraint MinMaxNorm(double min_value = 0, double max_value = 1, double rate = 1,
                                 std::vector<std::int64_t> axis = {0});
}  // namespace constraints

// Seeds whatever draws without a seed of its own: initial weights, dropout, the order of rows in fit().
CAUDAL_API void set_random_seed(std::int64_t seed);
// The next number of that sequence.
CAUDAL_API std::int64_t draw_seed();

}  // namespace caudal::inline v0::keras
