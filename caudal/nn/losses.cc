#include "caudal/nn/losses.h"

#include <numbers>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/nn/weights.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::losses {
namespace {

// Tells where: "losses.huber_loss: ..., made at train.cc:14".
class Place {
 public:
  Place(std::string_view function, const std::source_location& where)
      : function_(internal::concat("losses.", function)), location_(where), where_(short_location(where)) {}
  const std::string& function() const { return function_; }
  template <class F>
  auto with_place(const F& build) const {
    try {
      return build();
    } catch (const Error& error) {
      throw error.made_at(where_);
    }
  }

 private:
  std::string function_;
  LocationScope location_;
  std::string where_;
};

struct Reducing {
  std::string function;
  std::string collection;
  Reduction reduction;
};

// 1 where there is a weight, else 0, in the shape of the values.
Output present(const Output& weights, const Output& values) {
  const Output one_or_zero = where(equal(weights, 0), zeros_like(weights), ones_like(weights));
  return internal::broadcast_weights(one_or_zero, values);
}

Output safe_mean(const Output& sum, const Output& count) { return div_no_nan(sum, count, {.name = "value"}); }

Output reduced(const Output& given, const Operand& weights_given, const Reducing& how) {
  const Output losses = cast(given, float32);
  const Output weights =
      internal::checked_weights(how.function, cast(weights_given.to_output(float32), float32), losses);
  Output loss = losses * weights;
  if (how.reduction != Reduction::kNone) {
    loss = reduce_sum(loss);
    if (how.reduction == Reduction::kMean) {
      loss = safe_mean(loss, reduce_sum(internal::broadcast_weights(weights, losses)));
    } else if (how.reduction == Reduction::kSumByNonzeroWeights) {
      loss = safe_mean(loss, reduce_sum(present(weights, losses)));
    } else if (how.reduction == Reduction::kSumOverBatchSize) {
      loss = safe_mean(loss, cast(size(losses), float32));
    }
  }
  loss = cast(loss, given.dtype());
  if (!how.collection.empty()) add_loss(loss, how.collection);
  return loss;
}

struct Pair {
  Output labels, predictions;
};
Pair floats(const std::string& function, const Operand& labels, const Operand& predictions,
            std::string_view name = "predictions") {
  Pair pair{cast(labels.to_output(float32), float32), cast(predictions.to_output(float32), float32)};
  internal::check_same_shape(function, pair.labels, pair.predictions, name);
  return pair;
}

// A loss of the common form: single losses from two float tensors of one shape.
template <class Options, class F>
Output loss_of(std::string_view function, std::string_view scope_name, const Operand& labels,
               const Operand& predictions, const Options& options, const F& single_losses) {
  const Place place(function, options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? std::string(scope_name) : options.scope);
    const Pair pair = floats(place.function(), labels, predictions);
    return reduced(single_losses(pair.labels, pair.predictions), options.weights,
                   {place.function(), options.loss_collection, options.reduction});
  });
}

std::vector<Output> outputs_of_collection(std::string_view key, std::string_view scope) {
  std::vector<Output> outputs;
  for (const CollectionItem& item : default_graph().collection(key, scope)) {
    if (item.output) outputs.push_back(item.output);
  }
  return outputs;
}

}  // namespace

Output compute_weighted_loss(const Operand& losses, const LossOptions& options) {
  const Place place("compute_weighted_loss", options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? "weighted_loss" : options.scope);
    return reduced(losses.to_output(float32), options.weights,
                   {place.function(), options.loss_collection, options.reduction});
  });
}

Output absolute_difference(const Operand& labels, const Operand& predictions, const LossOptions& options) {
  return loss_of("absolute_difference", "absolute_difference", labels, predictions, options,
                 [](const Output& y, const Output& p) { return abs(p - y); });
}

Output mean_squared_error(const Operand& labels, const Operand& predictions, const LossOptions& options) {
  return loss_of("mean_squared_error", "mean_squared_error", labels, predictions, options,
                 [](const Output& y, const Output& p) { return squared_difference(p, y); });
}

Output hinge_loss(const Operand& labels, const Operand& logits, const LossOptions& options) {
  return loss_of("hinge_loss", "hinge_loss", labels, logits, options, [](const Output& y, const Output& p) {
    const Output all_ones = ones_like(y);
    return nn::relu(all_ones - (2 * y - all_ones) * p);
  });
}

Output huber_loss(const Operand& labels, const Operand& predictions, const HuberLossOptions& options) {
  return loss_of("huber_loss", "huber_loss", labels, predictions, options, [&](const Output& y, const Output& p) {
    const Output error = abs(p - y);
    const Output quadratic = minimum(error, options.delta);
    return 0.5 * (quadratic * quadratic) + options.delta * (error - quadratic);
  });
}

Output log_loss(const Operand& labels, const Operand& predictions, const LogLossOptions& options) {
  return loss_of("log_loss", "log_loss", labels, predictions, options, [&](const Output& y, const Output& p) {
    return -(y * log(p + options.epsilon)) - (1 - y) * log(1 - p + options.epsilon);
  });
}

Output cosine_distance(const Operand& labels, const Operand& predictions, const CosineDistanceOptions& options) {
  return loss_of("cosine_distance", "cosine_distance_loss", labels, predictions, options,
                 [&](const Output& y, const Output& p) {
                   return 1 - reduce_sum(p * y, {.axis = options.axis, .keepdims = true});
                 });
}

Output mean_pairwise_squared_error(const Operand& labels, const Operand& predictions, const PairwiseOptions& options) {
  const Place place("mean_pairwise_squared_error", options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? "mean_pairwise_squared_error" : options.scope);
    const Pair pair = floats(place.function(), labels, predictions);
    const Output weights = internal::checked_weights(
        place.function(), cast(options.weights.to_output(float32), float32), pair.predictions);
    const Output differences = pair.predictions - pair.labels;
    const Axes within = range(1, rank(differences));
    const auto sum = [&](const Output& x) { return reduce_sum(x, {.axis = within, .keepdims = true}); };
    const Output count = sum(present(weights, differences));
    const Output squares = 2 * div_no_nan(sum(square(differences)), maximum(count - 1, 0));
    const Output mixed = 2 * div_no_nan(square(sum(differences)), maximum(count * (count - 1), 0));
    const Output total = reduce_sum((squares - mixed) * weights);
    const Output loss = where(greater(reduce_sum(count), 0), total, zeros_like(total), {.name = "value"});
    if (!options.loss_collection.empty()) add_loss(loss, options.loss_collection);
    return loss;
  });
}

Output sigmoid_cross_entropy(const Operand& multi_class_labels, const Operand& given_logits,
                             const CrossEntropyLossOptions& options) {
  const Place place("sigmoid_cross_entropy", options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? "sigmoid_cross_entropy_loss" : options.scope);
    const Output logits = given_logits.to_output(float32);
    Output labels = cast(multi_class_labels.to_output(logits.dtype()), logits.dtype());
    internal::check_same_shape(place.function(), labels, logits, "logits");
    if (options.label_smoothing > 0) {
      labels = labels * (1 - options.label_smoothing) + 0.5F * options.label_smoothing;
    }
    return reduced(nn::sigmoid_cross_entropy_with_logits({.labels = labels, .logits = logits, .name = "xentropy"}),
                   options.weights, {place.function(), options.loss_collection, options.reduction});
  });
}

Output softmax_cross_entropy(const Operand& onehot_labels, const Operand& given_logits,
                             const CrossEntropyLossOptions& options) {
  const Place place("softmax_cross_entropy", options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? "softmax_cross_entropy_loss" : options.scope);
    const Output logits = given_logits.to_output(float32);
    Output labels = cast(onehot_labels.to_output(logits.dtype()), logits.dtype());
    internal::check_same_shape(place.function(), labels, logits, "logits");
    if (options.label_smoothing > 0) {
      const Output classes = cast(index(shape(labels), {-1}), logits.dtype());
      labels = labels * (1 - options.label_smoothing) + options.label_smoothing / classes;
    }
    labels = stop_gradient(labels, {.name = "labels_stop_gradient"});
    return reduced(nn::softmax_cross_entropy_with_logits_v2({.labels = labels, .logits = logits, .name = "xentropy"}),
                   options.weights, {place.function(), options.loss_collection, options.reduction});
  });
}

Output sparse_softmax_cross_entropy(const Operand& given_labels, const Operand& given_logits,
                                    const LossOptions& options) {
  const Place place("sparse_softmax_cross_entropy", options.where);
  return place.with_place([&] {
    const NameScope scope(options.scope.empty() ? "sparse_softmax_cross_entropy_loss" : options.scope);
    const auto aligned =
        internal::remove_squeezable_dimensions(given_labels.to_output(int32), given_logits.to_output(float32), 1);
    Output weights = options.weights.to_output(float32);
    if (weights.shape().has_rank() && weights.shape().rank() == aligned.labels.shape().rank() + 1) {
      weights = squeeze(weights, {-1});
    }
    return reduced(nn::sparse_softmax_cross_entropy_with_logits(
                       {.labels = aligned.labels, .logits = aligned.predictions, .name = "xentropy"}),
                   weights, {place.function(), options.loss_collection, options.reduction});
  });
}

void add_loss(const Output& loss, const std::string& loss_collection) {
  loss.graph().add_to_collection(loss_collection, {.output = loss});
}

std::vector<Output> get_losses(std::string_view scope, std::string_view loss_collection) {
  return outputs_of_collection(loss_collection, scope);
}

std::vector<Output> get_regularization_losses(std::string_view scope) {
  return outputs_of_collection(graph_keys::kRegularizationLosses, scope);
}

Output get_regularization_loss(std::string_view scope, const OpOptions& options) {
  const auto penalties = get_regularization_losses(scope);
  if (penalties.empty()) return constant(0.0F);
  return add_n(penalties, options);
}

Output get_total_loss(const TotalLossOptions& options) {
  std::vector<Output> all = get_losses(options.scope);
  if (options.add_regularization_losses) {
    for (const Output& penalty : get_regularization_losses(options.scope)) all.push_back(penalty);
  }
  if (all.empty()) {
    throw invalid_argument("losses.get_total_loss: there are no losses",
                           options.scope.empty() ? "" : " in scope '" + options.scope + "'")
        .made_at(short_location(options.where))
        .hint("The functions of caudal::losses add theirs; add your own by losses::add_loss().");
  }
  return add_n(all, {.name = options.name, .where = options.where});
}

}  // namespace caudal::inline v0::losses

namespace caudal::inline v0::nn {

Output weighted_cross_entropy_with_logits(const WeightedCrossEntropyOptions& options) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? "logistic_loss" : options.name);
  const Output logits = options.logits.to_output(float32);
  const Output labels = options.labels.to_output(logits.dtype());
  internal::check_same_shape("weighted_cross_entropy_with_logits", labels, logits, "logits");
  const Output weight = 1 + (options.pos_weight.to_output(logits.dtype()) - 1) * labels;
  return (1 - labels) * logits + weight * (log1p(exp(-abs(logits))) + relu(-logits));
}

Output log_poisson_loss(const Operand& given_targets, const Operand& given_input,
                        const LogPoissonLossOptions& options) {
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "log_poisson_loss" : options.name);
  const Output input = given_input.to_output(float32);
  const Output targets = given_targets.to_output(input.dtype());
  internal::check_same_shape("log_poisson_loss", targets, input, "log_input");
  const Output result = exp(input) - input * targets;
  if (!options.compute_full_loss) return result;
  const Output stirling = targets * log(targets) - targets + 0.5 * log((2 * std::numbers::pi) * targets);
  const Output small = logical_and(greater_equal(targets, 0), less_equal(targets, 1));
  return result + caudal::where(small, zeros_like(targets), stirling);
}

}  // namespace caudal::inline v0::nn
