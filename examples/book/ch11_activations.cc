// Chapter 11, weights and activation functions: He's initialisation (listing 11a), ELU (11b), a leaky ReLU of one's own
// (11c), and how much faster or slower a net with each of them learns.
#include "book.h"

namespace tf = caudal;

// 11c: any function of a tensor will do.
tf::Output leaky_relu(const tf::Output& z) { return tf::maximum(0.01 * z, z, {.name = "leaky_relu"}); }

struct Candidate {
  const char* name;
  tf::layers::Activation activation;
  tf::Initializer initializer;
};

// Five layers of 50; returns the loss before and after training.
std::pair<double, double> losses(const Candidate& candidate, const book::Sets& sets, int epochs) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  book::Model model;
  model.X = tf::placeholder(tf::float32, {-1, 784}, {.name = "X"});
  model.y = tf::placeholder(tf::int64, {-1}, {.name = "y"});
  tf::Output hidden = model.X;
  for (int i = 1; i <= 5; ++i) {
    hidden = tf::layers::dense(hidden, 50,
                               {.activation = candidate.activation,
                                .kernel_initializer = candidate.initializer,
                                .name = "hidden" + std::to_string(i)});
  }
  model.loss = book::loss_of(model.y, tf::layers::dense(hidden, 10, {.name = "outputs"}));
  model.training_op = tf::train::GradientDescentOptimizer({.learning_rate = 0.05}).minimize(model.loss);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const auto result = book::fit(sess, model, sets.train, sets.validation, {.max_epochs = epochs});
  return {result.first_loss, result.best_loss};
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets sets = book::load(arguments);
  std::cout << std::boolalpha;

  {
    // 11a: weights of a dense layer by He, from the inputs alone and from the mean of inputs and outputs.
    tf::Graph graph;
    const tf::GraphScope scope(graph);
    const tf::Output X = tf::placeholder(tf::float32, {-1, 28 * 28}, {.name = "X"});
    const auto he_init = tf::contrib::layers::variance_scaling_initializer();
    const auto he_init_avg = tf::contrib::layers::variance_scaling_initializer({.mode = "FAN_AVG"});
    const auto hidden1 =
        tf::layers::dense(X, 300, {.activation = tf::nn::relu, .kernel_initializer = he_init, .name = "hidden1"});
    tf::layers::dense(hidden1, 100, {.activation = leaky_relu, .kernel_initializer = he_init_avg, .name = "hidden2"});
    tf::Session sess;
    sess.run(tf::global_variables_initializer());
    const auto variance = [&](const char* kernel) {
      return sess.run(tf::nn::moments(graph.tensor(kernel), {0, 1}).variance).item<float>();
    };
    std::cout << hidden1.name() << "\n";
    std::cout << "variance times inputs is 2: " << (std::abs(variance("hidden1/kernel/read:0") * 784 - 2) < 0.1)
              << "\n";
    std::cout << "variance times mean of inputs and outputs is 2: "
              << (std::abs(variance("hidden2/kernel/read:0") * 200 - 2) < 0.1) << "\n";
    std::cout << "leaky ReLU of -5 and 5: " << sess.run(leaky_relu(tf::constant(tf::Tensor(std::vector<float>{-5, 5}))))
              << "\n";
  }

  for (const Candidate& candidate :
       {Candidate{"sigmoid, normal numbers", tf::nn::sigmoid, tf::random_normal_initializer()},
        Candidate{"tanh, Glorot", tf::nn::tanh, tf::glorot_uniform_initializer()},
        Candidate{"ReLU, He", tf::nn::relu, tf::he_normal()}, Candidate{"leaky ReLU, He", leaky_relu, tf::he_normal()},
        Candidate{"ELU, He", tf::nn::elu, tf::he_normal()},
        Candidate{"SELU, LeCun", tf::nn::selu, tf::lecun_normal()}}) {
    const auto [before, after] = losses(candidate, sets, arguments.long_run ? 20 : 3);
    std::cout << candidate.name << ": loss falls: " << (after < 0.9 * before);
    if (arguments.long_run) std::cout << ", from " << before << " to " << after;
    std::cout << "\n";
  }
}

/* Prints:
hidden1/Relu:0
variance times inputs is 2: true
variance times mean of inputs and outputs is 2: true
leaky ReLU of -5 and 5: [-0.05  5.  ]
sigmoid, normal numbers: loss falls: true
tanh, Glorot: loss falls: true
ReLU, He: loss falls: true
leaky ReLU, He: loss falls: true
ELU, He: loss falls: true
SELU, LeCun: loss falls: true
*/
