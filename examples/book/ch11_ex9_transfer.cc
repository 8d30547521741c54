// Exercise 11.9: what a net has learnt of the digits 0 to 4 helps with 5 to 9, of which there are few pictures: all
// hidden layers frozen, their outputs computed once, only four layers, the two upper ones unfrozen.
#include <chrono>

#include "digits_net.h"

namespace tf = caudal;

constexpr const char* kCheckpoint = "my_mnist_model_0_to_4.ckpt";

void train_0_to_4(const book::Sets& sets, const book::FitOptions& fit) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  const book::Model model = make_digits_net();
  tf::train::Saver saver;
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  book::fit(sess, model, sets.train, sets.validation, fit);
  saver.save(sess, kCheckpoint);
}

struct Variant {
  const char* name;
  int layers;           // reused
  bool cached;          // the frozen outputs are computed once
  const char* trained;  // scopes of the variables that are trained
};

struct Outcome {
  double accuracy, seconds;
};

// A new output layer on the first layers of the old net.
Outcome transfer(const Variant& variant, const book::Sets& sets, const book::FitOptions& fit) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  tf::set_random_seed(42);
  auto restore_saver = tf::train::import_meta_graph(std::string(kCheckpoint) + ".meta");
  book::Model model{.X = graph.tensor("X:0"),
                    .y = graph.tensor("y:0"),
                    .training = {},
                    .loss = {},
                    .accuracy = {},
                    .training_op = {}};
  const tf::Output hidden =
      graph.tensor(variant.layers == 1 ? "Elu:0" : "Elu_" + std::to_string(variant.layers - 1) + ":0");
  const tf::Output logits = tf::layers::dense(hidden, 5, {.kernel_initializer = tf::he_normal(), .name = "new_logits"});
  model.loss = book::loss_of(model.y, logits);
  model.accuracy = book::accuracy_of(model.y, logits);
  model.training_op = tf::train::AdamOptimizer({.learning_rate = 0.003F, .name = "Adam2"})
                          .minimize(model.loss, {.var_list = tf::trainable_variables(variant.trained)});
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  restore_saver->restore(sess, kCheckpoint);
  const auto start = std::chrono::steady_clock::now();
  book::Sets fed = sets;
  if (variant.cached) {
    for (tf::data::DataSet* set : {&fed.train, &fed.validation}) {
      *set = {sess.run(hidden, {{model.X, set->features()}}), set->labels()};
    }
    model.X = hidden;
  }
  book::fit(sess, model, fed.train, fed.validation, fit);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  model.X = graph.tensor("X:0");
  return {book::evaluate(sess, model, model.accuracy, sets.test), seconds};
}

int main(int count, char** values) {
  const book::Arguments arguments(count, values);
  const book::Sets all = book::load(arguments);
  const bool is_long = arguments.long_run;
  train_0_to_4({book::only(all.train, 0, 4), book::only(all.validation, 0, 4), book::only(all.test, 0, 4)},
               {.max_epochs = is_long ? 30 : 6, .patience = 5, .batch_size = is_long ? 100 : 20});
  const std::int64_t few = is_long ? 100 : 40;
  const book::Sets sets{book::only(all.train, 5, 9, few), book::only(all.validation, 5, 9, 30),
                        book::only(all.test, 5, 9)};
  const book::FitOptions fit{.max_epochs = is_long ? 1000 : 20, .patience = 20};
  std::cout << std::boolalpha;
  double frozen = 0, cached = 0;
  for (const Variant& variant :
       {Variant{"frozen", 5, false, "new_logits"}, Variant{"frozen and cached", 5, true, "new_logits"},
        Variant{"four layers, frozen", 4, false, "new_logits"},
        Variant{"four layers, two unfrozen", 4, false, "hidden[34]|new_logits"}}) {
    const Outcome outcome = transfer(variant, sets, fit);
    if (variant.layers == 5) (variant.cached ? cached : frozen) = outcome.accuracy;
    std::cout << variant.name << ": better than chance by far: " << (outcome.accuracy > 0.5);
    if (is_long) std::cout << " (" << outcome.accuracy << " in " << outcome.seconds << " s)";
    std::cout << "\n";
  }
  std::cout << "caching changes nothing but the time: " << (std::abs(frozen - cached) < 0.02) << "\n";
}

/* Prints:
frozen: better than chance by far: true
frozen and cached: better than chance by far: true
four layers, frozen: better than chance by far: true
four layers, two unfrozen: better than chance by far: true
caching changes nothing but the time: true
*/
