// Losses with Keras 3's names, formulas and reductions.
//
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
//   model.compile({.optimizer = "adam", .loss = losses::BinaryCrossentropy({.from_logits = true})});
//   model.compile({.optimizer = "adam", .loss = keras::Loss("my_loss", [](const Output& y, const Output& p) {...})});
//
// A loss gives a value per example (of sequences: per step); they are weighted and averaged over all of them, whatever
// their weights ("sum_over_batch_size"). Where the prediction is the output of a softmax or sigmoid, cross entropies
// are computed from its logits. Thread safety: values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/keras/config.h"

namespace caudal::inline v0::keras {

class CAUDAL_API Loss {
 public:
  // Values per example [batch] or [batch, steps] of labels and predictions.
  using Function = std::function<Output(const Output& y_true, const Output& y_pred)>;

  Loss() = default;
  Loss(const char* name) : Loss(std::string(name)) {}  // NOLINT
  // By name, "mse" or "MeanSquaredError". Throws INVALID_ARGUMENT for an unknown one.
  Loss(const std::string& name);  // NOLINT
  Loss(std::string name, Function function, std::string reduction = "sum_over_batch_size", std::string class_name = {},
       Config config = {});

  explicit operator bool() const { return function_ != nullptr; }
  const std::string& name() const { return name_; }
  const std::string& reduction() const { return reduction_; }
  const Function& function() const { return function_; }
  // Whether labels are class numbers, checked against the number of classes before training.
  bool is_sparse() const { return class_name_ == "SparseCategoricalCrossentropy"; }

  // The scalar. Weights (none: 1) have a number per example; so has the mask of a sequence per step.
  Output operator()(const Output& y_true, const Output& y_pred, const Output& sample_weight = {},
                    const Output& mask = {}) const;

  // A name, or the object; for files.
  Config to_config() const;
  static Loss from_config(const Config& config);

 private:
  std::string name_, class_name_, reduction_ = "sum_over_batch_size";
  Config config_;
  Function function_;
};

// Cross entropies want probabilities, or logits if from_logits. label_smoothing moves labels towards the uniform
// distribution.
namespace losses {
struct Options {
  std::string reduction = "sum_over_batch_size";  // or "sum", "mean_with_sample_weight", "none"
  std::string name = {};
};
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = {};
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = {};
};
struct FocalOptions {
  double alpha = 0.25, gamma = 2.0;
  bool apply_class_balancing = false;  // of the binary one
  bool from_logits = false;
  double label_smoothing = 0.0;
  std::string reduction = "sum_over_batch_size";
  std::string name = {};
};
struct HuberOptions {
  double delta = 1.0;
  std::string reduction = "sum_over_batch_size";
  std::string name = {};
};
CAUDAL_API Loss MeanSquaredError(const Options& options = {});
CAUDAL_API Loss MeanAbsoluteError(const Options& options = {});
CAUDAL_API Loss MeanAbsolutePercentageError(const Options& options = {});
CAUDAL_API Loss MeanSquaredLogarithmicError(const Options& options = {});
CAUDAL_API Loss Huber(const HuberOptions& options = {});
CAUDAL_API Loss LogCosh(const Options& options = {});
CAUDAL_API Loss Hinge(const Options& options = {});
CAUDAL_API Loss SquaredHinge(const Options& options = {});
CAUDAL_API Loss CategoricalHinge(const Options& options = {});
CAUDAL_API Loss KLDivergence(const Options& options = {});
CAUDAL_API Loss Poisson(const Options& options = {});
CAUDAL_API Loss CosineSimilarity(const Options& options = {});
CAUDAL_API Loss BinaryCrossentropy(const CrossentropyOptions& options = {});
CAUDAL_API Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
CAUDAL_API Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
CAUDAL_API Loss BinaryFocalCrossentropy(const FocalOptions& options = {});
CAUDAL_API Loss CategoricalFocalCrossentropy(const FocalOptions& options = {});
}  // namespace losses

// A ranks above b by one with a last size of 1 (or b above a): both as of one rank, as Keras does before it compares.
CAUDAL_API std::pair<Output, Output> to_same_rank(const Output& a, const Output& b);

}  // namespace caudal::inline v0::keras
