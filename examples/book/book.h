// What the programs of the book's chapters share: their arguments, pictures as rows of numbers, early stopping.
//
// A program is given a directory with the four files of an MNIST-like set, and trains on a few of them for seconds;
// with
// --long behind it, it trains as the book does and prints what it reaches.
#pragma once

#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "caudal/caudal.h"

namespace book {

namespace tf = caudal;

struct Arguments {
  Arguments(int count, char** values)
      : pictures(count > 1 ? values[1] : "."), long_run(count > 2 && std::strcmp(values[2], "--long") == 0) {}
  std::string pictures;
  bool long_run;
};

// Pictures as rows of 784 numbers in [0, 1].
inline tf::data::DataSet flat(const tf::data::DataSet& set) {
  const auto all = set.stream(set.size(), {.shuffle = false}).next();
  return {all.features.reshape({set.size(), all.features.num_elements() / set.size()}), all.labels};
}

struct Sets {
  tf::data::DataSet train, validation, test;
};
inline Sets load(const Arguments& arguments) {
  const auto sets = tf::data::load_idx(arguments.pictures, {.validation_size = arguments.long_run ? 5000 : 200});
  return {flat(sets.train), flat(sets.validation), flat(sets.test)};
}

// The rows with labels first to last, which become 0, 1, ...; at most `per_class` of each.
inline tf::data::DataSet only(const tf::data::DataSet& set, std::int64_t first, std::int64_t last,
                              std::int64_t per_class = std::numeric_limits<std::int64_t>::max()) {
  const auto labels = set.labels().flat<std::int64_t>();
  std::vector<std::int64_t> rows, taken(static_cast<std::size_t>(last - first + 1)), kept;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::int64_t label = labels[static_cast<std::size_t>(i)];
    if (label < first || label > last || taken[static_cast<std::size_t>(label - first)]++ >= per_class) continue;
    rows.push_back(i);
    kept.push_back(label - first);
  }
  const auto batch = set.gather(rows.data(), static_cast<std::int64_t>(rows.size()), false);
  return {batch.features, tf::Tensor(kept)};
}

// The values of all global variables, as they were when they were best.
class BestModel {
 public:
  explicit BestModel(tf::Session& sess) : sess_(sess) {}
  void keep() {
    values_.clear();
    for (const tf::Variable& variable : tf::global_variables()) values_.push_back(sess_.run(variable));
  }
  void restore() const {
    std::size_t i = 0;
    for (const tf::Variable& variable : tf::global_variables()) {
      sess_.run(variable.initializer(), {{variable.initial_value(), values_[i++]}});
    }
  }

 private:
  tf::Session& sess_;
  std::vector<tf::Tensor> values_;
};

// A classifier's nodes that training and evaluation need.
struct Model {
  tf::Output X, y, training, loss, accuracy;
  tf::Operation training_op;
};

inline tf::Output loss_of(const tf::Output& y, const tf::Output& logits) {
  return tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits}),
                         {.name = "loss"});
}
inline tf::Output accuracy_of(const tf::Output& y, const tf::Output& logits) {
  return tf::reduce_mean(tf::cast(tf::nn::in_top_k(logits, y, 1), tf::float32), {.name = "accuracy"});
}

// A mean over a whole set, fed as it is.
inline double evaluate(tf::Session& sess, const Model& model, const tf::Output& what, const tf::data::DataSet& set) {
  return sess.run(what, {{model.X, set.features()}, {model.y, set.labels()}}).item<float>();
}

struct FitOptions {
  int max_epochs = 1000;
  int patience = 20;  // epochs without a better loss before it stops
  std::int64_t batch_size = 20;
  std::uint64_t seed = 42;
  std::vector<tf::Operation> after_step = {};  // run after each update
};
struct FitResult {
  int epochs = 0;
  double first_loss = 0, best_loss = 0;  // on the validation rows
};
// Trains until the validation loss has not fallen for `patience` epochs; leaves the best model in the session.
inline FitResult fit(tf::Session& sess, const Model& model, const tf::data::DataSet& train,
                     const tf::data::DataSet& validation, const FitOptions& options) {
  FitResult result;
  BestModel best(sess);
  best.keep();
  result.best_loss = result.first_loss = evaluate(sess, model, model.loss, validation);
  const auto update_ops = tf::layers::update_ops();
  auto stream = train.stream(options.batch_size, {.seed = options.seed});
  for (int waited = 0; result.epochs < options.max_epochs && waited < options.patience; ++result.epochs) {
    for (tf::data::Batch batch; stream.next(batch);) {
      tf::Feeds feeds{{model.X, batch.features}, {model.y, batch.labels}};
      if (model.training) feeds.emplace_back(model.training, tf::Tensor(true));
      tf::Fetches targets{model.training_op};
      targets.insert(targets.end(), update_ops.begin(), update_ops.end());
      sess.run(targets, feeds);
      for (const tf::Operation& operation : options.after_step) sess.run(operation);
    }
    const double loss = evaluate(sess, model, model.loss, validation);
    if (loss < result.best_loss) {
      result.best_loss = loss;
      best.keep();
      waited = 0;
    } else {
      ++waited;
    }
  }
  best.restore();
  return result;
}

}  // namespace book
