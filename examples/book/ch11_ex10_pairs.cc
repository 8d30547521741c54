// Exercise 11.10: a net that tells whether two pictures show the same class (0) or not (1), and what it has learnt
// reused, frozen, by a classifier with few labels. Two nets of five layers of 100 look at a picture each; their outputs
// side by side go into ten units and one logistic output.
#include <random>

#include "digits_net.h"

namespace tf = caudal;

struct PairBatch {
  tf::Tensor first, second, labels;
};

// Half of the pairs of one class, half of two.
PairBatch pairs(const tf::data::DataSet& set, std::int64_t size, std::mt19937& random) {
  const auto labels = set.labels().flat<std::int64_t>();
  std::vector<std::vector<std::int64_t>> of_class(10);
  for (std::int64_t i = 0; i < set.size(); ++i)
    of_class[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])].push_back(i);
  const auto any = [&](const std::vector<std::int64_t>& rows) { return rows[random() % rows.size()]; };
  std::vector<std::int64_t> first, second;
  std::vector<float> different;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::size_t a = random() % 10;
    const std::size_t b = i % 2 == 0 ? a : (a + 1 + random() % 9) % 10;
    first.push_back(any(of_class[a]));
    second.push_back(any(of_class[b]));
    different.push_back(a == b ? 0.0F : 1.0F);
  }
  return {set.gather(first.data(), size, false).features, set.gather(second.data(), size, false).features,
          tf::Tensor(different).reshape({size, 1})};
}

constexpr const char* kCheckpoint = "my_digit_comparison_model.ckpt";

// Returns how often the pair net is right about pairs of the other pictures.
double train_pair_net(const tf::data::DataSet& train, const tf::data::DataSet& other, int steps,
                      std::int64_t batch_size) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const tf::Output X1 = tf::placeholder(tf::float32, {-1, 784}, {.name = "X1"});
  const tf::Output X2 = tf::placeholder(tf::float32, {-1, 784}, {.name = "X2"});
  const tf::Output y = tf::placeholder(tf::float32, {-1, 1}, {.name = "y"});
  const auto dnn = [](const tf::Output& x, const char* name) {
    const tf::VariableScope variables(name);
    return hidden_layers(x, {}, {});
  };
  const tf::Output both = tf::concat({dnn(X1, "DNN_A"), dnn(X2, "DNN_B")}, 1);
  const auto hidden = tf::layers::dense(
      both, 10, {.activation = tf::nn::elu, .kernel_initializer = tf::he_normal(), .name = "comparison"});
  const auto logits = tf::layers::dense(hidden, 1, {.kernel_initializer = tf::he_normal(), .name = "logits"});
  const tf::Output loss =
      tf::reduce_mean(tf::nn::sigmoid_cross_entropy_with_logits({.labels = y, .logits = logits}), {.name = "loss"});
  const tf::Output y_pred = tf::cast(tf::greater_equal(logits, 0), tf::float32);
  const tf::Output accuracy = tf::reduce_mean(tf::cast(tf::equal(y_pred, y), tf::float32), {.name = "accuracy"});
  const auto training_op =
      tf::train::MomentumOptimizer({.learning_rate = 0.01F, .momentum = 0.95F, .use_nesterov = true}).minimize(loss);
  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  std::mt19937 random(42);
  for (int step = 0; step < steps; ++step) {
    const PairBatch batch = pairs(train, batch_size, random);
    sess.run(training_op, {{X1, batch.first}, {X2, batch.second}, {y, batch.labels}});
  }
  saver.save(sess, kCheckpoint);
  const PairBatch unseen = pairs(other, 2000, random);
  return sess.run(accuracy, {{X1, unseen.first}, {X2, unseen.second}, {y, unseen.labels}}).item<float>();
}

// A classifier of ten classes on the hidden layers of net A, frozen, or on new ones.
double train_classifier(bool reuse, const book::Sets& sets, const book::FitOptions& fit) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  book::Model model;
  model.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  model.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  tf::Output hidden;
  {
    const tf::VariableScope variables("DNN_A");
    hidden = hidden_layers(model.X, {}, {});
  }
  if (reuse) hidden = tf::stop_gradient(hidden);
  const auto logits = tf::layers::dense(hidden, 10, {.kernel_initializer = tf::he_normal(), .name = "softmax"});
  model.loss = book::loss_of(model.y, logits);
  model.accuracy = book::accuracy_of(model.y, logits);
  model.training_op = tf::train::MomentumOptimizer({.learning_rate = 0.01F, .momentum = 0.9F, .use_nesterov = true})
                          .minimize(model.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  if (reuse)
    tf::train::Saver({.variables = tf::global_variables("DNN_A/hidden[1-5]/(kernel|bias)$")})
        .restore(sess, kCheckpoint);
  book::fit(sess, model, sets.train, sets.validation, fit);
  return book::evaluate(sess, model, model.accuracy, sets.test);
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets all = book::load(arguments);
  const bool is_long = arguments.long_run;
  std::cout << std::boolalpha;
  const double pair_accuracy = train_pair_net(all.train, all.test, is_long ? 5000 : 500, is_long ? 500 : 100);
  std::cout << "pairs: right more often than by chance: " << (pair_accuracy > (is_long ? 0.9 : 0.6)) << "\n";
  // The other part of the pictures, up to 500 of each class.
  const book::Sets few{book::only(all.validation, 0, 9, 500), book::only(all.validation, 0, 9, 500), all.test};
  const book::FitOptions fit{.max_epochs = is_long ? 100 : 15, .patience = 10, .batch_size = 50};
  const double reused = train_classifier(true, few, fit), fresh = train_classifier(false, few, fit);
  std::cout << "classifier on the frozen layers of net A: better than chance by far: "
            << (reused > (is_long ? 0.9 : 0.4)) << "\n";
  if (is_long) {
    std::cout << "pairs " << pair_accuracy << ", reused " << reused << ", from the start " << fresh << "\n";
  }
}

/* Prints:
pairs: right more often than by chance: true
classifier on the frozen layers of net A: better than chance by far: true
*/
