#include "caudal/nn/losses.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/base/error.h"
#include "caudal/nn/nn_case.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/reduction.h"

namespace caudal::losses {
namespace {

using Build = std::function<Output(const NnCase&, const LossOptions&)>;

const std::map<std::string, Build>& builders() {
  static const std::map<std::string, Build> all = {
      {"absolute_difference",
       [](const NnCase& c, const LossOptions& o) { return absolute_difference(c.input("labels"), c.input("p"), o); }},
      {"mean_squared_error",
       [](const NnCase& c, const LossOptions& o) { return mean_squared_error(c.input("labels"), c.input("p"), o); }},
      {"hinge_loss",
       [](const NnCase& c, const LossOptions& o) { return hinge_loss(c.input("labels"), c.input("p"), o); }},
      {"huber_loss",
       [](const NnCase& c, const LossOptions& o) {
         return huber_loss(c.input("labels"), c.input("p"),
                           {.weights = o.weights, .delta = 0.7F, .reduction = o.reduction});
       }},
      {"log_loss",
       [](const NnCase& c, const LossOptions& o) {
         return log_loss(c.input("labels"), c.input("p"), {.weights = o.weights, .reduction = o.reduction});
       }},
      {"cosine_distance",
       [](const NnCase& c, const LossOptions& o) {
         return cosine_distance(c.input("labels"), c.input("p"),
                                {.axis = 1, .weights = o.weights, .reduction = o.reduction});
       }},
      {"sigmoid_cross_entropy",
       [](const NnCase& c, const LossOptions& o) {
         return sigmoid_cross_entropy(c.input("labels"), c.input("p"),
                                      {.weights = o.weights, .label_smoothing = 0.1F, .reduction = o.reduction});
       }},
      {"softmax_cross_entropy",
       [](const NnCase& c, const LossOptions& o) {
         return softmax_cross_entropy(c.input("labels"), c.input("p"),
                                      {.weights = o.weights, .label_smoothing = 0.1F, .reduction = o.reduction});
       }},
      {"sparse_softmax_cross_entropy",
       [](const NnCase& c, const LossOptions& o) {
         return sparse_softmax_cross_entropy(c.input("labels"), c.input("p"), o);
       }},
  };
  return all;
}

const std::map<std::string, Reduction>& reductions() {
  static const std::map<std::string, Reduction> all = {
      {"none", Reduction::kNone},
      {"weighted_sum", Reduction::kSum},
      {"weighted_sum_over_batch_size", Reduction::kSumOverBatchSize},
      {"weighted_mean", Reduction::kMean},
      {"weighted_sum_by_nonzero_weights", Reduction::kSumByNonzeroWeights}};
  return all;
}

TEST(Losses, AreTensorFlows) {
  for (const auto& [name, build] : builders()) {
    for (const std::string weighting : {"one", "vector", "zero"}) {
      for (const auto& [reduction_name, reduction] : reductions()) {
        if (weighting == "zero" && reduction == Reduction::kNone) continue;
        const NnCase c(name + "." + weighting + "." + reduction_name);
        LossOptions options{.reduction = reduction};
        if (weighting != "one") options.weights = c.input("weights");
        const Output loss = build(c, options);
        EXPECT_EQ(get_losses(), std::vector<Output>{loss});
        EXPECT_EQ(c.check({loss}), "");
      }
    }
  }
}

TEST(Losses, PairsWithinExamples) {
  for (const std::string weighting : {"one", "vector"}) {
    const NnCase c("mean_pairwise_squared_error." + weighting);
    PairwiseOptions options;
    if (weighting == "vector") options.weights = c.input("weights");
    EXPECT_EQ(c.check({mean_pairwise_squared_error(c.input("labels"), c.input("p"), options)}, {.tolerance = 2e-6}),
              "");
  }
}

TEST(Losses, LowLevelForms) {
  const NnCase c("nn_losses");
  const Output z = c.input("z"), x = c.input("x"), y = c.input("y"), x2 = c.input("x2");
  EXPECT_EQ(
      c.check({nn::weighted_cross_entropy_with_logits({.labels = z, .logits = x, .pos_weight = 1.7F}),
               nn::log_poisson_loss(y, x2), nn::log_poisson_loss(y, x2, {.compute_full_loss = true}), nn::l2_loss(x)}),
      "");
}

class LossesTest : public ::testing::Test {
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
};

TEST_F(LossesTest, TotalsAddPenalties) {
  EXPECT_THROW(get_total_loss(), Error);
  const Output loss = absolute_difference(std::vector<float>{1, 2}, std::vector<float>{2, 4});
  add_loss(constant(3.0F), std::string(graph_keys::kRegularizationLosses));
  Session session;
  EXPECT_FLOAT_EQ(session.run(get_total_loss()).item<float>(), 4.5F);
  EXPECT_FLOAT_EQ(session.run(get_total_loss({.add_regularization_losses = false})).item<float>(), 1.5F);
  EXPECT_FLOAT_EQ(session.run(get_regularization_loss()).item<float>(), 3.0F);
  EXPECT_TRUE(get_losses("elsewhere").empty());
  absolute_difference(loss, loss, {.loss_collection = ""});
  EXPECT_EQ(get_losses().size(), 1U);
}

TEST_F(LossesTest, ErrorsShowBothShapes) {
  const Output x = placeholder(float32, {-1, 3}, {.name = "p"}), y = placeholder(float32, {-1, 4}, {.name = "y"});
  const std::string message = message_of([&] { mean_squared_error(y, x); });
  EXPECT_NE(message.find("losses.mean_squared_error"), std::string::npos) << message;
  EXPECT_NE(message.find("float32[?,4] 'y:0'"), std::string::npos) << message;
  EXPECT_NE(message.find("float32[?,3] 'p:0'"), std::string::npos) << message;
  EXPECT_NE(message.find("losses_test.cc:"), std::string::npos) << message;
  const std::string weights = message_of([&] { mean_squared_error(x, x, {.weights = std::vector<float>{1, 2}}); });
  EXPECT_NE(weights.find("weights float32[2]"), std::string::npos) << weights;
}

TEST_F(LossesTest, WeightsOfUnknownSizeAreCheckedWhenRun) {
  const Output x = placeholder(float32, {-1, 2}), w = placeholder(float32, {-1, 2});
  const Output loss = mean_squared_error(x, zeros_like(x), {.weights = w});
  Session session;
  const Tensor two = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_FLOAT_EQ(session.run(loss, {{x, two}, {w, Tensor::from<float>({1, 2}, {1, 0})}}).item<float>(), 5);
  EXPECT_THROW(session.run(loss, {{x, two}, {w, Tensor::zeros(float32, {3, 2})}}), Error);
}

}  // namespace
}  // namespace caudal::losses
