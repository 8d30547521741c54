// Metrics with Keras 3's names and formulas, streaming: they gather over the batches of an epoch.
//
//   model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae", metrics::RootMeanSquaredError()}});
//
// "accuracy" becomes binary, categorical or sparse categorical accuracy by the shapes of labels and predictions. A
// metric object belongs to one model. Ownership: shared handles. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/keras/backend.h"
#include "caudal/keras/config.h"
#include "caudal/keras/losses.h"

namespace caudal::inline v0::keras {

class CAUDAL_API Metric {
 public:
  virtual ~Metric();
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // Nodes that add a batch to the variables. sample_weight and mask may be none. The variables are made at the first
  // call. REQUIRES: a GraphScope of the backend, for this, result() and reset().
  virtual std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                        const Output& sample_weight, const Output& mask) = 0;
  // The value from the variables as they are when this runs: a scalar.
  virtual Output result() = 0;
  // Back to nothing.
  Operation reset();
  const std::vector<WeightRef>& variables() const { return variables_; }

  // Throws UNIMPLEMENTED for a metric that is a function of the program.
  virtual Config to_config() const = 0;

 protected:
  explicit Metric(std::string name) : name_(std::move(name)) {}
  WeightRef add_variable(Backend& backend, const std::string& name, const Shape& shape = {});
  // Takes over the variables of a metric that this one is made of.
  void adopt(const Metric& other);
  // Adds to a variable.
  static Operation add(const Weight& variable, const Output& amount);
  // The value of a variable, after the control dependencies that are open.
  static Output now(const Weight& variable);

 private:
  std::string name_;
  std::vector<WeightRef> variables_;
};

// The mean of a function's values, weighted by example.
class CAUDAL_API MeanMetric : public Metric {
 public:
  using Function = Loss::Function;
  MeanMetric(std::string name, Function function, std::string class_name = {}, Config config = {});

  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output& mask) override;
  Output result() override;
  Config to_config() const override;
  // Adds a scalar that stands for `examples` examples.
  std::vector<Operation> update_scalar(Backend& backend, const Output& value, const Output& examples);

 private:
  void make_variables(Backend& backend);

  Function function_;
  std::string class_name_;
  Config config_;
  WeightRef total_, count_;
};

// A metric by name or object.
class CAUDAL_API MetricRef {
 public:
  MetricRef(const char* name) : name_(name) {}                                                          // NOLINT
  MetricRef(std::string name) : name_(std::move(name)) {}                                               // NOLINT
  MetricRef(std::shared_ptr<Metric> metric) : metric_(std::move(metric)) {}                             // NOLINT
  MetricRef(const Loss& loss) : metric_(std::make_shared<MeanMetric>(loss.name(), loss.function())) {}  // NOLINT
  // Its own function of labels and predictions, one value per example.
  MetricRef(std::string name, MeanMetric::Function function)
      : metric_(std::make_shared<MeanMetric>(std::move(name), std::move(function))) {}

  // The metric; by name what suits labels and predictions of those shapes. Throws INVALID_ARGUMENT for unknown names.
  std::shared_ptr<Metric> resolve(const PartialShape& y_true, const PartialShape& y_pred) const;
  Config to_config() const;
  static MetricRef from_config(const Config& config);

 private:
  std::string name_;
  std::shared_ptr<Metric> metric_;
};

namespace metrics {
struct ConfusionOptions {
  std::vector<double> thresholds = {0.5};
  std::optional<std::int64_t> top_k = {};     // of precision and recall
  std::optional<std::int64_t> class_id = {};  // of precision and recall
  std::string name = {};
};
struct AUCOptions {
  std::int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // or "PR"
  std::string summation_method = "interpolation";  // or "minoring", "majoring"
  bool from_logits = false;
  std::string name = {};
};
CAUDAL_API MetricRef Accuracy(const std::string& name = "accuracy");
CAUDAL_API MetricRef BinaryAccuracy(double threshold = 0.5, const std::string& name = "binary_accuracy");
CAUDAL_API MetricRef CategoricalAccuracy(const std::string& name = "categorical_accuracy");
CAUDAL_API MetricRef SparseCategoricalAccuracy(const std::string& name = "sparse_categorical_accuracy");
CAUDAL_API MetricRef TopKCategoricalAccuracy(std::int64_t k = 5,
                                             const std::string& name = "top_k_categorical_accuracy");
CAUDAL_API MetricRef SparseTopKCategoricalAccuracy(std::int64_t k = 5,
                                                   const std::string& name = "sparse_top_k_categorical_accuracy");
CAUDAL_API MetricRef RootMeanSquaredError(const std::string& name = "root_mean_squared_error");
CAUDAL_API MetricRef CosineSimilarity(const std::string& name = "cosine_similarity");
CAUDAL_API MetricRef R2Score(const std::string& name = "r2_score");
CAUDAL_API MetricRef TruePositives(const ConfusionOptions& options = {});
CAUDAL_API MetricRef TrueNegatives(const ConfusionOptions& options = {});
CAUDAL_API MetricRef FalsePositives(const ConfusionOptions& options = {});
CAUDAL_API MetricRef FalseNegatives(const ConfusionOptions& options = {});
CAUDAL_API MetricRef Precision(const ConfusionOptions& options = {});
CAUDAL_API MetricRef Recall(const ConfusionOptions& options = {});
CAUDAL_API MetricRef AUC(const AUCOptions& options = {});
// The mean of predictions themselves, whatever the labels.
CAUDAL_API MetricRef Mean(const std::string& name = "mean");
}  // namespace metrics

}  // namespace caudal::inline v0::keras
