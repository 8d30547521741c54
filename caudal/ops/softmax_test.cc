#include "caudal/ops/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/slicing.h"
#include "caudal/runtime/session.h"
#include "tests/harness/compare.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
constexpr float kInf = std::numeric_limits<float>::infinity();

void softmax_samples(harness::Samples& samples) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 3, 17}, Shape{2, 1, 3, 4}, Shape{0, 4},
                               Shape{4, 0}, Shape{33, 65}}) {
      samples.add({.inputs = {samples.random(dtype, shape)}});
    }
  }
  samples.add({.inputs = {samples.random(float32, {700, 129})}});
  samples.error({samples.random(float32, {})}, Code::kInvalidArgument);
  samples.error({samples.random(int32, {3})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(Softmax) { softmax_samples(samples); }
CAUDAL_OP_SAMPLES(LogSoftmax) { softmax_samples(samples); }

// Rows that sum to 1.
Tensor probabilities(harness::Samples& samples, const Shape& shape) {
  Tensor p = samples.random(float64, shape, {.low = 0.5, .high = 2, .clear = 0});
  const std::int64_t classes = shape[1];
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    double* first = p.data<double>() + row * classes;
    const double sum = std::accumulate(first, first + classes, 0.0);
    std::transform(first, first + classes, first, [&](double value) { return value / sum; });
  }
  return p;
}

CAUDAL_OP_SAMPLES(SoftmaxCrossEntropyWithLogits) {
  samples.golden_exception("SoftmaxCrossEntropyWithLogits/1", "a gradient has the shape of its input");
  // TensorFlow's gradient is that of the loss only where labels sum to 1; it does not follow backprop to the labels
  // (CrossEntropy.DenseGradientsAreTensorFlows has its values).
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{0, 4}, Shape{33, 17}}) {
      const Tensor labels = samples.random(dtype, shape, {.low = 0, .high = 1, .clear = 0});
      samples.add({.inputs = {samples.random(dtype, shape), labels}, .gradient = harness::Check::kNo});
    }
  }
  samples.add(
      {.inputs = {samples.random(float32, {1, 4}), samples.random(float32, {3, 4})}, .gradient = harness::Check::kNo});
  for (const auto& [features, labels] :
       {std::pair{Shape{3, 5}, Shape{3, 5}}, {Shape{1, 4}, Shape{3, 4}}, {Shape{3, 4}, Shape{1, 4}}}) {
    samples.add({.inputs = {samples.random(float64, features), probabilities(samples, labels)},
                 .gradient = harness::Check::kYes,
                 .second_order = harness::Check::kNo,
                 .undifferentiated_outputs = {1}});
  }
  samples.error({samples.random(float32, {3, 4}), samples.random(float32, {2, 4})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {4}), samples.random(float32, {4})}, Code::kInvalidArgument);
}

CAUDAL_OP_SAMPLES(SparseSoftmaxCrossEntropyWithLogits) {
  for (const DType dtype : kFloats) {
    samples.add({.inputs = {samples.random(dtype, {4, 5}), Tensor(std::vector<int>{0, 4, 2, 1})}});
    samples.add({.inputs = {samples.random(dtype, {2, 17}), Tensor(std::vector<std::int64_t>{16, 3})}});
  }
  samples.add({.inputs = {samples.random(float32, {0, 3}), Tensor(std::vector<int>{})}});
  samples.error({samples.random(float32, {2, 3}), Tensor(std::vector<int>{0, 3})}, Code::kInvalidArgument, {},
                "label 3");
  samples.error({samples.random(float32, {2, 3}), Tensor(std::vector<int>{-1, 0})}, Code::kInvalidArgument, {},
                "label -1");
  samples.error({samples.random(float32, {2, 0}), Tensor(std::vector<int>{0, 0})}, Code::kInvalidArgument);
  samples.error({samples.random(float32, {2, 3}), Tensor(std::vector<int>{0})}, Code::kInvalidArgument);
}

class CrossEntropy : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  Session session_{graph_};

  void expect(const Output& y, const std::vector<float>& values, double tolerance = 1e-6) {
    const Tensor got = session_.run(y);
    EXPECT_EQ(harness::difference(Tensor::from<float>(got.shape(), values), got, tolerance), "") << y.name();
  }
};

TEST_F(CrossEntropy, SoftmaxOfMinusInfinity) {
  const Output b = constant(Tensor::from<float>({5}, {4, -kInf, 4, 4, 4}));
  const Output y = nn::softmax(b);
  expect(y, {.25F, 0, .25F, .25F, .25F});
  const Output third = constant(Tensor::from<float>({5}, {0, 0, 1, 0, 0}));
  expect(gradients({y}, {b}, {.grad_ys = {third}})[0].dense(), {-.0625F, 0, .1875F, -.0625F, -.0625F});
  expect(nn::softmax(constant(Tensor::from<float>({2}, {-kInf, -kInf}))), {NAN, NAN});
}

TEST_F(CrossEntropy, MaskedLogitsCostNothing) {
  const Output x = constant(Tensor::from<float>({1, 3}, {-kInf, 0, 0}));
  const Output loss = nn::softmax_cross_entropy_with_logits({.labels = constant({{0.0, 1.0, 0.0}}), .logits = x});
  expect(loss, {.6931472F});
  expect(gradients({loss}, {x})[0].dense(), {0, -.5F, .5F});
}

TEST_F(CrossEntropy, HugeLogitsStayFinite) {
  const Output x = constant({{-4885.4614, 4878.027}});
  expect(nn::softmax_cross_entropy_with_logits({.labels = constant({{.2, .8}}), .logits = x}), {1952.6977F}, 1e-5);
  const Output zero = nn::softmax_cross_entropy_with_logits({.labels = constant({{0.0, 0.0}}), .logits = x});
  expect(zero, {0});
  // TensorFlow's form: softmax - labels.
  expect(gradients({zero}, {x})[0].dense(), {0, 1});
}

// Values by TensorFlow 2.21. Weights of a sum over n numbers: ((7k + 3) mod 11 - 5) / 4.
TEST_F(CrossEntropy, DenseGradientsAreTensorFlows) {
  const Output features = constant({{1.0, 2.0, -1.0}, {.5, -.25, 3.0}}),
               labels = constant({{.2, .5, .3}, {.1, .7, .2}});
  const std::vector<Output> xs = {features, labels};
  Node& node = OpBuilder("SoftmaxCrossEntropyWithLogits", {}).input(features).input(labels).build_node();
  const Output by_loss = constant({-.5, 1.25}), by_backprop = constant({{-.5, 1.25, .25}, {-.75, 1.0, 0.0}});
  const auto both = gradients({node.output(0), node.output(1)}, xs, {.grad_ys = {by_loss, by_backprop}});
  expect(both[0].dense(), {-.3569116F, .24240851F, .11450302F, -.08689399F, -.7964617F, .8833558F});
  expect(both[1].dense(), {-.6745061F, -.17450608F, -1.674506F, 3.2676194F, 4.205119F, .14261936F});
  const auto once = gradients({node.output(0)}, xs, {.grad_ys = {by_loss}});
  const auto twice = gradients({once[0].dense(), once[1].dense()}, xs, {.grad_ys = {by_backprop, by_backprop}});
  expect(twice[0].dense(), {-.21616654F, .09975733F, .11640922F, .89358997F, -1.1950688F, .30147877F});
  // TensorFlow has zeros.
  if (twice[1]) expect(twice[1].dense(), {0, 0, 0, 0, 0, 0});
}

TEST_F(CrossEntropy, SigmoidIsStable) {
  const Output x = constant({100.0, -100.0, 100.0, 0.0, -200.0});
  const Output z = constant({1.0, 1.0, 0.0, .5, 1.0});
  const Output loss = nn::sigmoid_cross_entropy_with_logits({.labels = z, .logits = x});
  expect(loss, {0, 100, 100, .6931472F, 200});
  expect(gradients({loss}, {x})[0].dense(), {0, -1, 1, 0, -1});
  EXPECT_THROW(nn::sigmoid_cross_entropy_with_logits({.labels = constant({1.0}), .logits = x}), Error);
}

TEST_F(CrossEntropy, AnyRankAndAxis) {
  const Tensor logits = Tensor::from<float>({2, 1, 3}, {1, 2, 3, 3, 2, 1});
  const Output sparse =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = constant({{2}, {2}}), .logits = logits});
  EXPECT_EQ(sparse.shape(), PartialShape({2, 1}));
  expect(sparse, {.40760595F, 2.407606F});
  const Output x = placeholder(float32);
  const Output y = placeholder(int32);
  const Output unknown = nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = x});
  const Tensor got = session_.run(unknown, {{x, logits}, {y, Tensor::from<int>({2, 1}, {2, 2})}});
  EXPECT_EQ(harness::difference(Tensor::from<float>({2, 1}, {.40760595F, 2.407606F}), got, 1e-6), "");

  const Output by_rows = constant({{1.0, 3.0}, {2.0, 2.0}, {3.0, 1.0}});
  const Output labels = constant({{0.0, 0.0}, {0.0, 0.0}, {1.0, 1.0}});
  expect(nn::softmax_cross_entropy_with_logits({.labels = labels, .logits = by_rows, .axis = 0}),
         {.40760595F, 2.407606F});
  expect(nn::softmax(by_rows, {.axis = 0}), {.09003057F, .66524094F, .24472848F, .24472848F, .66524094F, .09003057F});
}

TEST_F(CrossEntropy, LabelsGetAGradientOnlyInV2) {
  const Output x = constant({{1.0, 2.0}});
  const Output z = constant({{.5, .5}});
  const Output first = nn::softmax_cross_entropy_with_logits({.labels = z, .logits = x});
  EXPECT_TRUE(gradients({first}, {z})[0].is_none());
  const Output second = nn::softmax_cross_entropy_with_logits_v2({.labels = z, .logits = x});
  expect(gradients({second}, {z})[0].dense(), {1.3132616F, .31326166F});
}

TEST_F(CrossEntropy, SecondOrderGradients) {
  const Output x = constant({{1.0, 2.0, -1.0}});
  const Output loss = nn::sparse_softmax_cross_entropy_with_logits({.labels = constant({1}), .logits = x});
  const Output slope = gradients({loss}, {x})[0].dense();
  const Output first = constant({{1.0, 0.0, 0.0}});
  // A row of diag(p) - p p^T, p = [.25949648, .7053845, .03511903].
  expect(gradients({slope}, {x}, {.grad_ys = {first}})[0].dense(), {.19215806F, -.1830448F, -.009113262F});
}

TEST_F(CrossEntropy, TellsWhatIsWrongWithLabels) {
  const Output x = placeholder(float32, {-1, 10}, {.name = "logits"});
  const Output y = placeholder(int64, {-1}, {.name = "labels"});
  const Output loss = nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = x});
  const Tensor bad(std::vector<std::int64_t>{3, 10});
  try {
    session_.run(loss, {{x, Tensor::zeros(float32, {2, 10})}, {y, bad}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(error.detail().find("label 10 of row 1 is outside [0, 10)"), std::string::npos) << error.what();
  }
  try {
    nn::sparse_softmax_cross_entropy_with_logits({.labels = constant({{1, 0}}), .logits = x});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("softmax_test.cc"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace caudal::inline v0
