// Chapter 11, freezing the lower layers of a reused model: by the list of variables (listing 11o), by stop_gradient
// (11p), and with the frozen layers' outputs computed once (11q). At the end the model becomes one frozen file.
#include <iostream>

#include "reused_net.h"

namespace tf = caudal;

// Which variables have changed.
class Watch {
 public:
  explicit Watch(tf::Session& sess) : sess_(sess) {
    for (const tf::Variable& variable : tf::trainable_variables()) before_.push_back(sess.run(variable));
  }
  void print(const char* what) const {
    std::cout << what << ":";
    std::size_t i = 0;
    for (const tf::Variable& variable : tf::trainable_variables()) {
      if (!identical(sess_.run(variable), before_[i++])) std::cout << " " << variable.op_name();
    }
    std::cout << "\n";
  }

 private:
  tf::Session& sess_;
  std::vector<tf::Tensor> before_;
};

// 11o: only the head is given to the optimiser.
void by_variable_list(const tf::data::Batch& pictures) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const ReusedNet net = make_net();
  const auto train_vars = tf::trainable_variables("outputs");
  const auto training_op =
      tf::train::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(net.loss, {.var_list = train_vars});
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const Watch watch(sess);
  sess.run(training_op, {{net.X, pictures.features}, {net.y, pictures.labels}});
  watch.print("by variable list");
}

// 11p: no gradient passes below the second hidden layer.
void by_stop_gradient(const tf::data::Batch& pictures) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const ReusedNet net = make_net(/*frozen_below_2=*/true);
  const auto training_op = tf::train::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(net.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const Watch watch(sess);
  sess.run(training_op, {{net.X, pictures.features}, {net.y, pictures.labels}});
  watch.print("by stop_gradient");
}

// 11q: the second hidden layer's output, computed once for all pictures, is fed in the place of X.
void with_cached_outputs(const tf::data::Batch& pictures) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const ReusedNet net = make_net(/*frozen_below_2=*/true);
  const auto training_op = tf::train::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(net.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const Watch watch(sess);
  const tf::Tensor h2_cache = sess.run(net.hidden2, {{net.X, pictures.features}});
  const float before = sess.run(net.loss, {{net.X, pictures.features}, {net.y, pictures.labels}}).item<float>();
  constexpr std::int64_t batch_size = 50;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t row = 0; row + batch_size <= h2_cache.dim(0); row += batch_size) {
      sess.run(training_op, {{net.hidden2, h2_cache.rows(row, row + batch_size)},
                             {net.y, pictures.labels.rows(row, row + batch_size)}});
    }
  }
  watch.print("with cached outputs");
  const float after = sess.run(net.loss, {{net.X, pictures.features}, {net.y, pictures.labels}}).item<float>();
  std::cout << "loss is lower: " << (after < before) << "\n";

  tf::Graph frozen;
  tf::graph_util::convert_variables_to_constants(sess, {net.logits.node()->name()}, frozen);
  tf::write_graph("frozen.pb", frozen);
  tf::Session alone(frozen);
  std::cout << "frozen graph gives the same: "
            << identical(alone.run(tf::Fetches{net.logits.name()}, {{"X:0", pictures.features}})[0],
                         sess.run(net.logits, {{net.X, pictures.features}}))
            << "\n";
}

int main(int, char** arguments) {
  const auto pictures = all_pictures(arguments[1]);
  std::cout << std::boolalpha;
  by_variable_list(pictures);
  by_stop_gradient(pictures);
  with_cached_outputs(pictures);
}

/* Prints:
by variable list: outputs/kernel outputs/bias
by stop_gradient: outputs/kernel outputs/bias
with cached outputs: outputs/kernel outputs/bias
loss is lower: true
frozen graph gives the same: true
*/
