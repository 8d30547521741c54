#include "caudal/keras/model_core.h"

#include <algorithm>
#include <set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/layer_util.h"
#include "caudal/keras/training.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::keras {
namespace {

using NodeRef = ModelCore::NodeRef;

const char* class_of(ModelCore::Kind kind) {
  return kind == ModelCore::Kind::kSequential   ? "Sequential"
         : kind == ModelCore::Kind::kFunctional ? "Functional"
                                                : "Model";
}

// keras/src/ops/function.py: the calls behind the outputs, in an order in which each comes after what it needs, and
// when a layer was first met.
struct Walk {
  const std::vector<KerasTensor>& inputs;
  std::set<const KerasTensor::Node*> finished;
  std::vector<NodeRef> order;
  std::map<const Layer*, int> met;

  void visit(const KerasTensor& tensor) {
    const NodeRef& node = tensor.node();
    if (finished.contains(node.get())) return;
    met.emplace(&*node->layer, static_cast<int>(met.size()));
    if (std::ranges::find(inputs, tensor) == inputs.end()) {
      for (const KerasTensor& input : node->inputs) visit(input);
    }
    if (finished.insert(node.get()).second) order.push_back(node);
  }
};

std::string joined_names(const std::vector<KerasTensor>& tensors) {
  std::vector<std::string> names;
  for (const KerasTensor& tensor : tensors) names.push_back("'" + tensor.node()->layer->name() + "'");
  return join(names, ", ");
}

}  // namespace

ModelCore::ModelCore(Kind kind, const std::string& name) : Layer(class_of(kind), name), kind_(kind) {}
ModelCore::~ModelCore() = default;

std::vector<std::string> ModelCore::input_names() const {
  std::vector<std::string> names;
  for (const KerasTensor& tensor : inputs_) names.push_back(tensor.node()->layer->name());
  return names;
}

std::vector<std::string> ModelCore::output_names() const {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const KerasTensor& tensor : outputs_) {
    const std::string& name = tensor.node()->layer->name();
    const int count = seen[name]++;
    names.push_back(count == 0 ? name : name + "_" + std::to_string(count));
  }
  return names;
}

void ModelCore::set_graph(std::vector<KerasTensor> inputs, std::vector<KerasTensor> outputs) {
  if (inputs.empty() || outputs.empty()) throw invalid_argument("a model needs inputs and outputs");
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  map_graph();
}

void ModelCore::map_graph() {
  Walk walk{.inputs = inputs_};
  for (const KerasTensor& output : outputs_) walk.visit(output);
  order_ = walk.order;
  std::map<const KerasTensor::Node*, int> depth_of;
  std::map<const Layer*, int> layer_depth;
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    const Layer* layer = &*(*node)->layer;
    const int depth = std::max(depth_of[node->get()], layer_depth[layer]);
    layer_depth[layer] = depth;
    depth_of[node->get()] = depth;
    for (const KerasTensor& input : (*node)->inputs) {
      if (!walk.finished.contains(input.node().get())) continue;
      int& before = depth_of[input.node().get()];
      before = std::max(before, depth + 1);
    }
  }
  by_depth_.clear();
  for (const NodeRef& node : order_) {
    const bool outside = node->inputs.empty() &&
                         std::ranges::none_of(inputs_, [&](const KerasTensor& input) { return input.node() == node; });
    if (outside) {
      throw invalid_argument("model '", name(), "': the outputs ", joined_names(outputs_), " depend on the input '",
                             node->layer->name(), "', which is none of the model's")
          .hint("Give all inputs to keras::Model.");
    }
    by_depth_[depth_of[node.get()]].push_back(node);
  }
  for (const KerasTensor& input : inputs_) {
    if (walk.finished.contains(input.node().get())) continue;
    throw invalid_argument("model '", name(), "': the outputs ", joined_names(outputs_),
                           " do not depend on the input '", input.node()->layer->name(), "'");
  }
  std::vector<std::pair<std::pair<int, int>, LayerRef>> ranked;
  std::set<const Layer*> listed;
  for (const NodeRef& node : order_) {
    const Layer* layer = &*node->layer;
    if (listed.insert(layer).second) ranked.push_back({{-layer_depth[layer], walk.met[layer]}, node->layer});
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  layers_.clear();
  std::set<std::string> names;
  for (const auto& [rank, layer] : ranked) {
    if (!names.insert(layer->name()).second) {
      throw invalid_argument("model '", name(), "' has two layers of the name '", layer->name(), "'")
          .hint("Names of layers must differ within a model.");
    }
    layers_.push_back(layer);
  }
}

void ModelCore::add(const LayerRef& layer) {
  if (layer->class_name() == "InputLayer") {
    if (!stack_.empty() || has_graph()) throw invalid_argument("an input can only be the first of a Sequential model");
    set_input(layer.all({})[0]);
    return;
  }
  stack_.push_back(layer);
  if (has_graph()) extend(layer);
}

void ModelCore::set_input(const KerasTensor& input) {
  inputs_ = {input};
  outputs_ = {input};
  map_graph();
  for (const LayerRef& layer : stack_) extend(layer);
}

void ModelCore::extend(const LayerRef& layer) {
  const PathScope path(name());
  outputs_ = layer.all(outputs_);
  map_graph();
}

void ModelCore::ensure_graph(const Shapes& shapes, const std::vector<DType>& dtypes) {
  if (has_graph()) return;
  if (stack_.empty()) throw invalid_argument("model '", name(), "' has no layers");
  std::vector<KerasTensor> places;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<std::int64_t>& dims = shapes[i].dims();
    places.push_back(Input({.shape = {dims.begin() + 1, dims.end()}, .dtype = dtypes[i]}));
  }
  if (kind_ == Kind::kSequential) {
    if (places.size() != 1)
      throw invalid_argument("model '", name(), "' has one input, ", places.size(), " were given");
    set_input(places[0]);
  } else {
    set_graph(places, stack_[0].all(places));
  }
}

void ModelCore::prepare_optimizer() {
  if (!training_ || !training_->compiled()) return;
  const GraphScope graph(backend()->graph());
  training_->optimizer().build(*backend(), trainable_weights());
}

std::vector<LayerRef> ModelCore::layers() const {
  if (kind_ == Kind::kSequential) return stack_;
  if (kind_ == Kind::kWrapped) return stack_.empty() ? stack_ : stack_[0]->layers();
  return layers_;
}

std::vector<LayerRef> ModelCore::all_layers() const { return layers_; }

Outputs ModelCore::call(const Outputs& inputs, CallContext& context) {
  if (!has_graph()) {
    Shapes shapes;
    std::vector<DType> dtypes;
    for (const Output& input : inputs) {
      shapes.push_back(input.shape());
      dtypes.push_back(input.dtype());
    }
    ensure_graph(shapes, dtypes);
  }
  if (inputs.size() != inputs_.size()) {
    throw invalid_argument("the model has ", inputs_.size(), " inputs, ", inputs.size(), " were given");
  }
  std::map<std::pair<const KerasTensor::Node*, int>, std::pair<Output, Output>> values;  // with masks
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[{inputs_[i].node().get(), inputs_[i].index()}] = {inputs[i], context.mask(i)};
  }
  for (const NodeRef& node : order_) {
    if (values.contains({node.get(), 0})) continue;
    Outputs arguments, masks;
    for (const KerasTensor& input : node->inputs) {
      const auto& [value, mask] = values.at({input.node().get(), input.index()});
      arguments.push_back(value);
      masks.push_back(mask);
    }
    const CallResult result = node->layer->apply(arguments, masks, context.forward());
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      values[{node.get(), static_cast<int>(i)}] = {result.outputs[i], result.masks[i]};
    }
  }
  Outputs outputs;
  last_masks_.clear();
  for (const KerasTensor& tensor : outputs_) {
    const auto& [value, mask] = values.at({tensor.node().get(), tensor.index()});
    outputs.push_back(value);
    last_masks_.push_back(mask);
  }
  return outputs;
}

Outputs ModelCore::compute_mask(const Outputs&, const Outputs&, const Outputs&) { return std::move(last_masks_); }

}  // namespace caudal::inline v0::keras
