// What the gate's tests share: pictures that can be learnt, the two networks, a log of losses.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "caudal/base/philox.h"
#include "caudal/data/dataset.h"
#include "caudal/nn/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/random.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/top_k.h"
#include "caudal/ops/variable.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/trainer.h"

namespace caudal::gate {

inline constexpr std::int64_t kClasses = 4;

// uint8 [n, side, side, 1] and int64 [n]: noise with a bright quarter, whose place is the class.
inline data::DataSet make_pictures(std::int64_t n, std::int64_t side) {
  Tensor pictures(uint8, {n, side, side, 1}), labels(int64, {n});
  PhiloxRandom random(11, 0);
  PhiloxRandom::Sample block{};
  std::int64_t used = 4;
  const auto draw = [&] {
    if (used == 4) {
      block = random();
      used = 0;
    }
    return block[used++];
  };
  auto* pixel = pictures.data<std::uint8_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t label = draw() % kClasses;
    labels.data<std::int64_t>()[i] = label;
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) {
        const bool bright = (y >= side / 2) == (label >= 2) && (x >= side / 2) == (label % 2 == 1);
        *pixel++ = static_cast<std::uint8_t>(draw() % 100 + (bright ? 100 : 0));
      }
    }
  }
  return {pictures, labels};
}

struct Network {
  Output images, labels, training, logits, loss, accuracy;
  Operation train_op;

  train::TrainSpec spec() const {
    return {.features = images,
            .labels = labels,
            .training = training,
            .train_op = train_op,
            .loss = loss,
            .metrics = {{"accuracy", accuracy}}};
  }
};

inline void add_loss(Network& net) {
  net.loss = reduce_mean(nn::sparse_softmax_cross_entropy_with_logits({.labels = net.labels, .logits = net.logits}),
                         {.name = "loss"});
  net.accuracy = reduce_mean(cast(nn::in_top_k(net.logits, net.labels, 1), float32), {.name = "accuracy"});
}

// The book's network: 784-300-100-10 with momentum.
inline Network make_mlp(const layers::Activation& activation) {
  Network net;
  net.images = placeholder(float32, {-1, 28, 28, 1}, {.name = "images"});
  net.labels = placeholder(int64, {-1}, {.name = "labels"});
  Output x = reshape(net.images, {-1, 784});
  x = layers::dense(x, 300, {.activation = activation, .kernel_initializer = he_normal(), .name = "hidden1"});
  x = layers::dense(x, 100, {.activation = activation, .kernel_initializer = he_normal(), .name = "hidden2"});
  net.logits = layers::dense(x, 10, {.name = "outputs"});
  add_loss(net);
  net.train_op = train::MomentumOptimizer({.learning_rate = 0.01F, .momentum = 0.9F}).minimize(net.loss);
  return net;
}

// The demo's network, narrower, for pictures of `side` times `side`.
inline Network make_cnn(std::int64_t side) {
  Network net;
  net.images = placeholder(float32, {-1, side, side, 1}, {.name = "images"});
  net.labels = placeholder(int64, {-1}, {.name = "labels"});
  net.training = placeholder_with_default(false, PartialShape::scalar(), {.name = "training"});
  Output x =
      layers::conv2d(net.images, 4, {3, 3},
                     {.padding = "same", .activation = nn::relu, .kernel_initializer = he_normal(), .name = "conv1"});
  x = layers::max_pooling2d(x, {2, 2}, {2, 2}, {.name = "pool1"});
  x = layers::conv2d(x, 8, {3, 3},
                     {.padding = "same", .activation = nn::relu, .kernel_initializer = he_normal(), .name = "conv2"});
  x = layers::max_pooling2d(x, {2, 2}, {2, 2}, {.name = "pool2"});
  x = layers::dense(layers::flatten(x), 16,
                    {.activation = nn::relu, .kernel_initializer = he_normal(), .name = "hidden"});
  x = layers::dropout(x, {.rate = 0.3, .training = net.training, .name = "dropout"});
  net.logits = layers::dense(x, kClasses, {.name = "logits"});
  add_loss(net);
  net.train_op = train::AdamOptimizer({.learning_rate = 0.01F}).minimize(net.loss);
  return net;
}

// Notes the loss of every batch and stops after batch number `stop_at_step`.
class LossLog final : public train::Callback {
 public:
  explicit LossLog(std::int64_t stop_at_step = -1) : stop_at_step_(stop_at_step) {}
  void on_batch_end(train::Trainer& trainer, const train::TrainStatus& status) override {
    losses.push_back(status.batch_loss);
    if (status.step == stop_at_step_) trainer.stop();
  }
  std::vector<double> losses;

 private:
  std::int64_t stop_at_step_;
};

inline double value_of(const train::NamedValues& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no value '" << name << "'";
  return 0;
}

// All variables of the default graph, in order.
inline std::vector<Tensor> values_of_variables(Session& session) {
  Fetches fetches;
  for (const Variable& variable : global_variables()) fetches.emplace_back(variable);
  return session.run(fetches);
}

}  // namespace caudal::gate
