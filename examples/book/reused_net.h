// The net that the programs of chapter 11 reuse: two hidden layers and logits on pictures of 28x28, with a loss and an
// accuracy. Nodes and variables have the book's names.
#pragma once

#include "caudal/caudal.h"

struct ReusedNet {
  caudal::Output X, y, hidden1, hidden2, logits, loss, accuracy;
};

// `frozen_below_2`: a gradient does not pass the second hidden layer.
inline ReusedNet make_net(bool frozen_below_2 = false) {
  namespace tf = caudal;
  ReusedNet net;
  net.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  net.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  {
    const tf::NameScope scope("dnn");
    net.hidden1 = tf::layers::dense(net.X, 60, {.activation = tf::nn::relu, .name = "hidden1"});
    net.hidden2 = tf::layers::dense(net.hidden1, 30, {.activation = tf::nn::relu, .name = "hidden2"});
    const tf::Output below = frozen_below_2 ? tf::stop_gradient(net.hidden2) : net.hidden2;
    net.logits = tf::layers::dense(below, 10, {.name = "outputs"});
  }
  {
    const tf::NameScope scope("loss");
    net.loss = tf::reduce_mean(
        tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = net.y, .logits = net.logits}), {.name = "loss"});
  }
  {
    const tf::NameScope scope("eval");
    net.accuracy = tf::reduce_mean(tf::cast(tf::nn::in_top_k(net.logits, net.y, 1), tf::float32), {.name = "accuracy"});
  }
  return net;
}

// The pictures of a directory (idx files) as rows of 784 numbers.
inline caudal::data::Batch all_pictures(const char* directory) {
  const auto sets = caudal::data::load_idx(directory, {.validation_size = 0});
  auto batch = sets.train.stream(sets.train.size(), {.shuffle = false}).next();
  batch.features = batch.features.reshape({batch.features.dim(0), 784});
  return batch;
}
