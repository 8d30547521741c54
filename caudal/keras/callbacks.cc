// Checkpoints, early stopping, learning rates, logs. The rules are those of keras/src/callbacks/.
#include "caudal/keras/callbacks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/io/file_writer.h"
#include "caudal/keras/model.h"
#include "caudal/keras/model_core.h"
#include "caudal/train/saver.h"

namespace caudal::inline v0::keras {

Callback::~Callback() = default;

namespace {

using namespace callbacks;  // NOLINT: the option structs

void warn(const std::string& text) { std::fprintf(stderr, "Warning: %s\n", text.c_str()); }

std::string names_of(const Logs& logs) {
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  return join(names, ", ");
}

// Whether a log's value is better than another.
class Better {
 public:
  Better(const std::string& monitor, const std::string& mode, double min_delta) : min_delta_(std::fabs(min_delta)) {
    if (mode != "auto" && mode != "min" && mode != "max") {
      throw invalid_argument("mode '", mode, "' is none of \"auto\", \"min\", \"max\"");
    }
    const std::string name = monitor.starts_with("val_") ? monitor.substr(4) : monitor;
    const bool up = name.find("acc") != std::string::npos || name.find("auc") != std::string::npos ||
                    name.find("AUC") != std::string::npos || name.find("precision") != std::string::npos ||
                    name.find("recall") != std::string::npos || name.find("r2_score") != std::string::npos ||
                    name.find("true_") != std::string::npos;
    greater_ = mode == "max" || (mode == "auto" && up);
  }
  bool operator()(double value, const std::optional<double>& than) const {
    if (!than) return true;
    return greater_ ? value - min_delta_ > *than : value + min_delta_ < *than;
  }

 private:
  double min_delta_;
  bool greater_;
};

// "{epoch:02d}" and the like, as Python's format.
std::string filled(const std::string& pattern, const std::vector<std::pair<std::string, double>>& values) {
  std::string out;
  std::size_t i = 0;
  while (i < pattern.size()) {
    if (pattern[i] != '{') {
      out += pattern[i++];
      continue;
    }
    const std::size_t end = pattern.find('}', i);
    if (end == std::string::npos) throw invalid_argument("file name '", pattern, "': a '{' without its '}'");
    const std::string field = pattern.substr(i + 1, end - i - 1);
    i = end + 1;
    const std::size_t colon = field.find(':');
    const std::string name = field.substr(0, colon);
    const std::string format = colon == std::string::npos ? "" : field.substr(colon + 1);
    const auto found = std::ranges::find(values, name, &std::pair<std::string, double>::first);
    if (found == values.end()) {
      std::vector<std::string> known;
      for (const auto& [key, value] : values) known.push_back(key);
      throw invalid_argument("file name '", pattern, "': there is no '", name, "'")
          .hint("There are " + join(known, ", ") + ".");
    }
    const bool whole = format.ends_with('d') || (format.empty() && (name == "epoch" || name == "batch"));
    const std::string body = format.empty() ? "" : format.substr(0, format.size() - 1);
    if (body.find_first_not_of("0123456789.+- ") != std::string::npos || body.size() > 8) {
      throw invalid_argument("file name '", pattern, "': unknown format '", format, "'");
    }
    char text[400];
    if (whole) {
      std::snprintf(text, sizeof text, ("%" + body + "lld").c_str(), static_cast<long long>(found->second));
    } else {
      const char kind = format.empty() ? 'g' : format.back();
      if (kind != 'f' && kind != 'e' && kind != 'g') {
        throw invalid_argument("file name '", pattern, "': unknown format '", format, "'");
      }
      std::snprintf(text, sizeof text, ("%" + body + kind).c_str(), found->second);
    }
    out += text;
  }
  return out;
}

class Checkpoint final : public Callback {
 public:
  Checkpoint(std::string path, ModelCheckpointOptions o)
      : path_(std::move(path)), o_(std::move(o)), better_(o_.monitor, o_.mode, 0), best_(o_.initial_value_threshold) {}
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override {
    if (o_.save_freq_batches <= 0 || ++since_ < o_.save_freq_batches) return;
    since_ = 0;
    save(logs, batch);
  }
  void on_epoch_end(std::int64_t, Logs& logs) override {
    if (o_.save_freq_batches <= 0) save(logs, std::nullopt);
  }

 private:
  void save(const Logs& logs, std::optional<std::int64_t> batch) {
    if (o_.save_best_only) {
      const double* value = logs.find(o_.monitor);
      if (value == nullptr) {
        warn("ModelCheckpoint cannot find '" + o_.monitor + "', it saves whatever comes; there are " + names_of(logs));
      } else if (!better_(*value, best_)) {
        return;
      } else {
        best_ = *value;
      }
    }
    std::vector<std::pair<std::string, double>> values = {{"epoch", static_cast<double>(epoch_ + 1)}};
    if (batch) values.emplace_back("batch", static_cast<double>(*batch + 1));
    values.insert(values.end(), logs.begin(), logs.end());
    model().save_weights(filled(path_, values), {.include_optimizer = !o_.save_weights_only});
  }

  std::string path_;
  ModelCheckpointOptions o_;
  Better better_;
  std::optional<double> best_;
  std::int64_t epoch_ = 0, since_ = 0;
};

class Early final : public Callback {
 public:
  explicit Early(EarlyStoppingOptions o) : o_(std::move(o)), better_(o_.monitor, o_.mode, o_.min_delta) {}
  void on_train_begin() override {
    wait_ = 0;
    best_.reset();
    best_weights_.clear();
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    const double* value = logs.find(o_.monitor);
    if (value == nullptr) {
      warn("EarlyStopping cannot find '" + o_.monitor + "'; there are " + names_of(logs));
      return;
    }
    if (epoch < o_.start_from_epoch) return;
    if (o_.restore_best_weights && best_weights_.empty()) best_weights_ = model().get_weights();
    ++wait_;
    if (better_(*value, best_)) {
      best_ = *value;
      if (o_.restore_best_weights) best_weights_ = model().get_weights();
      if (!o_.baseline || better_(*value, o_.baseline)) wait_ = 0;
      return;
    }
    if (wait_ >= o_.patience && epoch > 0) model().stop_training();
  }
  void on_train_end(const Logs&) override {
    if (o_.restore_best_weights && !best_weights_.empty()) model().set_weights(best_weights_);
  }

 private:
  EarlyStoppingOptions o_;
  Better better_;
  std::int64_t wait_ = 0;
  std::optional<double> best_;
  std::vector<Tensor> best_weights_;
};

class Plateau final : public Callback {
 public:
  explicit Plateau(ReduceLROnPlateauOptions o) : o_(std::move(o)), better_(o_.monitor, o_.mode, o_.min_delta) {
    if (!(o_.factor < 1)) throw invalid_argument("ReduceLROnPlateau: the factor must be below 1, not ", o_.factor);
  }
  void on_train_begin() override {
    best_.reset();
    cooldown_ = wait_ = 0;
  }
  void on_epoch_end(std::int64_t, Logs& logs) override {
    const double* found = logs.find(o_.monitor);
    const double rate = model().optimizer().learning_rate();
    if (found == nullptr) {
      warn("ReduceLROnPlateau cannot find '" + o_.monitor + "'; there are " + names_of(logs));
      logs.set("learning_rate", rate);
      return;
    }
    const double value = *found;
    logs.set("learning_rate", rate);
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (better_(value, best_)) {
      best_ = value;
      wait_ = 0;
    } else if (cooldown_ == 0 && ++wait_ >= o_.patience && rate > o_.min_lr) {
      model().optimizer().set_learning_rate(std::max(rate * o_.factor, o_.min_lr));
      cooldown_ = o_.cooldown;
      wait_ = 0;
    }
  }

 private:
  ReduceLROnPlateauOptions o_;
  Better better_;
  std::optional<double> best_;
  std::int64_t wait_ = 0, cooldown_ = 0;
};

class Scheduler final : public Callback {
 public:
  explicit Scheduler(std::function<double(std::int64_t, double)> schedule) : schedule_(std::move(schedule)) {}
  void on_epoch_begin(std::int64_t epoch) override {
    Optimizer& optimizer = model().optimizer();
    optimizer.set_learning_rate(schedule_(epoch, optimizer.learning_rate()));
  }
  void on_epoch_end(std::int64_t, Logs& logs) override {
    logs.set("learning_rate", model().optimizer().learning_rate());
  }

 private:
  std::function<double(std::int64_t, double)> schedule_;
};

// As Python prints a number.
std::string number_text(double value) { return Config(value).to_json(); }

class Csv final : public Callback {
 public:
  Csv(std::string path, CSVLoggerOptions o) : path_(std::move(path)), o_(std::move(o)) {}
  void on_train_begin() override {
    text_.clear();
    keys_.clear();
    if (o_.append && default_env().exists(path_)) text_ = read_file(default_env(), path_);
    header_wanted_ = text_.empty();
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (keys_.empty()) choose_keys(logs);
    if (header_wanted_) {
      text_ += "epoch";
      for (const std::string& key : keys_) text_ += o_.separator + key;
      text_ += "\r\n";
      header_wanted_ = false;
    }
    text_ += std::to_string(epoch);
    for (const std::string& key : keys_) {
      const double* value = logs.find(key);
      text_ += o_.separator + (value == nullptr ? "NA" : number_text(*value));
    }
    text_ += "\r\n";
    default_env().mkdirs(directory_of(path_));
    write_file_atomically(default_env(), path_, text_);
  }

 private:
  void choose_keys(const Logs& logs) {
    for (const auto& [name, value] : logs) keys_.push_back(name);
    std::ranges::sort(keys_);
    if (std::ranges::any_of(keys_, [](const std::string& key) { return key.starts_with("val_"); })) return;
    const std::vector<std::string> plain = keys_;
    for (const std::string& key : plain) keys_.push_back("val_" + key);
  }

  std::string path_;
  CSVLoggerOptions o_;
  std::string text_;
  std::vector<std::string> keys_;
  bool header_wanted_ = true;
};

class Board final : public Callback {
 public:
  Board(std::string directory, TensorBoardOptions o) : directory_(std::move(directory)), o_(o) {}
  void on_train_begin() override {
    const std::string path = join_path(directory_, "train");
    train_ = o_.write_graph ? std::make_unique<io::FileWriter>(path, model()->backend()->graph())
                            : std::make_unique<io::FileWriter>(path);
    validation_.reset();
    batches_ = 0;
  }
  void on_train_batch_end(std::int64_t, const Logs& logs) override {
    ++batches_;
    if (o_.update_freq_batches <= 0 || batches_ % o_.update_freq_batches != 0) return;
    for (const auto& [name, value] : logs) train_->add_scalar("batch_" + name, value, batches_);
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    for (const auto& [name, value] : logs) {
      if (name.starts_with("val_")) {
        if (!validation_) validation_ = std::make_unique<io::FileWriter>(join_path(directory_, "validation"));
        validation_->add_scalar("epoch_" + name.substr(4), value, epoch);
      } else {
        train_->add_scalar(name == "learning_rate" ? "epoch_learning_rate" : "epoch_" + name, value, epoch);
      }
    }
    train_->flush();
    if (validation_) validation_->flush();
  }
  void on_train_end(const Logs&) override {
    if (train_) train_->close();
    if (validation_) validation_->close();
  }

 private:
  std::string directory_;
  TensorBoardOptions o_;
  std::unique_ptr<io::FileWriter> train_, validation_;
  std::int64_t batches_ = 0;
};

class StopOnNan final : public Callback {
 public:
  bool handles_nan() const override { return true; }
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override {
    const double* loss = logs.find("loss");
    if (loss == nullptr || std::isfinite(*loss)) return;
    warn("batch " + std::to_string(batch) + ": the loss is no number, the training ends");
    model().stop_training();
  }
};

class Lambda final : public Callback {
 public:
  explicit Lambda(LambdaCallbackFunctions functions) : f_(std::move(functions)) {}
  void on_epoch_begin(std::int64_t epoch) override {
    if (f_.on_epoch_begin) f_.on_epoch_begin(epoch);
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (f_.on_epoch_end) f_.on_epoch_end(epoch, logs);
  }
  void on_train_begin() override {
    if (f_.on_train_begin) f_.on_train_begin();
  }
  void on_train_end(const Logs& logs) override {
    if (f_.on_train_end) f_.on_train_end(logs);
  }
  void on_train_batch_begin(std::int64_t batch) override {
    if (f_.on_train_batch_begin) f_.on_train_batch_begin(batch);
  }
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override {
    if (f_.on_train_batch_end) f_.on_train_batch_end(batch, logs);
  }

 private:
  LambdaCallbackFunctions f_;
};

class Backup final : public Callback {
 public:
  Backup(std::string directory, BackupAndRestoreOptions o) : directory_(std::move(directory)), o_(o) {}
  void on_train_begin() override {
    const std::string latest = train::latest_checkpoint(directory_);
    if (latest.empty()) return;
    // The optimizer's variables are made first, so that they can be restored too.
    model().core().prepare_optimizer();
    model().load_weights(latest, {.include_optimizer = true});
    std::int64_t epoch = 0;
    if (parse_int64(latest.substr(latest.rfind('-') + 1), &epoch)) model().core().first_epoch = epoch;
  }
  void on_epoch_end(std::int64_t epoch, Logs&) override {
    model().save_weights(join_path(directory_, "backup-" + std::to_string(epoch + 1)),
                         {.include_optimizer = true, .max_to_keep = 1});
  }
  void on_train_end(const Logs&) override {
    if (o_.delete_checkpoint && !model().core().interrupted) remove_tree(default_env(), directory_);
  }

 private:
  std::string directory_;
  BackupAndRestoreOptions o_;
};

}  // namespace

namespace callbacks {

CallbackRef ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options) {
  return std::make_shared<Checkpoint>(filepath, options);
}
CallbackRef EarlyStopping(const EarlyStoppingOptions& options) { return std::make_shared<Early>(options); }
CallbackRef ReduceLROnPlateau(const ReduceLROnPlateauOptions& options) { return std::make_shared<Plateau>(options); }
CallbackRef LearningRateScheduler(std::function<double(std::int64_t, double)> schedule) {
  return std::make_shared<Scheduler>(std::move(schedule));
}
CallbackRef CSVLogger(const std::string& filename, const CSVLoggerOptions& options) {
  return std::make_shared<Csv>(filename, options);
}
CallbackRef TensorBoard(const std::string& log_dir, const TensorBoardOptions& options) {
  return std::make_shared<Board>(log_dir, options);
}
CallbackRef TerminateOnNaN() { return std::make_shared<StopOnNan>(); }
CallbackRef LambdaCallback(LambdaCallbackFunctions functions) { return std::make_shared<Lambda>(std::move(functions)); }
CallbackRef BackupAndRestore(const std::string& backup_dir, const BackupAndRestoreOptions& options) {
  return std::make_shared<Backup>(backup_dir, options);
}

}  // namespace callbacks

}  // namespace caudal::inline v0::keras
