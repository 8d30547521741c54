// Chapter 11, reusing a model (listings 11h to 11l): a meta graph is imported, its tensors are found by name, its
// values restored, and training goes on.
#include <iostream>

#include "reused_net.h"

namespace tf = caudal;

// An earlier program: trains a little and leaves my_model_final.ckpt. Returns the accuracy.
float make_model(const tf::data::Batch& pictures) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const ReusedNet net = make_net();
  const tf::Operation training_op = tf::train::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(net.loss);
  // 11k: what others will want to find.
  for (const tf::Output& tensor : {net.X, net.y, net.accuracy}) {
    graph.add_to_collection("my_important_ops", {.output = tensor});
  }
  graph.add_to_collection("my_important_ops", {.operation = training_op});

  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const tf::Feeds feeds{{net.X, pictures.features}, {net.y, pictures.labels}};
  for (int step = 0; step < 20; ++step) sess.run(training_op, feeds);
  saver.save(sess, "my_model_final.ckpt");
  return sess.run(net.accuracy, feeds).item<float>();
}

int main(int, char** arguments) {
  const auto pictures = all_pictures(arguments[1]);
  const float accuracy_then = make_model(pictures);

  tf::Graph graph;
  const tf::GraphScope scope(graph);
  auto saver = tf::train::import_meta_graph("my_model_final.ckpt.meta");  // 11h

  for (int i = 0; i < 5; ++i) std::cout << graph.node(i).name() << "\n";  // 11j

  const tf::Output X = graph.tensor("X:0");  // 11i
  const tf::Output y = graph.tensor("y:0");
  const tf::Output loss = graph.tensor("loss/loss:0");
  const tf::Output accuracy = graph.tensor("eval/accuracy:0");
  const tf::Operation training_op = graph.operation("GradientDescent");

  std::cout << "important:";  // 11k
  for (const auto& item : graph.collection("my_important_ops")) {
    std::cout << " " << (item.output ? item.output.name() : item.operation.name());
  }
  std::cout << "\n";

  tf::Session sess;  // 11l
  saver->restore(sess, "my_model_final.ckpt");
  const tf::Feeds feeds{{X, pictures.features}, {y, pictures.labels}};
  std::cout << std::boolalpha
            << "same accuracy as then: " << (sess.run(accuracy, feeds).item<float>() == accuracy_then);
  const float before = sess.run(loss, feeds).item<float>();
  for (int step = 0; step < 20; ++step) sess.run(training_op, feeds);
  std::cout << "\nloss is lower after more steps: " << (sess.run(loss, feeds).item<float>() < before) << "\n";
  saver->save(sess, "my_new_model_final.ckpt");
}

/* Prints:
X
y
hidden1/kernel/Initializer/random_uniform/Const
hidden1/kernel/Initializer/random_uniform/RandomUniform
hidden1/kernel/Initializer/random_uniform/Const_1
important: X:0 y:0 eval/accuracy:0 GradientDescent
same accuracy as then: true
loss is lower after more steps: true
*/
