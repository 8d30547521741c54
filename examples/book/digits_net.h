// The net of exercises 11.8 and 11.9: five hidden layers of 100, He's initialisation, ELU, Adam; batch normalisation
// and dropout where they are asked for.
#pragma once

#include <string>

#include "book.h"

struct DigitsNetOptions {
  int layers = 5;
  int neurons = 100;
  caudal::layers::Activation activation = caudal::nn::elu;
  float learning_rate = 0.001F;
  bool batch_norm = false;
  double dropout_rate = 0;
};

inline caudal::Output hidden_layers(caudal::Output x, const DigitsNetOptions& options, const caudal::Output& training) {
  namespace tf = caudal;
  for (int i = 1; i <= options.layers; ++i) {
    if (options.dropout_rate > 0) {
      x = tf::layers::dropout(x, {.rate = options.dropout_rate, .training = training});
    }
    x = tf::layers::dense(x, options.neurons,
                          {.kernel_initializer = tf::he_normal(), .name = "hidden" + std::to_string(i)});
    if (options.batch_norm) x = tf::layers::batch_normalization(x, {.momentum = 0.95, .training = training});
    x = options.activation(x);
  }
  return x;
}

// A classifier of five digits.
inline book::Model make_digits_net(const DigitsNetOptions& options = {}) {
  namespace tf = caudal;
  book::Model model;
  model.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  model.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  model.training = tf::placeholder_with_default(false, tf::PartialShape::scalar(), {.name = "training"});
  const tf::Output logits = tf::layers::dense(hidden_layers(model.X, options, model.training), 5,
                                              {.kernel_initializer = tf::he_normal(), .name = "logits"});
  tf::nn::softmax(logits, {.name = "Y_proba"});
  model.loss = book::loss_of(model.y, logits);
  model.accuracy = book::accuracy_of(model.y, logits);
  model.training_op = tf::train::AdamOptimizer({.learning_rate = options.learning_rate}).minimize(model.loss);
  return model;
}
