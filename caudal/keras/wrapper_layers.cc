// Bidirectional, TimeDistributed.
#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/layers.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/transpose_ops.h"

namespace caudal::inline v0::keras {
namespace {

using layers::BidirectionalOptions;
using layers::LayerOptions;

// The same layer under another name, with one setting changed.
LayerRef copy_of(const LayerRef& layer, const std::string& prefix, const Config& changes, bool zero_masked) {
  Config object = layer->serialize();
  Config config = object["config"];
  std::string name = layer->name();
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  config.set("name", prefix + name);
  if (zero_masked) config.set("zero_output_for_mask", true);
  for (const auto& [key, value] : changes.members()) config.set(key, value);
  object.set("config", config);
  return layer_from_config(object);
}

bool flag_of(const LayerRef& layer, std::string_view key) {
  const Config config = layer->get_config();
  const Config* found = config.find(key);
  if (found == nullptr) {
    throw invalid_argument("Bidirectional wraps recurrent layers; ", layer->class_name(), " '", layer->name(),
                           "' is none");
  }
  return found->boolean();
}

class BidirectionalLayer final : public Layer {
 public:
  BidirectionalLayer() : Layer("Bidirectional") {}
  BidirectionalLayer(const LayerRef& layer, const BidirectionalOptions& o)
      : Layer("Bidirectional", o.name), merge_mode_(o.merge_mode) {
    set_layers(layer, o.backward_layer);
  }
  bool takes_list() const override { return false; }

 protected:
  Outputs call(const Outputs& inputs, CallContext& context) override {
    const std::size_t half = (inputs.size() - 1) / 2;
    Outputs forward_in = {inputs[0]}, backward_in = {inputs[0]};
    forward_in.insert(forward_in.end(), inputs.begin() + 1, inputs.begin() + 1 + static_cast<std::ptrdiff_t>(half));
    backward_in.insert(backward_in.end(), inputs.begin() + 1 + static_cast<std::ptrdiff_t>(half), inputs.end());
    const CallResult forward = forward_->apply(forward_in, {context.mask()}, context.forward());
    const CallResult backward = backward_->apply(backward_in, {context.mask()}, context.forward());
    const Output y = forward.outputs[0];
    const Output z = sequences_ ? reverse(backward.outputs[0], {1}) : backward.outputs[0];
    Outputs out = merged(y, z);
    if (flag_of(forward_, "return_state")) {
      out.insert(out.end(), forward.outputs.begin() + 1, forward.outputs.end());
      out.insert(out.end(), backward.outputs.begin() + 1, backward.outputs.end());
    }
    return out;
  }
  Outputs compute_mask(const Outputs&, const Outputs&, const Outputs& masks) override {
    if (!sequences_ || masks.empty()) return {};
    return merge_mode_ == "none" ? Outputs{masks[0], masks[0]} : Outputs{masks[0]};
  }
  void fields(Fields& f) override {
    Config mode = merge_mode_ == "none" ? Config() : Config(merge_mode_);
    f.raw("merge_mode", mode);
    if (f.reading()) merge_mode_ = mode.is_null() ? "none" : mode.text();
    Config forward, backward;
    if (!f.reading()) {
      forward = forward_->serialize();
      backward = backward_->serialize();
    }
    f.raw("layer", forward);
    f.raw("backward_layer", backward);
    if (f.reading())
      set_layers(layer_from_config(forward), backward.is_null() ? LayerRef() : layer_from_config(backward));
  }

 private:
  void set_layers(const LayerRef& layer, const LayerRef& backward) {
    const std::vector<std::string> modes = {"concat", "sum", "mul", "ave", "none"};
    if (std::ranges::find(modes, merge_mode_) == modes.end()) throw_unknown("merge_mode", merge_mode_, modes);
    sequences_ = flag_of(layer, "return_sequences");
    forward_ = track(copy_of(layer, "forward_", Config::map(), sequences_));
    if (backward) {
      backward_ = track(copy_of(backward, "backward_", Config::map(), sequences_));
    } else {
      Config reversed;
      reversed.set("go_backwards", !flag_of(layer, "go_backwards"));
      backward_ = track(copy_of(layer, "backward_", reversed, sequences_));
    }
    if (flag_of(forward_, "go_backwards") == flag_of(backward_, "go_backwards")) {
      throw invalid_argument("Bidirectional: both layers run in the same direction")
          .hint("Give the backward layer go_backwards.");
    }
  }

  Outputs merged(const Output& y, const Output& z) const {
    if (merge_mode_ == "concat") return {concat({y, z}, -1)};
    if (merge_mode_ == "sum") return {y + z};
    if (merge_mode_ == "mul") return {y * z};
    if (merge_mode_ == "ave") return {(y + z) / 2.0F};
    return {y, z};
  }

  std::string merge_mode_ = "concat";
  bool sequences_ = false;
  LayerRef forward_, backward_;
};
CAUDAL_KERAS_LAYER(BidirectionalLayer, "Bidirectional");

class TimeDistributedLayer final : public Layer {
 public:
  TimeDistributedLayer() : Layer("TimeDistributed") { set_supports_masking(); }
  TimeDistributedLayer(const LayerRef& layer, const LayerOptions& o) : Layer("TimeDistributed", o.name, o.trainable) {
    set_supports_masking();
    layer_ = track(layer);
  }

 protected:
  // The steps are rows like others: [batch * steps, ...] and back.
  Outputs call(const Outputs& inputs, CallContext& context) override {
    const Output& x = inputs[0];
    const PartialShape& from = x.shape();
    if (!from.has_rank() || from.rank() < 3) {
      throw invalid_argument("the input must be sequences [batch, steps, ...], it has ", from);
    }
    std::vector<Output> dims = {constant(Tensor(std::vector<int>{-1}))};
    std::vector<std::int64_t> known = {-1};
    for (int i = 2; i < from.rank(); ++i) {
      dims.push_back(dim_of(x, i));
      known.push_back(from[i]);
    }
    const Output rows = reshape(x, concat(dims, 0));
    rows.set_shape(PartialShape(known));
    const Output y = layer_(rows, context);
    std::vector<Output> back = {dim_of(x, 0), dim_of(x, 1)};
    std::vector<std::int64_t> to = {from[0], from[1]};
    for (int i = 1; i < y.shape().rank(); ++i) {
      back.push_back(dim_of(y, i));
      to.push_back(y.shape()[i]);
    }
    const Output out = reshape(y, concat(back, 0));
    out.set_shape(PartialShape(to));
    return {out};
  }
  void fields(Fields& f) override {
    Config layer;
    if (!f.reading()) layer = layer_->serialize();
    f.raw("layer", layer);
    if (f.reading()) layer_ = track(layer_from_config(layer));
  }

 private:
  LayerRef layer_;
};
CAUDAL_KERAS_LAYER(TimeDistributedLayer, "TimeDistributed");

}  // namespace

namespace layers {
LayerRef Bidirectional(const LayerRef& layer, const BidirectionalOptions& o) {
  return make_layer<BidirectionalLayer>(layer, o);
}
LayerRef TimeDistributed(const LayerRef& layer, const LayerOptions& o) {
  return make_layer<TimeDistributedLayer>(layer, o);
}
}  // namespace layers

}  // namespace caudal::inline v0::keras
