#include "caudal/nn/metrics.h"
#include "caudal/nn/metrics_util.h"
#include "caudal/nn/weights.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/scan.h"
#include "caudal/ops/segment_ops.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/top_k.h"

namespace caudal::inline v0::metrics {
namespace internal {

Output checked_classes(std::string_view what, const Output& classes, const Output& num_classes) {
  const Output limit = cast(num_classes, classes.dtype());
  const Output good = reduce_all(logical_and(greater_equal(classes, 0), less(classes, limit)));
  const std::string message = caudal::internal::concat(what, " out of bound: numbers from 0 to below this are wanted:");
  return with_dependencies({Assert(good, {message, limit, classes}, {.summarize = 10})}, classes);
}

}  // namespace internal

namespace {

using internal::MetricScope;

Output flat(const Output& x) { return x.shape().rank() == 1 ? x : reshape(x, {-1}); }

// --- The k best ---

// Whether each of `values` [..., a] is among `others` [..., b].
Output is_among(const Output& values, const Output& others) {
  return reduce_any(equal(expand_dims(values, -1), expand_dims(others, -2)), {.axis = -1});
}

// Whether each of `values` [..., a] is the first of its kind: sets count every value once.
Output is_first(const Output& values) {
  const Output size = caudal::shape(values);
  const Output numbers = range(0, gather(size, rank(values) - 1));
  const Output earlier = less(expand_dims(numbers, 0), expand_dims(numbers, 1));
  const Output same = equal(expand_dims(values, -1), expand_dims(values, -2));
  return logical_not(reduce_any(logical_and(same, earlier), {.axis = -1}));
}

struct Sets {
  Output labels, predictions;  // int64
};

Sets sets_of(const std::string& function, const Operand& given_labels, const Operand& given_predictions) {
  const Output predictions = cast(given_predictions.to_output(int64), int64);
  Output labels = cast(given_labels.to_output(int64), int64);
  const int difference = predictions.shape().rank() - labels.shape().rank();
  if (predictions.shape().rank() < 1 || !labels.shape().has_rank() || difference < 0 || difference > 1) {
    throw invalid_argument(function, ": labels ", labels.describe(), " do not go with predictions ",
                           predictions.describe())
        .hint("Labels have as many dimensions as predictions, or one less.");
  }
  if (difference == 1) labels = expand_dims(labels, -1);
  return {labels, predictions};
}

// Number of values [..., a] that count, weighted and added up: float64.
Output total(const std::string& function, const Output& counted, const std::optional<Operand>& weights) {
  Output rows = cast(reduce_sum(cast(counted, int32), {.axis = -1}), float64);
  if (weights) {
    const Output given = cast(weights->to_output(float32), float64);
    rows = rows * caudal::internal::checked_weights(function, given, rows);
  }
  return reduce_sum(rows);
}

Output with_class(const Output& counted, const Output& values, const AtKOptions& options) {
  return options.class_id ? logical_and(counted, equal(values, *options.class_id)) : counted;
}

std::string at_k_name(const char* name, std::optional<std::int64_t> k, const AtKOptions& options) {
  std::string full = k ? caudal::internal::concat(name, "_at_", *k) : caudal::internal::concat(name, "_at_k");
  if (options.class_id) full += caudal::internal::concat("_class", *options.class_id);
  return full;
}

// Hits in relation to hits and misses.
Metric at_top_k(const char* name, const char* miss_name, bool misses_are_predictions, const Sets& sets,
                std::optional<std::int64_t> k, const AtKOptions& options) {
  const std::string function = caudal::internal::concat("metrics.", name, "_at_k");
  const auto update = [&](const char* count_name, const Output& counted) {
    const std::string variable = at_k_name(count_name, k, options);
    const Variable sum = internal::metric_variable({}, float64, variable);
    return Metric{sum.value(), sum.assign_add(total(function, counted, options.weights))};
  };
  const Output first_prediction = with_class(is_first(sets.predictions), sets.predictions, options);
  const Output hit = is_among(sets.predictions, sets.labels);
  const Metric hits = update("true_positive", logical_and(first_prediction, hit));
  const Output missed = misses_are_predictions ? logical_and(first_prediction, logical_not(hit))
                                               : logical_and(with_class(is_first(sets.labels), sets.labels, options),
                                                             logical_not(is_among(sets.labels, sets.predictions)));
  const Metric misses = update(miss_name, missed);
  return internal::collected(
      Metric{hits.value / (hits.value + misses.value), hits.update_op / (hits.update_op + misses.update_op)}, options);
}

Metric at_k(const char* name, const char* miss_name, bool misses_are_predictions, const Operand& labels,
            const Operand& predictions, std::optional<std::int64_t> k, const AtKOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope location(options.where);
    const NameScope scope(options.name.empty() ? at_k_name(name, k, options) : options.name);
    Output best = predictions.to_output(k ? float32 : int64);
    if (k) best = nn::top_k(best, static_cast<int>(*k)).indices;
    const Sets sets = sets_of(caudal::internal::concat("metrics.", name, "_at_k"), labels, best);
    return at_top_k(name, miss_name, misses_are_predictions, sets, k, options);
  });
}

// For each row the mean of the precisions at the ranks of labels, in relation to as many labels as could be hit.
Output average_precisions(const Sets& sets, int k) {
  const Output hit = cast(is_among(sets.predictions, sets.labels), float64);
  const Output precision = cumsum(hit, -1) / cumsum(ones_like(hit), -1);
  const Output relevant = reduce_sum(cast(greater_equal(sets.labels, 0), int64), {.axis = -1});
  return reduce_sum(precision * hit, {.axis = -1}) / cast(minimum(relevant, k), float64);
}

}  // namespace

Metric mean_iou(const Operand& labels, const Operand& predictions, std::int64_t num_classes,
                const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, "mean_iou", options.where);
    if (num_classes < 1) throw invalid_argument("metrics.mean_iou: there are ", num_classes, " classes");
    const Output y = labels.to_output(int64), p = predictions.to_output(int64);
    caudal::internal::check_same_shape("metrics.mean_iou", y, p);
    const Variable matrix = internal::metric_variable({num_classes, num_classes}, float64, "total_confusion_matrix");
    math::ConfusionMatrixOptions counting{.num_classes = num_classes, .dtype = float64};
    if (options.weights) counting.weights = flat(options.weights->to_output(float32));
    const Output update =
        matrix.assign_add(math::confusion_matrix(flat(cast(y, int64)), flat(cast(p, int64)), counting));
    const Output rows = cast(reduce_sum(matrix, {.axis = 0}), float32);
    const Output columns = cast(reduce_sum(matrix, {.axis = 1}), float32);
    const Output classes = range(0, static_cast<int>(num_classes));
    const Output is_diagonal = equal(expand_dims(classes, 0), expand_dims(classes, 1));
    const Output diagonal = cast(reduce_sum(matrix * cast(is_diagonal, float64), {.axis = 1}), float32);
    const Output unions = rows + columns - diagonal;
    const Output valid = reduce_sum(cast(not_equal(unions, 0), float32));
    const Output iou = diagonal / where(greater(unions, 0), unions, ones_like(unions));
    const Output mean = where(greater(valid, 0), reduce_sum(iou, {.name = "mean_iou"}) / valid, zeros_like(valid));
    return internal::collected(Metric{mean, update}, options);
  });
}

Metric mean_per_class_accuracy(const Operand& labels, const Operand& predictions, std::int64_t num_classes,
                               const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, "mean_accuracy", options.where);
    if (num_classes < 1) throw invalid_argument("metrics.mean_per_class_accuracy: there are ", num_classes, " classes");
    const Output y = flat(cast(labels.to_output(int64), int64)), p = flat(predictions.to_output(int64));
    caudal::internal::check_same_shape("metrics.mean_per_class_accuracy", y, p);
    const Variable total = internal::metric_variable({num_classes}, float32, "total");
    const Variable count = internal::metric_variable({num_classes}, float32, "count");
    Output all = ones_like(cast(y, float32));
    Output correct = cast(equal(cast(p, int64), y), float32);
    if (options.weights) {
      Output weights = cast(options.weights->to_output(float32), float32);
      if (weights.shape().rank() > 1) weights = flat(weights);
      all = all * weights;
      correct = correct * weights;
    }
    const Output classes = internal::checked_classes("`labels`", y, constant(num_classes));
    const auto by_class = [&](const Output& values) {
      return math::unsorted_segment_sum(values, classes, static_cast<int>(num_classes));
    };
    const Output new_total = total.assign_add(by_class(all));
    const Output new_count = count.assign_add(by_class(correct));
    const Output value = reduce_mean(div_no_nan(count, maximum(total, 0)), {.name = "mean_accuracy"});
    return internal::collected(Metric{value, div_no_nan(new_count, maximum(new_total, 0), {.name = "update_op"})},
                               options);
  });
}

Metric precision_at_k(const Operand& labels, const Operand& predictions, int k, const AtKOptions& options) {
  return at_k("precision", "false_positive", true, labels, predictions, k, options);
}
Metric recall_at_k(const Operand& labels, const Operand& predictions, int k, const AtKOptions& options) {
  return at_k("recall", "false_negative", false, labels, predictions, k, options);
}
Metric precision_at_top_k(const Operand& labels, const Operand& predictions_idx, const AtKOptions& options) {
  return at_k("precision", "false_positive", true, labels, predictions_idx, {}, options);
}
Metric recall_at_top_k(const Operand& labels, const Operand& predictions_idx, const AtKOptions& options) {
  return at_k("recall", "false_negative", false, labels, predictions_idx, {}, options);
}

Metric average_precision_at_k(const Operand& labels, const Operand& given, int k, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const LocationScope location(options.where);
    if (k < 1) throw invalid_argument("metrics.average_precision_at_k: k is ", k, "; it must be at least 1");
    const NameScope scope(options.name.empty() ? caudal::internal::concat("average_precision_at_", k) : options.name);
    const Output predictions = given.to_output(float32);
    Sets sets = sets_of("metrics.average_precision_at_k", labels, nn::top_k(predictions, k).indices);
    const Output classes = gather(caudal::shape(predictions), rank(predictions) - 1);
    sets.labels = where(greater_equal(sets.labels, cast(classes, int64)), -ones_like(sets.labels), sets.labels);
    Output precisions = average_precisions(sets, k);
    Output most = cast(size(precisions), float64);
    if (options.weights) {
      Output weights = cast(options.weights->to_output(float32), float64);
      weights = caudal::internal::broadcast_weights(
          caudal::internal::checked_weights("metrics.average_precision_at_k", weights, precisions), precisions);
      precisions = precisions * weights;
      most = reduce_sum(weights);
    }
    // TensorFlow's name: there a node "Max" comes before it.
    const Variable max = internal::metric_variable({}, float64, "max_1");
    const Variable total = internal::metric_variable({}, float64, "total");
    const Output new_max = max.assign_add(most), new_total = total.assign_add(reduce_sum(precisions));
    return internal::collected(
        Metric{div_no_nan(total, max, {.name = "mean"}), div_no_nan(new_total, new_max, {.name = "update"})}, options);
  });
}

}  // namespace caudal::inline v0::metrics

namespace caudal::inline v0::math {

Output confusion_matrix(const Operand& given_labels, const Operand& given_predictions,
                        const ConfusionMatrixOptions& options) {
  return metrics::internal::with_place(options.where, [&] {
    const LocationScope location(options.where);
    const NameScope scope(options.name.empty() ? "confusion_matrix" : options.name);
    const auto aligned =
        internal::remove_squeezable_dimensions(given_labels.to_output(int64), given_predictions.to_output(int64));
    internal::check_same_shape("confusion_matrix", aligned.labels, aligned.predictions);
    const Output labels = cast(aligned.labels, int64), predictions = cast(aligned.predictions, int64);
    const Output classes = options.num_classes ? constant(*options.num_classes, {.dtype = int64})
                                               : maximum(reduce_max(labels), reduce_max(predictions)) + 1;
    const Output y = metrics::internal::checked_classes("`labels`", labels, classes);
    const Output p = metrics::internal::checked_classes("`predictions`", predictions, classes);
    const Output values = options.weights ? cast(options.weights->to_output(float32), options.dtype)
                                          : cast(ones_like(predictions), options.dtype);
    const Output matrix = scatter_nd(stack({y, p}, 1), values, stack({classes, classes}));
    if (options.num_classes) matrix.set_shape({*options.num_classes, *options.num_classes});
    return matrix;
  });
}

}  // namespace caudal::inline v0::math
