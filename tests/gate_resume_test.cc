// A run that was interrupted and resumed is the uninterrupted run, bit for bit: shuffling, dropout, Adam's slots and
// the means of an epoch that began before the interruption.
#include "caudal/base/env.h"
#include "caudal/train/callbacks.h"
#include "gate_util.h"

namespace caudal {
namespace {

constexpr std::int64_t kEpochs = 3, kRows = 110, kBatch = 20;  // six batches an epoch, the last of ten rows

struct Result {
  std::vector<double> losses;
  std::vector<train::EpochRecord> epochs;
  std::vector<Tensor> variables;
  bool stopped = false;
};

// One process's part of a run: a graph and a session of its own.
Result train_part(const std::string& directory, int threads, bool resume, std::int64_t stop_at_step) {
  Graph graph;
  const GraphScope scope(graph);
  set_random_seed(7);
  const gate::Network net = gate::make_cnn(8);
  Session session({.intra_op_threads = threads});
  const auto saver = std::make_shared<train::Saver>();
  session.run(global_variables_initializer());
  train::Trainer trainer(session, net.spec());
  if (resume) trainer.restore(saver->restore(session, train::latest_checkpoint(directory)));
  const auto log = std::make_shared<gate::LossLog>(stop_at_step);
  const data::DataSet rows = gate::make_pictures(kRows, 8);
  const train::History history = trainer.fit(
      rows, {.epochs = kEpochs,
             .batch_size = kBatch,
             .validation = rows.rows(0, 30),
             .batches = {.seed = 3},
             .callbacks = {log, std::make_shared<train::CheckpointCallback>(saver, directory + "/model.ckpt")}});
  return {log->losses, history.epochs, gate::values_of_variables(session), history.stopped};
}

Result train_whole(int threads) {
  const TempDir directory;
  return train_part(directory.path(), threads, false, -1);
}

void expect_same_epochs(const std::vector<train::EpochRecord>& a, const std::vector<train::EpochRecord>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].epoch, b[i].epoch);
    EXPECT_EQ(a[i].values, b[i].values) << "epoch " << a[i].epoch;
  }
}

class GateResume : public ::testing::TestWithParam<int> {
 protected:
  // Stops after each of `steps`, resumes in a new session, and compares with the run that nobody stopped.
  void check(const std::vector<std::int64_t>& steps) {
    const Result whole = train_whole(GetParam());
    ASSERT_EQ(whole.losses.size(), static_cast<std::size_t>(kEpochs * 6));
    const TempDir directory;
    Result joined;
    for (std::size_t i = 0; i <= steps.size(); ++i) {
      const bool last = i == steps.size();
      Result part = train_part(directory.path(), GetParam(), i > 0, last ? -1 : steps[i]);
      EXPECT_EQ(part.stopped, !last);
      joined.losses.insert(joined.losses.end(), part.losses.begin(), part.losses.end());
      joined.epochs.insert(joined.epochs.end(), part.epochs.begin(), part.epochs.end());
      joined.variables = std::move(part.variables);
    }
    EXPECT_EQ(whole.losses, joined.losses);
    expect_same_epochs(whole.epochs, joined.epochs);
    ASSERT_EQ(whole.variables.size(), joined.variables.size());
    for (std::size_t i = 0; i < whole.variables.size(); ++i) {
      EXPECT_TRUE(identical(whole.variables[i], joined.variables[i])) << "variable " << i;
    }
  }
};

TEST_P(GateResume, InMidEpoch) { check({9}); }

TEST_P(GateResume, AfterTheLastBatchOfAnEpoch) { check({12}); }

TEST_P(GateResume, AfterTheVeryLastBatch) { check({18}); }

TEST_P(GateResume, ManyTimes) { check({1, 2, 6, 13}); }

INSTANTIATE_TEST_SUITE_P(Threads, GateResume, ::testing::Values(1, 2));

TEST(GateDeterminism, LossesDoNotDependOnThreads) { EXPECT_EQ(train_whole(1).losses, train_whole(2).losses); }

TEST(GateDeterminism, AFinishedRunHasNothingLeftToDo) {
  const TempDir directory;
  const Result first = train_part(directory.path(), 1, false, -1);
  const Result again = train_part(directory.path(), 1, true, -1);
  EXPECT_FALSE(first.stopped);
  EXPECT_TRUE(again.losses.empty());  // all epochs are complete
  EXPECT_FALSE(again.stopped);
}

}  // namespace
}  // namespace caudal
