// Exercise 10.9: a deep multilayer perceptron for MNIST with all that chapter 11 adds (He, ELU, batch normalisation,
// dropout, Adam with a falling rate), checkpoints, and a run that is interrupted and goes on with the very same losses.
#include "book.h"

namespace tf = caudal;

struct Net {
  tf::Output X, y, training, loss, accuracy;
  tf::Operation training_op;
};

Net make_net(std::int64_t steps) {
  Net net;
  net.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  net.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  net.training = tf::placeholder_with_default(false, tf::PartialShape::scalar(), {.name = "training"});
  tf::Output x = net.X;
  for (const int units : {400, 200}) {
    x = tf::layers::dense(x, units, {.use_bias = false, .kernel_initializer = tf::he_normal()});
    x = tf::nn::elu(tf::layers::batch_normalization(x, {.momentum = 0.98, .training = net.training}));
    x = tf::layers::dropout(x, {.rate = 0.3, .training = net.training});
  }
  const auto logits = tf::layers::dense(x, 10, {.name = "outputs"});
  net.loss = book::loss_of(net.y, logits);
  net.accuracy = book::accuracy_of(net.y, logits);
  const tf::Variable global_step = tf::train::get_or_create_global_step();
  const auto rate = tf::train::cosine_decay(0.003, global_step, steps);
  // The running means belong to the step.
  const tf::ControlDependencies updates_first(tf::layers::update_ops());
  net.training_op = tf::train::AdamOptimizer({.learning_rate = rate}).minimize(net.loss, {.global_step = global_step});
  return net;
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets sets = book::load(arguments);
  const std::int64_t epochs = arguments.long_run ? 20 : 6, batch_size = arguments.long_run ? 100 : 20;
  const std::int64_t steps = epochs * ((sets.train.size() + batch_size - 1) / batch_size);
  std::cout << std::boolalpha;

  // Trains from epoch `first` to `last`; goes on from the checkpoint where there is one.
  const auto run = [&](std::int64_t first, std::int64_t last) {
    tf::Graph graph;
    const tf::GraphScope scope(graph);
    tf::set_random_seed(42);
    const Net net = make_net(steps);
    auto saver = std::make_shared<tf::train::Saver>();
    tf::Session sess;
    sess.run(tf::global_variables_initializer());
    tf::train::Trainer trainer(sess, {.features = net.X,
                                      .labels = net.y,
                                      .training = net.training,
                                      .train_op = net.training_op,
                                      .loss = net.loss,
                                      .metrics = {{"accuracy", net.accuracy}}});
    if (first > 0) trainer.restore(saver->restore(sess, tf::train::latest_checkpoint("mlp")));
    const auto history = trainer.fit(
        sets.train, {.epochs = last,
                     .batch_size = batch_size,
                     .validation = sets.validation,
                     .callbacks = {std::make_shared<tf::train::CheckpointCallback>(saver, "mlp/model.ckpt")}});
    if (arguments.long_run) {
      for (const auto& record : history.epochs) {
        std::cout << "epoch " << record.epoch;
        for (const auto& [name, value] : record.values) std::cout << "  " << name << " " << value;
        std::cout << "\n";
      }
    }
    return trainer.evaluate(sets.test)[1].second;
  };
  run(0, epochs / 2);
  const double accuracy = run(epochs / 2, epochs);  // as after an interruption
  const double wanted = arguments.long_run ? 0.98 : 0.7;
  std::cout << "test accuracy above " << wanted << ": " << (accuracy > wanted) << "\n";
  if (arguments.long_run) std::cout << "test accuracy " << accuracy << "\n";
}

/* Prints:
test accuracy above 0.7: true
*/
