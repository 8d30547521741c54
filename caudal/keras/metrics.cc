// keras/src/metrics/: means, accuracies, regressions. Counts and curves are in confusion_metrics.cc.
#include "caudal/keras/metrics.h"

#include <map>
#include <tuple>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/class_names.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/top_k.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0::keras {
namespace {

Output binary_accuracy(const Output& y_true, const Output& y_pred, double threshold) {
  const auto [y, p] = to_same_rank(y_true, y_pred);
  return cast(equal(cast(y, float32), cast(greater(p, threshold), float32)), float32);
}

Output accuracy(const Output& y_true, const Output& y_pred) {
  const auto [y, p] = to_same_rank(cast(y_true, y_pred.dtype()), y_pred);
  return cast(equal(y, p), float32);
}

Output categorical_accuracy(const Output& y_true, const Output& y_pred) {
  return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), float32);
}

// Class numbers without a last size of 1.
Output class_numbers(const Output& y_true, const Output& y_pred) {
  const PartialShape& shape = y_true.shape();
  const bool column = shape.has_rank() && shape.rank() == y_pred.shape().rank() && shape[-1] == 1;
  return cast(column ? squeeze(y_true, {-1}) : y_true, int64);
}

Output sparse_categorical_accuracy(const Output& y_true, const Output& y_pred) {
  return cast(equal(class_numbers(y_true, y_pred), argmax(y_pred, -1)), float32);
}

Output top_k_matches(const Output& classes, const Output& y_pred, std::int64_t k) {
  const bool flat = y_pred.shape().rank() == 2;
  const Output p = flat ? y_pred : reshape(y_pred, {-1, static_cast<int>(y_pred.shape()[-1])});
  const Output y = flat ? classes : reshape(classes, {-1});
  const Output matches = cast(nn::in_top_k(p, y, k), float32);
  return flat ? matches : reshape(matches, shape(classes));
}

Config named(const std::string& name) {
  Config config;
  config.set("name", name).set("dtype", "float32");
  return config;
}

std::shared_ptr<Metric> mean_of(const std::string& name, const char* class_name, MeanMetric::Function function,
                                Config extra = {}) {
  Config config = named(name);
  if (extra) {
    for (const auto& [key, value] : extra.members()) config.set(key, value);
  }
  return std::make_shared<MeanMetric>(name, std::move(function), class_name, std::move(config));
}

// --- Regressions ---

class RootMeanSquared final : public Metric {
 public:
  explicit RootMeanSquared(const std::string& name)
      : Metric(name), mean_(name, [](const Output& y_true, const Output& y_pred) {
          const auto [y, p] = to_same_rank(cast(y_true, y_pred.dtype()), y_pred);
          return square(p - y);
        }) {}
  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output& mask) override {
    const std::vector<Operation> done = mean_.update(backend, y_true, y_pred, sample_weight, mask);
    adopt(mean_);
    return done;
  }
  Output result() override { return sqrt(mean_.result()); }
  Config to_config() const override { return object_config("keras.metrics", "RootMeanSquaredError", named(name())); }

 private:
  MeanMetric mean_;
};

// 1 - sum of squared errors / total sum of squares, averaged over the outputs.
class R2 final : public Metric {
 public:
  explicit R2(const std::string& name) : Metric(name) {}
  std::vector<Operation> update(Backend& backend, const Output& y_true, const Output& y_pred,
                                const Output& sample_weight, const Output&) override {
    const auto [y, p] = to_same_rank(cast(y_true, float32), cast(y_pred, float32));
    const Output columns_y = y.shape().rank() == 1 ? expand_dims(y, -1) : y;
    const Output columns_p = p.shape().rank() == 1 ? expand_dims(p, -1) : p;
    const std::int64_t width = columns_p.shape()[-1];
    if (width < 0) throw invalid_argument("r2_score: the number of outputs is not known");
    if (!squared_sum_) {
      squared_sum_ = add_variable(backend, "squared_sum", Shape({width}));
      sum_ = add_variable(backend, "sum", Shape({width}));
      residual_ = add_variable(backend, "residual", Shape({width}));
      count_ = add_variable(backend, "count", Shape({width}));
    }
    Output w = sample_weight ? cast(sample_weight, float32) : ones({1, 1});
    if (sample_weight && w.shape().rank() == 1) w = expand_dims(w, 1);
    const Output weighted = columns_y * w;
    return {add(*sum_, reduce_sum(weighted, {.axis = 0})),
            add(*squared_sum_, reduce_sum(columns_y * weighted, {.axis = 0})),
            add(*residual_, reduce_sum(square(columns_y - columns_p) * w, {.axis = 0})),
            add(*count_, reduce_sum(broadcast_to(w, shape(columns_y)), {.axis = 0}))};
  }
  Output result() override {
    const Output mean = now(*sum_) / now(*count_);
    const Output total = now(*squared_sum_) - now(*sum_) * mean;
    return reduce_mean(1.0F - now(*residual_) / total);
  }
  Config to_config() const override { return object_config("keras.metrics", "R2Score", named(name())); }

 private:
  WeightRef squared_sum_, sum_, residual_, count_;
};

// --- By name ---

using Settings = Config;
std::string text(const Settings& s, std::string_view key, std::string otherwise) {
  const Config* found = s.find(key);
  return found == nullptr || found->is_null() ? std::move(otherwise) : found->text();
}
double number(const Settings& s, std::string_view key, double otherwise) {
  const Config* found = s.find(key);
  return found == nullptr || found->is_null() ? otherwise : found->number();
}

metrics::ConfusionOptions confusion(const Settings& s) {
  metrics::ConfusionOptions o;
  if (const Config* t = s.find("thresholds"); t != nullptr && !t->is_null()) {
    o.thresholds.clear();
    if (t->is_number()) o.thresholds.push_back(t->number());
    if (t->is_list()) {
      for (const Config& item : t->list()) o.thresholds.push_back(item.number());
    }
  }
  if (const Config* k = s.find("top_k"); k != nullptr && !k->is_null()) o.top_k = k->integer();
  if (const Config* c = s.find("class_id"); c != nullptr && !c->is_null()) o.class_id = c->integer();
  o.name = text(s, "name", "");
  return o;
}

metrics::AUCOptions auc(const Settings& s) {
  metrics::AUCOptions o;
  o.num_thresholds = static_cast<std::int64_t>(number(s, "num_thresholds", 200));
  o.curve = text(s, "curve", o.curve);
  o.summation_method = text(s, "summation_method", o.summation_method);
  if (const Config* logits = s.find("from_logits"); logits != nullptr && !logits->is_null()) {
    o.from_logits = logits->boolean();
  }
  o.name = text(s, "name", "");
  return o;
}

using Maker = MetricRef (*)(const Settings&);
const std::map<std::string, Maker, std::less<>>& table() {
  static const auto* const makers = new std::map<std::string, Maker, std::less<>>{
      {"binary_accuracy",
       [](const Settings& s) {
         return metrics::BinaryAccuracy(number(s, "threshold", 0.5), text(s, "name", "binary_accuracy"));
       }},
      {"categorical_accuracy",
       [](const Settings& s) { return metrics::CategoricalAccuracy(text(s, "name", "categorical_accuracy")); }},
      {"sparse_categorical_accuracy",
       [](const Settings& s) {
         return metrics::SparseCategoricalAccuracy(text(s, "name", "sparse_categorical_accuracy"));
       }},
      {"top_k_categorical_accuracy",
       [](const Settings& s) {
         return metrics::TopKCategoricalAccuracy(static_cast<std::int64_t>(number(s, "k", 5)),
                                                 text(s, "name", "top_k_categorical_accuracy"));
       }},
      {"sparse_top_k_categorical_accuracy",
       [](const Settings& s) {
         return metrics::SparseTopKCategoricalAccuracy(static_cast<std::int64_t>(number(s, "k", 5)),
                                                       text(s, "name", "sparse_top_k_categorical_accuracy"));
       }},
      {"root_mean_squared_error",
       [](const Settings& s) { return metrics::RootMeanSquaredError(text(s, "name", "root_mean_squared_error")); }},
      {"cosine_similarity",
       [](const Settings& s) { return metrics::CosineSimilarity(text(s, "name", "cosine_similarity")); }},
      {"r2_score", [](const Settings& s) { return metrics::R2Score(text(s, "name", "r2_score")); }},
      {"true_positives", [](const Settings& s) { return metrics::TruePositives(confusion(s)); }},
      {"true_negatives", [](const Settings& s) { return metrics::TrueNegatives(confusion(s)); }},
      {"false_positives", [](const Settings& s) { return metrics::FalsePositives(confusion(s)); }},
      {"false_negatives", [](const Settings& s) { return metrics::FalseNegatives(confusion(s)); }},
      {"precision", [](const Settings& s) { return metrics::Precision(confusion(s)); }},
      {"recall", [](const Settings& s) { return metrics::Recall(confusion(s)); }},
      {"auc", [](const Settings& s) { return metrics::AUC(auc(s)); }},
      {"mean", [](const Settings& s) { return metrics::Mean(text(s, "name", "mean")); }},
  };
  return *makers;
}

// The losses are metrics too, under their class's name.
MetricRef from_loss(const std::string& name, const Config& config) {
  const Loss loss = Loss::from_config(config);
  std::string shown = loss.name();
  if (config.is_string()) shown = name;
  Config settings = named(shown);
  return {std::static_pointer_cast<Metric>(
      std::make_shared<MeanMetric>(shown, loss.function(), loss.to_config()["class_name"].text(), settings))};
}

MetricRef by_name(const Config& config) {
  const std::string name = config.is_string() ? config.text() : config["class_name"].text();
  const Config* settings = config.find("config");
  static const Config nothing = Config::map();
  const Config& given = settings == nullptr || !settings->is_map() ? nothing : *settings;
  if (name == "MeanMetricWrapper") return MetricRef::from_config(text(given, "name", "accuracy"));
  const std::string key = snake_case(name);
  if (const auto found = table().find(key); found != table().end()) return found->second(given);
  try {
    return from_loss(name, config);
  } catch (const Error&) {
    std::vector<std::string> known = {"accuracy"};
    for (const auto& [metric, maker] : table()) known.push_back(metric);
    throw_unknown("metric", name, known);
  }
}

}  // namespace

// --- Metric ---

Metric::~Metric() = default;

WeightRef Metric::add_variable(Backend& backend, const std::string& name, const Shape& shape) {
  const WeightRef variable = backend.add_weight(
      {.name = name, .path = backend.unique_name("metrics/" + name_) + "/" + name, .shape = shape, .trainable = false},
      Tensor::zeros(float32, shape));
  variables_.push_back(variable);
  return variable;
}

void Metric::adopt(const Metric& other) { variables_ = other.variables_; }

Operation Metric::add(const Weight& variable, const Output& amount) {
  return raw_ops::assign_add_variable_op(variable.variable().handle(), amount, variable.dtype());
}

Output Metric::now(const Weight& variable) { return variable.variable().read_value(); }

Operation Metric::reset() {
  std::vector<Operation> done;
  for (const WeightRef& variable : variables_) {
    const Output none = constant(Tensor::zeros(variable->dtype(), variable->shape()));
    done.push_back(raw_ops::assign_variable_op(variable->variable().handle(), none, variable->dtype()));
  }
  return group(done);
}

// --- MeanMetric ---

MeanMetric::MeanMetric(std::string name, Function function, std::string class_name, Config config)
    : Metric(std::move(name)),
      function_(std::move(function)),
      class_name_(std::move(class_name)),
      config_(std::move(config)) {}

void MeanMetric::make_variables(Backend& backend) {
  if (total_) return;
  total_ = add_variable(backend, "total");
  count_ = add_variable(backend, "count");
}

namespace {
// The mean over all axes from `first` on.
Output mean_from(const Output& x, int first) {
  std::vector<int> axes;
  for (int i = first; i < x.shape().rank(); ++i) axes.push_back(i);
  return axes.empty() ? x : reduce_mean(x, {.axis = axes});
}
}  // namespace

// keras/src/metrics/reduction_metrics.py: a value per example, then the weighted mean over the examples.
std::vector<Operation> MeanMetric::update(Backend& backend, const Output& y_true, const Output& y_pred,
                                          const Output& sample_weight, const Output& mask) {
  make_variables(backend);
  Output values = cast(function_(y_true, y_pred), float32);
  Output weights = sample_weight ? cast(sample_weight, float32) : Output();
  if (mask) {
    const Output valid = cast(mask, float32);
    if (weights) {
      const auto [a, b] = to_same_rank(valid, weights);
      weights = a * b;
    } else {
      weights = valid;
    }
  }
  Output count;
  if (weights) {
    std::tie(values, weights) = to_same_rank(values, weights);
    const int weight_rank = weights.shape().rank();
    if (values.shape().rank() > weight_rank) values = mean_from(values, weight_rank);
    weights = broadcast_to(weights, shape(values));
    values = values * weights;
    if (weight_rank > 1) weights = mean_from(weights, 1);
    count = reduce_sum(weights);
  }
  if (values.shape().rank() > 1) values = mean_from(values, 1);
  if (!count) count = cast(size(values), float32);
  return {add(*total_, reduce_sum(values)), add(*count_, count)};
}

std::vector<Operation> MeanMetric::update_scalar(Backend& backend, const Output& value, const Output& examples) {
  make_variables(backend);
  return {add(*total_, cast(value, float32) * examples), add(*count_, examples)};
}

Output MeanMetric::result() { return div_no_nan(now(*total_), now(*count_)); }

Config MeanMetric::to_config() const {
  if (class_name_.empty()) {
    throw unimplemented("the metric '", name(), "' is a function of the program and has no name in files");
  }
  return object_config("keras.metrics", class_name_, config_);
}

// --- MetricRef ---

std::shared_ptr<Metric> MetricRef::resolve(const PartialShape& y_true, const PartialShape& y_pred) const {
  if (metric_) return metric_;
  const std::string key = snake_case(name_);
  if (key == "accuracy" || key == "acc") {
    const bool known = y_true.has_rank() && y_pred.has_rank() && y_pred.rank() > 0;
    const std::int64_t classes = known ? y_pred[-1] : -1;
    const bool sparse = known && (y_true.rank() < y_pred.rank() || (y_true[-1] == 1 && classes > 1));
    if (classes == 1) return metrics::BinaryAccuracy(0.5, name_).metric_;
    if (sparse) return metrics::SparseCategoricalAccuracy(name_).metric_;
    return metrics::CategoricalAccuracy(name_).metric_;
  }
  std::shared_ptr<Metric> metric = by_name(name_).metric_;
  metric->set_name(name_);
  return metric;
}

Config MetricRef::to_config() const { return metric_ ? metric_->to_config() : Config(name_); }

MetricRef MetricRef::from_config(const Config& config) { return config.is_string() ? config.text() : by_name(config); }

namespace metrics {

MetricRef Accuracy(const std::string& name) { return mean_of(name, "Accuracy", accuracy); }

MetricRef BinaryAccuracy(double threshold, const std::string& name) {
  Config extra;
  extra.set("threshold", threshold);
  return mean_of(
      name, "BinaryAccuracy",
      [threshold](const Output& y, const Output& p) { return binary_accuracy(y, p, threshold); }, std::move(extra));
}

MetricRef CategoricalAccuracy(const std::string& name) {
  return mean_of(name, "CategoricalAccuracy", categorical_accuracy);
}

MetricRef SparseCategoricalAccuracy(const std::string& name) {
  return mean_of(name, "SparseCategoricalAccuracy", sparse_categorical_accuracy);
}

MetricRef TopKCategoricalAccuracy(std::int64_t k, const std::string& name) {
  Config extra;
  extra.set("k", k);
  return mean_of(
      name, "TopKCategoricalAccuracy",
      [k](const Output& y, const Output& p) { return top_k_matches(argmax(y, -1), p, k); }, std::move(extra));
}

MetricRef SparseTopKCategoricalAccuracy(std::int64_t k, const std::string& name) {
  Config extra;
  extra.set("k", k);
  return mean_of(
      name, "SparseTopKCategoricalAccuracy",
      [k](const Output& y, const Output& p) { return top_k_matches(class_numbers(y, p), p, k); }, std::move(extra));
}

MetricRef RootMeanSquaredError(const std::string& name) {
  return {std::static_pointer_cast<Metric>(std::make_shared<RootMeanSquared>(name))};
}

MetricRef CosineSimilarity(const std::string& name) {
  const Loss loss = losses::CosineSimilarity();
  return mean_of(name, "CosineSimilarity", [loss](const Output& y, const Output& p) { return -loss.function()(y, p); });
}

MetricRef R2Score(const std::string& name) { return {std::static_pointer_cast<Metric>(std::make_shared<R2>(name))}; }

MetricRef Mean(const std::string& name) {
  return mean_of(name, "Mean", [](const Output&, const Output& p) { return p; });
}

}  // namespace metrics

}  // namespace caudal::inline v0::keras
