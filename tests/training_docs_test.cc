// The listings of docs/training.md, in their order: they compile, and do what the page says.
#include <gtest/gtest.h>

#include <memory>

#include "caudal/caudal.h"
#include "tests/harness/doc_listings.h"

namespace tf = caudal;

namespace {

TEST(TrainingDocs, ListingsAreThisProgram) {
  const auto listed = tf::harness::lines_between("docs/training.md", "```cpp", "```");
  const auto tested = tf::harness::lines_between("tests/training_docs_test.cc", "// [listing]", "// [end]");
  ASSERT_GT(listed.size(), 20U);
  EXPECT_EQ(listed, tested);
}

// y = x0 - 2 x1.
tf::data::DataSet make_rows() {
  tf::Tensor features(tf::float32, {60, 2}), labels(tf::float32, {60, 1});
  for (int i = 0; i < 60; ++i) {
    const float a = static_cast<float>(i % 7) / 7, b = static_cast<float>(i % 11) / 11;
    features.data<float>()[2 * i] = a;
    features.data<float>()[2 * i + 1] = b;
    labels.data<float>()[i] = a - 2 * b;
  }
  return {features, labels};
}

TEST(TrainingDocs, ListingsDoWhatThePageSays) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::TempDir temporary;
  const std::string folder = temporary.path();
  const tf::data::DataSet rows = make_rows();
  // clang-format off
  // [listing]
  tf::Output x = tf::placeholder(tf::float32, {-1, 2}, {.name = "x"});
  tf::Output y = tf::placeholder(tf::float32, {-1, 1}, {.name = "y"});
  tf::Output guess = tf::layers::dense(x, 1, {.name = "guess"});
  tf::Output loss = tf::reduce_mean(tf::square(guess - y));
  tf::Variable step = tf::train::get_or_create_global_step();
  tf::Operation train = tf::train::MomentumOptimizer({.learning_rate = 0.01, .momentum = 0.9}).minimize(loss, {.global_step = step});
  // [end]

  // [listing]
  tf::train::AdamOptimizer adam({.learning_rate = 0.001});
  std::vector<tf::train::GradientAndVariable> pairs = adam.compute_gradients(loss);
  for (auto& pair : pairs) pair.gradient = tf::clip_gradient_by_norm(pair.gradient, 1.0);
  tf::Operation clipped = adam.apply_gradients(pairs, {.name = "clipped"});
  // [end]

  // [listing]
  tf::Output decayed = tf::train::exponential_decay(0.1, step, 1000, 0.96, {.staircase = true});
  tf::Output rate = tf::train::linear_warmup(decayed, step, 100);
  tf::Operation scheduled = tf::train::GradientDescentOptimizer({.learning_rate = rate}).minimize(loss, {.global_step = step});
  // [end]

  // [listing]
  tf::train::ReduceOnPlateau plateau(0.1F, {.factor = 0.5F, .patience = 5});
  tf::Operation on_plateau = tf::train::AdagradOptimizer({.learning_rate = plateau.learning_rate()}).minimize(loss);
  // [end]

  // [listing]
  tf::train::ExponentialMovingAverage average({.decay = 0.99, .num_updates = step});
  tf::Operation averaged = average.apply();
  tf::train::Saver evaluation({.variables = average.variables_to_restore(), .name = "evaluation"});
  // [end]

  // [listing]
  tf::Session session;
  session.run(tf::global_variables_initializer());
  auto saver = std::make_shared<tf::train::Saver>();
  auto stopping = std::make_shared<tf::train::EarlyStopping>(tf::train::EarlyStoppingOptions{
      .monitor = "val_loss", .patience = 3, .saver = saver, .best_prefix = folder + "/best.ckpt"});
  tf::train::Trainer trainer(session, {.features = x, .labels = y, .train_op = on_plateau, .loss = loss});
  tf::train::History history = trainer.fit(rows, {.epochs = 200,
                                                  .batch_size = 10,
                                                  .validation = rows,
                                                  .check_every = 20,
                                                  .callbacks = {stopping, std::make_shared<tf::train::PlateauCallback>(plateau)}});
  // [end]

  // [listing]
  tf::train::Checkpoint checkpoint({{"model/steps", step}});
  std::string written = checkpoint.save(session, folder + "/ckpt");  // tf.train.Checkpoint(model=...) restores it
  checkpoint.restore(session, written);
  std::vector<tf::train::ObjectVariable> objects = tf::train::list_object_variables(written);  // paths, shapes, names
  // [end]
  // clang-format on
  EXPECT_EQ(objects[0].path, "model/steps");
  EXPECT_LT(trainer.evaluate(rows)[0].second, 0.01);
  EXPECT_FALSE(history.epochs.empty());
  const tf::Feeds feeds = {{x, tf::Tensor::from<float>({1, 2}, {1, 1})}, {y, tf::Tensor::from<float>({1, 1}, {-1})}};
  for (const tf::Operation& operation : {train, clipped, scheduled, averaged}) session.run(operation, feeds);
  EXPECT_EQ(tf::train::global_step(session, step), 2);
  // The second step of 100 that warm up.
  EXPECT_NEAR(session.run(rate).item<float>(), 0.1F * 2 / 100, 1e-7);
  evaluation.restore(session, saver->save(session, folder + "/averaged.ckpt"));
}

}  // namespace
