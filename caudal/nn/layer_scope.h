// What layers share: their scope, their errors, bias and activation at the end.
//
// Internal: the layers themselves are in layers.h and layers_*.h. Thread safety: as building a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/control_flow.h"

namespace caudal::inline v0::layers::internal {

// The scope of a layer: its variables' and, by the same name, its nodes'.
class LayerScope {
 public:
  LayerScope(std::string_view function, const std::string& name, Reuse reuse, const std::source_location& where);

  const std::string& name() const { return scope_.name(); }
  // An error about this layer, e.g. "dense 'hidden1': ...".
  Error error(const std::string& what) const;

 private:
  std::string function_;
  LocationScope location_;
  VariableScope scope_;
  std::string where_;
};

// What comes after the product of a layer: options that all of them have.
struct Finish {
  const Activation& activation;
  bool use_bias;
  const Initializer& bias_initializer;
  const Regularizer& bias_regularizer;
  const Regularizer& activity_regularizer;
  bool trainable;
};
template <class Options>
Finish finish_of(const Options& o) {
  return {o.activation, o.use_bias, o.bias_initializer, o.bias_regularizer, o.activity_regularizer, o.trainable};
}
// activation(x + bias); the activity's penalty, divided by the batch size, joins the regularization losses.
// channels_first: the bias goes with dimension 1, else with the last one.
Output finished(const Output& x, std::int64_t units, const Finish& options, bool channels_first = false);

// A variable of a layer in the type of its inputs.
Variable weight(std::string_view name, const std::vector<std::int64_t>& shape, DType dtype,
                const Initializer& initializer, const Regularizer& regularizer, bool trainable);

// Where the parts of a tensor of `spatial` image dimensions are, from "channels_last" or "channels_first".
struct Layout {
  int spatial = 2;
  bool channels_first = false;
  int channel_axis() const { return channels_first ? 1 : spatial + 1; }
  int spatial_axis(int i) const { return i + (channels_first ? 2 : 1); }
  // "NHWC", "NCDHW", as ops call it; for one image dimension that of two.
  std::string op_format() const;
  // One number per dimension: `values` for the image's, 1 for the others.
  std::vector<std::int64_t> all(const std::vector<std::int64_t>& values) const;
};
Layout layout_of(const LayerScope& scope, int spatial, const std::string& data_format);

// "SAME" or "VALID" from any case.
std::string padding_of(const LayerScope& scope, const std::string& padding);

// The number of channels of inputs that must have the layout's rank and known channels.
std::int64_t channels_of(const LayerScope& scope, const Layout& layout, const Output& x);

// All numbers at least 1.
void check_positive(const LayerScope& scope, std::string_view what, const std::vector<std::int64_t>& values);

// if_training() while training, else otherwise(): decided now where that is known, else when the graph runs.
Outputs choose(const Training& training, const std::function<Outputs()>& if_training,
               const std::function<Outputs()>& otherwise);

}  // namespace caudal::inline v0::layers::internal
