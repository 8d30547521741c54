// Metrics that gather over many batches (tf.compat.v1.metrics).
//
//   const auto accuracy = metrics::accuracy(y, predictions);
//   session.run(local_variables_initializer());            // starts anew
//   for (...) session.run(accuracy.update_op, feeds);      // one batch; its value: the metric so far
//   session.run(accuracy.value);                           // the metric so far, without a batch
//
// Sums are kept in variables of the collections LOCAL_VARIABLES and METRIC_VARIABLES, named "<name>/total" and so on.
// Labels and predictions have one shape, or one of them a last dimension of size 1 more; weights are a scalar, or
// broadcast to the values. Errors are INVALID_ARGUMENT and show both shapes. Thread safety: as building a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::graph_keys {
inline constexpr std::string_view kMetricVariables = "metric_variables";
}  // namespace caudal::inline v0::graph_keys

namespace caudal::inline v0::metrics {

struct Metric {
  Output value;
  Output update_op;
};
struct MetricOptions {
  std::optional<Operand> weights = {};
  std::vector<std::string> metrics_collections = {};  // get the value
  std::vector<std::string> updates_collections = {};  // get the update
  std::string name = {};                              // default: the function's name
  std::source_location where = std::source_location::current();
};

// --- Means ---

// sum(values * weights) / sum(weights), 0 if there is nothing.
CAUDAL_API Metric mean(const Operand& values, const MetricOptions& options = {});
// The same for each element by itself, in the shape of the values, which must be known.
CAUDAL_API Metric mean_tensor(const Operand& values, const MetricOptions& options = {});
// The share of predictions that equal their labels.
CAUDAL_API Metric accuracy(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
CAUDAL_API Metric mean_absolute_error(const Operand& labels, const Operand& predictions,
                                      const MetricOptions& options = {});
CAUDAL_API Metric mean_squared_error(const Operand& labels, const Operand& predictions,
                                     const MetricOptions& options = {});
CAUDAL_API Metric root_mean_squared_error(const Operand& labels, const Operand& predictions,
                                          const MetricOptions& options = {});
// The mean of |labels - predictions| / normalizer, 0 where the normalizer is 0.
CAUDAL_API Metric mean_relative_error(const Operand& labels, const Operand& predictions, const Operand& normalizer,
                                      const MetricOptions& options = {});
// 1 - the mean of sum(labels * predictions) along `dim`; both are taken to be unit vectors.
CAUDAL_API Metric mean_cosine_distance(const Operand& labels, const Operand& predictions, int dim,
                                       const MetricOptions& options = {});
// The share of values below a threshold.
CAUDAL_API Metric percentage_below(const Operand& values, const Operand& threshold, const MetricOptions& options = {});

// --- Counts: labels and predictions are read as bool ---

CAUDAL_API Metric true_positives(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
CAUDAL_API Metric true_negatives(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
CAUDAL_API Metric false_positives(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
CAUDAL_API Metric false_negatives(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
// True among all positive predictions; among all positive labels. 0 if there are none.
CAUDAL_API Metric precision(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});
CAUDAL_API Metric recall(const Operand& labels, const Operand& predictions, const MetricOptions& options = {});

// --- At thresholds: predictions are in [0, 1] (else INVALID_ARGUMENT when run), positive above the threshold ---

using Thresholds = std::vector<float>;
// Vectors with one number per threshold.
CAUDAL_API Metric true_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                               const Thresholds& thresholds, const MetricOptions& options = {});
CAUDAL_API Metric true_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                               const Thresholds& thresholds, const MetricOptions& options = {});
CAUDAL_API Metric false_positives_at_thresholds(const Operand& labels, const Operand& predictions,
                                                const Thresholds& thresholds, const MetricOptions& options = {});
CAUDAL_API Metric false_negatives_at_thresholds(const Operand& labels, const Operand& predictions,
                                                const Thresholds& thresholds, const MetricOptions& options = {});
CAUDAL_API Metric precision_at_thresholds(const Operand& labels, const Operand& predictions,
                                          const Thresholds& thresholds, const MetricOptions& options = {});
CAUDAL_API Metric recall_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                                       const MetricOptions& options = {});

struct AucOptions {
  std::optional<Operand> weights = {};
  int num_thresholds = 200;  // two or more
  std::vector<std::string> metrics_collections = {};
  std::vector<std::string> updates_collections = {};
  std::string curve = "ROC";  // or "PR", precision against recall
  std::string name = {};
  std::string summation_method = "trapezoidal";  // "careful_interpolation" (for PR), "minoring", "majoring"
  std::vector<float> thresholds = {};            // instead of num_thresholds even ones, in (0, 1)
  std::source_location where = std::source_location::current();
};
// The area under a curve, from its points at the thresholds.
CAUDAL_API Metric auc(const Operand& labels, const Operand& predictions, const AucOptions& options = {});

struct AtPointOptions {
  std::optional<Operand> weights = {};
  int num_thresholds = 200;
  std::vector<std::string> metrics_collections = {};
  std::vector<std::string> updates_collections = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Sensitivity (recall) at the threshold whose specificity is next to the one given; and the other way round.
CAUDAL_API Metric sensitivity_at_specificity(const Operand& labels, const Operand& predictions, double specificity,
                                             const AtPointOptions& options = {});
CAUDAL_API Metric specificity_at_sensitivity(const Operand& labels, const Operand& predictions, double sensitivity,
                                             const AtPointOptions& options = {});

// --- Classes ---

// The mean over classes of intersection / union, from a confusion matrix, which the update returns.
CAUDAL_API Metric mean_iou(const Operand& labels, const Operand& predictions, std::int64_t num_classes,
                           const MetricOptions& options = {});
// The mean of the classes' accuracies; the update returns all of them.
CAUDAL_API Metric mean_per_class_accuracy(const Operand& labels, const Operand& predictions, std::int64_t num_classes,
                                          const MetricOptions& options = {});

// --- The k best: labels int64 [..., number of labels] or [...], predictions [..., classes] ---

struct AtKOptions {
  std::optional<std::int64_t> class_id = {};  // only this class counts
  std::optional<Operand> weights = {};        // [...], or broadcasting to it
  std::vector<std::string> metrics_collections = {};
  std::vector<std::string> updates_collections = {};
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Labels among the k best predictions, in relation to k, and to the number of labels. NaN if there is nothing.
CAUDAL_API Metric precision_at_k(const Operand& labels, const Operand& predictions, int k,
                                 const AtKOptions& options = {});
CAUDAL_API Metric recall_at_k(const Operand& labels, const Operand& predictions, int k, const AtKOptions& options = {});
// The same with the best classes given, int64 [..., k].
CAUDAL_API Metric precision_at_top_k(const Operand& labels, const Operand& predictions_idx,
                                     const AtKOptions& options = {});
CAUDAL_API Metric recall_at_top_k(const Operand& labels, const Operand& predictions_idx,
                                  const AtKOptions& options = {});
// The mean of the precisions at the ranks of the labels among the k best.
CAUDAL_API Metric average_precision_at_k(const Operand& labels, const Operand& predictions, int k,
                                         const MetricOptions& options = {});

}  // namespace caudal::inline v0::metrics

namespace caudal::inline v0::math {

struct ConfusionMatrixOptions {
  std::optional<std::int64_t> num_classes = {};  // default: one more than the greatest number
  std::optional<Operand> weights = {};
  DType dtype = DType::kInt32;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// How often (or with what weight) each label, the rows, was predicted as each class, the columns. labels, predictions:
// integer vectors. Run time error: INVALID_ARGUMENT for numbers that are no classes.
CAUDAL_API Output confusion_matrix(const Operand& labels, const Operand& predictions,
                                   const ConfusionMatrixOptions& options = {});

}  // namespace caudal::inline v0::math
