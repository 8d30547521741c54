// The learning rate that falls when a measured value no longer improves (performance-based).
//
//   train::ReduceOnPlateau rate(0.1F, {.factor = 0.5F, .patience = 5});
//   auto train_op = train::MomentumOptimizer({.learning_rate = rate.learning_rate()}).minimize(loss);
//   trainer.fit(rows, {.validation = ..., .callbacks = {std::make_shared<train::PlateauCallback>(rate)}});
//
// Names and meanings are those of tf.keras.callbacks.ReduceLROnPlateau. Rate, best value and patience used up are
// variables ("ReduceOnPlateau/learning_rate", ...): a checkpoint has them, and a resumed run goes on with them.
// Ownership: a small handle of nodes, valid as long as its graph. Thread safety: as building a graph.
#pragma once

#include <string>
#include <utility>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "caudal/train/early_stopping.h"
#include "caudal/train/trainer.h"

namespace caudal::inline v0::train {

struct ReduceOnPlateauOptions {
  float factor = 0.1F;                   // the rate is multiplied by it; below 1
  int patience = 10;                     // so many values without an improvement reduce the rate
  MonitorMode mode = MonitorMode::kMin;  // kAuto: kMin
  float min_delta = 1e-4F;               // less is no improvement
  int cooldown = 0;                      // values after a reduction that do not count
  float min_lr = 0;                      // the rate does not fall below it
  std::string name = "ReduceOnPlateau";
  std::source_location where = std::source_location::current();
};

class CAUDAL_API ReduceOnPlateau {
 public:
  // Throws INVALID_ARGUMENT for a factor of 1 or more.
  explicit ReduceOnPlateau(float learning_rate, const ReduceOnPlateauOptions& options = {});

  const Variable& learning_rate() const { return rate_; }
  // A measured value, float32 scalar, to feed when update() is run.
  const Output& value() const { return value_; }
  const Operation& update() const { return update_; }
  // Runs update() with that value; the rate afterwards.
  float observe(Session& session, double value) const;

 private:
  Variable rate_;
  Output value_;
  Operation update_;
};

// Observes a value of every check.
class CAUDAL_API PlateauCallback final : public Callback {
 public:
  explicit PlateauCallback(ReduceOnPlateau rate, std::string monitor = "val_loss")
      : rate_(std::move(rate)), monitor_(std::move(monitor)) {}
  // Throws INVALID_ARGUMENT if there is no such value.
  void on_check(Trainer& trainer, const TrainStatus& status) override;

 private:
  ReduceOnPlateau rate_;
  std::string monitor_;
};

}  // namespace caudal::inline v0::train
