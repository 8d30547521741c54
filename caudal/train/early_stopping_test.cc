#include "caudal/train/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/train/callbacks.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/plateau.h"

namespace caudal::train {
namespace {

// y = w x with w from 0 towards 3; the loss of the validation follows a script.
class EarlyStoppingTest : public ::testing::Test {
 protected:
  EarlyStoppingTest()
      : x_(placeholder(float32, {-1})),
        y_(placeholder(float32, {-1})),
        w_(0.0F, {.name = "w"}),
        loss_(reduce_mean(square(subtract(multiply(x_, w_), y_)))),
        train_(GradientDescentOptimizer({.learning_rate = 0.02}).minimize(loss_)),
        saver_(std::make_shared<Saver>()) {}

  TrainSpec spec() const { return {.features = x_, .labels = y_, .train_op = train_, .loss = loss_}; }
  static data::DataSet rows() {
    return {Tensor(std::vector<float>{1, 2, 1, 2, 1, 2}), Tensor(std::vector<float>{3, 6, 3, 6, 3, 6})};
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output x_, y_;
  Variable w_;
  Output loss_;
  Operation train_;
  std::shared_ptr<Saver> saver_;
};

// Passes a script of values to a callback, one a check, and notes when it stopped.
struct Script {
  explicit Script(Trainer& trainer) : trainer(trainer) {}
  // The number of values looked at.
  int play(EarlyStopping& stopping, const std::vector<double>& values) {
    int n = 0;
    for (const double value : values) {
      TrainStatus status;
      status.step = ++step;
      status.validation = {{"val_loss", value}};
      stopping.on_check(trainer, status);
      ++n;
      if (stopping.stopped()) break;
    }
    return n;
  }
  Trainer& trainer;
  std::int64_t step = 0;
};

TEST_F(EarlyStoppingTest, CountsAsKerasDoes) {
  Session session;
  session.run(global_variables_initializer());
  Trainer trainer(session, spec());
  const auto checks = [&](const EarlyStoppingOptions& options, const std::vector<double>& values) {
    EarlyStopping stopping(options);
    return Script(trainer).play(stopping, values);
  };
  // From tf.keras.callbacks.EarlyStopping with the same values.
  EXPECT_EQ(checks({.patience = 0}, {5, 4, 4, 3}), 3);
  EXPECT_EQ(checks({.patience = 1}, {5, 4, 4, 3}), 3);
  EXPECT_EQ(checks({.patience = 2}, {5, 4, 4.5, 4.5, 1}), 4);
  EXPECT_EQ(checks({.patience = 2}, {5, 4, 4.5, 3, 3.5, 3.5, 1}), 6);
  EXPECT_EQ(checks({.min_delta = 0.5, .patience = 2}, {5, 4.8, 4.6, 4.4}), 3);
  EXPECT_EQ(checks({.patience = 2, .mode = MonitorMode::kMax}, {1, 2, 1, 1, 9}), 4);
  EXPECT_EQ(checks({.patience = 2, .baseline = 3}, {5, 4, 3.5, 3.6, 1}), 4);
  EXPECT_EQ(checks({.patience = 1, .start_from_check = 3}, {1, 1, 1, 5, 5}), 5);
}

TEST_F(EarlyStoppingTest, StopsOnDivergence) {
  Session session;
  session.run(global_variables_initializer());
  Trainer trainer(session, spec());
  for (const double bad : {std::nan(""), 1e9, std::numeric_limits<double>::infinity()}) {
    EarlyStopping stopping({.patience = 9, .divergence = 1e6});
    EXPECT_EQ(Script(trainer).play(stopping, {5, bad, 4}), 2);
    EXPECT_TRUE(stopping.diverged());
    EXPECT_EQ(stopping.best(), 5);
  }
}

TEST_F(EarlyStoppingTest, KnowsWhatIsBetterByName) {
  for (const char* name : {"val_accuracy", "acc", "val_auc", "recall"}) {
    EXPECT_TRUE(greater_is_better(MonitorMode::kAuto, name)) << name;
  }
  EXPECT_FALSE(greater_is_better(MonitorMode::kAuto, "val_loss"));
}

// Overwrites what is monitored: the validation is best after the second check.
class Worsen final : public Callback {
 public:
  explicit Worsen(const Variable& w) : worse_(w.assign_add(10.0F)) {}
  void on_batch_end(Trainer& trainer, const TrainStatus& status) override {
    if (status.step == 4) trainer.session().run(Operation(worse_));
  }

 private:
  Output worse_;
};

TEST_F(EarlyStoppingTest, BringsTheBestWeightsBack) {
  const TempDir folder;
  for (const bool in_memory : {true, false}) {
    Session session;
    session.run(global_variables_initializer());
    Trainer trainer(session, spec());
    EarlyStoppingOptions options{.patience = 2};
    if (!in_memory) {
      options.saver = saver_;
      options.best_prefix = join_path(folder.path(), "best");
    }
    const auto stopping = std::make_shared<EarlyStopping>(options);
    const History history = trainer.fit(rows(), {.epochs = 50,
                                                 .batch_size = 1,
                                                 .validation = rows(),
                                                 .batches = {.shuffle = false},
                                                 .check_every = 2,
                                                 .callbacks = {std::make_shared<Worsen>(w_), stopping}});
    EXPECT_TRUE(history.stopped);
    EXPECT_TRUE(stopping->stopped());
    // Four steps of rate 0.02 on rows 1 and 2: w becomes w + 0.04 x (3 - w) x.
    float w = 0, best = 0;
    for (int step = 1; step <= 4; ++step) {
      const float x = step % 2 == 1 ? 1 : 2;
      w += 0.04F * x * (3 - w) * x;
      best = w;
    }
    EXPECT_EQ(stopping->best_step(), 4);
    EXPECT_NEAR(session.run(w_).item<float>(), best, 1e-5);
  }
}

TEST_F(EarlyStoppingTest, ResumesWithBestValueAndPatience) {
  const TempDir folder;
  const auto options = [&] {
    return EarlyStoppingOptions{.patience = 3, .saver = saver_, .best_prefix = join_path(folder.path(), "best")};
  };
  const auto fit = [&](Session& session, bool resume, std::int64_t stop_at,
                       const std::shared_ptr<EarlyStopping>& stopping) {
    Trainer trainer(session, spec());
    const std::string directory = folder.path() + "/run";
    if (resume) trainer.restore(saver_->restore(session, latest_checkpoint(directory)));
    const auto interrupt = std::make_shared<StopWhen>([&] { return trainer.step() == stop_at; });
    trainer.fit(rows(), {.epochs = 50,
                         .batch_size = 2,
                         .validation = rows(),
                         .check_every = 2,
                         .callbacks = {stopping, std::make_shared<Worsen>(w_), interrupt,
                                       std::make_shared<CheckpointCallback>(saver_, directory + "/model.ckpt")}});
    return trainer.step();
  };
  const auto whole = std::make_shared<EarlyStopping>(options());
  std::int64_t whole_steps = 0;
  float whole_w = 0;
  {
    Session session;
    session.run(global_variables_initializer());
    whole_steps = fit(session, false, -1, whole);
    whole_w = session.run(w_).item<float>();
  }
  EXPECT_TRUE(whole->stopped());
  std::shared_ptr<EarlyStopping> last;
  std::int64_t steps = 0;
  float w = 0;
  for (const std::int64_t stop_at : {3, 5, 8, -1}) {
    Session session;
    session.run(global_variables_initializer());
    last = std::make_shared<EarlyStopping>(options());
    steps = fit(session, stop_at != 3, stop_at, last);
    w = session.run(w_).item<float>();
  }
  EXPECT_EQ(steps, whole_steps);
  EXPECT_EQ(last->best(), whole->best());
  EXPECT_EQ(last->wait(), whole->wait());
  EXPECT_EQ(last->best_step(), whole->best_step());
  EXPECT_EQ(w, whole_w);
  // It had stopped: once more, it stops at once.
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(fit(session, true, -1, std::make_shared<EarlyStopping>(options())), whole_steps);
  EXPECT_EQ(session.run(w_).item<float>(), whole_w);
}

TEST_F(EarlyStoppingTest, SaysWhatIsWrong) {
  EXPECT_THROW(EarlyStopping({.saver = saver_}), Error);
  EXPECT_THROW(EarlyStopping({.patience = -1}), Error);
  Session session;
  session.run(global_variables_initializer());
  Trainer trainer(session, spec());
  try {
    trainer.fit(rows(), {.callbacks = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{})}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'val_loss'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("There are: loss"), std::string::npos) << error.what();
  }
  EarlyStopping stopping({});
  EXPECT_THROW(stopping.restore_state({{"early_stopping/val_loss", "xyz"}}), Error);
}

TEST_F(EarlyStoppingTest, ANaNNamesTheOp) {
  const Output broken = reduce_mean(log(subtract(y_, 3), {.name = "broken"}));
  const Operation train = GradientDescentOptimizer({.learning_rate = 0.02}).minimize(add(loss_, multiply(broken, w_)));
  Session session;
  session.run(global_variables_initializer());
  for (const bool checks : {false, true}) {
    Trainer trainer(session, {.features = x_, .labels = y_, .train_op = train, .loss = add(loss_, broken)});
    try {
      trainer.fit(rows(), {.batch_size = 6, .check_numerics = checks});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      const std::string text = error.what();
      // After the update it shows in the variable.
      EXPECT_NE(text.find(checks ? "'broken'" : "'w'"), std::string::npos) << text;
      EXPECT_EQ(text.find("step 1") == std::string::npos, checks) << text;
    }
    // With the check nothing was spoilt.
    if (!checks) session.run(global_variables_initializer());
  }
  EXPECT_TRUE(std::isfinite(session.run(w_).item<float>()));
}

// From tf.keras.callbacks.ReduceLROnPlateau.
TEST(Plateau, ReducesAsKerasDoes) {
  Graph graph;
  const GraphScope scope(graph);
  const ReduceOnPlateau rate(1.0F, {.factor = 0.5F, .patience = 2, .min_delta = 0.1F, .cooldown = 2, .min_lr = 0.2F});
  const ReduceOnPlateau greater(1.0F, {.factor = 0.5F, .patience = 1, .mode = MonitorMode::kMax, .name = "second"});
  Session session;
  session.run(global_variables_initializer());
  const auto rates = [&](const ReduceOnPlateau& plateau, const std::vector<double>& values) {
    std::vector<float> result;
    for (const double value : values) result.push_back(plateau.observe(session, value));
    return result;
  };
  EXPECT_EQ(rates(rate, {5, 4, 3.95, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9}),
            (std::vector<float>{1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2}));
  EXPECT_EQ(rates(greater, {1, 2, 2, 3, 1}), (std::vector<float>{1, 1, 0.5, 0.5, 0.25}));
  EXPECT_THROW(ReduceOnPlateau(1.0F, {.factor = 1}), Error);
}

}  // namespace
}  // namespace caudal::train
