// Callbacks: what fit(), evaluate() and predict() tell on their way, and the ready-made ones of Keras.
//
//   model.fit(x, y, {.epochs = 50, .validation_split = 0.1,
//                    .callbacks = {callbacks::EarlyStopping({.patience = 3, .restore_best_weights = true}),
//                                  callbacks::ModelCheckpoint("best", {.save_best_only = true})}});
//
// One of one's own derives from Callback. Ownership: shared handles; the model outlives the call. Thread safety: called
// in the thread that trains.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0::keras {

class Model;

// Values by name, in the order in which they are shown.
class CAUDAL_API Logs : public std::vector<std::pair<std::string, double>> {
 public:
  using std::vector<std::pair<std::string, double>>::vector;
  const double* find(const std::string& name) const;
  void set(const std::string& name, double value);
};

// Of a running fit(), evaluate() or predict().
struct RunPlan {
  std::int64_t epochs = 1;
  std::int64_t initial_epoch = 0;
  std::optional<std::int64_t> steps = {};  // of an epoch, if it is known
  int verbose = 1;
};

class CAUDAL_API Callback {
 public:
  virtual ~Callback();
  virtual void on_train_begin() {}
  virtual void on_train_end(const Logs&) {}
  virtual void on_epoch_begin(std::int64_t /*epoch*/) {}
  // May add to the logs what later callbacks and the history shall have.
  virtual void on_epoch_end(std::int64_t /*epoch*/, Logs&) {}
  virtual void on_train_batch_begin(std::int64_t /*batch*/) {}
  virtual void on_train_batch_end(std::int64_t /*batch*/, const Logs&) {}
  virtual void on_test_begin() {}
  virtual void on_test_end(const Logs&) {}
  virtual void on_test_batch_end(std::int64_t /*batch*/, const Logs&) {}
  virtual void on_predict_begin() {}
  virtual void on_predict_end() {}
  virtual void on_predict_batch_end(std::int64_t /*batch*/) {}
  // True if it deals with a loss that is no number itself; fit() then does not stop with an error.
  virtual bool handles_nan() const { return false; }

  void attach(Model& model, const RunPlan& plan) {
    model_ = &model;
    plan_ = plan;
  }

 protected:
  Model& model() const { return *model_; }
  const RunPlan& plan() const { return plan_; }

 private:
  Model* model_ = nullptr;
  RunPlan plan_;
};
using CallbackRef = std::shared_ptr<Callback>;

namespace callbacks {

// `monitor` names a log; mode "auto" takes the greater as better for accuracies and the like, else the less.
struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = true;
  std::string mode = "auto";           // "min", "max"
  std::int64_t save_freq_batches = 0;  // 0: at the end of each epoch
  std::optional<double> initial_value_threshold = {};
};
// Saves weights as a checkpoint `filepath`, in which {epoch}, {epoch:02d}, {val_loss:.2f} and the like are filled in.
CAUDAL_API CallbackRef ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options = {});

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::int64_t patience = 0;
  std::string mode = "auto";
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  std::int64_t start_from_epoch = 0;
};
CAUDAL_API CallbackRef EarlyStopping(const EarlyStoppingOptions& options = {});

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  std::int64_t patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_lr = 0;
};
CAUDAL_API CallbackRef ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});

// Sets the learning rate at the beginning of each epoch to schedule(epoch, the rate before).
CAUDAL_API CallbackRef LearningRateScheduler(std::function<double(std::int64_t epoch, double rate)> schedule);

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;
};
// A line per epoch: epoch, then the logs by name.
CAUDAL_API CallbackRef CSVLogger(const std::string& filename, const CSVLoggerOptions& options = {});

struct TensorBoardOptions {
  bool write_graph = true;
  std::int64_t update_freq_batches = 0;  // 0: per epoch
};
// Event files in log_dir/train and log_dir/validation: epoch_loss and so on; with update_freq_batches batch_loss.
CAUDAL_API CallbackRef TensorBoard(const std::string& log_dir = "logs", const TensorBoardOptions& options = {});

// Stops the training, without an error, when the loss is no number.
CAUDAL_API CallbackRef TerminateOnNaN();

struct LambdaCallbackFunctions {
  std::function<void(std::int64_t epoch)> on_epoch_begin = {};
  std::function<void(std::int64_t epoch, Logs&)> on_epoch_end = {};
  std::function<void()> on_train_begin = {};
  std::function<void(const Logs&)> on_train_end = {};
  std::function<void(std::int64_t batch)> on_train_batch_begin = {};
  std::function<void(std::int64_t batch, const Logs&)> on_train_batch_end = {};
};
CAUDAL_API CallbackRef LambdaCallback(LambdaCallbackFunctions functions);

// Saves everything after each epoch into `backup_dir`, and begins where a run that was cut off left it. The backup is
// removed when the training ends well unless delete_checkpoint is false.
struct BackupAndRestoreOptions {
  bool delete_checkpoint = true;
};
CAUDAL_API CallbackRef BackupAndRestore(const std::string& backup_dir, const BackupAndRestoreOptions& options = {});

// What fit() shows by itself: on a terminal a bar with the time left, elsewhere a line per epoch.
CAUDAL_API CallbackRef ProgbarLogger(std::FILE* out = nullptr);

}  // namespace callbacks

}  // namespace caudal::inline v0::keras
