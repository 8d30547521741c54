// Cross entropies between labels and logits: one loss per example. Computed together with their softmax, stable for
// huge and infinite logits; never apply softmax or sigmoid to the logits first.
//
//   Output loss = reduce_mean(nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits}));
//
// Thread safety: as building a graph.
#pragma once

#include <source_location>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::nn {

struct SoftmaxCrossEntropyOptions {
  Operand labels;  // probabilities, of the logits' shape; converted to their type
  Operand logits;  // floating
  int axis = -1;   // of the classes; another than the last needs a known rank
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// -sum(labels * log_softmax(logits)) along the axis of the classes, which the result lacks. The gradient of the logits
// is softmax - labels also where labels do not sum to 1. No gradient flows to the labels; in the form _v2 it does.
CAUDAL_API Output softmax_cross_entropy_with_logits(const SoftmaxCrossEntropyOptions& options);
CAUDAL_API Output softmax_cross_entropy_with_logits_v2(const SoftmaxCrossEntropyOptions& options);

struct CrossEntropyOptions {
  Operand labels;
  Operand logits;
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// -log_softmax(logits)[label]: logits [..., classes] and one label (int32 or int64) for each row [...].
// Throws INVALID_ARGUMENT if shapes cannot fit. Run time error: INVALID_ARGUMENT for a label outside [0, classes).
CAUDAL_API Output sparse_softmax_cross_entropy_with_logits(const CrossEntropyOptions& options);

// For independent classes: max(x, 0) - x * z + log(1 + exp(-|x|)) with logits x and labels z of one shape and type.
// Throws INVALID_ARGUMENT if the shapes differ.
CAUDAL_API Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options);

}  // namespace caudal::inline v0::nn
