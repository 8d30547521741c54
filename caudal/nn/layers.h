// Layers: functions that make variables and the nodes that use them (tf.compat.v1.layers).
//
//   auto hidden = layers::dense(X, 300, {.activation = nn::elu, .kernel_initializer = he_normal(), .name = "hidden1"});
//   auto logits = layers::dense(hidden, 10, {.name = "outputs"});
//
// Variables are "<name>/kernel" and "<name>/bias"; without a name a layer is called after its function, "dense",
// "dense_1". Options are plain structs, so a set of them is a default for many layers:
//
//   layers::DenseOptions my_dense{.activation = nn::elu, .kernel_initializer = he_normal()};
//   auto h1 = layers::dense(X, 300, my_dense);
//
// Errors name the layer and the shapes that do not meet. Thread safety: as building a graph.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/ops/initializers.h"
#include "caudal/ops/variable_scope.h"

namespace caudal::inline v0::layers {

// What a layer applies to its result: an op function such as nn::relu, or anything callable with an Output.
class CAUDAL_API Activation {
 public:
  using OpFunction = Output (*)(const Operand&, const OpOptions&);
  Activation() = default;          // none: linear
  Activation(OpFunction function)  // NOLINT
      : function_([function](const Output& x) { return function(x, OpOptions{}); }) {}
  template <class F>
    requires(std::is_invocable_r_v<Output, const F&, const Output&> && !std::is_convertible_v<F, OpFunction>)
  Activation(F function) : function_(std::move(function)) {}  // NOLINT

  explicit operator bool() const { return function_ != nullptr; }
  Output operator()(const Output& x) const { return function_(x); }

 private:
  std::function<Output(const Output&)> function_;
};

// Whether a layer trains: known now, or a bool scalar of the graph, usually a placeholder with default.
class CAUDAL_API Training {
 public:
  Training(bool value = false) : value_(value) {}      // NOLINT
  Training(const Output& tensor) : tensor_(tensor) {}  // NOLINT
  bool is_tensor() const { return static_cast<bool>(tensor_); }
  bool value() const { return value_; }
  const Output& tensor() const { return tensor_; }

 private:
  bool value_ = false;
  Output tensor_;
};

struct DenseOptions {
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = {};  // default: the scope's, else Glorot's uniform
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of the result; divided by the batch size
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// activation(inputs . kernel + bias). inputs: [..., n], n known; kernel [n, units]; result [..., units].
CAUDAL_API Output dense(const Operand& inputs, std::int64_t units, const DenseOptions& options = {});

using Size2 = std::array<std::int64_t, 2>;  // height, width

struct Conv2DOptions {
  Size2 strides = {1, 1};
  std::string padding = "valid";              // or "same"
  std::string data_format = "channels_last";  // or "channels_first"
  Size2 dilation_rate = {1, 1};
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = {};
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of the result; divided by the batch size
  bool trainable = true;
  std::string name = {};
  Reuse reuse = false;
  std::source_location where = std::source_location::current();
};
// Convolution with `filters` filters. inputs: [batch, height, width, channels], channels known; kernel [kernel_size[0],
// kernel_size[1], channels, filters]; result [batch, height', width', filters].
CAUDAL_API Output conv2d(const Operand& inputs, std::int64_t filters, Size2 kernel_size,
                         const Conv2DOptions& options = {});

struct Pooling2DOptions {
  std::string padding = "valid";              // or "same"
  std::string data_format = "channels_last";  // or "channels_first"
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Largest or mean value of each window. inputs: [batch, height, width, channels].
CAUDAL_API Output max_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides,
                                const Pooling2DOptions& options = {});
CAUDAL_API Output average_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides,
                                    const Pooling2DOptions& options = {});

// [batch, d1, d2, ...] -> [batch, d1 * d2 * ...].
CAUDAL_API Output flatten(const Operand& inputs, const OpOptions& options = {});

struct DropoutOptions {
  double rate = 0.5;  // share of elements that is dropped, below 1
  // Shape of the mask, broadcast to the inputs: {-1, 1, 1, channels} drops whole channels. -1: the inputs' size.
  std::optional<Operand> noise_shape = {};
  std::optional<std::int64_t> seed = {};
  Training training = false;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// While training, zeroes elements at random and scales the others by 1 / (1 - rate); otherwise the inputs as they are,
// and no random numbers are drawn.
CAUDAL_API Output dropout(const Operand& inputs, const DropoutOptions& options = {});

// Penalties: scale * sum |w|, scale * sum w^2 / 2, and both; for kernel_regularizer. A scale of 0 gives none.
// Throws INVALID_ARGUMENT for a negative scale.
CAUDAL_API Regularizer l1_regularizer(double scale);
CAUDAL_API Regularizer l2_regularizer(double scale);
CAUDAL_API Regularizer l1_l2_regularizer(double scale_l1, double scale_l2);

struct MaxNormOptions {
  // Over which the norm is taken. The book's listing says 1, the rows of a kernel [inputs, units]; the weights that
  // lead into one unit, of which its text speaks, are the columns: 0.
  std::vector<int> axes = {1};
  std::string name = "max_norm";        // of the update
  std::string collection = "max_norm";  // where the updates are collected
};
// Not a penalty: makes an update that clips the norm of the weights to `threshold` (Srebro et al. 2005) and adds it to
// a collection, to be run after each training step. Throws INVALID_ARGUMENT unless the threshold is above 0.
CAUDAL_API Regularizer max_norm_regularizer(double threshold, const MaxNormOptions& options = {});
// What to run after each step: all updates of the default graph's collection.
CAUDAL_API std::vector<Output> max_norm_updates(std::string_view collection = "max_norm");

}  // namespace caudal::inline v0::layers

// Where TensorFlow 1 had them.
namespace caudal::inline v0::contrib::layers {
using caudal::layers::l1_l2_regularizer;
using caudal::layers::l1_regularizer;
using caudal::layers::l2_regularizer;
}  // namespace caudal::inline v0::contrib::layers
