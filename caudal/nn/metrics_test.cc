#include "caudal/nn/metrics.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "caudal/base/error.h"
#include "caudal/nn/nn_case.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable.h"

namespace caudal::metrics {
namespace {

using Build = std::function<Metric(const NnCase&, const std::optional<Operand>&)>;
using LabelledMetric = Metric (*)(const Operand&, const Operand&, const MetricOptions&);
using ThresholdMetric = Metric (*)(const Operand&, const Operand&, const Thresholds&, const MetricOptions&);

Build labelled(LabelledMetric metric) {
  return [=](const NnCase& c, const std::optional<Operand>& w) {
    return metric(c.input("labels"), c.input("p"), {.weights = w});
  };
}

Build at_thresholds(ThresholdMetric metric) {
  return [=](const NnCase& c, const std::optional<Operand>& w) {
    return metric(c.input("labels"), c.input("p"), {0.2F, 0.5F, 0.8F}, {.weights = w});
  };
}

Build area(AucOptions options) {
  return [=](const NnCase& c, const std::optional<Operand>& w) {
    AucOptions weighted = options;
    weighted.weights = w;
    return auc(c.input("labels"), c.input("p"), weighted);
  };
}

Build best(Metric (*metric)(const Operand&, const Operand&, int, const AtKOptions&), int k,
           std::optional<std::int64_t> class_id = {}) {
  return [=](const NnCase& c, const std::optional<Operand>& w) {
    return metric(c.input("labels"), c.input("p"), k, {.class_id = class_id, .weights = w});
  };
}

Build best_given(Metric (*metric)(const Operand&, const Operand&, const AtKOptions&)) {
  return [=](const NnCase& c, const std::optional<Operand>& w) {
    return metric(c.input("labels"), c.input("p"), {.weights = w});
  };
}

const std::map<std::string, Build>& builders() {
  static const std::map<std::string, Build> all = {
      {"accuracy", labelled(accuracy)},
      {"mean_absolute_error", labelled(mean_absolute_error)},
      {"mean_squared_error", labelled(mean_squared_error)},
      {"root_mean_squared_error", labelled(root_mean_squared_error)},
      {"mean_relative_error",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return mean_relative_error(c.input("labels"), c.input("p"), c.input("n"), {.weights = w});
       }},
      {"mean_cosine_distance",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return mean_cosine_distance(c.input("labels"), c.input("p"), 1, {.weights = w});
       }},
      {"mean", [](const NnCase& c, const std::optional<Operand>& w) { return mean(c.input("p"), {.weights = w}); }},
      {"mean_tensor",
       [](const NnCase& c, const std::optional<Operand>& w) { return mean_tensor(c.input("p"), {.weights = w}); }},
      {"percentage_below",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return percentage_below(c.input("p"), 0.25, {.weights = w});
       }},
      {"true_positives", labelled(true_positives)},
      {"true_negatives", labelled(true_negatives)},
      {"false_positives", labelled(false_positives)},
      {"false_negatives", labelled(false_negatives)},
      {"precision", labelled(precision)},
      {"recall", labelled(recall)},
      {"true_positives_at_thresholds", at_thresholds(true_positives_at_thresholds)},
      {"true_negatives_at_thresholds", at_thresholds(true_negatives_at_thresholds)},
      {"false_positives_at_thresholds", at_thresholds(false_positives_at_thresholds)},
      {"false_negatives_at_thresholds", at_thresholds(false_negatives_at_thresholds)},
      {"precision_at_thresholds", at_thresholds(precision_at_thresholds)},
      {"recall_at_thresholds", at_thresholds(recall_at_thresholds)},
      {"auc_roc", area({.num_thresholds = 20})},
      {"auc_pr", area({.num_thresholds = 20, .curve = "PR", .summation_method = "careful_interpolation"})},
      {"auc_pr_trapezoidal", area({.num_thresholds = 20, .curve = "PR"})},
      {"auc_minoring", area({.num_thresholds = 20, .summation_method = "minoring"})},
      {"auc_majoring", area({.summation_method = "majoring", .thresholds = {0.6F, 0.3F}})},
      {"sensitivity_at_specificity",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return sensitivity_at_specificity(c.input("labels"), c.input("p"), 0.6, {.weights = w, .num_thresholds = 20});
       }},
      {"specificity_at_sensitivity",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return specificity_at_sensitivity(c.input("labels"), c.input("p"), 0.6, {.weights = w, .num_thresholds = 20});
       }},
      {"mean_iou",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return mean_iou(c.input("labels"), c.input("p"), 5, {.weights = w});
       }},
      {"mean_per_class_accuracy",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return mean_per_class_accuracy(c.input("labels"), c.input("p"), 5, {.weights = w});
       }},
      {"precision_at_k", best(precision_at_k, 3)},
      {"precision_at_k_class", best(precision_at_k, 3, 2)},
      {"recall_at_k", best(recall_at_k, 3)},
      {"recall_at_k_class", best(recall_at_k, 3, 2)},
      {"recall_at_k_flat", best(recall_at_k, 2)},
      {"precision_at_top_k", best_given(precision_at_top_k)},
      {"recall_at_top_k", best_given(recall_at_top_k)},
      {"average_precision_at_k",
       [](const NnCase& c, const std::optional<Operand>& w) {
         return average_precision_at_k(c.input("labels"), c.input("p"), 4, {.weights = w});
       }},
  };
  return all;
}

TEST(Metrics, AreTensorFlows) {
  for (const auto& [name, build] : builders()) {
    for (const bool weighted : {false, true}) {
      const NnCase c("metrics." + name + (weighted ? ".weighted" : ".one"));
      std::optional<Operand> weights;
      if (weighted) weights = c.input("weights");
      const Metric metric = build(c, weights);
      EXPECT_EQ(c.check({metric.value, metric.update_op, metric.value}, {.then = {metric.update_op}, .steps = 2}), "");
      EXPECT_EQ(default_graph().collection(graph_keys::kMetricVariables).size(), local_variables().size());
    }
  }
}

TEST(Metrics, ConfusionMatrix) {
  const NnCase c("metrics.confusion_matrix");
  const Output y = c.input("labels"), p = c.input("p");
  EXPECT_EQ(
      c.check({math::confusion_matrix(y, p, {.num_classes = 5}), math::confusion_matrix(y, p),
               math::confusion_matrix(y, p, {.num_classes = 4, .weights = c.input("weights"), .dtype = float64})}),
      "");
}

class MetricsTest : public ::testing::Test {
 protected:
  static std::string message_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};
};

TEST_F(MetricsTest, GatherOverBatchesAndStartAnew) {
  const Output y = placeholder(int64, {-1}), p = placeholder(int64, {-1});
  const Metric metric = accuracy(y, p, {.metrics_collections = {"values"}, .updates_collections = {"updates"}});
  session_.run(local_variables_initializer());
  using Ints = std::vector<std::int64_t>;
  session_.run(metric.update_op, {{y, Tensor(Ints{1, 2, 3})}, {p, Tensor(Ints{1, 0, 3})}});
  EXPECT_FLOAT_EQ(session_.run(metric.update_op, {{y, Tensor(Ints{1})}, {p, Tensor(Ints{1})}}).item<float>(), 0.75F);
  EXPECT_FLOAT_EQ(session_.run(metric.value).item<float>(), 0.75F);
  session_.run(local_variables_initializer());
  EXPECT_FLOAT_EQ(session_.run(metric.value).item<float>(), 0);
  EXPECT_EQ(graph_.collection("values")[0].output, metric.value);
  EXPECT_EQ(graph_.collection("updates")[0].output, metric.update_op);
}

TEST_F(MetricsTest, BadNumbersAreErrorsWhenRun) {
  const Output y = placeholder(int64, {-1}), p = placeholder(float32, {-1});
  const Metric points = auc(y, p), classes = mean_per_class_accuracy(y, y, 3);
  session_.run(local_variables_initializer());
  const Tensor one(std::vector<std::int64_t>{1});
  const std::string range = message_of([&] {
    session_.run(points.update_op, {{y, one}, {p, Tensor(std::vector<float>{1.5F})}});
  });
  EXPECT_NE(range.find("predictions must be in [0, 1]"), std::string::npos) << range;
  const Tensor bad(std::vector<std::int64_t>{3});
  const std::string labels = message_of([&] { session_.run(classes.update_op, {{y, bad}}); });
  EXPECT_NE(labels.find("INVALID_ARGUMENT"), std::string::npos) << labels;
  EXPECT_NE(labels.find("`labels` out of bound"), std::string::npos) << labels;
}

TEST_F(MetricsTest, ErrorsShowBothShapes) {
  const Output y = placeholder(float32, {-1, 4}, {.name = "y"}), p = placeholder(float32, {-1, 3}, {.name = "p"});
  const std::string message = message_of([&] { mean_squared_error(y, p); });
  EXPECT_NE(message.find("metrics.mean_squared_error"), std::string::npos) << message;
  EXPECT_NE(message.find("float32[?,4] 'y:0'"), std::string::npos) << message;
  EXPECT_NE(message.find("metrics_test.cc:"), std::string::npos) << message;
  EXPECT_THROW(auc(y, y, {.curve = "LIFT"}), Error);
  EXPECT_THROW(average_precision_at_k(y, y, 0), Error);
}

}  // namespace
}  // namespace caudal::metrics
