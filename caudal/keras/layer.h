// Layers: things with weights that turn tensors into tensors, and how they are called.
//
//   auto x = keras::Input({.shape = {28, 28}});             // symbolic: a place in a model that is to be
//   auto h = keras::layers::Flatten()(x);
//   auto y = keras::layers::Dense(10, {.activation = "softmax"})(h);
//   keras::Model model({x}, {y});
//
// A layer of one's own derives from Layer:
//
//   class Scale : public keras::Layer {
//    public:
//     Scale() : Layer("Scale") {}
//    protected:
//     void build(const Shapes& inputs) override { factor_ = add_weight({.name = "factor", .shape = {inputs[0][-1]}}); }
//     Outputs call(const Outputs& inputs, CallContext&) override { return {inputs[0] * *factor_}; }
//    private:
//     keras::WeightRef factor_;
//   };
//   auto y = keras::make_layer<Scale>()(x);
//
// Ownership: LayerRef and KerasTensor are shared handles. Thread safety: building is for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/keras/backend.h"
#include "caudal/keras/config.h"
#include "caudal/keras/fields.h"
#include "caudal/keras/objects.h"

namespace caudal::inline v0::keras {

class Layer;
class KerasTensor;
using Outputs = std::vector<Output>;
using Shapes = std::vector<PartialShape>;

// What one pass through a model gathers beside its outputs.
struct Forward {
  bool training = false;
  std::vector<std::function<Operation()>> updates;  // to be run with the step: moving averages
  std::vector<Output> losses;                       // penalties on activations, and what layers add
};

// One call of a layer.
class CAUDAL_API CallContext {
 public:
  CallContext(Forward& forward, Outputs masks) : masks_(std::move(masks)), forward_(forward) {}

  bool training() const { return forward_.training; }
  // Of the inputs, bool [batch, steps]: false where a step is only padding. None where there is no mask.
  const Outputs& masks() const { return masks_; }
  Output mask(std::size_t i = 0) const { return i < masks_.size() ? masks_[i] : Output(); }
  // Makes an operation that the step runs once its loss is known to be a number.
  void add_update(std::function<Operation()> update) { forward_.updates.push_back(std::move(update)); }
  // A scalar that is added to the model's loss.
  void add_loss(const Output& loss) { forward_.losses.push_back(loss); }
  Forward& forward() { return forward_; }

 private:
  Outputs masks_;
  Forward& forward_;
};

struct CallResult {
  Outputs outputs;
  Outputs masks;  // one per output, none where there is no mask
};

// A shared layer. Calling it on a KerasTensor makes a node of a model; on Outputs, inside of another layer's call(), it
// makes the nodes of the graph.
class CAUDAL_API LayerRef {
 public:
  LayerRef() = default;
  LayerRef(std::shared_ptr<Layer> layer);  // NOLINT

  KerasTensor operator()(const KerasTensor& input) const;
  // Several inputs (of merging layers, of nested models; a recurrent layer's initial states follow its input); the
  // first output.
  KerasTensor operator()(const std::vector<KerasTensor>& inputs) const;
  // All outputs.
  std::vector<KerasTensor> all(const std::vector<KerasTensor>& inputs) const;
  Output operator()(const Output& input, CallContext& context) const;

  Layer* operator->() const { return layer_.get(); }
  Layer& operator*() const { return *layer_; }
  explicit operator bool() const { return layer_ != nullptr; }
  const std::shared_ptr<Layer>& pointer() const { return layer_; }
  friend bool operator==(const LayerRef&, const LayerRef&) = default;

 private:
  std::shared_ptr<Layer> layer_;
};

// A tensor of a model that is being defined: shape and type, and the call that makes it.
class CAUDAL_API KerasTensor {
 public:
  struct Node;

  KerasTensor() = default;
  KerasTensor(std::shared_ptr<Node> node, int index) : node_(std::move(node)), index_(index) {}

  explicit operator bool() const { return node_ != nullptr; }
  const PartialShape& shape() const;  // with the batch
  DType dtype() const;
  // What it is in the graph, in inference.
  const Output& output() const;
  const std::shared_ptr<Node>& node() const { return node_; }
  int index() const { return index_; }
  friend bool operator==(const KerasTensor&, const KerasTensor&) = default;

 private:
  std::shared_ptr<Node> node_;
  int index_ = 0;
};

// One symbolic call of a layer.
struct KerasTensor::Node {
  LayerRef layer;
  std::vector<KerasTensor> inputs;
  Outputs outputs;  // in inference
  Outputs masks;
  int index = 0;  // among the calls of the layer
};

class CAUDAL_API Layer : public std::enable_shared_from_this<Layer> {
 public:
  explicit Layer(std::string class_name, std::string name = {}, bool trainable = true);
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& class_name() const { return class_name_; }
  const std::string& name() const { return name_; }
  bool built() const { return built_; }

  // A frozen layer's weights are not trained; batch normalisation then runs in inference mode too.
  bool trainable() const { return trainable_; }
  virtual void set_trainable(bool trainable);

  // Own weights, then those of the layers inside. Trainable ones are none where the layer is frozen.
  std::vector<WeightRef> weights() const;
  std::vector<WeightRef> trainable_weights() const;
  std::vector<WeightRef> non_trainable_weights() const;
  std::int64_t count_params() const;
  std::vector<Tensor> get_weights() const;
  // Throws INVALID_ARGUMENT unless number and shapes agree.
  void set_weights(const std::vector<Tensor>& values);

  // Layers inside.
  virtual std::vector<LayerRef> layers() const { return sublayers_; }

  // Settings as Keras writes them, with name, trainable and dtype.
  virtual Config get_config();
  virtual void read_config(const Config& config);
  // The whole object: module, class, config.
  virtual Config serialize();

  // Makes the layer's nodes in the backend's graph, its weights first if this is the first call. Throws
  // INVALID_ARGUMENT naming the layer and the shapes that do not fit.
  CallResult apply(const Outputs& inputs, const Outputs& masks, Forward& forward);
  const std::shared_ptr<Backend>& backend() const { return backend_; }

  // Takes a name of its own if it was given none.
  void settle_name();
  void rename(std::string name) { name_ = std::move(name); }

  // Calls on KerasTensors, in order.
  std::vector<std::shared_ptr<KerasTensor::Node>> nodes() const;
  void add_node(const std::shared_ptr<KerasTensor::Node>& node);
  // Shapes that build() was given; empty if it was not.
  const Shapes& build_shapes() const { return build_shapes_; }
  // Whether several inputs are one argument, a list; those of a recurrent layer are not: its states follow its input.
  virtual bool takes_list() const { return true; }

 protected:
  struct WeightOptions {
    std::string name;
    std::vector<std::int64_t> shape;
    Initializer initializer = "glorot_uniform";
    Regularizer regularizer = {};
    Constraint constraint = {};
    bool trainable = true;
    DType dtype = DType::kFloat;
    std::string scope = {};  // between the layer's name and the weight's: "lstm_cell/"
  };

  // Makes weights; called once, before the first call().
  virtual void build(const Shapes& inputs);
  virtual Outputs call(const Outputs& inputs, CallContext& context) = 0;
  // One mask per output. Default: none; with supports_masking, the first input's for all.
  virtual Outputs compute_mask(const Outputs& inputs, const Outputs& outputs, const Outputs& masks);
  // Names every setting once, for reading and writing.
  virtual void fields(Fields& fields);

  WeightRef add_weight(const WeightOptions& options);
  // Makes `layer` part of this one: its weights count here.
  LayerRef track(LayerRef layer);
  void set_supports_masking() { supports_masking_ = true; }
  void set_activity_regularizer(const Regularizer& regularizer) { activity_regularizer_ = regularizer; }
  // "Dense 'hidden'", for messages.
  std::string described() const { return class_name_ + " '" + name_ + "'"; }

 private:
  void ensure_built(const Shapes& inputs);

  std::string class_name_, name_;
  bool trainable_ = true, built_ = false, supports_masking_ = false;
  std::shared_ptr<Backend> backend_;
  std::vector<WeightRef> own_weights_;
  std::vector<LayerRef> sublayers_;
  Regularizer activity_regularizer_;
  Shapes build_shapes_;
  std::vector<std::weak_ptr<KerasTensor::Node>> nodes_;
};

template <class T, class... Args>
LayerRef make_layer(Args&&... args) {
  return LayerRef(std::make_shared<T>(std::forward<Args>(args)...));
}

struct InputOptions {
  std::vector<std::int64_t> shape = {};  // without the batch; -1 for sizes that vary
  std::optional<std::int64_t> batch_size = {};
  DType dtype = DType::kFloat;
  std::string name = {};
};
// Where a model's data come in.
CAUDAL_API KerasTensor Input(const InputOptions& options);

// A layer from what serialize() gave, or from a file of Keras 2 or 3. Throws INVALID_ARGUMENT naming what is unknown;
// UNIMPLEMENTED for a class of Keras's that is not here.
CAUDAL_API LayerRef layer_from_config(const Config& object);

// Classes by name; a layer file registers its own:
//   CAUDAL_KERAS_LAYER(dense, "Dense", [] { return std::shared_ptr<Layer>(std::make_shared<DenseLayer>()); });
class CAUDAL_API LayerRegistrar {
 public:
  using Make = std::shared_ptr<Layer> (*)();
  LayerRegistrar(const char* class_name, Make make);
  const char* class_name;
  Make make;
  const LayerRegistrar* next;
  // Null if there is none.
  static const LayerRegistrar* find(std::string_view class_name);
  static std::vector<std::string> names();
};
#define CAUDAL_KERAS_LAYER(type, class_name)                                                                  \
  namespace {                                                                                                 \
  const LayerRegistrar type##_registrar(class_name,                                                           \
                                        []() -> std::shared_ptr<Layer> { return std::make_shared<type>(); }); \
  }                                                                                                           \
  static_assert(true)

}  // namespace caudal::inline v0::keras
