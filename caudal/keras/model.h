// Models: compile, fit, evaluate, predict.
//
//   keras::Sequential model({keras::layers::Flatten(), keras::layers::Dense(300, {.activation = "relu"}),
//                            keras::layers::Dense(10, {.activation = "softmax"})});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
//   auto history = model.fit(images, labels, {.batch_size = 32, .epochs = 5, .validation_split = 0.1});
//   auto logs = model.evaluate(test_images, test_labels);
//   Tensor probabilities = model.predict(test_images)[0];
//
// Ownership: a Model is a shared handle, and a layer: it can be called as part of another one. Thread safety: one call
// at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/data/dataset.h"
#include "caudal/keras/callbacks.h"
#include "caudal/keras/layer.h"
#include "caudal/keras/losses.h"
#include "caudal/keras/metrics.h"
#include "caudal/keras/optimizers.h"
#include "caudal/runtime/profile.h"

namespace caudal::inline v0::keras {

class ModelCore;

// Values for all inputs or all outputs of a model.
class CAUDAL_API Arrays : public std::vector<Tensor> {
 public:
  Arrays() = default;
  Arrays(Tensor one) : std::vector<Tensor>{std::move(one)} {}                     // NOLINT
  Arrays(std::initializer_list<Tensor> values) : std::vector<Tensor>(values) {}   // NOLINT
  Arrays(std::vector<Tensor> values) : std::vector<Tensor>(std::move(values)) {}  // NOLINT
};

// One loss for all outputs, or one for each; a loss that is none leaves its output out.
class CAUDAL_API LossList : public std::vector<Loss> {
 public:
  LossList() = default;
  LossList(const char* name) : std::vector<Loss>{Loss(name)} {}                 // NOLINT
  LossList(const std::string& name) : std::vector<Loss>{Loss(name)} {}          // NOLINT
  LossList(Loss loss) : std::vector<Loss>{std::move(loss)} {}                   // NOLINT
  LossList(std::initializer_list<Loss> losses) : std::vector<Loss>(losses) {}   // NOLINT
  LossList(std::vector<Loss> losses) : std::vector<Loss>(std::move(losses)) {}  // NOLINT
};

struct CompileOptions {
  OptimizerRef optimizer = "rmsprop";
  LossList loss = {};
  std::vector<double> loss_weights = {};                    // of the outputs' losses; default: 1
  std::vector<MetricRef> metrics = {};                      // of a model with one output; of several: one for each
  std::vector<MetricRef> weighted_metrics = {};             // the same, with the sample weights counted
  std::vector<std::vector<MetricRef>> output_metrics = {};  // of a model with several outputs: a list for each
};

// Rows for validation.
struct ValidationData {
  Arrays x = {}, y = {};
  Arrays sample_weight = {};
};

struct FitOptions {
  std::int64_t batch_size = 32;
  std::int64_t epochs = 1;
  int verbose = 1;  // 0: silent, 1: progress, 2: a line per epoch
  std::vector<CallbackRef> callbacks = {};
  double validation_split = 0.0;  // this share of the rows, from the end, is for validation
  ValidationData validation_data = {};
  bool shuffle = true;
  std::map<std::int64_t, double> class_weight = {};
  Arrays sample_weight = {};  // [rows] or [rows, steps]; one for all outputs, or one for each
  std::int64_t initial_epoch = 0;
  std::int64_t validation_batch_size = 0;  // 0: batch_size
  std::int64_t validation_freq = 1;        // validate every so many epochs
  std::optional<std::int64_t> seed = {};   // of the order of rows; default: the next number of set_random_seed()
  std::function<bool()> stop_when = {};    // asked after every batch, e.g. whether Ctrl-C was pressed
};

struct EvaluateOptions {
  std::int64_t batch_size = 32;
  int verbose = 0;
  Arrays sample_weight = {};
  std::vector<CallbackRef> callbacks = {};
};

struct PredictOptions {
  std::int64_t batch_size = 32;
  int verbose = 0;
  std::vector<CallbackRef> callbacks = {};
};

// What fit() measured: the logs of each epoch.
struct CAUDAL_API History {
  std::vector<std::int64_t> epoch;
  std::vector<Logs> logs;
  bool stopped = false;  // before the last epoch
  // The values of one log, NaN where an epoch has none.
  std::vector<double> of(const std::string& name) const;
};

struct SummaryOptions {
  int line_length = 0;  // 0: as Keras chooses for a terminal of 80 columns or wider
  bool expand_nested = false;
  bool show_trainable = false;
};

struct SaveWeightsOptions {
  bool include_optimizer = false;  // its variables too, if the model is compiled and has been trained
  int max_to_keep = 0;             // of checkpoints in the directory; 0: all
};

struct ModelOptions {
  std::string name = {};
};

class CAUDAL_API Model : public LayerRef {
 public:
  Model() = default;
  Model(std::vector<KerasTensor> inputs, std::vector<KerasTensor> outputs, const ModelOptions& options = {});
  // A layer with sublayers of one's own as a model; it is built for the first data that it gets.
  explicit Model(const LayerRef& layer, const ModelOptions& options = {});
  explicit Model(std::shared_ptr<ModelCore> core);

  const std::string& name() const { return (*this)->name(); }
  std::vector<LayerRef> layers() const;
  // Throws NOT_FOUND with the nearest names.
  LayerRef get_layer(const std::string& name) const;
  // Places and results; empty before the model is built.
  const std::vector<KerasTensor>& inputs() const;
  const std::vector<KerasTensor>& outputs() const;
  std::vector<std::string> output_names() const;
  // Makes the weights of a model without Input for data of those shapes (-1 for the batch). Throws INVALID_ARGUMENT
  // naming the layer that they do not fit.
  void build(const Shapes& input_shapes);

  // Throws INVALID_ARGUMENT for unknown names, and for numbers of losses or metrics that are not those of the outputs.
  void compile(const CompileOptions& options);
  bool compiled() const;
  Optimizer& optimizer() const;

  // Trains. Throws INVALID_ARGUMENT naming what does not fit: data and inputs, labels and outputs (class numbers out of
  // range), NaN in the data, weights of classes that no label names; FAILED_PRECONDITION before compile(). A loss that
  // is NaN or infinite ends the training with the op that made it, before the weights have changed.
  History fit(const Arrays& x, const Arrays& y, const FitOptions& options = {});
  History fit(const data::DataSet& rows, const FitOptions& options = {}) {
    return fit(rows.features(), rows.labels(), options);
  }
  // Loss and metrics over all rows.
  Logs evaluate(const Arrays& x, const Arrays& y, const EvaluateOptions& options = {});
  Logs evaluate(const data::DataSet& rows, const EvaluateOptions& options = {}) {
    return evaluate(rows.features(), rows.labels(), options);
  }
  // All outputs for all rows.
  std::vector<Tensor> predict(const Arrays& x, const PredictOptions& options = {});
  // One update, one measurement, one prediction with exactly these rows. The logs are those of this batch alone.
  Logs train_on_batch(const Arrays& x, const Arrays& y, const Arrays& sample_weight = {});
  Logs test_on_batch(const Arrays& x, const Arrays& y, const Arrays& sample_weight = {});
  std::vector<Tensor> predict_on_batch(const Arrays& x);
  // Where the time of training such batches goes: runs that many steps twice, as they are and traced,
  // and some before; they train the model.
  Profile profile(const Arrays& x, const Arrays& y, std::int64_t steps = 50);
  // Ends fit() after the present batch; callbacks call it.
  void stop_training();
  // Metrics begin anew.
  void reset_metrics();

  std::vector<Tensor> get_weights() const { return (*this)->get_weights(); }
  void set_weights(const std::vector<Tensor>& values) { (*this)->set_weights(values); }
  // A checkpoint in TensorFlow's V2 format, weights under their paths ("dense/kernel"). Returns its prefix.
  std::string save_weights(const std::string& prefix, const SaveWeightsOptions& options = {});
  // Throws NOT_FOUND if there is no such checkpoint, INVALID_ARGUMENT listing what each side has if they do not fit;
  // nothing is changed then.
  void load_weights(const std::string& prefix, const SaveWeightsOptions& options = {});

  // The table that Keras prints.
  std::string summary(const SummaryOptions& options = {}) const;
  // The graph of layers for Graphviz.
  std::string to_dot(bool show_shapes = true) const;
  // As Keras 3's to_json writes it; with compile settings once compiled.
  std::string to_json() const;

  ModelCore& core() const;
  const std::shared_ptr<ModelCore>& shared_core() const { return core_; }

 private:
  std::shared_ptr<ModelCore> core_;
};

// A model that is one layer after another. Without an Input it is built for the first data that it gets.
class CAUDAL_API Sequential : public Model {
 public:
  Sequential(std::vector<LayerRef> layers = {}, const ModelOptions& options = {});  // NOLINT
  // With an input shape.
  Sequential(const InputOptions& input, std::vector<LayerRef> layers, const ModelOptions& options = {});
  void add(const LayerRef& layer);
};

// A model from what to_json() gives, or from the JSON of Keras 2 or 3 (also of a .keras file's config.json). It is
// compiled if the text says how. Throws INVALID_ARGUMENT or UNIMPLEMENTED naming what is unknown.
CAUDAL_API Model model_from_json(const std::string& json);

}  // namespace caudal::inline v0::keras
