#include <algorithm>
#include <map>

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
#include "caudal/ops/reduction.h"
#include "caudal/ops/scan.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"

namespace caudal::inline v0::metrics {
namespace {

using internal::Inputs;
using internal::MetricScope;

Output as_bool(const Operand& value) { return cast(value.to_output(), boolean); }

// --- Counts ---

enum class Outcome { kTruePositive, kFalsePositive, kTrueNegative, kFalseNegative };

Output is_outcome(Outcome outcome, const Output& label, const Output& prediction) {
  const bool positive = outcome == Outcome::kTruePositive || outcome == Outcome::kFalsePositive;
  const bool right = outcome == Outcome::kTruePositive || outcome == Outcome::kTrueNegative;
  const auto is = [](const Output& value, bool wanted) { return wanted ? value : logical_not(value); };
  return logical_and(is(label, positive == right), is(prediction, positive));
}

const char* name_of(Outcome outcome) {
  static constexpr const char* kNames[] = {"true_positives", "false_positives", "true_negatives", "false_negatives"};
  return kNames[static_cast<int>(outcome)];
}

Metric count(Outcome outcome, const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, name_of(outcome), options.where);
    const std::string function = caudal::internal::concat("metrics.", name_of(outcome));
    const Inputs in = internal::matching(function, as_bool(labels), as_bool(predictions), options.weights);
    Output values = cast(is_outcome(outcome, in.labels, in.predictions), float32);
    const Variable total = internal::metric_variable({}, float32, "count");
    if (in.weights) {
      values = values * caudal::internal::checked_weights(function, cast(*in.weights, float32), values);
    }
    return internal::collected(Metric{total.value(), total.assign_add(reduce_sum(values))}, options);
  });
}

// first / (first + second), 0 if there is nothing.
Output share(const Output& first, const Output& second, const char* name) {
  const Output sum = first + second;
  return where(greater(sum, 0), first / sum, zeros_like(sum), {.name = name});
}

Metric share_of_counts(Outcome other, const char* name, const Operand& labels, const Operand& predictions,
                       const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, name, options.where);
    const Inputs in = internal::matching(caudal::internal::concat("metrics.", name), as_bool(labels),
                                         as_bool(predictions), options.weights);
    MetricOptions inner{.weights = {}, .where = options.where};
    if (in.weights) inner.weights = Operand(*in.weights);
    const Metric right = count(Outcome::kTruePositive, in.labels, in.predictions, inner);
    const Metric wrong = count(other, in.labels, in.predictions, inner);
    return internal::collected(
        Metric{share(right.value, wrong.value, "value"), share(right.update_op, wrong.update_op, "update_op")},
        options);
  });
}

// --- At thresholds ---

// One of the four counts for every threshold: before and after the update.
using Counts = std::map<Outcome, Metric>;

Counts counts_at(std::string_view function, const Operand& labels, const Operand& given_predictions,
                 const Thresholds& thresholds, const std::optional<Operand>& weights,
                 const std::vector<Outcome>& outcomes) {
  if (thresholds.empty()) throw invalid_argument(function, ": there are no thresholds");
  Output predictions = given_predictions.to_output(float32);
  const Output good =
      reduce_all(logical_and(greater_equal(predictions, 0), less_equal(predictions, 1)), {.name = "in_range"});
  predictions = with_dependencies({Assert(good, {"predictions must be in [0, 1]", predictions})}, predictions);
  const Inputs in = internal::matching(function, as_bool(labels), cast(predictions, float32), weights);
  const int number = static_cast<int>(thresholds.size());
  const Output limits = reshape(thresholds, {number, 1});
  const Output positive = greater(reshape(in.predictions, {1, -1}), limits);
  const Output label = logical_and(reshape(in.labels, {1, -1}), ones_like(positive));
  Output row_weights;
  if (in.weights) {
    const Output all = caudal::internal::broadcast_weights(
        caudal::internal::checked_weights(function, cast(*in.weights, float32), in.predictions), in.predictions);
    row_weights = reshape(all, {1, -1});
  }
  Counts counts;
  for (const Outcome outcome : outcomes) {
    const Variable total = internal::metric_variable({number}, float32, name_of(outcome));
    Output values = cast(is_outcome(outcome, label, positive), float32);
    if (row_weights) values = values * row_weights;
    counts[outcome] = {total.value(), total.assign_add(reduce_sum(values, {.axis = 1}))};
  }
  return counts;
}

Metric counted_at(Outcome outcome, const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                  const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, name_of(outcome), options.where);
    const std::string function = caudal::internal::concat("metrics.", name_of(outcome), "_at_thresholds");
    return internal::collected(
        counts_at(function, labels, predictions, thresholds, options.weights, {outcome}).at(outcome), options);
  });
}

Metric share_at(Outcome other, const char* name, const Operand& labels, const Operand& predictions,
                const Thresholds& thresholds, const MetricOptions& options) {
  return internal::with_place(options.where, [&] {
    const MetricScope scope(options.name, name, options.where);
    const Counts counts = counts_at(caudal::internal::concat("metrics.", name), labels, predictions, thresholds,
                                    options.weights, {Outcome::kTruePositive, other});
    const Metric& right = counts.at(Outcome::kTruePositive);
    const Metric& wrong = counts.at(other);
    constexpr float kEpsilon = 1e-7F;
    const auto of = [&](const Output& r, const Output& w) { return r / (kEpsilon + r + w); };
    return internal::collected(Metric{of(right.value, wrong.value), of(right.update_op, wrong.update_op)}, options);
  });
}

// Thresholds at even distances between 0 and 1, with one below and one above all predictions.
Thresholds even_thresholds(int number, double last) {
  constexpr double kEpsilon = 1e-7;
  Thresholds thresholds = {static_cast<float>(-kEpsilon)};
  for (int i = 0; i + 2 < number; ++i) thresholds.push_back(static_cast<float>((i + 1) * 1.0 / (number - 1)));
  thresholds.push_back(static_cast<float>(1.0 + last * kEpsilon));
  return thresholds;
}

const std::vector<Outcome>& all_outcomes() {
  static const std::vector<Outcome> all = {Outcome::kTruePositive, Outcome::kFalseNegative, Outcome::kTrueNegative,
                                           Outcome::kFalsePositive};
  return all;
}

// The four counts at one time.
struct Totals {
  Output tp, fn, tn, fp;
};
Totals totals(const Counts& counts, Output Metric::*time) {
  return {counts.at(Outcome::kTruePositive).*time, counts.at(Outcome::kFalseNegative).*time,
          counts.at(Outcome::kTrueNegative).*time, counts.at(Outcome::kFalsePositive).*time};
}

// --- Area under the curve ---

// All but the last, and all but the first element.
Output left(const Output& x) { return slice(x, {0}, {static_cast<int>(x.shape()[0]) - 1}); }
Output right(const Output& x) { return slice(x, {1}, {-1}); }

// The area under precision against recall, between points along the curve that true positives grow evenly on (Davis,
// Goadrich 2006).
Output interpolated_pr_area(const Totals& t) {
  const Output dtp = left(t.tp) - right(t.tp);
  const Output p = t.tp + t.fp;
  const Output slope = div_no_nan(dtp, maximum(left(p) - right(p), 0), {.name = "prec_slope"});
  const Output intercept = right(t.tp) - slope * right(p);
  const Output ratio = where(logical_and(greater(left(p), 0), greater(right(p), 0)),
                             div_no_nan(left(p), maximum(right(p), 0)), ones_like(right(p)));
  return reduce_sum(div_no_nan(slope * (dtp + intercept * log(ratio)), maximum(right(t.tp) + right(t.fn), 0)));
}

Output area(const Totals& t, const AucOptions& options) {
  constexpr float kEpsilon = 1e-6F;
  const bool pr = options.curve == "PR";
  if (pr && options.summation_method == "careful_interpolation") return interpolated_pr_area(t);
  const Output recall = (t.tp + kEpsilon) / (t.tp + t.fn + kEpsilon);
  const Output x = pr ? recall : t.fp / (t.fp + t.tn + kEpsilon);
  const Output y = pr ? (t.tp + kEpsilon) / (t.tp + t.fp + kEpsilon) : recall;
  Output height;
  if (options.summation_method == "minoring") {
    height = minimum(left(y), right(y));
  } else if (options.summation_method == "majoring") {
    height = maximum(left(y), right(y));
  } else {
    height = (left(y) + right(y)) / 2.0F;
  }
  return reduce_sum((left(x) - right(x)) * height);
}

void check(const AucOptions& options) {
  if (options.curve != "ROC" && options.curve != "PR") {
    throw invalid_argument("metrics.auc: the curve is '", options.curve, "'").hint("It is \"ROC\" or \"PR\".");
  }
  const std::vector<std::string> methods = {"trapezoidal", "careful_interpolation", "minoring", "majoring"};
  if (std::ranges::find(methods, options.summation_method) == methods.end()) {
    throw invalid_argument("metrics.auc: the summation method is '", options.summation_method, "'")
        .hint("It is \"trapezoidal\", \"careful_interpolation\", \"minoring\" or \"majoring\".");
  }
  if (options.num_thresholds < 2) throw invalid_argument("metrics.auc: two thresholds or more are wanted");
}

void check_share(const char* function, double share, int num_thresholds) {
  if (!(share >= 0 && share <= 1)) throw invalid_argument("metrics.", function, ": ", share, " is not within [0, 1]");
  if (num_thresholds < 2) throw invalid_argument("metrics.", function, ": two thresholds or more are wanted");
}

Output element(const Output& vector, const Output& i) { return gather(vector, i); }

}  // namespace

Metric true_positives(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return count(Outcome::kTruePositive, labels, predictions, options);
}
Metric true_negatives(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return count(Outcome::kTrueNegative, labels, predictions, options);
}
Metric false_positives(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return count(Outcome::kFalsePositive, labels, predictions, options);
}
Metric false_negatives(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return count(Outcome::kFalseNegative, labels, predictions, options);
}
Metric precision(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return share_of_counts(Outcome::kFalsePositive, "precision", labels, predictions, options);
}
Metric recall(const Operand& labels, const Operand& predictions, const MetricOptions& options) {
  return share_of_counts(Outcome::kFalseNegative, "recall", labels, predictions, options);
}

Metric true_positives_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                                    const MetricOptions& options) {
  return counted_at(Outcome::kTruePositive, labels, predictions, thresholds, options);
}
Metric true_negatives_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                                    const MetricOptions& options) {
  return counted_at(Outcome::kTrueNegative, labels, predictions, thresholds, options);
}
Metric false_positives_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                                     const MetricOptions& options) {
  return counted_at(Outcome::kFalsePositive, labels, predictions, thresholds, options);
}
Metric false_negatives_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                                     const MetricOptions& options) {
  return counted_at(Outcome::kFalseNegative, labels, predictions, thresholds, options);
}
Metric precision_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                               const MetricOptions& options) {
  return share_at(Outcome::kFalsePositive, "precision_at_thresholds", labels, predictions, thresholds, options);
}
Metric recall_at_thresholds(const Operand& labels, const Operand& predictions, const Thresholds& thresholds,
                            const MetricOptions& options) {
  return share_at(Outcome::kFalseNegative, "recall_at_thresholds", labels, predictions, thresholds, options);
}

Metric auc(const Operand& labels, const Operand& predictions, const AucOptions& options) {
  return internal::with_place(options.where, [&] {
    check(options);
    const MetricScope scope(options.name, "auc", options.where);
    Thresholds thresholds = even_thresholds(options.num_thresholds, 1);
    if (!options.thresholds.empty()) {
      const float above = thresholds.back(), below = thresholds.front();
      thresholds = options.thresholds;
      std::ranges::sort(thresholds);
      thresholds.insert(thresholds.begin(), below);
      thresholds.push_back(above);
    }
    const Counts counts = counts_at("metrics.auc", labels, predictions, thresholds, options.weights, all_outcomes());
    return internal::collected(
        Metric{area(totals(counts, &Metric::value), options), area(totals(counts, &Metric::update_op), options)},
        options);
  });
}

Metric sensitivity_at_specificity(const Operand& labels, const Operand& predictions, double specificity,
                                  const AtPointOptions& options) {
  constexpr const char* kName = "sensitivity_at_specificity";
  return internal::with_place(options.where, [&] {
    check_share(kName, specificity, options.num_thresholds);
    const MetricScope scope(options.name, kName, options.where);
    const Counts counts = counts_at(caudal::internal::concat("metrics.", kName), labels, predictions,
                                    even_thresholds(options.num_thresholds, 1), options.weights, all_outcomes());
    const auto at = [&](const Totals& t) {
      constexpr float kEpsilon = 1e-7F;
      const Output distance = abs(t.tn / (t.tn + t.fp + kEpsilon) - specificity);
      const Output i = argmin(distance, 0);
      return element(t.tp, i) / (element(t.tp, i) + element(t.fn, i) + kEpsilon);
    };
    return internal::collected(Metric{at(totals(counts, &Metric::value)), at(totals(counts, &Metric::update_op))},
                               options);
  });
}

Metric specificity_at_sensitivity(const Operand& labels, const Operand& predictions, double sensitivity,
                                  const AtPointOptions& options) {
  constexpr const char* kName = "specificity_at_sensitivity";
  return internal::with_place(options.where, [&] {
    check_share(kName, sensitivity, options.num_thresholds);
    const MetricScope scope(options.name, kName, options.where);
    const Counts counts = counts_at(caudal::internal::concat("metrics.", kName), labels, predictions,
                                    even_thresholds(options.num_thresholds, -1), options.weights, all_outcomes());
    const auto at = [&](const Totals& t) {
      constexpr float kEpsilon = 1e-7F;
      const Output distance = abs(t.tp / (t.tp + t.fn + kEpsilon) - sensitivity);
      // Of equal distances the last: the count of such places so far is greatest there first.
      const Output nearest = equal(distance, reduce_min(distance));
      const Output i = argmax(cumsum(cast(nearest, int64)), 0);
      return element(t.tn, i) / (element(t.tn, i) + element(t.fp, i) + kEpsilon);
    };
    return internal::collected(Metric{at(totals(counts, &Metric::value)), at(totals(counts, &Metric::update_op))},
                               options);
  });
}

}  // namespace caudal::inline v0::metrics
