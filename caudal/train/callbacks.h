// Callbacks that most runs want. Each is independent; put those you need into FitOptions::callbacks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "caudal/base/export.h"
#include "caudal/io/file_writer.h"
#include "caudal/train/trainer.h"

namespace caudal::inline v0::train {

// A line per epoch: bar with the time left while it runs, then its values. On a terminal the line is redrawn; elsewhere
// a line is printed every tenth of an epoch. Writes to `out`.
class CAUDAL_API ProgressBar final : public Callback {
 public:
  explicit ProgressBar(std::FILE* out = stderr);
  void on_epoch_begin(Trainer&, const TrainStatus&) override;
  void on_batch_end(Trainer&, const TrainStatus&) override;
  void on_epoch_end(Trainer&, const TrainStatus&) override;
  void on_train_end(Trainer&, const TrainStatus&) override;

 private:
  void draw(const TrainStatus& status, bool last);

  std::FILE* out_;
  bool terminal_;
  double epoch_start_ = 0;
  double last_drawn_ = -1;
  std::int64_t first_batch_ = 0;
  int last_tenth_ = -1;
  bool line_open_ = false;
};

// Saves after every epoch and when training ends before the last one: prefix-<step>.
class CAUDAL_API CheckpointCallback final : public Callback {
 public:
  CheckpointCallback(std::shared_ptr<Saver> saver, std::string prefix)
      : saver_(std::move(saver)), prefix_(std::move(prefix)) {}
  void on_epoch_end(Trainer& trainer, const TrainStatus&) override { save(trainer); }
  void on_train_end(Trainer& trainer, const TrainStatus&) override { save(trainer); }
  // The newest one written; empty before the first.
  const std::string& latest() const { return latest_; }

 private:
  void save(Trainer& trainer);

  std::shared_ptr<Saver> saver_;
  std::string prefix_, latest_;
  StateMap saved_position_;
};

// Loss and metrics into an event file: those of the batch every `every` steps, those of the epoch at its end.
class CAUDAL_API EventsCallback final : public Callback {
 public:
  explicit EventsCallback(std::shared_ptr<io::FileWriter> writer, std::int64_t every = 20)
      : writer_(std::move(writer)), every_(every) {}
  void on_train_begin(Trainer&, const TrainStatus& status) override;
  void on_batch_end(Trainer&, const TrainStatus& status) override;
  void on_epoch_end(Trainer&, const TrainStatus& status) override;

 private:
  std::shared_ptr<io::FileWriter> writer_;
  std::int64_t every_;
};

// Stops when `asked` says so, e.g. after Ctrl-C; looked at after every batch.
class CAUDAL_API StopWhen final : public Callback {
 public:
  explicit StopWhen(std::function<bool()> asked) : asked_(std::move(asked)) {}
  void on_batch_end(Trainer& trainer, const TrainStatus&) override {
    if (asked_()) trainer.stop();
  }

 private:
  std::function<bool()> asked_;
};

}  // namespace caudal::inline v0::train
