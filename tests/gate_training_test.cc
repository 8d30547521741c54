// The main job through the public API: the book's network and the demo's learn, and means count rows.
#include "gate_util.h"

namespace caudal {
namespace {

double mean_of(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

class GateTraining : public ::testing::Test {
 protected:
  GateTraining() { set_random_seed(42); }

  // Trains and returns the accuracy; the loss must have fallen to less than `share` of what it was.
  double train(const gate::Network& net, const data::DataSet& rows, std::int64_t epochs, double share) {
    session_.run(global_variables_initializer());
    train::Trainer trainer(session_, net.spec());
    const auto log = std::make_shared<gate::LossLog>();
    trainer.fit(rows, {.epochs = epochs, .batch_size = 20, .callbacks = {log}});
    const std::size_t n = log->losses.size();
    EXPECT_LT(mean_of(log->losses, n - 3, n), share * mean_of(log->losses, 0, 3));
    return gate::value_of(trainer.evaluate(rows), "accuracy");
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Session session_;
};

TEST_F(GateTraining, TheBooksNetworkLearnsWithElu) {
  EXPECT_GT(train(gate::make_mlp(nn::elu), gate::make_pictures(100, 28), 4, 0.5), 0.9);
}

TEST_F(GateTraining, TheBooksNetworkLearnsWithRelu) {
  EXPECT_GT(train(gate::make_mlp(nn::relu), gate::make_pictures(100, 28), 4, 0.5), 0.9);
}

TEST_F(GateTraining, TheDemosNetworkLearns) {
  EXPECT_GT(train(gate::make_cnn(8), gate::make_pictures(120, 8), 12, 0.5), 0.9);
}

// 25 rows in batches of 10: the last has 5. The loss is the mean of the rows' numbers, so every mean is known.
class GatePartialBatch : public GateTraining {
 protected:
  GatePartialBatch() {
    Tensor features(float32, {25, 1}), labels(int64, {25});
    for (int i = 0; i < 25; ++i) {
      features.data<float>()[i] = static_cast<float>(i);
      labels.data<std::int64_t>()[i] = i;
    }
    rows_ = {features, labels};
    spec_.features = placeholder(float32, {-1, 1}, {.name = "x"});
    spec_.labels = placeholder(int64, {-1}, {.name = "y"});
    const Variable w(Tensor(1.0F), {.name = "w"});
    spec_.loss = reduce_mean(multiply(spec_.features, w));
    spec_.metrics = {{"label", reduce_mean(cast(spec_.labels, float32))}};
    spec_.train_op = train::GradientDescentOptimizer({.learning_rate = 0.0F}).minimize(spec_.loss);
    session_.run(global_variables_initializer());
  }

  data::DataSet rows_;
  train::TrainSpec spec_;
};

TEST_F(GatePartialBatch, EvaluationWeighsItByItsRows) {
  train::Trainer trainer(session_, spec_);
  for (const std::int64_t batch : {1, 7, 10, 25, 100}) {
    const auto means = trainer.evaluate(rows_, batch);
    EXPECT_EQ(gate::value_of(means, "loss"), 12.0) << batch;
    EXPECT_EQ(gate::value_of(means, "label"), 12.0) << batch;
  }
}

TEST_F(GatePartialBatch, TrainingWeighsItByItsRows) {
  train::Trainer trainer(session_, spec_);
  const auto log = std::make_shared<gate::LossLog>();
  const auto history = trainer.fit(
      rows_, {.epochs = 4, .batch_size = 10, .validation = rows_, .batches = {.shuffle = false}, .callbacks = {log}});
  ASSERT_EQ(history.epochs.size(), 4U);
  for (const train::EpochRecord& record : history.epochs) {
    EXPECT_EQ(gate::value_of(record.values, "loss"), 12.0);
    EXPECT_EQ(gate::value_of(record.values, "label"), 12.0);
    EXPECT_EQ(gate::value_of(record.values, "val_loss"), 12.0);
  }
  ASSERT_EQ(log->losses.size(), 12U);
  for (std::size_t i = 0; i < 12; i += 3) {
    EXPECT_EQ(log->losses[i], 4.5);
    EXPECT_EQ(log->losses[i + 1], 14.5);
    EXPECT_EQ(log->losses[i + 2], 22.0);
  }
}

TEST_F(GatePartialBatch, MayBeLeftOut) {
  train::Trainer trainer(session_, spec_);
  const auto log = std::make_shared<gate::LossLog>();
  trainer.fit(rows_, {.batch_size = 10, .batches = {.shuffle = false, .drop_remainder = true}, .callbacks = {log}});
  EXPECT_EQ(log->losses, (std::vector<double>{4.5, 14.5}));
}

TEST_F(GatePartialBatch, PredictionsKeepTheRowsOrder) {
  train::Trainer trainer(session_, spec_);
  const Tensor doubled = trainer.predict(multiply(spec_.features, 2.0F), rows_, 10);
  ASSERT_EQ(doubled.shape(), Shape({25, 1}));
  for (int i = 0; i < 25; ++i) EXPECT_EQ(doubled.data<float>()[i], 2.0F * static_cast<float>(i));
}

}  // namespace
}  // namespace caudal
