// Trainer: the loop around session runs, with callbacks.
//
//   train::Trainer trainer(sess, {.features = X, .labels = y, .train_op = train_op, .loss = loss,
//                                 .metrics = {{"accuracy", accuracy}}});
//   auto history = trainer.fit(sets.train, {.epochs = 5, .batch_size = 100, .validation = sets.validation,
//                                           .callbacks = {std::make_shared<train::ProgressBar>()}});
//
// A run is resumable: position() and restore() carry where it is, down to the batch, so that with a checkpoint that has
// the variables and node states the losses continue as if nothing had happened. Thread safety: one fit() at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/data/dataset.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::train {

class Trainer;

using NamedOutput = std::pair<std::string, Output>;
using NamedValues = std::vector<std::pair<std::string, double>>;

// The parts of a graph that the loop needs.
struct TrainSpec {
  Output features;                        // placeholder for a batch of features
  Output labels;                          // placeholder for a batch of labels
  Output training = {};                   // bool, fed true while training and false in evaluation; may be none
  Operation train_op = {};                // one update
  Output loss = {};                       // scalar: mean over the batch
  std::vector<NamedOutput> metrics = {};  // scalars: means over the batch
};

// How far a fit() is and what it has measured.
struct TrainStatus {
  std::int64_t epoch = 0;   // counted from 0
  std::int64_t epochs = 0;  // asked for
  std::int64_t step = 0;    // updates so far, over all epochs
  std::int64_t batch = 0;   // batches of this epoch so far
  std::int64_t batches_per_epoch = 0;
  std::int64_t examples = 0;  // of this epoch so far
  double seconds = 0;         // of this fit()
  double batch_loss = 0;      // of the last batch
  NamedValues means;          // loss and metrics: means over this epoch's examples so far
  NamedValues validation;     // "val_loss", ...: set by a check with validation data
  bool finished = false;      // all epochs are complete
};
// The value of that name among the validation's and the means; none if there is none.
CAUDAL_API std::optional<double> find_value(const TrainStatus& status, std::string_view name);

// Hooks into the loop. Any may call trainer.stop(). A check is a validation, if there are data for it, every
// FitOptions::check_every steps or else at the end of each epoch.
class CAUDAL_API Callback {
 public:
  virtual ~Callback();
  virtual void on_train_begin(Trainer&, const TrainStatus&) {}
  virtual void on_epoch_begin(Trainer&, const TrainStatus&) {}
  virtual void on_batch_end(Trainer&, const TrainStatus&) {}
  virtual void on_check(Trainer&, const TrainStatus&) {}
  virtual void on_epoch_end(Trainer&, const TrainStatus&) {}
  virtual void on_train_end(Trainer&, const TrainStatus&) {}
  // What it must remember when a run is resumed: part of Trainer::position(). restore_state() comes before
  // on_train_begin() of the first fit() after Trainer::restore(); keys of its own may be missing. Throws DATA_LOSS.
  virtual void save_state(StateMap&) const {}
  virtual void restore_state(const StateMap&) {}
};

struct FitOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size = 32;
  data::DataSet validation = {};
  data::BatchOptions batches = {};
  std::int64_t check_every = 0;  // steps between checks; 0: one at the end of each epoch
  // A loss that is NaN or infinite is INVALID_ARGUMENT naming step, batch, and the node where it can be seen now.
  bool stop_on_nan = true;
  // Every step ends with INVALID_ARGUMENT at the first op that makes a NaN or an infinity, before it reaches a
  // variable.
  bool check_numerics = false;
  std::vector<std::shared_ptr<Callback>> callbacks = {};
};

struct EpochRecord {
  std::int64_t epoch = 0;
  NamedValues values;  // loss, metrics, then those of the validation
};

struct History {
  std::vector<EpochRecord> epochs;
  bool stopped = false;  // by stop() before the last epoch was complete
};

class CAUDAL_API Trainer {
 public:
  // REQUIRES: the session outlives the trainer. Throws INVALID_ARGUMENT if the spec lacks a part.
  Trainer(Session& session, TrainSpec spec);

  // Trains until `epochs` epochs are complete, counted from the very start, also of runs before a restore().
  History fit(const data::DataSet& rows, const FitOptions& options);
  // Means of loss and metrics over all rows, weighted by batch size.
  NamedValues evaluate(const data::DataSet& rows, std::int64_t batch_size = 250);
  // `output` for all rows, batch after batch.
  Tensor predict(const Output& output, const data::DataSet& rows, std::int64_t batch_size = 250);

  // Ends the running fit() after the present batch.
  void stop() { stop_requested_ = true; }
  Session& session() const { return session_; }
  const TrainSpec& spec() const { return spec_; }
  std::int64_t step() const { return position_.step; }

  // Where the run is, with what the callbacks of the last fit() remember: for SaveOptions::state.
  StateMap position() const;
  // From Saver::restore. Throws DATA_LOSS if the map does not hold a position; nothing changes then.
  void restore(const StateMap& state);

 private:
  // Everything that a resumed run needs besides variables and node states.
  struct Position {
    std::int64_t step = 0;
    std::int64_t epoch = 0;
    std::int64_t row = 0;
    std::uint64_t seed = 0;
    std::int64_t examples = 0;
    std::vector<double> sums;  // loss and metrics times examples
  };

  std::vector<Tensor> feeds_of(const data::Batch& batch, bool training) const;
  bool run_epoch(data::BatchStream& stream, const FitOptions& options, TrainStatus& status);
  void run_batch(const data::Batch& batch, const FitOptions& options, TrainStatus& status);
  void require_finite(double loss, const data::Batch& batch, const TrainStatus& status) const;
  void check(const FitOptions& options, TrainStatus& status);
  void validate(const FitOptions& options, TrainStatus& status);
  NamedValues means(const std::vector<double>& sums, std::int64_t examples, const std::string& prefix) const;
  void notify(const FitOptions& options, void (Callback::*hook)(Trainer&, const TrainStatus&),
              const TrainStatus& status);

  Session& session_;
  TrainSpec spec_;
  Session::Callable train_, evaluate_;
  Position position_;
  StateMap restored_;                                 // for the callbacks of the next fit()
  std::vector<std::shared_ptr<Callback>> callbacks_;  // of the last fit()
  bool stop_requested_ = false;
  std::int64_t start_micros_ = 0;
};

}  // namespace caudal::inline v0::train
