// Models to and from the JSON of Keras 3 and Keras 2.
#include <map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/keras/model_core.h"
#include "caudal/keras/training.h"

namespace caudal::inline v0::keras {
namespace {

// A shape as Keras writes it.
Config shape_config(const PartialShape& shape) {
  Config::List dims;
  for (const std::int64_t dim : shape.dims()) dims.push_back(dim < 0 ? Config() : Config(dim));
  return dims;
}

// Calls of layers within one model are counted from 0, whatever other models call them.
using CallNumbers = std::map<const KerasTensor::Node*, std::int64_t>;

CallNumbers number_calls(const ModelCore& core) {
  CallNumbers numbers;
  for (const LayerRef& layer : core.all_layers()) {
    std::int64_t count = 0;
    for (const auto& node : layer->nodes()) {
      for (const auto& ours : core.nodes_in_order()) {
        if (ours == node) numbers[node.get()] = count++;
      }
    }
  }
  return numbers;
}

Config history_config(const KerasTensor& tensor, const CallNumbers& numbers) {
  const auto found = numbers.find(tensor.node().get());
  const std::int64_t call = found == numbers.end() ? 0 : found->second;
  return Config::List{tensor.node()->layer->name(), call, tensor.index()};
}

Config tensor_config(const KerasTensor& tensor, const CallNumbers& numbers) {
  Config inner;
  inner.set("shape", shape_config(tensor.shape())).set("dtype", std::string(dtype_name(tensor.dtype())));
  inner.set("keras_history", history_config(tensor, numbers));
  Config config;
  config.set("class_name", "__keras_tensor__").set("config", std::move(inner));
  return config;
}

// One call of a layer: {"args": [x], "kwargs": {}}; several inputs of a merging layer or a model are one argument;
// those of a recurrent layer beyond the first are its initial state.
Config call_config(const KerasTensor::Node& node, const CallNumbers& numbers) {
  Config::List tensors;
  for (const KerasTensor& input : node.inputs) tensors.push_back(tensor_config(input, numbers));
  Config::List args;
  Config kwargs = Config::map();
  if (tensors.size() <= 1) {
    args = tensors;
  } else if (node.layer->takes_list()) {
    args = {Config(tensors)};
  } else {
    args = {tensors[0]};
    kwargs.set("initial_state", Config::List(tensors.begin() + 1, tensors.end()));
  }
  Config config;
  config.set("args", std::move(args)).set("kwargs", std::move(kwargs));
  return config;
}

// --- Reading ---

struct History {
  std::string layer;
  std::int64_t call = 0;
  std::int64_t index = 0;
};

History read_history(const Config& list) {
  const Config::List& items = list.list();
  if (items.size() < 3) throw invalid_argument("a reference to a tensor has ", items.size(), " parts, 3 are wanted");
  return {items[0].text(), items[1].integer(), items[2].integer()};
}

// The tensors that a value of Keras 3's args or kwargs names, in order.
void gather_tensors(const Config& value, std::vector<History>& found) {
  if (value.is_list()) {
    for (const Config& item : value.list()) gather_tensors(item, found);
  } else if (value.is_map()) {
    const Config* class_name = value.find("class_name");
    if (class_name != nullptr && class_name->is_string() && class_name->text() == "__keras_tensor__") {
      found.push_back(read_history(value["config"]["keras_history"]));
      return;
    }
    for (const auto& [key, item] : value.members()) {
      if (key != "mask") gather_tensors(item, found);
    }
  }
}

// The tensors of one call, in Keras 3's form {"args": ...} or Keras 2's [["name", 0, 0, {}], ...].
std::vector<History> call_inputs(const Config& call) {
  std::vector<History> inputs;
  if (call.is_map()) {
    gather_tensors(call["args"], inputs);
    gather_tensors(call["kwargs"], inputs);
    return inputs;
  }
  const Config::List& items = call.list();
  // One input may stand without a list around it.
  if (!items.empty() && items[0].is_string()) return {read_history(call)};
  for (const Config& item : items) {
    inputs.push_back(read_history(item));
    if (item.list().size() < 4 || !item.list()[3].is_map()) continue;
    if (const Config* state = item.list()[3].find("initial_state")) {
      if (!state->is_null() && state->is_list()) {
        if (!state->list().empty() && state->list()[0].is_string()) {
          inputs.push_back(read_history(*state));
        } else {
          for (const Config& part : state->list()) inputs.push_back(read_history(part));
        }
      }
    }
  }
  return inputs;
}

// Builds the graph of a functional model: a call is made once all it needs is there.
class GraphReader {
 public:
  explicit GraphReader(const Config& config) {
    for (const Config& entry : config["layers"].list()) {
      const LayerRef layer = layer_from_config(entry);
      const Config* given = entry.find("name");
      const std::string name = given != nullptr && given->is_string() ? given->text() : layer->name();
      if (!layers_.emplace(name, layer).second) throw invalid_argument("two layers are called '", name, "'");
      std::int64_t number = 0;
      const Config* calls = entry.find("inbound_nodes");
      if (calls != nullptr && !calls->list().empty()) {
        for (const Config& call : calls->list()) pending_.push_back({name, number++, call_inputs(call)});
      } else if (layer->class_name() == "InputLayer") {
        pending_.push_back({name, 0, {}});
      }
    }
    build();
  }

  std::vector<KerasTensor> tensors(const Config& list) const {
    std::vector<KerasTensor> found;
    // A single tensor may stand without a list around it.
    if (!list.list().empty() && list.list()[0].is_string()) return {tensor(read_history(list))};
    // A dictionary of outputs, or nested lists.
    for (const Config& item : list.list()) found.push_back(tensor(read_history(item)));
    return found;
  }

 private:
  struct Call {
    std::string layer;
    std::int64_t number = 0;
    std::vector<History> inputs;
  };

  bool ready(const Call& call) const {
    const auto made = made_.find(call.layer);
    if ((made == made_.end() ? 0 : static_cast<std::int64_t>(made->second.size())) != call.number) return false;
    for (const History& input : call.inputs) {
      const auto found = made_.find(input.layer);
      if (found == made_.end() || static_cast<std::int64_t>(found->second.size()) <= input.call) return false;
    }
    return true;
  }

  void build() {
    while (!pending_.empty()) {
      std::vector<Call> later;
      for (Call& call : pending_) {
        if (!ready(call)) {
          later.push_back(std::move(call));
          continue;
        }
        std::vector<KerasTensor> inputs;
        for (const History& input : call.inputs) inputs.push_back(tensor(input));
        made_[call.layer].push_back(layers_.at(call.layer).all(inputs));
      }
      if (later.size() == pending_.size()) {
        throw invalid_argument("layer '", later[0].layer, "' needs the output of '",
                               later[0].inputs.empty() ? later[0].layer : later[0].inputs[0].layer,
                               "', which no layer of the model gives");
      }
      pending_ = std::move(later);
    }
  }

  KerasTensor tensor(const History& history) const {
    const auto found = made_.find(history.layer);
    const bool known = found != made_.end() && history.call >= 0 && history.index >= 0 &&
                       history.call < static_cast<std::int64_t>(found->second.size()) &&
                       history.index < static_cast<std::int64_t>(found->second[history.call].size());
    if (!known) {
      throw invalid_argument("the model has no tensor ['", escaped(history.layer), "', ", history.call, ", ",
                             history.index, "]");
    }
    return found->second[static_cast<std::size_t>(history.call)][static_cast<std::size_t>(history.index)];
  }

  std::map<std::string, LayerRef> layers_;
  std::vector<Call> pending_;
  std::map<std::string, std::vector<std::vector<KerasTensor>>> made_;
};

std::shared_ptr<Layer> make_sequential() { return std::make_shared<ModelCore>(ModelCore::Kind::kSequential, ""); }
std::shared_ptr<Layer> make_functional() { return std::make_shared<ModelCore>(ModelCore::Kind::kFunctional, ""); }
const LayerRegistrar sequential_registrar("Sequential", make_sequential);
const LayerRegistrar functional_registrar("Functional", make_functional);
const LayerRegistrar model_registrar("Model", make_functional);  // Keras 2's word

}  // namespace

Config ModelCore::layers_config() {
  const CallNumbers numbers = number_calls(*this);
  Config::List list;
  for (const LayerRef& layer : layers_) {
    Config entry = layer->serialize();
    if (kind_ == Kind::kFunctional) {
      Config::List calls;
      for (const auto& node : layer->nodes()) {
        if (numbers.contains(node.get()) && !node->inputs.empty()) calls.push_back(call_config(*node, numbers));
      }
      entry.set("name", layer->name()).set("inbound_nodes", std::move(calls));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Config ModelCore::get_config() {
  if (kind_ == Kind::kWrapped) {
    throw unimplemented("model '", name(), "' is a class of the program and cannot be written to a file")
        .hint("save_weights() works. Or build the model from layers with keras::Model({inputs}, {outputs}).");
  }
  Config config;
  config.set("name", name()).set("trainable", trainable());
  if (kind_ == Kind::kSequential) {
    Config name_of_type;
    name_of_type.set("name", "float32");
    config.set("dtype", object_config("keras", "DTypePolicy", std::move(name_of_type)));
    if (!has_graph()) {
      Config::List list;
      for (const LayerRef& layer : stack_) list.push_back(layer->serialize());
      config.set("layers", std::move(list));
      return config;
    }
    config.set("layers", layers_config());
    config.set("build_input_shape", shape_config(inputs_[0].shape()));
    return config;
  }
  const CallNumbers numbers = number_calls(*this);
  const auto histories = [&](const std::vector<KerasTensor>& tensors) {
    Config::List list;
    for (const KerasTensor& tensor : tensors) list.push_back(history_config(tensor, numbers));
    return list;
  };
  config.set("layers", layers_config());
  config.set("input_layers", histories(inputs_)).set("output_layers", histories(outputs_));
  return config;
}

Config ModelCore::serialize() {
  Config object =
      object_config(kind_ == Kind::kSequential ? "keras" : "keras.src.models.functional", class_name(), get_config());
  if (kind_ == Kind::kFunctional) object.set("registered_name", "Functional");
  if (training_ && training_->compiled()) object.set("compile_config", training_->compile_config());
  return object;
}

void ModelCore::read_config(const Config& config) {
  Config base;
  if (const Config* name = config.find("name")) base.set("name", *name);
  if (!config.is_list()) Layer::read_config(base);
  const LayerRef settled(shared_from_this());
  if (config.is_list() || config.find("input_layers") == nullptr) {
    kind_ = Kind::kSequential;
    read_sequential(config);
  } else {
    read_functional(config);
  }
  if (const Config* trainable = config.find("trainable"); trainable != nullptr && trainable->is_bool()) {
    if (!trainable->boolean()) set_trainable(false);
  }
}

void ModelCore::read_sequential(const Config& config) {
  // Old files have the list of layers alone.
  const Config& list = config.is_list() ? config : config["layers"];
  bool first = true;
  for (const Config& entry : list.list()) {
    const LayerRef layer = layer_from_config(entry);
    // Keras 2 gives the input's shape to the first layer.
    const Config* shape = entry["config"].find("batch_input_shape");
    if (first && layer->class_name() != "InputLayer" && shape != nullptr && shape->is_list()) {
      InputOptions input;
      for (std::size_t i = 1; i < shape->list().size(); ++i) {
        input.shape.push_back(shape->list()[i].is_null() ? -1 : shape->list()[i].integer());
      }
      input.name = layer->name() + "_input";
      set_input(Input(input));
    }
    first = false;
    add(layer);
  }
  if (has_graph()) return;
  const Config* shape = config.find("build_input_shape");
  if (shape == nullptr || !shape->is_list()) return;
  std::vector<std::int64_t> dims;
  for (const Config& dim : shape->list()) dims.push_back(dim.is_null() ? -1 : dim.integer());
  if (!dims.empty()) ensure_graph({PartialShape(dims)}, {float32});
}

void ModelCore::read_functional(const Config& config) {
  const GraphReader reader(config);
  set_graph(reader.tensors(config["input_layers"]), reader.tensors(config["output_layers"]));
}

std::string Model::to_json() const { return core().serialize().to_json(); }

namespace {

MetricRef read_metric(const Config& config) { return MetricRef::from_config(config); }

// compile() as a file tells it: "compile_config" of Keras 3, "training_config" of Keras 2.
void compile_from(Model& model, const Config& config) {
  CompileOptions options;
  if (const Config* optimizer = config.find("optimizer"); optimizer != nullptr && !optimizer->is_null()) {
    options.optimizer = OptimizerRef::from_config(*optimizer);
  } else if (const Config* old = config.find("optimizer_config"); old != nullptr && !old->is_null()) {
    options.optimizer = OptimizerRef::from_config(*old);
  }
  if (const Config* loss = config.find("loss"); loss != nullptr && !loss->is_null()) {
    if (loss->is_list()) {
      for (const Config& item : loss->list()) options.loss.push_back(Loss::from_config(item));
    } else {
      options.loss.push_back(Loss::from_config(*loss));
    }
  }
  if (const Config* weights = config.find("loss_weights"); weights != nullptr && weights->is_list()) {
    for (const Config& weight : weights->list()) options.loss_weights.push_back(weight.number());
  }
  if (const Config* metrics = config.find("metrics"); metrics != nullptr && metrics->is_list()) {
    for (const Config& item : metrics->list()) {
      if (!item.is_list()) {
        options.metrics.push_back(read_metric(item));
        continue;
      }
      options.output_metrics.emplace_back();
      for (const Config& inner : item.list()) options.output_metrics.back().push_back(read_metric(inner));
    }
  }
  if (const Config* metrics = config.find("weighted_metrics"); metrics != nullptr && metrics->is_list()) {
    for (const Config& item : metrics->list()) options.weighted_metrics.push_back(read_metric(item));
  }
  model.compile(options);
}

}  // namespace

Model model_from_json(const std::string& json) {
  const Config config = Config::parse(json);
  if (!config.is_map() || config.find("class_name") == nullptr) {
    throw invalid_argument("this JSON is no Keras model: it has no \"class_name\"")
        .hint("A model is what Keras's model.to_json() gives.");
  }
  const LayerRef layer = layer_from_config(config);
  const auto core = std::dynamic_pointer_cast<ModelCore>(layer.pointer());
  if (!core) {
    throw invalid_argument("this JSON is a layer of class ", layer->class_name(), ", not a model")
        .hint("A model's class is Sequential or Functional.");
  }
  Model model(core);
  for (const char* key : {"compile_config", "training_config"}) {
    const Config* compile = config.find(key);
    if (compile != nullptr && compile->is_map() && !compile->members().empty()) compile_from(model, *compile);
  }
  return model;
}

}  // namespace caudal::inline v0::keras
