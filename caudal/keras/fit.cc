// fit(), evaluate(), predict(): batches, epochs, callbacks.
#include <cmath>
#include <cstring>
#include <limits>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/keras/data_adapter.h"
#include "caudal/keras/model.h"
#include "caudal/keras/model_core.h"
#include "caudal/keras/training.h"

namespace caudal::inline v0::keras {
namespace {

Training& training_of(ModelCore& core) {
  if (!core.training()) core.training() = std::make_unique<Training>(core);
  return *core.training();
}

Training& compiled_training(ModelCore& core) {
  Training& training = training_of(core);
  if (!training.compiled()) {
    throw failed_precondition("model '", core.name(), "' is not compiled").hint("Call compile() first.");
  }
  return training;
}

void check_batch_size(std::int64_t size) {
  if (size < 1) throw invalid_argument("batch_size must be at least 1, not ", size);
}

std::int64_t steps_of(const Rows& rows, std::int64_t batch_size) {
  return (rows.count() + batch_size - 1) / batch_size;
}

// Calls a hook of all callbacks.
class Callbacks {
 public:
  Callbacks(Model& model, std::vector<CallbackRef> list, const RunPlan& plan) : list_(std::move(list)) {
    for (const CallbackRef& callback : list_) callback->attach(model, plan);
  }
  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), Arguments&&... arguments) const {
    for (const CallbackRef& callback : list_) (*callback.*hook)(arguments...);
  }
  bool handles_nan() const {
    for (const CallbackRef& callback : list_) {
      if (callback->handles_nan()) return true;
    }
    return false;
  }

 private:
  std::vector<CallbackRef> list_;
};

Logs evaluate_rows(Training& training, const Rows& rows, std::int64_t batch_size, const Callbacks& callbacks) {
  training.reset_metrics();
  callbacks.call(&Callback::on_test_begin);
  Logs logs;
  std::int64_t batch = 0;
  for (std::int64_t begin = 0; begin < rows.count(); begin += batch_size, ++batch) {
    logs = training.test(rows.batch(begin, std::min(begin + batch_size, rows.count())));
    callbacks.call(&Callback::on_test_batch_end, batch, logs);
  }
  callbacks.call(&Callback::on_test_end, logs);
  return logs;
}

// One run of fit().
class FitRun {
 public:
  FitRun(Model& model, Rows rows, Rows validation, const FitOptions& options)
      : core_(model.core()),
        training_(*core_.training()),
        rows_(std::move(rows)),
        validation_(std::move(validation)),
        options_(options),
        callbacks_(model, callbacks_of(options),
                   {.epochs = options.epochs,
                    .initial_epoch = options.initial_epoch,
                    .steps = steps_of(rows_, options.batch_size),
                    .verbose = options.verbose}),
        seed_(static_cast<std::uint64_t>(options.seed ? *options.seed : draw_seed())) {}

  History run() {
    core_.stop_training = false;
    core_.interrupted = false;
    core_.first_epoch = options_.initial_epoch;
    Logs logs;
    callbacks_.call(&Callback::on_train_begin);
    // A callback that restores a run says where it was.
    for (std::int64_t epoch = core_.first_epoch; epoch < options_.epochs && !core_.stop_training; ++epoch) {
      logs = run_epoch(epoch);
      history_.stopped = interrupted_;
      if (interrupted_) break;
    }
    history_.stopped = history_.stopped || core_.stop_training;
    core_.interrupted = interrupted_;
    callbacks_.call(&Callback::on_train_end, logs);
    return history_;
  }

 private:
  static std::vector<CallbackRef> callbacks_of(const FitOptions& options) {
    std::vector<CallbackRef> list = options.callbacks;
    if (options.verbose > 0) list.push_back(callbacks::ProgbarLogger());
    return list;
  }

  Logs run_epoch(std::int64_t epoch) {
    training_.reset_metrics();
    callbacks_.call(&Callback::on_epoch_begin, epoch);
    Logs logs = run_batches(epoch);
    if (interrupted_) return logs;
    const bool validates =
        validation_.count() > 0 && (epoch + 1) % std::max<std::int64_t>(1, options_.validation_freq) == 0;
    if (validates) {
      const std::int64_t size =
          options_.validation_batch_size > 0 ? options_.validation_batch_size : options_.batch_size;
      for (const auto& [name, value] : evaluate_rows(training_, validation_, size, callbacks_)) {
        logs.set("val_" + name, value);
      }
    }
    callbacks_.call(&Callback::on_epoch_end, epoch, logs);
    history_.epoch.push_back(epoch);
    history_.logs.push_back(logs);
    return logs;
  }

  Logs run_batches(std::int64_t epoch) {
    std::vector<std::int64_t> order;
    if (options_.shuffle) order = data::permutation(rows_.count(), seed_, epoch);
    const bool nan_is_error = !callbacks_.handles_nan();
    Logs logs;
    std::int64_t batch = 0;
    for (std::int64_t begin = 0; begin < rows_.count(); begin += options_.batch_size, ++batch) {
      const std::int64_t end = std::min(begin + options_.batch_size, rows_.count());
      callbacks_.call(&Callback::on_train_batch_begin, batch);
      try {
        logs = training_.train(
            options_.shuffle ? rows_.gather(order.data() + begin, end - begin) : rows_.batch(begin, end), nan_is_error);
      } catch (const Error& error) {
        throw error.in("epoch " + std::to_string(epoch + 1) + ", batch " + std::to_string(batch + 1));
      }
      callbacks_.call(&Callback::on_train_batch_end, batch, logs);
      if (options_.stop_when && options_.stop_when()) interrupted_ = true;
      if (interrupted_ || core_.stop_training) break;
    }
    return logs;
  }

  ModelCore& core_;
  Training& training_;
  Rows rows_, validation_;
  const FitOptions& options_;
  Callbacks callbacks_;
  std::uint64_t seed_;
  bool interrupted_ = false;
  History history_;
};

std::vector<Tensor> joined(const std::vector<std::vector<Tensor>>& parts, std::int64_t rows) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    const Tensor& first = parts[0][i];
    if (parts.size() == 1) {
      all.push_back(first);
      continue;
    }
    Tensor whole(first.dtype(), first.shape().with_dim(0, rows));
    std::size_t filled = 0;
    for (const auto& part : parts) {
      if (part[i].shape().remove(0) != first.shape().remove(0)) {
        throw invalid_argument("output ", i, " has the shape ", first.shape(), " for the first batch, ",
                               part[i].shape(), " for another")
            .hint("Predict batches of one length at a time.");
      }
      std::memcpy(whole.raw() + filled, part[i].raw(), part[i].byte_size());
      filled += part[i].byte_size();
    }
    all.push_back(std::move(whole));
  }
  return all;
}

}  // namespace

const double* Logs::find(const std::string& name) const {
  for (const auto& entry : *this) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

void Logs::set(const std::string& name, double value) {
  for (auto& entry : *this) {
    if (entry.first == name) {
      entry.second = value;
      return;
    }
  }
  emplace_back(name, value);
}

std::vector<double> History::of(const std::string& name) const {
  std::vector<double> values;
  for (const Logs& epoch_logs : logs) {
    const double* found = epoch_logs.find(name);
    values.push_back(found == nullptr ? std::numeric_limits<double>::quiet_NaN() : *found);
  }
  return values;
}

void Model::compile(const CompileOptions& options) { training_of(core()).compile(options); }
bool Model::compiled() const { return core().training() && core().training()->compiled(); }
Optimizer& Model::optimizer() const { return compiled_training(core()).optimizer(); }

History Model::fit(const Arrays& x, const Arrays& y, const FitOptions& options) {
  Training& training = compiled_training(core());
  check_batch_size(options.batch_size);
  if (y.empty() && options.validation_split == 0) throw invalid_argument("fit() needs labels: y is empty");
  training.ensure_graph(x);
  Rows rows = make_rows(x, y, options.sample_weight, core().outputs().size());
  Rows validation;
  if (!options.validation_data.x.empty()) {
    validation = make_rows(options.validation_data.x, options.validation_data.y, options.validation_data.sample_weight,
                           core().outputs().size());
  } else if (options.validation_split != 0) {
    if (!(options.validation_split > 0 && options.validation_split < 1)) {
      throw invalid_argument("validation_split must lie between 0 and 1, not ", options.validation_split);
    }
    const auto cut =
        static_cast<std::int64_t>(std::floor(static_cast<double>(rows.count()) * (1 - options.validation_split)));
    if (cut == 0 || cut == rows.count()) {
      throw invalid_argument("validation_split ", options.validation_split, " of ", rows.count(), " rows leaves ", cut,
                             " for training and ", rows.count() - cut, " for validation");
    }
    validation = rows.part(cut, rows.count());
    rows = rows.part(0, cut);
  }
  check_values(rows, core());
  if (validation.count() > 0) check_values(validation, core());
  apply_class_weight(rows, options.class_weight);
  return FitRun(*this, std::move(rows), std::move(validation), options).run();
}

Logs Model::evaluate(const Arrays& x, const Arrays& y, const EvaluateOptions& options) {
  Training& training = compiled_training(core());
  check_batch_size(options.batch_size);
  training.ensure_graph(x);
  const Rows rows = make_rows(x, y, options.sample_weight, core().outputs().size());
  check_values(rows, core());
  std::vector<CallbackRef> list = options.callbacks;
  if (options.verbose > 0) list.push_back(callbacks::ProgbarLogger());
  const Callbacks callbacks(*this, std::move(list),
                            {.steps = steps_of(rows, options.batch_size), .verbose = options.verbose});
  return evaluate_rows(training, rows, options.batch_size, callbacks);
}

std::vector<Tensor> Model::predict(const Arrays& x, const PredictOptions& options) {
  Training& training = training_of(core());
  check_batch_size(options.batch_size);
  const Rows rows = make_rows(x, {}, {}, 0);
  std::vector<CallbackRef> list = options.callbacks;
  if (options.verbose > 0) list.push_back(callbacks::ProgbarLogger());
  const Callbacks callbacks(*this, std::move(list),
                            {.steps = steps_of(rows, options.batch_size), .verbose = options.verbose});
  callbacks.call(&Callback::on_predict_begin);
  std::vector<std::vector<Tensor>> parts;
  std::int64_t batch = 0;
  for (std::int64_t begin = 0; begin < rows.count(); begin += options.batch_size, ++batch) {
    parts.push_back(training.predict(rows.batch(begin, std::min(begin + options.batch_size, rows.count())).x));
    callbacks.call(&Callback::on_predict_batch_end, batch);
  }
  callbacks.call(&Callback::on_predict_end);
  return joined(parts, rows.count());
}

Logs Model::train_on_batch(const Arrays& x, const Arrays& y, const Arrays& sample_weight) {
  Training& training = compiled_training(core());
  training.ensure_graph(x);
  const Rows rows = make_rows(x, y, sample_weight, core().outputs().size());
  check_values(rows, core());
  training.reset_metrics();
  return training.train(rows.batch(0, rows.count()), true);
}

Logs Model::test_on_batch(const Arrays& x, const Arrays& y, const Arrays& sample_weight) {
  Training& training = compiled_training(core());
  training.ensure_graph(x);
  const Rows rows = make_rows(x, y, sample_weight, core().outputs().size());
  check_values(rows, core());
  training.reset_metrics();
  return training.test(rows.batch(0, rows.count()));
}

Profile Model::profile(const Arrays& x, const Arrays& y, std::int64_t steps) {
  Training& training = compiled_training(core());
  training.ensure_graph(x);
  const Rows rows = make_rows(x, y, {}, core().outputs().size());
  check_values(rows, core());
  return training.profile(rows.batch(0, rows.count()), steps);
}

std::vector<Tensor> Model::predict_on_batch(const Arrays& x) { return training_of(core()).predict(x); }

void Model::stop_training() { core().stop_training = true; }

void Model::reset_metrics() { compiled_training(core()).reset_metrics(); }

}  // namespace caudal::inline v0::keras
