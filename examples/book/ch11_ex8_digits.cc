// Exercise 11.8: a deep net for the digits 0 to 4 with early stopping and checkpoints, its hyper-parameters searched
// for by random trials, with batch normalisation, and with dropout.
#include "digits_net.h"

namespace tf = caudal;

struct Trial {
  double loss, accuracy;
  int epochs;
};

// Trains a net of its own; leaves a checkpoint if a path is given.
Trial train(const DigitsNetOptions& options, const book::Sets& sets, const book::FitOptions& fit,
            const std::string& checkpoint = {}) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const book::Model model = make_digits_net(options);
  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const auto result = book::fit(sess, model, sets.train, sets.validation, fit);
  if (!checkpoint.empty()) saver.save(sess, checkpoint);
  return {result.best_loss, book::evaluate(sess, model, model.accuracy, sets.test), result.epochs};
}

// The accuracy of a checkpoint, restored into a new session.
double restored(const std::string& checkpoint, const book::Sets& sets) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const book::Model model = make_digits_net();
  tf::Session sess;
  tf::train::Saver().restore(sess, checkpoint);
  return book::evaluate(sess, model, model.accuracy, sets.test);
}

// So many random choices of hyper-parameters, judged by the validation loss.
DigitsNetOptions search(const book::Sets& sets, const book::FitOptions& fit, int trials) {
  const std::vector<int> neurons = {50, 100, 140};
  const std::vector<float> rates = {0.001F, 0.003F, 0.01F};
  const std::vector<tf::layers::Activation> activations = {tf::nn::elu, tf::nn::relu};
  const auto order = tf::data::permutation(18, 42, 0);
  DigitsNetOptions best;
  double best_loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i < trials; ++i) {
    const auto k = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    const DigitsNetOptions options{
        .neurons = neurons[k % 3], .activation = activations[k / 3 % 2], .learning_rate = rates[k / 6]};
    const double loss = train(options, sets, fit).loss;
    if (loss < best_loss) {
      best_loss = loss;
      best = options;
    }
  }
  return best;
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets all = book::load(arguments);
  const book::Sets sets{book::only(all.train, 0, 4), book::only(all.validation, 0, 4), book::only(all.test, 0, 4)};
  const bool is_long = arguments.long_run;
  const book::FitOptions fit{
      .max_epochs = is_long ? 100 : 8, .patience = is_long ? 5 : 8, .batch_size = is_long ? 100 : 20};
  const double wanted = is_long ? 0.985 : 0.7;
  std::cout << std::boolalpha;
  const auto show = [&](const char* what, const Trial& trial) {
    std::cout << what << ": accuracy above " << wanted << ": " << (trial.accuracy > wanted);
    if (is_long) std::cout << " (" << trial.accuracy << " after " << trial.epochs << " epochs)";
    std::cout << "\n";
  };
  const Trial first = train({}, sets, fit, "my_mnist_model_0_to_4.ckpt");
  show("five layers of 100", first);
  std::cout << "the checkpoint gives the same: " << (restored("my_mnist_model_0_to_4.ckpt", sets) == first.accuracy)
            << "\n";
  DigitsNetOptions best = search(sets, fit, is_long ? 5 : 2);
  const Trial tuned = train(best, sets, fit);
  show("best of the search", tuned);
  best.batch_norm = true;
  show("with batch normalisation", train(best, sets, fit));
  best.batch_norm = false;
  best.dropout_rate = is_long ? 0.5 : 0.2;
  show("with dropout", train(best, sets, fit));
}

/* Prints:
five layers of 100: accuracy above 0.7: true
the checkpoint gives the same: true
best of the search: accuracy above 0.7: true
with batch normalisation: accuracy above 0.7: true
with dropout: accuracy above 0.7: true
*/
