#include "caudal/keras/layer.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/layer_util.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::keras {
namespace {

const LayerRegistrar* first_registrar = nullptr;

std::string shapes_text(const Shapes& shapes) {
  std::vector<std::string> texts;
  for (const PartialShape& shape : shapes) texts.push_back(shape.to_string());
  return join(texts, ", ");
}

Shapes shapes_of(const Outputs& outputs) {
  Shapes shapes;
  for (const Output& output : outputs) shapes.push_back(output.shape());
  return shapes;
}

Config float32_policy() {
  Config name;
  name.set("name", "float32");
  return object_config("keras", "DTypePolicy", std::move(name));
}

// "float32", or {"class_name": "DTypePolicy", "config": {"name": "float32"}}.
void check_dtype(const Config& config, const std::string& owner) {
  std::string name;
  if (config.is_string()) name = config.text();
  if (const Config* inner = config.find("config"); inner != nullptr && inner->find("name") != nullptr) {
    name = (*inner)["name"].text();
  }
  if (name.empty() || name == "float32" || name.starts_with("int") || name == "string") return;
  throw unimplemented(owner, ": the dtype ", escaped(name)).hint("Layers compute in float32.");
}

// The layer that stands for a place where data come in.
class InputLayer final : public Layer {
 public:
  InputLayer() : Layer("InputLayer") {}
  explicit InputLayer(const InputOptions& options)
      : Layer("InputLayer", options.name.empty() ? Backend::current()->unique_name("input_layer") : options.name),
        dtype_(options.dtype) {
    shape_.push_back(options.batch_size.value_or(-1));
    shape_.insert(shape_.end(), options.shape.begin(), options.shape.end());
  }

  KerasTensor make_tensor() {
    const GraphScope graph(backend()->graph());
    const NameScope top("");
    const Output place = placeholder(dtype_, PartialShape(shape_), {.name = name()});
    auto node = std::make_shared<KerasTensor::Node>();
    node->layer = LayerRef(shared_from_this());
    node->outputs = {place};
    node->masks = {Output()};
    add_node(node);
    return {node, 0};
  }

 protected:
  Outputs call(const Outputs& inputs, CallContext&) override { return inputs; }
  Config get_config() override {
    Config config;
    config.set("batch_shape", shape_config()).set("dtype", std::string(dtype_name(dtype_)));
    config.set("sparse", false).set("ragged", false).set("name", name()).set("optional", false);
    return config;
  }
  void read_config(const Config& config) override {
    const Config* shape = config.find("batch_shape");
    if (shape == nullptr) shape = config.find("batch_input_shape");
    if (shape == nullptr) throw invalid_argument("InputLayer: no batch_shape");
    shape_.clear();
    for (const Config& dim : shape->list()) shape_.push_back(dim.is_null() ? -1 : dim.integer());
    if (const Config* dtype = config.find("dtype"); dtype != nullptr && dtype->is_string()) {
      dtype_ = dtype_from_name(dtype->text());
    }
    Config base;
    if (const Config* given = config.find("name")) base.set("name", *given);
    Layer::read_config(base);
  }

 private:
  Config shape_config() const {
    Config::List dims;
    for (const std::int64_t dim : shape_) dims.push_back(dim < 0 ? Config() : Config(dim));
    return dims;
  }

  std::vector<std::int64_t> shape_;
  DType dtype_ = DType::kFloat;
};
CAUDAL_KERAS_LAYER(InputLayer, "InputLayer");

}  // namespace

// --- KerasTensor ---

const PartialShape& KerasTensor::shape() const { return output().shape(); }
DType KerasTensor::dtype() const { return output().dtype(); }
const Output& KerasTensor::output() const {
  if (!node_) throw invalid_argument("a KerasTensor that no layer made").hint("Start from keras::Input().");
  return node_->outputs[static_cast<std::size_t>(index_)];
}

KerasTensor Input(const InputOptions& options) { return std::make_shared<InputLayer>(options)->make_tensor(); }

// --- LayerRef ---

LayerRef::LayerRef(std::shared_ptr<Layer> layer) : layer_(std::move(layer)) {
  if (layer_ != nullptr) layer_->settle_name();
}

KerasTensor LayerRef::operator()(const KerasTensor& input) const { return all({input})[0]; }
KerasTensor LayerRef::operator()(const std::vector<KerasTensor>& inputs) const { return all(inputs)[0]; }

std::vector<KerasTensor> LayerRef::all(const std::vector<KerasTensor>& inputs) const {
  auto node = std::make_shared<KerasTensor::Node>();
  node->layer = *this;
  node->inputs = inputs;
  if (auto* input = dynamic_cast<InputLayer*>(layer_.get()); input != nullptr && inputs.empty()) {
    return {input->make_tensor()};
  }
  Outputs values, masks;
  for (const KerasTensor& input : inputs) {
    values.push_back(input.output());
    masks.push_back(input.node()->masks[static_cast<std::size_t>(input.index())]);
  }
  Forward inference;
  CallResult result = layer_->apply(values, masks, inference);
  node->outputs = std::move(result.outputs);
  node->masks = std::move(result.masks);
  layer_->add_node(node);
  std::vector<KerasTensor> tensors;
  for (std::size_t i = 0; i < node->outputs.size(); ++i) tensors.emplace_back(node, static_cast<int>(i));
  return tensors;
}

Output LayerRef::operator()(const Output& input, CallContext& context) const {
  return layer_->apply({input}, {context.mask()}, context.forward()).outputs[0];
}

// --- Layer ---

Layer::Layer(std::string class_name, std::string name, bool trainable)
    : class_name_(std::move(class_name)), name_(std::move(name)), trainable_(trainable), backend_(Backend::current()) {}

Layer::~Layer() = default;

void Layer::settle_name() {
  if (name_.empty()) name_ = backend_->unique_name(snake_case(class_name_));
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const LayerRef& layer : layers()) layer->set_trainable(trainable);
}

std::vector<WeightRef> Layer::weights() const {
  std::vector<WeightRef> all;
  const auto add = [&](const WeightRef& weight) {
    if (std::ranges::find(all, weight) == all.end()) all.push_back(weight);
  };
  for (const bool trainable : {true, false}) {
    for (const WeightRef& weight : own_weights_) {
      if (weight->trainable() == trainable) add(weight);
    }
  }
  for (const LayerRef& layer : layers()) {
    for (const WeightRef& weight : layer->weights()) add(weight);
  }
  return all;
}

std::vector<WeightRef> Layer::trainable_weights() const {
  std::vector<WeightRef> all;
  if (!trainable_) return all;
  for (const WeightRef& weight : own_weights_) {
    if (weight->trainable()) all.push_back(weight);
  }
  for (const LayerRef& layer : layers()) {
    for (const WeightRef& weight : layer->trainable_weights()) {
      if (std::ranges::find(all, weight) == all.end()) all.push_back(weight);
    }
  }
  return all;
}

std::vector<WeightRef> Layer::non_trainable_weights() const {
  const std::vector<WeightRef> trained = trainable_weights();
  std::vector<WeightRef> rest;
  for (const WeightRef& weight : weights()) {
    if (std::ranges::find(trained, weight) == trained.end()) rest.push_back(weight);
  }
  return rest;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const WeightRef& weight : weights()) count += weight->shape().num_elements();
  return count;
}

std::vector<Tensor> Layer::get_weights() const { return backend_->values(weights()); }

void Layer::set_weights(const std::vector<Tensor>& values) {
  const std::vector<WeightRef> all = weights();
  if (all.size() != values.size()) {
    throw invalid_argument(described(), " has ", all.size(), " weights, ", values.size(), " values were given")
        .hint(built_ ? "weights() lists them in order." : "The layer has no weights before it is built or called.");
  }
  std::vector<std::pair<const Weight*, Tensor>> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) pairs.emplace_back(all[i].get(), values[i]);
  backend_->assign(pairs);
}

Config Layer::get_config() {
  Config config;
  config.set("name", name_).set("trainable", trainable_).set("dtype", float32_policy());
  Fields own;
  fields(own);
  const Config written = own.take();
  for (const auto& [key, value] : written.members()) config.set(key, value);
  return config;
}

void Layer::read_config(const Config& config) {
  std::string owner = class_name_;
  if (const Config* name = config.find("name"); name != nullptr && !name->is_null()) {
    name_ = name->text();
    owner = described();
  }
  if (const Config* dtype = config.find("dtype")) check_dtype(*dtype, owner);
  Fields reader(config, owner);
  for (const char* key : {"name", "dtype", "batch_input_shape", "batch_shape", "input_shape", "input_dtype"}) {
    reader.ignored(key);
  }
  bool trainable = trainable_;
  reader("trainable", trainable);
  fields(reader);
  reader.check_all_known();
  trainable_ = trainable;
}

Config Layer::serialize() {
  Config object = object_config("keras.layers", class_name_, get_config());
  if (built_ && build_shapes_.size() == 1 && !own_weights_.empty() && build_shapes_[0].has_rank()) {
    Config::List dims;
    for (const std::int64_t dim : build_shapes_[0].dims()) dims.push_back(dim < 0 ? Config() : Config(dim));
    Config build;
    build.set("input_shape", std::move(dims));
    object.set("build_config", std::move(build));
  }
  return object;
}

void Layer::ensure_built(const Shapes& inputs) {
  if (built_) return;
  build_shapes_ = inputs;
  build(inputs);
  built_ = true;
}

CallResult Layer::apply(const Outputs& inputs, const Outputs& masks, Forward& forward) {
  settle_name();
  const GraphScope graph(inputs.empty() ? backend_->graph() : inputs[0].graph());
  const NameScope scope(name_);
  const PathScope path(name_);
  CallResult result;
  try {
    ensure_built(shapes_of(inputs));
    CallContext context(forward, masks);
    result.outputs = call(inputs, context);
    result.masks = compute_mask(inputs, result.outputs, masks);
    result.masks.resize(result.outputs.size());
  } catch (const Error& error) {
    // The innermost layer is the one that says it.
    if (error.detail().find(" '") != std::string::npos && error.detail().find("layer ") == 0) throw;
    throw Error(error.code(), "layer " + described() + " on " + shapes_text(shapes_of(inputs)) + ": " + error.detail())
        .hint(error.advice());
  }
  if (activity_regularizer_) {
    for (const Output& output : result.outputs) {
      // Keras divides by the batch, so that the penalty does not depend on its size.
      const Output rows = cast(index(shape(output), {0}), output.dtype());
      forward.losses.push_back(activity_regularizer_.function()(output) / rows);
    }
  }
  return result;
}

std::vector<std::shared_ptr<KerasTensor::Node>> Layer::nodes() const {
  std::vector<std::shared_ptr<KerasTensor::Node>> alive;
  for (const auto& node : nodes_) {
    if (auto held = node.lock()) alive.push_back(std::move(held));
  }
  return alive;
}

void Layer::add_node(const std::shared_ptr<KerasTensor::Node>& node) {
  node->index = static_cast<int>(nodes_.size());
  nodes_.push_back(node);
}

void Layer::build(const Shapes&) {}
void Layer::fields(Fields&) {}

Outputs Layer::compute_mask(const Outputs&, const Outputs& outputs, const Outputs& masks) {
  if (!supports_masking_ || masks.empty()) return {};
  return Outputs(outputs.size(), masks[0]);
}

WeightRef Layer::add_weight(const WeightOptions& options) {
  for (const std::int64_t size : options.shape) {
    if (size < 0) {
      throw invalid_argument("weight '", options.name, "' needs a size that is not known")
          .hint("Give the model inputs whose last size is known.");
    }
  }
  const Shape shape(options.shape);
  const WeightRef weight = backend_->add_weight(
      {.name = options.name,
       .path = PathScope::prefix() + options.scope + options.name,
       .shape = shape,
       .dtype = options.dtype,
       .trainable = options.trainable,
       .regularizer = options.regularizer,
       .constraint = options.constraint},
      options.initializer ? options.initializer.function()(shape, options.dtype) : Tensor::zeros(options.dtype, shape));
  own_weights_.push_back(weight);
  return weight;
}

LayerRef Layer::track(LayerRef layer) {
  sublayers_.push_back(layer);
  return layer;
}

// --- Registry ---

LayerRegistrar::LayerRegistrar(const char* class_name, Make make)
    : class_name(class_name), make(make), next(first_registrar) {
  first_registrar = this;
}

const LayerRegistrar* LayerRegistrar::find(std::string_view class_name) {
  for (const LayerRegistrar* r = first_registrar; r != nullptr; r = r->next) {
    if (class_name == r->class_name) return r;
  }
  return nullptr;
}

std::vector<std::string> LayerRegistrar::names() {
  std::vector<std::string> names;
  for (const LayerRegistrar* r = first_registrar; r != nullptr; r = r->next) names.emplace_back(r->class_name);
  std::ranges::sort(names);
  return names;
}

LayerRef layer_from_config(const Config& object) {
  const std::string& class_name = object["class_name"].text();
  const LayerRegistrar* found = LayerRegistrar::find(class_name);
  if (found == nullptr) throw_unknown("layer class", class_name, LayerRegistrar::names());
  const std::shared_ptr<Layer> layer = found->make();
  layer->read_config(object["config"]);
  return LayerRef(layer);
}

}  // namespace caudal::inline v0::keras
