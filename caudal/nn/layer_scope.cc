#include "caudal/nn/layer_scope.h"

#include <algorithm>
#include <cctype>

#include "caudal/ops/bias.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::layers::internal {

LayerScope::LayerScope(std::string_view function, const std::string& name, Reuse reuse,
                       const std::source_location& where)
    : function_(function),
      location_(where),
      scope_(name, {.default_name = std::string(function), .reuse = reuse}),
      where_(short_location(where)) {}

Error LayerScope::error(const std::string& what) const {
  return invalid_argument(what).at_node(function_, name(), where_);
}

Output finished(const Output& x, std::int64_t units, const Finish& options, bool channels_first) {
  Output y = x;
  if (options.use_bias) {
    const Variable bias =
        weight("bias", {units}, x.dtype(), options.bias_initializer, options.bias_regularizer, options.trainable);
    y = nn::bias_add(y, bias, {.data_format = channels_first ? "NCHW" : "NHWC"});
  }
  if (options.activation) y = options.activation(y);
  if (options.activity_regularizer) {
    const Output penalty = options.activity_regularizer(y);
    if (penalty) {
      const Output batch = cast(index(shape(y), {0}), penalty.dtype());
      y.graph().add_to_collection(graph_keys::kRegularizationLosses, {.output = penalty / batch});
    }
  }
  return y;
}

Variable weight(std::string_view name, const std::vector<std::int64_t>& shape, DType dtype,
                const Initializer& initializer, const Regularizer& regularizer, bool trainable) {
  return get_variable(name, {.shape = initializer.value() ? PartialShape::unknown() : PartialShape(shape),
                             .dtype = dtype,
                             .initializer = initializer,
                             .regularizer = regularizer,
                             .trainable = trainable});
}

std::string Layout::op_format() const {
  if (spatial == 3) return channels_first ? "NCDHW" : "NDHWC";
  return channels_first ? "NCHW" : "NHWC";
}

std::vector<std::int64_t> Layout::all(const std::vector<std::int64_t>& values) const {
  std::vector<std::int64_t> result(values.size() + 2, 1);
  std::ranges::copy(values, result.begin() + (channels_first ? 2 : 1));
  return result;
}

Layout layout_of(const LayerScope& scope, int spatial, const std::string& data_format) {
  if (data_format != "channels_last" && data_format != "channels_first") {
    throw scope.error("data_format is \"" + data_format + "\"").hint("It is \"channels_last\" or \"channels_first\".");
  }
  return {spatial, data_format == "channels_first"};
}

std::string padding_of(const LayerScope& scope, const std::string& padding) {
  std::string upper = padding;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper != "SAME" && upper != "VALID") {
    throw scope.error("padding is \"" + padding + "\"").hint("It is \"same\" or \"valid\".");
  }
  return upper;
}

std::int64_t channels_of(const LayerScope& scope, const Layout& layout, const Output& x) {
  static constexpr const char* kSizes[] = {"", "width", "height, width", "depth, height, width"};
  const std::string sizes = kSizes[layout.spatial];
  const std::string wanted = layout.channels_first ? "channels, " + sizes : sizes + ", channels";
  if (x.shape().rank() != layout.spatial + 2 || x.shape()[layout.channel_axis()] < 0) {
    throw scope.error("inputs are " + x.describe() + "; [batch, " + wanted + "] is wanted, with known channels")
        .hint("Reshape them to {-1, " + wanted + "}.");
  }
  return x.shape()[layout.channel_axis()];
}

void check_positive(const LayerScope& scope, std::string_view what, const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) {
    if (value < 1) throw scope.error(caudal::internal::concat(what, " is ", value, "; it must be at least 1"));
  }
}

Outputs choose(const Training& training, const std::function<Outputs()>& if_training,
               const std::function<Outputs()>& otherwise) {
  if (!training.is_tensor()) return training.value() ? if_training() : otherwise();
  return cond(training.tensor(), if_training, otherwise);
}

}  // namespace caudal::inline v0::layers::internal
