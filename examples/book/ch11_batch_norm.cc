// Chapter 11, batch normalisation: the net 784-300-100-10 with batch normalisation before ELU and on the logits
// (listing 11d), the same by options that are shared (11e), and its training loop with the update operations (11f).
#include "book.h"

namespace tf = caudal;

struct Net {
  tf::Output X, training, logits;
};

Net inputs() {
  return {tf::placeholder(tf::float32, {-1, 28 * 28}, {.name = "X"}),
          tf::placeholder_with_default(false, tf::PartialShape::scalar(), {.name = "training"}),
          {}};
}

// 11d: everything written out.
Net written_out() {
  Net net = inputs();
  const auto hidden1 = tf::layers::dense(net.X, 300, {.name = "hidden1"});
  const auto bn1 = tf::layers::batch_normalization(hidden1, {.momentum = 0.9, .training = net.training});
  const auto bn1_act = tf::nn::elu(bn1);
  const auto hidden2 = tf::layers::dense(bn1_act, 100, {.name = "hidden2"});
  const auto bn2 = tf::layers::batch_normalization(hidden2, {.momentum = 0.9, .training = net.training});
  const auto bn2_act = tf::nn::elu(bn2);
  const auto logits_before_bn = tf::layers::dense(bn2_act, 10, {.name = "outputs"});
  net.logits = tf::layers::batch_normalization(logits_before_bn, {.momentum = 0.9, .training = net.training});
  return net;
}

// 11e: what Python binds by functools.partial is a function of one's own, over options that are set once.
Net with_shared_options() {
  Net net = inputs();
  const tf::layers::BatchNormalizationOptions options{.momentum = 0.9, .training = net.training};
  const auto my_batch_norm_layer = [&](const tf::Output& x) { return tf::layers::batch_normalization(x, options); };
  const auto hidden1 = tf::layers::dense(net.X, 300, {.name = "hidden1"});
  const auto bn1_act = tf::nn::elu(my_batch_norm_layer(hidden1));
  const auto hidden2 = tf::layers::dense(bn1_act, 100, {.name = "hidden2"});
  const auto bn2_act = tf::nn::elu(my_batch_norm_layer(hidden2));
  net.logits = my_batch_norm_layer(tf::layers::dense(bn2_act, 10, {.name = "outputs"}));
  return net;
}

std::vector<std::string> node_names(const std::function<Net()>& build) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  build();
  std::vector<std::string> names;
  for (const tf::Node* node : graph.nodes()) names.push_back(node->name());
  return names;
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets mnist = book::load(arguments);
  std::cout << std::boolalpha;
  std::cout << "the same graph: " << (node_names(written_out) == node_names(with_shared_options)) << "\n";

  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const Net net = with_shared_options();
  const tf::Output y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  const tf::Output loss = book::loss_of(y, net.logits), accuracy = book::accuracy_of(y, net.logits);
  const auto training_op = tf::train::GradientDescentOptimizer({.learning_rate = 0.05}).minimize(loss);
  std::cout << "update operations: " << tf::layers::update_ops().size() << "\n";
  std::cout << "trained variables: " << tf::trainable_variables().size() << " of " << tf::global_variables().size()
            << "\n";

  // 11f
  const auto extra_update_ops = tf::layers::update_ops();
  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const tf::Feeds test{{net.X, mnist.test.features()}, {y, mnist.test.labels()}};
  float first = 0, last = 0;
  const int epochs = arguments.long_run ? 20 : 4;
  auto stream = mnist.train.stream(arguments.long_run ? 200 : 20, {.seed = 42});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (tf::data::Batch batch; stream.next(batch);) {
      tf::Fetches targets{training_op};
      targets.insert(targets.end(), extra_update_ops.begin(), extra_update_ops.end());
      sess.run(targets, {{net.training, true}, {net.X, batch.features}, {y, batch.labels}});
    }
    last = sess.run(accuracy, test).item<float>();
    if (epoch == 0) first = last;
    if (arguments.long_run) std::cout << epoch << " Test accuracy: " << last << "\n";
  }
  saver.save(sess, "my_model_final.ckpt");
  if (!arguments.long_run) std::cout << "Test accuracy rises, above 0.6: " << (last > first && last > 0.6F) << "\n";
}

/* Prints:
the same graph: true
update operations: 6
trained variables: 12 of 18
Test accuracy rises, above 0.6: true
*/
