// The README's program: a network of three layers on Fashion-MNIST.
#include <iostream>

#include "caudal/caudal.h"
namespace tf = caudal;

int main(int argc, char** argv) {
  const auto sets =
      tf::data::load_idx(argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist", {.validation_size = 100});

  auto X = tf::placeholder(tf::float32, {-1, 28, 28, 1}, {.name = "X"});
  auto y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  auto hidden = tf::layers::dense(tf::layers::flatten(X), 300, {.activation = tf::nn::elu, .name = "hidden1"});
  auto logits = tf::layers::dense(hidden, 10, {.name = "outputs"});
  auto loss = tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits}));
  auto accuracy = tf::reduce_mean(tf::cast(tf::nn::in_top_k(logits, y, 1), tf::float32));
  auto train = tf::train::MomentumOptimizer({.learning_rate = 0.01, .momentum = 0.9}).minimize(loss);

  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  for (auto& [xb, yb] : sets.train.batches(50)) sess.run(train, {{X, xb}, {y, yb}});
  const auto test = sets.test.stream(sets.test.size(), {.shuffle = false}).next();
  std::cout << "test accuracy " << sess.run(accuracy, {{X, test.features}, {y, test.labels}}) << "\n";
  tf::train::Saver().save(sess, "my_model_final.ckpt");
}
