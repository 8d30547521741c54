// Chapter 11, reusing parts of a model: some layers by a regular expression (listing 11m), under other names, and
// weights from another framework through the initialisers' inputs (listing 11n).
#include <iostream>

#include "reused_net.h"

namespace tf = caudal;

// An earlier program's checkpoint.
tf::Tensor make_model() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  make_net();
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  tf::train::Saver().save(sess, "my_model_final.ckpt");
  return sess.run(tf::global_variables("hidden1/kernel")[0]);
}

// 11m: the hidden layers from the checkpoint, the head from its initialiser; everything is saved.
void by_expression(const tf::Tensor& kernel) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  make_net();
  tf::train::Saver restore_saver({.variables = tf::global_variables("hidden[12]")});
  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  restore_saver.restore(sess, "my_model_final.ckpt");
  std::cout << "restored: " << identical(sess.run(tf::global_variables("hidden1/kernel")[0]), kernel) << "\n";
  saver.save(sess, "my_new_model_final.ckpt");
  std::cout << "saved: " << tf::train::list_variables("my_new_model_final.ckpt").size() << " variables\n";
}

// The same values for variables that are called otherwise here.
void under_other_names(const tf::Tensor& kernel) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Variable weights(tf::Tensor::zeros(tf::float32, {784, 60}), {.name = "mine/weights"});
  tf::train::Saver saver({.variables = std::map<std::string, tf::Variable>{{"hidden1/kernel", weights}}});
  tf::Session sess;
  saver.restore(sess, "my_model_final.ckpt");
  std::cout << "renamed: " << identical(sess.run(weights), kernel) << "\n";
}

// 11n: arrays of another framework are fed in the place of the initial values.
void from_elsewhere() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  make_net();
  const tf::Operation init = tf::global_variables_initializer();
  const tf::Output assigned_kernel = graph.operation("hidden1/kernel/Assign").input(1);
  const tf::Output assigned_bias = graph.operation("hidden1/bias/Assign").input(1);
  const tf::Tensor bias = tf::Tensor::from<float>({60}, std::vector<float>(60, 0.25F));
  tf::Session sess;
  sess.run(init, {{assigned_kernel, tf::Tensor::zeros(tf::float32, {784, 60})}, {assigned_bias, bias}});
  std::cout << "from elsewhere: " << identical(sess.run(tf::global_variables("hidden1/bias")[0]), bias) << "\n";
}

// A checkpoint that has none of the names tells what each side has.
void nothing_matches() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::Variable weights(tf::Tensor::zeros(tf::float32, {784, 60}), {.name = "layer1/kernel"});
  tf::Session sess;
  try {
    tf::train::Saver().restore(sess, "my_model_final.ckpt");
  } catch (const tf::Error& error) {
    std::cout << error.what() << "\n";
  }
}

int main() {
  std::cout << std::boolalpha;
  const tf::Tensor kernel = make_model();
  by_expression(kernel);
  under_other_names(kernel);
  from_elsewhere();
  nothing_matches();
}

/* Prints:
restored: true
saved: 6 variables
renamed: true
from elsewhere: true
INVALID_ARGUMENT: checkpoint 'my_model_final.ckpt' does not fit the graph; nothing was restored:
  'layer1/kernel' float32[784,60]: not in the checkpoint
The checkpoint also holds:
  'hidden1/bias' float32[60]
  'hidden1/kernel' float32[784,60]
  'hidden2/bias' float32[30]
  'hidden2/kernel' float32[60,30]
  'outputs/bias' float32[10]
  'outputs/kernel' float32[30,10]. Give Saver the variables that it should restore, under the checkpoint's names.
*/
