#include "caudal/keras/model.h"

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/model_core.h"
#include "caudal/keras/training.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::keras {
namespace {

using Kind = ModelCore::Kind;

std::shared_ptr<ModelCore> functional(std::vector<KerasTensor> inputs, std::vector<KerasTensor> outputs,
                                      const std::string& name) {
  auto core = std::make_shared<ModelCore>(Kind::kFunctional, name);
  const LayerRef settled(core);  // gets its name before messages need one
  core->set_graph(std::move(inputs), std::move(outputs));
  return core;
}

// What a checkpoint of the model holds.
std::map<std::string, Variable> saved(const Model& model, const SaveWeightsOptions& options) {
  std::map<std::string, Variable> variables;
  const auto add = [&](const WeightRef& weight) {
    if (!variables.emplace(weight->path(), weight->variable()).second) {
      throw invalid_argument("two weights are called '", weight->path(), "'").hint("Give the layers different names.");
    }
  };
  for (const WeightRef& weight : model->weights()) add(weight);
  if (options.include_optimizer && model.compiled() && model.optimizer().built()) {
    for (const WeightRef& variable : model.optimizer().variables()) add(variable);
  }
  if (variables.empty()) {
    throw failed_precondition("model '", model.name(), "' has no weights yet")
        .hint("Call build(), or give the model an Input.");
  }
  return variables;
}

train::Saver& saver_of(const Model& model, const SaveWeightsOptions& options) {
  const std::map<std::string, Variable> variables = saved(model, options);
  const std::string key = std::to_string(variables.size()) + "," + std::to_string(options.max_to_keep);
  std::shared_ptr<train::Saver>& saver = model.core().savers[key];
  if (!saver) {
    const GraphScope graph(model->backend()->graph());
    const NameScope top("");
    saver = std::make_shared<train::Saver>(
        train::SaverOptions{.variables = variables, .max_to_keep = options.max_to_keep, .name = "save_weights"});
  }
  return *saver;
}

void refuse_other_formats(const std::string& path) {
  for (const char* end : {".h5", ".hdf5", ".keras"}) {
    if (path.ends_with(end)) {
      throw unimplemented("weights in '", path, "': this format is not supported")
          .hint("Checkpoints in TensorFlow's format are: give a prefix such as \"model/weights\".");
    }
  }
}

}  // namespace

Model::Model(std::shared_ptr<ModelCore> core) : LayerRef(core), core_(std::move(core)) {}

Model::Model(std::vector<KerasTensor> inputs, std::vector<KerasTensor> outputs, const ModelOptions& options)
    : Model(functional(std::move(inputs), std::move(outputs), options.name)) {}

Model::Model(const LayerRef& layer, const ModelOptions& options)
    : Model(std::make_shared<ModelCore>(Kind::kWrapped, options.name.empty() ? layer->name() : options.name)) {
  core_->add(layer);
}

ModelCore& Model::core() const {
  if (!core_) throw failed_precondition("an empty Model");
  return *core_;
}

std::vector<LayerRef> Model::layers() const { return core().layers(); }
const std::vector<KerasTensor>& Model::inputs() const { return core().inputs(); }
const std::vector<KerasTensor>& Model::outputs() const { return core().outputs(); }
std::vector<std::string> Model::output_names() const { return core().output_names(); }

LayerRef Model::get_layer(const std::string& name) const {
  std::vector<std::string> names;
  for (const LayerRef& layer : core().all_layers().empty() ? layers() : core().all_layers()) {
    if (layer->name() == name) return layer;
    names.push_back(layer->name());
  }
  std::string advice = did_you_mean(name, names);
  if (advice.empty()) advice = "It has " + join(names, ", ") + ".";
  throw not_found("model '", this->name(), "' has no layer '", name, "'").hint(advice);
}

void Model::build(const Shapes& input_shapes) {
  core().ensure_graph(input_shapes, std::vector<DType>(input_shapes.size(), float32));
}

std::string Model::save_weights(const std::string& prefix, const SaveWeightsOptions& options) {
  refuse_other_formats(prefix);
  core().backend()->flush();
  return saver_of(*this, options).save(core().backend()->session(), prefix, {.write_meta_graph = false});
}

void Model::load_weights(const std::string& prefix, const SaveWeightsOptions& options) {
  refuse_other_formats(prefix);
  core().backend()->flush();
  saver_of(*this, options).restore(core().backend()->session(), prefix);
}

// --- Sequential ---

Sequential::Sequential(std::vector<LayerRef> layers, const ModelOptions& options)
    : Model(std::make_shared<ModelCore>(Kind::kSequential, options.name)) {
  for (const LayerRef& layer : layers) add(layer);
}

Sequential::Sequential(const InputOptions& input, std::vector<LayerRef> layers, const ModelOptions& options)
    : Model(std::make_shared<ModelCore>(Kind::kSequential, options.name)) {
  core().set_input(Input(input));
  for (const LayerRef& layer : layers) add(layer);
}

void Sequential::add(const LayerRef& layer) { core().add(layer); }

}  // namespace caudal::inline v0::keras
