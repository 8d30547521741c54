#include "caudal/keras/cost.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/keras/layers.h"

namespace caudal::keras {
namespace {

TEST(ModelCost, OfAConvolutionalNet) {
  clear_session();
  const Sequential model({.shape = {28, 28, 1}}, {layers::Conv2D(6, {5, 5}, {.padding = "same", .activation = "relu"}),
                                                  layers::MaxPooling2D({2, 2}), layers::Flatten(),
                                                  layers::Dense(10, {.activation = "softmax"})});
  const ModelCost cost = model_cost(model, 4);
  ASSERT_EQ(cost.layers.size(), 4U);
  EXPECT_EQ(cost.layers[0].parameters, 5 * 5 * 6 + 6);
  EXPECT_EQ(cost.layers[0].multiplications, 4 * 28 * 28 * 25 * 6);
  EXPECT_EQ(cost.layers[0].activation_bytes, 4 * 4 * 28 * 28 * 6);
  EXPECT_EQ(cost.layers[0].output_shape, "[4,28,28,6]");
  EXPECT_EQ(cost.layers[1].multiplications, 0);
  EXPECT_EQ(cost.layers[1].activation_bytes, 4 * 4 * 14 * 14 * 6);
  EXPECT_EQ(cost.layers[3].multiplications, 4 * 14 * 14 * 6 * 10);
  EXPECT_EQ(cost.total.parameters, 156 + 11770);
  EXPECT_EQ(cost.total.multiplications, cost.layers[0].multiplications + cost.layers[3].multiplications);
  // The gradients by filter and kernel, and by the dense layer's input: the first layer's input has none.
  EXPECT_EQ(cost.training_multiplications, 2 * cost.layers[0].multiplications + 3 * cost.layers[3].multiplications);
  EXPECT_GT(cost.inference_arena, 0);
  EXPECT_GE(cost.training_arena, cost.inference_arena);
  EXPECT_THROW(model_cost(model, 0), Error);
  EXPECT_THROW(model_cost(Sequential({layers::Dense(3)})), Error);
}

}  // namespace
}  // namespace caudal::keras
