// Chapter 11, faster training: clipped gradients (listing 11g), momentum (11r), Nesterov (11s), RMSProp (11t), Adam
// (11u) and exponential decay of the learning rate (11v).
#include <functional>
#include <memory>

#include "book.h"

namespace tf = caudal;

struct Net {
  tf::Output X, y, loss;
};
Net make_net() {
  Net net;
  net.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  net.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  const auto hidden1 = tf::layers::dense(
      net.X, 60, {.activation = tf::nn::elu, .kernel_initializer = tf::he_normal(), .name = "hidden1"});
  const auto hidden2 = tf::layers::dense(
      hidden1, 30, {.activation = tf::nn::elu, .kernel_initializer = tf::he_normal(), .name = "hidden2"});
  net.loss = book::loss_of(net.y, tf::layers::dense(hidden2, 10, {.name = "outputs"}));
  return net;
}

// How much an optimiser makes the training loss fall in so many epochs.
double fall(const std::function<std::unique_ptr<tf::train::Optimizer>()>& make, const tf::data::DataSet& set,
            int epochs) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const Net net = make_net();
  const auto training_op = make()->minimize(net.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const auto loss = [&] { return sess.run(net.loss, {{net.X, set.features()}, {net.y, set.labels()}}).item<float>(); };
  const float before = loss();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& batch : set.batches(50, {.seed = static_cast<std::uint64_t>(epoch)})) {
      sess.run(training_op, {{net.X, batch.features}, {net.y, batch.labels}});
    }
  }
  return loss() / before;
}

// 11g: every element of every gradient between -1 and 1.
void clip_gradients() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const float threshold = 1.0F;
  const auto w = tf::get_variable("w", {.shape = {2}, .initializer = tf::ones_initializer()});
  const tf::Output loss = tf::reduce_sum(w * std::vector<float>{0.5F, -30.0F});
  tf::train::GradientDescentOptimizer optimizer({.learning_rate = 0.1});
  auto grads_and_vars = optimizer.compute_gradients(loss);
  for (auto& [gradient, variable] : grads_and_vars) {
    gradient = tf::clip_by_value(gradient.dense(), -threshold, threshold);
  }
  const auto training_op = optimizer.apply_gradients(grads_and_vars);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  sess.run(training_op);
  std::cout << "after a step with clipped gradients: " << sess.run(w) << "\n";
}

// 11v
void decay() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const float initial_learning_rate = 0.1F, decay_rate = 1.0F / 10;
  const int decay_steps = 10000;
  const tf::Variable global_step(tf::constant(0), {.trainable = false, .name = "global_step"});
  const auto learning_rate = tf::train::exponential_decay(initial_learning_rate, global_step, decay_steps, decay_rate);
  const auto w = tf::get_variable("w", {.shape = tf::PartialShape::scalar(), .initializer = tf::ones_initializer()});
  const auto training_op = tf::train::MomentumOptimizer({.learning_rate = learning_rate, .momentum = 0.9F})
                               .minimize(w * w, {.global_step = global_step});
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  std::cout << "learning rate at step " << sess.run(global_step) << ": " << sess.run(learning_rate).item<float>()
            << "\n";
  sess.run(training_op);
  std::cout << "steps counted: " << sess.run(global_step) << "\n";
  sess.run(global_step.initializer(), {{global_step.initial_value(), decay_steps}});
  std::cout << "learning rate at step " << sess.run(global_step) << ": " << sess.run(learning_rate).item<float>()
            << "\n";
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const auto set = book::load(arguments).train;
  const int epochs = arguments.long_run ? 5 : 3;
  std::cout << std::boolalpha;
  clip_gradients();
  const auto show = [&](const char* name, const auto& make) {
    const double share = fall(make, set, epochs);
    std::cout << name << ": loss falls: " << (share < 0.8);
    if (arguments.long_run) std::cout << ", to " << share << " of what it was";
    std::cout << "\n";
  };
  using tf::train::MomentumOptimizer;
  show("momentum", [] {  // 11r
    return std::make_unique<MomentumOptimizer>(tf::train::MomentumOptions{.learning_rate = 0.01F, .momentum = 0.9F});
  });
  show("Nesterov", [] {  // 11s
    return std::make_unique<MomentumOptimizer>(
        tf::train::MomentumOptions{.learning_rate = 0.01F, .momentum = 0.9F, .use_nesterov = true});
  });
  show("RMSProp", [] {  // 11t
    return std::make_unique<tf::train::RMSPropOptimizer>(
        tf::train::RMSPropOptions{.learning_rate = 0.0005F, .decay = 0.9F, .momentum = 0.9F, .epsilon = 1e-10F});
  });
  show("Adam", [] { return std::make_unique<tf::train::AdamOptimizer>(); });  // 11u
  decay();
}

/* Prints:
after a step with clipped gradients: [0.95 1.1 ]
momentum: loss falls: true
Nesterov: loss falls: true
RMSProp: loss falls: true
Adam: loss falls: true
learning rate at step 0: 0.1
steps counted: 1
learning rate at step 10000: 0.01
*/
