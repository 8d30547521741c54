// Chapter 11, against overfitting: l1 by hand (listing 11w) and by a regulariser (11x, 11y), dropout (11z), and
// max-norm by hand (11A) and by a regulariser that clips and returns nothing (11B to 11D).
//
// The book's listing clips along axis 1, the rows of a kernel [inputs, units], while its text speaks of the weights
// that lead into a unit: those are the columns, axis 0. Here it is done as listed; the axis is an option.
#include <algorithm>
#include <cmath>

#include "book.h"

namespace tf = caudal;

// The greatest Euclidean norm along an axis of a matrix.
float greatest_norm(tf::Session& sess, const tf::Output& matrix, int axis) {
  return sess.run(tf::sqrt(tf::reduce_max(tf::reduce_sum(tf::square(matrix), {.axis = axis})))).item<float>();
}

// 11w against 11x and 11y: the same loss.
void l1() {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const double scale = 0.001;
  const tf::Output X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  const tf::Output y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  // 11x: one set of options for all layers.
  tf::layers::DenseOptions my_dense_layer{.activation = tf::nn::relu,
                                          .kernel_regularizer = tf::layers::l1_regularizer(scale)};
  const auto layer = [&](const tf::Output& x, int units, const char* name) {
    my_dense_layer.name = name;
    return tf::layers::dense(x, units, my_dense_layer);
  };
  const auto hidden1 = layer(X, 30, "hidden1");
  my_dense_layer.activation = {};
  const auto logits = layer(hidden1, 10, "outputs");
  const tf::Output base_loss = book::loss_of(y, logits);
  // 11w: by hand.
  const tf::Output W1 = graph.tensor("hidden1/kernel/read:0"), W2 = graph.tensor("outputs/kernel/read:0");
  const tf::Output reg_losses = tf::reduce_sum(tf::abs(W1)) + tf::reduce_sum(tf::abs(W2));
  const tf::Output by_hand = tf::add(base_loss, scale * reg_losses, {.name = "loss"});
  // 11y: what the regularisers collected.
  std::vector<tf::Output> terms = tf::losses::get_regularization_losses();
  terms.insert(terms.begin(), base_loss);
  const tf::Output collected = tf::add_n(terms, {.name = "loss"});
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const tf::Feeds feeds{{X, tf::Tensor::zeros(tf::float32, {1, 784})}, {y, tf::Tensor(std::vector<std::int64_t>{3})}};
  const auto both = sess.run(tf::Fetches{by_hand, collected}, feeds);
  std::cout << "l1 losses: " << terms.size() - 1
            << ", equal to those by hand: " << (std::abs(both[0].item<float>() - both[1].item<float>()) < 1e-5F)
            << "\n";
}

// 11z: half of the inputs and of the hidden outputs, in training only.
void dropout(const book::Sets& sets, const book::Arguments& arguments) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  book::Model model;
  model.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  model.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  model.training = tf::placeholder_with_default(false, tf::PartialShape::scalar(), {.name = "training"});
  const double dropout_rate = 0.5;  // == 1 - keep_prob
  const auto drop = [&](const tf::Output& x) {
    return tf::layers::dropout(x, {.rate = dropout_rate, .training = model.training});
  };
  const auto hidden1 = drop(tf::layers::dense(drop(model.X), 300, {.activation = tf::nn::relu, .name = "hidden1"}));
  const auto hidden2 = drop(tf::layers::dense(hidden1, 100, {.activation = tf::nn::relu, .name = "hidden2"}));
  const auto logits = tf::layers::dense(hidden2, 10, {.name = "outputs"});
  model.loss = book::loss_of(model.y, logits);
  model.accuracy = book::accuracy_of(model.y, logits);
  model.training_op = tf::train::MomentumOptimizer({.learning_rate = 0.01F, .momentum = 0.9F}).minimize(model.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const tf::Feeds one{{model.X, sets.test.features().rows(0, 1)}, {model.training, true}};
  std::cout << "two training passes differ: " << !identical(sess.run(logits, one), sess.run(logits, one)) << "\n";
  const auto result = book::fit(sess, model, sets.train, sets.validation, {.max_epochs = arguments.long_run ? 20 : 6});
  std::cout << "loss falls with dropout: " << (result.best_loss < 0.7 * result.first_loss) << "\n";
  if (arguments.long_run) {
    std::cout << "accuracy: " << book::evaluate(sess, model, model.accuracy, sets.test) << "\n";
  }
}

// 11A: the clip of one layer, evaluated after each step.
void max_norm_by_hand(const book::Sets& sets) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const tf::Output X = tf::placeholder(tf::float32, {-1, 784}), y = tf::placeholder(tf::int64, {-1});
  const auto hidden1 = tf::layers::dense(X, 50, {.activation = tf::nn::relu, .name = "hidden1"});
  const tf::Output loss = book::loss_of(y, tf::layers::dense(hidden1, 10, {.name = "outputs"}));
  const auto training_op = tf::train::MomentumOptimizer({.learning_rate = 0.1F, .momentum = 0.9F}).minimize(loss);
  const float threshold = 1.0F;
  const tf::Variable weights = tf::trainable_variables("hidden1/kernel")[0];
  const tf::Output clipped_weights = tf::clip_by_norm(weights, threshold, {.axes = {1}});
  const tf::Output clip_weights = tf::assign(weights, clipped_weights);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const tf::Feeds feeds{{X, sets.train.features()}, {y, sets.train.labels()}};
  for (int step = 0; step < 10; ++step) {
    sess.run(training_op, feeds);
    sess.run(clip_weights);
  }
  std::cout << "rows of the kernel are at most 1 long: " << (greatest_norm(sess, weights, 1) < 1 + 1e-5F) << "\n";
}

// 11B to 11D, along the axis of the listing or of the text. The regulariser of 11B, which makes the clips and returns
// no penalty, is part of the library.
void max_norm(const book::Sets& sets, int axis) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  book::Model model;
  model.X = tf::placeholder(tf::float32, {-1, 784});
  model.y = tf::placeholder(tf::int64, {-1});
  const auto max_norm_reg = tf::layers::max_norm_regularizer(1.0, {.axes = {axis}});
  const auto hidden1 = tf::layers::dense(
      model.X, 50, {.activation = tf::nn::relu, .kernel_regularizer = max_norm_reg, .name = "hidden1"});
  const auto hidden2 = tf::layers::dense(
      hidden1, 30, {.activation = tf::nn::relu, .kernel_regularizer = max_norm_reg, .name = "hidden2"});
  model.loss = book::loss_of(model.y, tf::layers::dense(hidden2, 10, {.name = "outputs"}));
  model.training_op = tf::train::MomentumOptimizer({.learning_rate = 0.02F, .momentum = 0.9F}).minimize(model.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const auto clips = tf::layers::max_norm_updates();
  const auto result = book::fit(sess, model, sets.train, sets.validation,
                                {.max_epochs = 3, .after_step = {clips.begin(), clips.end()}});
  const float longest = std::max(greatest_norm(sess, tf::trainable_variables("hidden1/kernel")[0], axis),
                                 greatest_norm(sess, tf::trainable_variables("hidden2/kernel")[0], axis));
  std::cout << "axis " << axis << ": " << clips.size()
            << " clips, no penalty: " << tf::losses::get_regularization_losses().empty()
            << ", at most 1 long: " << (longest < 1 + 1e-5F)
            << ", loss falls: " << (result.best_loss < 0.8 * result.first_loss) << "\n";
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets sets = book::load(arguments);
  std::cout << std::boolalpha;
  l1();
  dropout(sets, arguments);
  max_norm_by_hand(sets);
  max_norm(sets, 1);
  max_norm(sets, 0);
}

/* Prints:
l1 losses: 2, equal to those by hand: true
two training passes differ: true
loss falls with dropout: true
rows of the kernel are at most 1 long: true
axis 1: 2 clips, no penalty: true, at most 1 long: true, loss falls: true
axis 0: 2 clips, no penalty: true, at most 1 long: true, loss falls: true
*/
