// Early stopping: training ends once a monitored value has not improved for a while, and the best weights come back.
//
//   auto stopping = std::make_shared<train::EarlyStopping>(train::EarlyStoppingOptions{
//       .patience = 20, .saver = saver, .best_prefix = "model/best.ckpt"});
//   trainer.fit(sets.train, {.epochs = 1000, .validation = sets.validation, .check_every = 50, .callbacks =
//   {stopping}});
//
// Names and meanings are those of tf.keras.callbacks.EarlyStopping, counted in checks (Callback::on_check). Best value
// and patience used up are part of Trainer::position(), so that a resumed run stops where the uninterrupted one does.
// Thread safety: as the trainer.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/train/saver.h"
#include "caudal/train/trainer.h"

namespace caudal::inline v0::train {

// Whether smaller or greater values are better; by the monitored name: greater for accuracies, AUC, precision, recall
// and F scores.
enum class MonitorMode { kAuto, kMin, kMax };
CAUDAL_API bool greater_is_better(MonitorMode mode, const std::string& monitor);

// The values of variables, held in memory. Until one is updated its value is shared with it.
class CAUDAL_API WeightsSnapshot {
 public:
  bool empty() const { return values_.empty(); }
  // Of all global variables. Throws FAILED_PRECONDITION for one without a value, as a saver does.
  void take(Session& session);
  // Sets them. REQUIRES: the session of take(), or one of the same graph.
  void restore(Session& session) const;

 private:
  std::vector<std::pair<Variable, Tensor>> values_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";  // a name in TrainStatus::validation or means
  double min_delta = 0;              // less is no improvement
  int patience = 0;                  // so many checks in a row without an improvement stop the training
  MonitorMode mode = MonitorMode::kAuto;
  std::optional<double> baseline = {};  // values that do not beat it use up patience
  bool restore_best_weights = true;     // at the end of the training, stopped or complete
  int start_from_check = 0;             // checks that are not looked at
  // Beyond this, or NaN, is divergence: training stops at once.
  double divergence = std::numeric_limits<double>::infinity();
  // Where the best weights are kept: a checkpoint of that prefix. Default: in memory, where they do not outlast the
  // process.
  std::shared_ptr<Saver> saver = nullptr;
  std::string best_prefix = {};
};

class CAUDAL_API EarlyStopping final : public Callback {
 public:
  // Throws INVALID_ARGUMENT for a saver without best_prefix or the other way round, and a negative patience.
  explicit EarlyStopping(EarlyStoppingOptions options);

  // Stops again at once if a resumed run had been stopped.
  void on_train_begin(Trainer& trainer, const TrainStatus& status) override;
  // Throws INVALID_ARGUMENT, listing the names there are, if the monitored one is not among them.
  void on_check(Trainer& trainer, const TrainStatus& status) override;
  void on_train_end(Trainer& trainer, const TrainStatus& status) override;
  void save_state(StateMap& state) const override;
  void restore_state(const StateMap& state) override;

  // The best value so far, the step it was measured at, and how many checks have passed since.
  std::optional<double> best() const { return best_; }
  std::int64_t best_step() const { return best_step_; }
  int wait() const { return wait_; }
  bool stopped() const { return stopped_; }
  bool diverged() const { return diverged_; }

 private:
  bool improves(double value, const std::optional<double>& reference) const;
  void keep_weights(Trainer& trainer);
  void restore_weights(Trainer& trainer) const;
  std::string state_key() const { return "early_stopping/" + options_.monitor; }

  EarlyStoppingOptions options_;
  bool greater_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0;
  int wait_ = 0, checks_ = 0;
  bool stopped_ = false, diverged_ = false, weights_kept_ = false;
  WeightsSnapshot snapshot_;
};

}  // namespace caudal::inline v0::train
