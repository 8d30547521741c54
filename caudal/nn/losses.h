// Losses: functions that compare predictions with labels, weight and reduce the result, and add it to a collection
// (tf.compat.v1.losses).
//
//   Output loss = losses::sparse_softmax_cross_entropy(y, logits);
//   Output total = losses::get_total_loss();   // with the penalties of the variables
//
// Labels and predictions have one shape, or one of them a last dimension of size 1 more. Weights are a scalar, or have
// as many dimensions as the single losses, each of the same size or 1; a weight of 0 leaves an example out. Everything
// but cross entropies is computed in float32. Errors are INVALID_ARGUMENT and show both shapes. Thread safety: as
// building a graph.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/collection.h"

namespace caudal::inline v0::losses {

// What becomes of the weighted single losses.
enum class Reduction {
  kNone,                 // they stay as they are
  kSum,                  // sum
  kSumOverBatchSize,     // sum / number of losses
  kMean,                 // sum / sum of weights
  kSumByNonzeroWeights,  // sum / number of losses whose weight is not 0
};

struct LossOptions {
  Operand weights = 1.0F;
  std::string scope = {};                                          // name scope; default: the function's name
  std::string loss_collection = std::string(graph_keys::kLosses);  // none: empty
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::source_location where = std::source_location::current();
};
// The single losses multiplied by the weights and reduced: a scalar of their type, or of their shape with kNone.
// A reduction over nothing is 0.
CAUDAL_API Output compute_weighted_loss(const Operand& losses, const LossOptions& options = {});

// |predictions - labels|.
CAUDAL_API Output absolute_difference(const Operand& labels, const Operand& predictions,
                                      const LossOptions& options = {});
// (predictions - labels)^2.
CAUDAL_API Output mean_squared_error(const Operand& labels, const Operand& predictions,
                                     const LossOptions& options = {});
// max(0, 1 - label * logit) with labels 0 and 1 read as -1 and 1.
CAUDAL_API Output hinge_loss(const Operand& labels, const Operand& logits, const LossOptions& options = {});

struct HuberLossOptions {
  Operand weights = 1.0F;
  float delta = 1.0F;  // where squares give way to a line
  std::string scope = {};
  std::string loss_collection = std::string(graph_keys::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::source_location where = std::source_location::current();
};
// d^2 / 2 where d = |predictions - labels| is at most delta, else delta * d - delta^2 / 2 (Huber 1964).
CAUDAL_API Output huber_loss(const Operand& labels, const Operand& predictions, const HuberLossOptions& options = {});

struct LogLossOptions {
  Operand weights = 1.0F;
  float epsilon = 1e-7F;  // added inside the logarithms
  std::string scope = {};
  std::string loss_collection = std::string(graph_keys::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::source_location where = std::source_location::current();
};
// -label * log(p + epsilon) - (1 - label) * log(1 - p + epsilon) of probabilities p.
CAUDAL_API Output log_loss(const Operand& labels, const Operand& predictions, const LogLossOptions& options = {});

struct CosineDistanceOptions {
  int axis = -1;  // along which both are unit vectors
  Operand weights = 1.0F;
  std::string scope = {};
  std::string loss_collection = std::string(graph_keys::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::source_location where = std::source_location::current();
};
// 1 - sum(labels * predictions) along the axis, which keeps size 1. Both are taken to be unit vectors.
CAUDAL_API Output cosine_distance(const Operand& labels, const Operand& predictions,
                                  const CosineDistanceOptions& options);

struct PairwiseOptions {
  Operand weights = 1.0F;  // a scalar, [batch], or [batch, 1, ...]
  std::string scope = {};
  std::string loss_collection = std::string(graph_keys::kLosses);
  std::source_location where = std::source_location::current();
};
// The mean, within each example, of (d_i - d_j)^2 over all pairs of differences d = predictions - labels; summed over
// the batch. REQUIRES: two dimensions or more.
CAUDAL_API Output mean_pairwise_squared_error(const Operand& labels, const Operand& predictions,
                                              const PairwiseOptions& options = {});

struct CrossEntropyLossOptions {
  Operand weights = 1.0F;
  float label_smoothing = 0;  // moves labels towards 1/2, or towards 1/classes
  std::string scope = {};
  std::string loss_collection = std::string(graph_keys::kLosses);
  Reduction reduction = Reduction::kSumByNonzeroWeights;
  std::source_location where = std::source_location::current();
};
// nn::sigmoid_cross_entropy_with_logits of independent classes.
CAUDAL_API Output sigmoid_cross_entropy(const Operand& multi_class_labels, const Operand& logits,
                                        const CrossEntropyLossOptions& options = {});
// nn::softmax_cross_entropy_with_logits of labels [batch, classes]. No gradient flows to the labels.
CAUDAL_API Output softmax_cross_entropy(const Operand& onehot_labels, const Operand& logits,
                                        const CrossEntropyLossOptions& options = {});
// The same with class numbers [batch] or [batch, 1], int32 or int64.
CAUDAL_API Output sparse_softmax_cross_entropy(const Operand& labels, const Operand& logits,
                                               const LossOptions& options = {});

// Adds a loss of the user's own to the collection.
CAUDAL_API void add_loss(const Output& loss, const std::string& loss_collection = std::string(graph_keys::kLosses));
// The losses of the default graph; `scope` is a regular expression that the beginning of the name must match.
CAUDAL_API std::vector<Output> get_losses(std::string_view scope = {},
                                          std::string_view loss_collection = graph_keys::kLosses);
CAUDAL_API std::vector<Output> get_regularization_losses(std::string_view scope = {});
// Their sum; a constant 0 if there are none.
CAUDAL_API Output get_regularization_loss(std::string_view scope = {},
                                          const OpOptions& options = {.name = "total_regularization_loss"});

struct TotalLossOptions {
  bool add_regularization_losses = true;
  std::string name = "total_loss";
  std::string scope = {};
  std::source_location where = std::source_location::current();
};
// The sum of all losses, and of the penalties of variables. INVALID_ARGUMENT if there are none.
CAUDAL_API Output get_total_loss(const TotalLossOptions& options = {});

}  // namespace caudal::inline v0::losses

namespace caudal::inline v0::nn {

struct WeightedCrossEntropyOptions {
  Operand labels;
  Operand logits;
  Operand pos_weight = 1.0F;  // of positive examples: above 1 fewer are missed, below 1 fewer are false
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// labels * -log(sigmoid(logits)) * pos_weight + (1 - labels) * -log(1 - sigmoid(logits)), without overflow.
CAUDAL_API Output weighted_cross_entropy_with_logits(const WeightedCrossEntropyOptions& options);

struct LogPoissonLossOptions {
  bool compute_full_loss = false;  // with Stirling's approximation of log(targets!)
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// exp(log_input) - log_input * targets. INVALID_ARGUMENT for shapes that differ.
CAUDAL_API Output log_poisson_loss(const Operand& targets, const Operand& log_input,
                                   const LogPoissonLossOptions& options = {});

}  // namespace caudal::inline v0::nn
