#include "nets.h"

#include <random>

#include "caudal/nn/layers.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/train/optimizer.h"

namespace bench {
namespace tf = caudal;
namespace {

tf::Output dense(const tf::Output& x, std::int64_t units) {
  return tf::layers::dense(x, units, {.activation = tf::nn::relu, .kernel_initializer = tf::he_normal()});
}

tf::Output linear(const tf::Output& x, std::int64_t units) {
  return tf::layers::dense(x, units, {.kernel_initializer = tf::he_normal()});
}

tf::Output conv(const tf::Output& x, std::int64_t filters, std::int64_t size, std::int64_t stride,
                const std::string& padding) {
  return tf::layers::conv2d(x, filters, {size, size},
                            {.strides = {stride, stride},
                             .padding = padding,
                             .activation = tf::nn::relu,
                             .kernel_initializer = tf::he_normal()});
}

tf::Output pool(const tf::Output& x) { return tf::layers::max_pooling2d(x, {2, 2}, {2, 2}); }

tf::Output hidden_layers(Model model, tf::Output x) {
  switch (model) {
    case Model::kMlp:
      return dense(dense(x, 300), 100);
    case Model::kLenet:
      x = pool(conv(pool(conv(x, 6, 5, 1, "same")), 16, 5, 1, "valid"));
      return dense(dense(tf::layers::flatten(x), 120), 84);
    case Model::kBook:
      x = pool(conv(conv(x, 32, 3, 1, "same"), 64, 3, 2, "same"));
      return dense(tf::layers::flatten(x), 128);
    case Model::kNature:
      x = conv(conv(conv(x, 32, 8, 4, "valid"), 64, 4, 2, "valid"), 64, 3, 1, "valid");
      return dense(tf::layers::flatten(x), 512);
  }
  return x;
}

tf::PartialShape picture_shape(Model model, std::int64_t rows) {
  if (model == Model::kMlp) return {rows, 784};
  if (model == Model::kNature) return {rows, 84, 84, 4};
  return {rows, 28, 28, 1};
}

}  // namespace

tf::Session::Callable Net::updater(tf::Session& session) const {
  std::vector<tf::Output> feeds = {images, labels};
  if (values) feeds.push_back(values);
  return session.make_callable({train, loss}, feeds);
}

Net build(Model model) {
  Net net;
  net.images = tf::placeholder(tf::float32, picture_shape(model, -1), {.name = "x"});
  net.labels = tf::placeholder(tf::int32, {-1}, {.name = "y"});
  const tf::Output features = hidden_layers(model, net.images);
  net.logits = linear(features, model == Model::kNature ? 6 : 10);
  net.loss =
      tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = net.labels, .logits = net.logits}));
  if (model == Model::kNature) {
    net.values = tf::placeholder(tf::float32, {-1}, {.name = "v"});
    const tf::Output value = tf::reshape(linear(features, 1), {-1});
    net.loss = net.loss + 0.5F * tf::reduce_mean(tf::square(value - net.values));
  }
  net.train = tf::train::AdamOptimizer({.learning_rate = 0.001F}).minimize(net.loss);
  return net;
}

std::vector<tf::Tensor> batch_of(Model model, std::int64_t size) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::uniform_int_distribution<std::int32_t> label(0, model == Model::kNature ? 5 : 9);
  std::vector<tf::Tensor> batch = {tf::Tensor(tf::float32, *picture_shape(model, size).to_shape()),
                                   tf::Tensor(tf::int32, {size})};
  for (float& x : batch[0].flat<float>()) x = uniform(random);
  for (std::int32_t& y : batch[1].flat<std::int32_t>()) y = label(random);
  if (model == Model::kNature) {
    batch.emplace_back(tf::float32, tf::Shape{size});
    for (float& v : batch[2].flat<float>()) v = uniform(random);
  }
  return batch;
}

}  // namespace bench
