#include "caudal/nn/layers.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0::layers {
namespace {

// The scope of a layer: its variables' and, by the same name, its nodes'.
class LayerScope {
 public:
  LayerScope(std::string_view function, const std::string& name, Reuse reuse, const std::source_location& where)
      : location_(where),
        scope_(name, {.default_name = std::string(function), .reuse = reuse}),
        where_(short_location(where)) {}

  const std::string& name() const { return scope_.name(); }
  // An error about this layer, e.g. "dense 'hidden1': ...".
  Error error(std::string_view function, const std::string& what) const {
    return invalid_argument(what).at_node(function, name(), where_);
  }

 private:
  LocationScope location_;
  VariableScope scope_;
  std::string where_;
};

Output with_bias(const Output& x, std::int64_t units, const Initializer& initializer, const Regularizer& regularizer,
                 bool trainable, DType dtype) {
  const Variable bias = get_variable("bias", {.shape = PartialShape({units}),
                                              .dtype = dtype,
                                              .initializer = initializer,
                                              .regularizer = regularizer,
                                              .trainable = trainable});
  return OpBuilder("BiasAdd", {}).input(x).input(bias).build();
}

// [..., n] as a matrix, and its rows' result back as [..., units].
Output as_matrix(const Output& x, std::int64_t n) {
  return OpBuilder("Reshape", {}).input(x).input({-1, static_cast<int>(n)}).build();
}
Output with_leading_dims(const Output& matrix, const Output& like, std::int64_t units) {
  const int rank = like.shape().rank();
  const Output shape = OpBuilder("Shape", {}).input(like).build();
  const Output leading = OpBuilder("Slice", {}).input(shape).input({0}).input({rank - 1}).build();
  const Output last = Operand(std::vector<int>{static_cast<int>(units)}).to_output(int32);
  const Output target = OpBuilder("ConcatV2", {}).inputs({leading, last}).input(0).build();
  const Output result = OpBuilder("Reshape", {}).input(matrix).input(target).build();
  result.set_shape(like.shape().with_dim(-1, units));
  return result;
}

std::string padding_attr(const LayerScope& scope, std::string_view function, const std::string& padding) {
  std::string upper = padding;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper != "SAME" && upper != "VALID") {
    throw scope.error(function, "padding is \"" + padding + "\"").hint("It is \"same\" or \"valid\".");
  }
  return upper;
}

std::vector<std::int64_t> spatial(const Size2& size) { return {1, size[0], size[1], 1}; }

Output pooling(std::string_view op, std::string_view function, const Operand& inputs, Size2 pool_size, Size2 strides,
               const Pooling2DOptions& options) {
  const LocationScope location(options.where);
  const Output x = inputs.to_output(float32);
  std::string padding = options.padding;
  std::ranges::transform(padding, padding.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return OpBuilder(op, {.name = options.name.empty() ? std::string(function) : options.name})
      .input(x)
      .attr("ksize", spatial(pool_size))
      .attr("strides", spatial(strides))
      .attr("padding", padding)
      .build();
}

}  // namespace

Output dense(const Operand& inputs, std::int64_t units, const DenseOptions& options) {
  const LayerScope scope("dense", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  if (units < 1) throw scope.error("dense", internal::concat(units, " units"));
  if (x.shape().rank() < 2 || x.shape()[-1] < 0) {
    throw scope
        .error("dense", "inputs are " + x.describe() + "; the last dimension must be known, with a batch before it")
        .hint(x.shape().rank() > 2 ? "" : "Give the placeholder a shape such as {-1, 784}.");
  }
  const std::int64_t n = x.shape()[-1];
  const Variable kernel = get_variable("kernel", {.shape = PartialShape({n, units}),
                                                  .dtype = x.dtype(),
                                                  .initializer = options.kernel_initializer,
                                                  .regularizer = options.kernel_regularizer,
                                                  .trainable = options.trainable});
  const bool matrix = x.shape().rank() == 2;
  Output y = OpBuilder("MatMul", {}).input(matrix ? x : as_matrix(x, n)).input(kernel).build();
  if (!matrix) y = with_leading_dims(y, x, units);
  if (options.use_bias) {
    y = with_bias(y, units, options.bias_initializer, options.bias_regularizer, options.trainable, x.dtype());
  }
  return options.activation ? options.activation(y) : y;
}

Output conv2d(const Operand& inputs, std::int64_t filters, Size2 kernel_size, const Conv2DOptions& options) {
  const LayerScope scope("conv2d", options.name, options.reuse, options.where);
  const Output x = inputs.to_output(float32);
  if (x.shape().rank() != 4 || x.shape()[3] < 0) {
    throw scope
        .error("conv2d", "inputs are " + x.describe() +
                             "; [batch, height, width, channels] is wanted, with known "
                             "channels")
        .hint("Reshape pictures to {-1, height, width, channels}.");
  }
  if (filters < 1 || kernel_size[0] < 1 || kernel_size[1] < 1) {
    throw scope.error("conv2d", internal::concat(filters, " filters of ", kernel_size[0], "x", kernel_size[1]));
  }
  const Variable kernel =
      get_variable("kernel", {.shape = PartialShape({kernel_size[0], kernel_size[1], x.shape()[3], filters}),
                              .dtype = x.dtype(),
                              .initializer = options.kernel_initializer,
                              .regularizer = options.kernel_regularizer,
                              .trainable = options.trainable});
  Output y = OpBuilder("Conv2D", {})
                 .input(x)
                 .input(kernel)
                 .attr("strides", spatial(options.strides))
                 .attr("padding", padding_attr(scope, "conv2d", options.padding))
                 .attr("dilations", spatial(options.dilation_rate))
                 .build();
  if (options.use_bias) {
    y = with_bias(y, filters, options.bias_initializer, options.bias_regularizer, options.trainable, x.dtype());
  }
  return options.activation ? options.activation(y) : y;
}

Output max_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides, const Pooling2DOptions& options) {
  return pooling("MaxPool", "max_pooling2d", inputs, pool_size, strides, options);
}

Output average_pooling2d(const Operand& inputs, Size2 pool_size, Size2 strides, const Pooling2DOptions& options) {
  return pooling("AvgPool", "average_pooling2d", inputs, pool_size, strides, options);
}

Output flatten(const Operand& inputs, const OpOptions& options) {
  const LocationScope location(options.where);
  const Output x = inputs.to_output(float32);
  std::int64_t size = 1;
  for (int i = 1; i < x.shape().rank(); ++i) size = x.shape()[i] < 0 || size < 0 ? -1 : size * x.shape()[i];
  const NameScope scope(options.name.empty() ? "flatten" : options.name);
  if (x.shape().rank() < 1 || size < 0) {
    throw invalid_argument("inputs are ", x.describe(), "; all dimensions but the batch must be known")
        .at_node("flatten", scope.prefix().substr(0, scope.prefix().size() - 1), short_location(options.where));
  }
  return OpBuilder("Reshape", {}).input(x).input({-1, static_cast<int>(size)}).build();
}

Output dropout(const Operand& inputs, const DropoutOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "dropout" : options.name);
  const Output x = inputs.to_output(float32);
  if (!(options.rate >= 0 && options.rate < 1)) {
    throw invalid_argument("the rate is ", options.rate)
        .at_node("dropout", scope.prefix().substr(0, scope.prefix().size() - 1), short_location(options.where))
        .hint("It is the share of elements to drop, from 0 to below 1.");
  }
  if (!options.training) return nn::dropout(x, {.seed = options.seed, .rate = options.rate});
  // A rate of 0 keeps every element and scales by 1: the very same numbers.
  const Output rate = where(options.training, Operand(options.rate).to_output(x.dtype()),
                            Operand(0.0).to_output(x.dtype()), {.name = "rate"});
  return nn::dropout(x, {.seed = options.seed, .rate = rate});
}

}  // namespace caudal::inline v0::layers
