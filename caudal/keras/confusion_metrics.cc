// keras/src/metrics/confusion_metrics.py: counts at thresholds, precision, recall, area under curves.
#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/metrics.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/top_k.h"

namespace caudal::inline v0::keras {
namespace {

using metrics::AUCOptions;
using metrics::ConfusionOptions;

constexpr double kEpsilon = 1e-7;

// Labels, predictions and weights as rows of numbers, with one row per threshold after comparing.
struct Compared {
  Output label;      // [1, n] bool
  Output predicted;  // [thresholds, n] bool
  Output weight;     // [1, n] float, none without weights
};

Output only_top_k(const Output& p, std::int64_t k) {
  const Output places = nn::top_k(p, k).indices;
  const Output chosen = reduce_sum(one_hot(places, static_cast<int>(p.shape()[-1])), {.axis = -2});
  return p * chosen + (1.0F - chosen) * -1e10F;
}

Compared compare(const Output& y_true, const Output& y_pred, const Output& sample_weight,
                 const std::vector<double>& thresholds, const ConfusionOptions& o) {
  auto [p, y] = to_same_rank(cast(y_pred, float32), cast(y_true, float32));
  Output w = sample_weight ? cast(sample_weight, float32) : Output();
  // A weight per example, for all its outputs.
  while (w && w.shape().rank() < p.shape().rank()) w = expand_dims(w, -1);
  if (o.top_k) p = only_top_k(p, *o.top_k);
  if (o.class_id) {
    if (p.shape().rank() < 2) throw invalid_argument("class_id needs predictions with a number per class");
    y = index(y, {kEllipsis, *o.class_id, kNewAxis});
    p = index(p, {kEllipsis, *o.class_id, kNewAxis});
  }
  Compared out;
  if (w) out.weight = reshape(broadcast_to(w, shape(p)), {1, -1});
  std::vector<float> limits(thresholds.begin(), thresholds.end());
  const Output column = constant(Tensor::from(Shape({static_cast<std::int64_t>(limits.size()), 1}), limits));
  out.label = reshape(cast(y, boolean), {1, -1});
  out.predicted = greater(reshape(p, {1, -1}), column);
  return out;
}

Output counted(const Output& flags, const Output& weight) {
  const Output ones = cast(flags, float32);
  return reduce_sum(weight ? ones * weight : ones, {.axis = 1});
}

Output first_or_all(const Output& values) { return values.shape()[0] == 1 ? index(values, {0}) : reduce_mean(values); }

Config thresholds_config(const ConfusionOptions& o) {
  return o.thresholds.size() == 1 ? Config(o.thresholds[0])
                                  : Config(Config::List(o.thresholds.begin(), o.thresholds.end()));
}

// Where both flags are as asked for.
enum class Count { kTruePositives, kTrueNegatives, kFalsePositives, kFalseNegatives };

Output matching(const Compared& c, Count count) {
  switch (count) {
    case Count::kTruePositives:
      return counted(logical_and(c.label, c.predicted), c.weight);
    case Count::kTrueNegatives:
      return counted(logical_and(logical_not(c.label), logical_not(c.predicted)), c.weight);
    case Count::kFalsePositives:
      return counted(logical_and(logical_not(c.label), c.predicted), c.weight);
    default:
      return counted(logical_and(c.label, logical_not(c.predicted)), c.weight);
  }
}

class ConditionCount final : public Metric {
 public:
  ConditionCount(const char* class_name, Count count, ConfusionOptions o)
      : Metric(o.name.empty() ? snake_case(class_name) : o.name), class_name_(class_name), count_(count), o_(o) {}
  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output&) override {
    if (!sum_) sum_ = add_variable(backend, "accumulator", Shape({static_cast<std::int64_t>(o_.thresholds.size())}));
    return {add(*sum_, matching(compare(y_true, y_pred, sample_weight, o_.thresholds, o_), count_))};
  }
  Output result() override { return first_or_all(now(*sum_)); }
  Config to_config() const override {
    Config config;
    config.set("name", name()).set("dtype", "float32").set("thresholds", thresholds_config(o_));
    return object_config("keras.metrics", class_name_, std::move(config));
  }

 private:
  const char* class_name_;
  Count count_;
  ConfusionOptions o_;
  WeightRef sum_;
};

// True positives over them and one kind of mistake.
class Share final : public Metric {
 public:
  Share(const char* class_name, Count mistake, ConfusionOptions o)
      : Metric(o.name.empty() ? snake_case(class_name) : o.name), class_name_(class_name), mistake_(mistake), o_(o) {
    // The top k are what counts as predicted, whatever their values.
    if (o_.top_k && o_.thresholds == std::vector<double>{0.5}) limits_ = {-1e10};
    if (limits_.empty()) limits_ = o_.thresholds;
  }
  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output&) override {
    if (!right_) {
      const Shape shape({static_cast<std::int64_t>(limits_.size())});
      right_ = add_variable(backend, "true_positives", shape);
      wrong_ = add_variable(backend, mistake_ == Count::kFalsePositives ? "false_positives" : "false_negatives", shape);
    }
    const Compared c = compare(y_true, y_pred, sample_weight, limits_, o_);
    return {add(*right_, matching(c, Count::kTruePositives)), add(*wrong_, matching(c, mistake_))};
  }
  Output result() override {
    const Output right = now(*right_);
    return first_or_all(div_no_nan(right, right + now(*wrong_)));
  }
  Config to_config() const override {
    Config config;
    config.set("name", name()).set("dtype", "float32").set("thresholds", thresholds_config(o_));
    config.set("top_k", o_.top_k ? Config(*o_.top_k) : Config());
    config.set("class_id", o_.class_id ? Config(*o_.class_id) : Config());
    return object_config("keras.metrics", class_name_, std::move(config));
  }

 private:
  const char* class_name_;
  Count mistake_;
  ConfusionOptions o_;
  std::vector<double> limits_;
  WeightRef right_, wrong_;
};

class AreaUnderCurve final : public Metric {
 public:
  explicit AreaUnderCurve(AUCOptions o) : Metric(o.name.empty() ? "auc" : o.name), o_(std::move(o)) {
    if (o_.num_thresholds <= 1) throw invalid_argument("AUC: num_thresholds must be above 1, not ", o_.num_thresholds);
    if (o_.curve != "ROC" && o_.curve != "PR") throw_unknown("curve of AUC", o_.curve, {"ROC", "PR"});
    const std::vector<std::string> methods = {"interpolation", "minoring", "majoring"};
    if (std::ranges::find(methods, o_.summation_method) == methods.end()) {
      throw_unknown("summation_method of AUC", o_.summation_method, methods);
    }
    thresholds_.push_back(-kEpsilon);
    for (std::int64_t i = 1; i + 1 < o_.num_thresholds; ++i) {
      thresholds_.push_back(static_cast<double>(i) / static_cast<double>(o_.num_thresholds - 1));
    }
    thresholds_.push_back(1 + kEpsilon);
  }

  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output&) override {
    if (!tp_) {
      const Shape shape({o_.num_thresholds});
      tp_ = add_variable(backend, "true_positives", shape);
      fp_ = add_variable(backend, "false_positives", shape);
      tn_ = add_variable(backend, "true_negatives", shape);
      fn_ = add_variable(backend, "false_negatives", shape);
    }
    const Compared c =
        compare(y_true, o_.from_logits ? sigmoid(y_pred) : y_pred, sample_weight, thresholds_, ConfusionOptions{});
    return {add(*tp_, matching(c, Count::kTruePositives)), add(*fp_, matching(c, Count::kFalsePositives)),
            add(*tn_, matching(c, Count::kTrueNegatives)), add(*fn_, matching(c, Count::kFalseNegatives))};
  }

  Output result() override {
    const Output tp = now(*tp_), fp = now(*fp_), tn = now(*tn_), fn = now(*fn_);
    if (o_.curve == "PR" && o_.summation_method == "interpolation") return interpolated_pr(tp, fp, fn);
    const Output recall = div_no_nan(tp, tp + fn);
    const Output x = o_.curve == "ROC" ? div_no_nan(fp, fp + tn) : recall;
    const Output y = o_.curve == "ROC" ? recall : div_no_nan(tp, tp + fp);
    const Output heights = o_.summation_method == "interpolation" ? (head(y) + tail(y)) / 2.0F
                           : o_.summation_method == "minoring"    ? minimum(head(y), tail(y))
                                                                  : maximum(head(y), tail(y));
    return reduce_sum((head(x) - tail(x)) * heights);
  }

  Config to_config() const override {
    Config config;
    config.set("name", name()).set("dtype", "float32").set("num_thresholds", o_.num_thresholds);
    config.set("curve", o_.curve).set("summation_method", o_.summation_method).set("multi_label", false);
    config.set("num_labels", {}).set("label_weights", {}).set("from_logits", o_.from_logits);
    return object_config("keras.metrics", "AUC", std::move(config));
  }

 private:
  static Output head(const Output& x) { return index(x, {Slice{{}, -1}}); }
  static Output tail(const Output& x) { return index(x, {Slice{1, {}}}); }

  // Davis, Goadrich 2006.
  static Output interpolated_pr(const Output& tp, const Output& fp, const Output& fn) {
    const Output p = tp + fp;
    const Output dtp = head(tp) - tail(tp);
    const Output slope = div_no_nan(dtp, maximum(head(p) - tail(p), 0.0F));
    const Output intercept = tail(tp) - slope * tail(p);
    const Output ratio = where(logical_and(greater(head(p), 0.0F), greater(tail(p), 0.0F)),
                               div_no_nan(head(p), maximum(tail(p), 0.0F)), 1.0F);
    return reduce_sum(div_no_nan(slope * (dtp + intercept * log(ratio)), maximum(tail(tp) + tail(fn), 0.0F)));
  }

  AUCOptions o_;
  std::vector<double> thresholds_;
  WeightRef tp_, fp_, tn_, fn_;
};

MetricRef shared(std::shared_ptr<Metric> metric) { return {std::move(metric)}; }

}  // namespace

namespace metrics {

MetricRef TruePositives(const ConfusionOptions& o) {
  return shared(std::make_shared<ConditionCount>("TruePositives", Count::kTruePositives, o));
}
MetricRef TrueNegatives(const ConfusionOptions& o) {
  return shared(std::make_shared<ConditionCount>("TrueNegatives", Count::kTrueNegatives, o));
}
MetricRef FalsePositives(const ConfusionOptions& o) {
  return shared(std::make_shared<ConditionCount>("FalsePositives", Count::kFalsePositives, o));
}
MetricRef FalseNegatives(const ConfusionOptions& o) {
  return shared(std::make_shared<ConditionCount>("FalseNegatives", Count::kFalseNegatives, o));
}
MetricRef Precision(const ConfusionOptions& o) {
  return shared(std::make_shared<Share>("Precision", Count::kFalsePositives, o));
}
MetricRef Recall(const ConfusionOptions& o) {
  return shared(std::make_shared<Share>("Recall", Count::kFalseNegatives, o));
}
MetricRef AUC(const AUCOptions& o) { return shared(std::make_shared<AreaUnderCurve>(o)); }

}  // namespace metrics

}  // namespace caudal::inline v0::keras
