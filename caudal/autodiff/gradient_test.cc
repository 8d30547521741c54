#include "caudal/autodiff/gradient.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

class GradientTest : public ::testing::Test {
 protected:
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static float value(const Gradient& gradient, const Feeds& feeds = {}) {
    Session session;
    return session.run(gradient.dense(), feeds).item<float>();
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(float32, {}, {.name = "x"});
  Feeds three_{{x_, Tensor(3.0F)}};
};

TEST_F(GradientTest, PathsAddUp) {
  const Output square = x_ * x_;
  const Output y = square * x_ + square + 2.0F * x_;  // x^3 + x^2 + 2x
  EXPECT_EQ(value(gradients({y}, {x_})[0], three_), 27 + 6 + 2);
  EXPECT_EQ(value(gradients({y, square, x_}, {x_})[0], three_), 35 + 6 + 1);  // of the sum of all ys
  EXPECT_EQ(value(gradients({y, y}, {x_})[0], three_), 70);
}

TEST_F(GradientTest, OfItselfIsOneAndSeveralXsAtOnce) {
  const Output y = x_ * 5.0F;
  const Output z = y * y;
  const auto grads = gradients({z}, {x_, y, z});
  EXPECT_EQ(value(grads[0], three_), 150);
  EXPECT_EQ(value(grads[1], three_), 30);
  EXPECT_EQ(value(grads[2], three_), 1);
}

TEST_F(GradientTest, NoPathIsNone) {
  const Output other = placeholder(float32, {}, {.name = "other"});
  EXPECT_TRUE(gradients({x_ * 2.0F}, {other})[0].is_none());
  EXPECT_TRUE(gradients({stop_gradient(x_) * 2.0F}, {x_})[0].is_none());
  EXPECT_TRUE(gradients({cast(cast(x_, int32), float32)}, {x_})[0].is_none());  // integers carry none
  EXPECT_TRUE(gradients({x_}, {x_ * 2.0F})[0].is_none());                       // x does not depend on what uses it
}

TEST_F(GradientTest, StopGradientsAreConstants) {
  const Output a = x_ * 2.0F;
  const Output b = a * x_;
  EXPECT_EQ(value(gradients({b}, {x_})[0], three_), 12);
  EXPECT_EQ(value(gradients({b}, {x_}, {.stop_gradients = {a}})[0], three_), 6);
  // Partial derivatives, as tf.gradients documents it.
  const auto grads = gradients({a + b}, {a, b}, {.stop_gradients = {a, b}});
  EXPECT_EQ(value(grads[0], three_), 1);
  EXPECT_EQ(value(grads[1], three_), 1);
}

TEST_F(GradientTest, GradYsAreWeights) {
  const Output y = x_ * x_;
  const Output z = x_ * 10.0F;
  const Output weight = constant(0.5F);
  EXPECT_EQ(value(gradients({y, z}, {x_}, {.grad_ys = {weight, Gradient()}})[0], three_), 3 + 10);
  EXPECT_TRUE(error_of([&] { gradients({y, z}, {x_}, {.grad_ys = {weight}}); }).starts_with("INVALID_ARGUMENT"));
  EXPECT_TRUE(
      error_of([&] {
        gradients({y}, {x_}, {.grad_ys = {constant(1)}});
      }).starts_with("INVALID_ARGUMENT: gradients(): the grad_y of '" + y.name() + "' is int32; float32 is wanted"));
}

TEST_F(GradientTest, AFedValueDoesNotCutTheGradient) {
  const Output hidden = identity(x_ * 2.0F, {.name = "hidden"});
  const Output y = hidden * hidden;
  // d(y)/d(x) = 2 hidden * 2, with whatever is fed for hidden.
  EXPECT_EQ(value(gradients({y}, {x_})[0], {{x_, Tensor(3.0F)}, {hidden, Tensor(10.0F)}}), 40);
}

TEST_F(GradientTest, SecondAndThirdOrder) {
  const Output y = x_ * x_ * x_ * x_;
  const Output first = gradients({y}, {x_})[0].dense();
  const Output second = gradients({first}, {x_})[0].dense();
  const Output third = gradients({second}, {x_})[0].dense();
  EXPECT_EQ(value(first, three_), 4 * 27);
  EXPECT_EQ(value(second, three_), 12 * 9);
  EXPECT_EQ(value(third, three_), 24 * 3);
}

TEST_F(GradientTest, RowsOfAGatherComeAsSlicesAndAddUp) {
  const Output table = constant(Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Output rows = gather(table, {2, 0, 2});
  const auto grads = gradients({rows * rows, gather(table, {1})}, {table});
  ASSERT_TRUE(grads[0].is_sparse());
  Session session;
  EXPECT_EQ(session.run(grads[0].dense()).to_vector<float>(), (std::vector<float>{2, 4, 1, 1, 20, 24}));
  const auto mixed = gradients({rows, table * 2.0F}, {table});
  EXPECT_FALSE(mixed[0].is_sparse());
  EXPECT_EQ(session.run(mixed[0].dense()).to_vector<float>(), (std::vector<float>{3, 3, 2, 2, 4, 4}));
}

TEST_F(GradientTest, NodesLieInTheirScopes) {
  const Output y = multiply(x_, 2.0F, {.name = "layer/scale"});
  const std::string first = gradients({y}, {x_})[0].dense().name();
  EXPECT_TRUE(first.starts_with("gradients/layer/scale_grad/")) << first;
  const std::string second = gradients({y}, {x_})[0].dense().name();
  EXPECT_TRUE(second.starts_with("gradients_1/layer/scale_grad/")) << second;
}

TEST_F(GradientTest, MistakesAreErrors) {
  EXPECT_TRUE(error_of([&] { gradients({}, {x_}); }).starts_with("INVALID_ARGUMENT: gradients() needs at least one y"));
  EXPECT_TRUE(error_of([&] { gradients({cast(x_, int32)}, {x_}); }).starts_with("INVALID_ARGUMENT: gradients() of "));
  EXPECT_TRUE(error_of([&] { gradients({x_}, {Output()}); }).starts_with("INVALID_ARGUMENT"));
  EXPECT_TRUE(error_of([&] { gradients({Output()}, {x_}); }).starts_with("INVALID_ARGUMENT"));
  Graph other;
  const GraphScope scope(other);
  const Output foreign = constant(1.0F);
  EXPECT_TRUE(error_of([&] { gradients({x_}, {foreign}); }).starts_with("INVALID_ARGUMENT"));
}

TEST_F(GradientTest, AnOpWithoutGradientIsNamed) {
  const Output y = raw_ops::prevent_gradient(x_, "not here", {.name = "wall"});
  const std::string message = error_of([&] { gradients({y}, {x_}); });
  EXPECT_NE(message.find("'wall'"), std::string::npos) << message;
}

}  // namespace
}  // namespace caudal
