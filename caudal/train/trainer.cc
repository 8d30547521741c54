#include "caudal/train/trainer.h"

#include <cmath>
#include <cstring>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::train {
namespace {

constexpr char kPositionKey[] = "trainer/position";
constexpr std::uint32_t kPositionVersion = 1;

std::vector<Output> feed_list(const TrainSpec& spec) {
  std::vector<Output> feeds = {spec.features, spec.labels};
  if (spec.training) feeds.push_back(spec.training);
  return feeds;
}

// The loss's and metrics' values of one run, behind `skip` other fetches.
std::vector<double> numbers(const std::vector<Tensor>& results, std::size_t skip) {
  std::vector<double> values;
  for (std::size_t i = skip; i < results.size(); ++i) values.push_back(results[i].to_double());
  return values;
}

void add_weighted(std::vector<double>& sums, const std::vector<double>& values, std::int64_t weight) {
  sums.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i] * static_cast<double>(weight);
}

}  // namespace

Callback::~Callback() = default;

std::optional<double> find_value(const TrainStatus& status, std::string_view name) {
  for (const NamedValues* values : {&status.validation, &status.means}) {
    for (const auto& [key, value] : *values) {
      if (key == name) return value;
    }
  }
  return std::nullopt;
}

Trainer::Trainer(Session& session, TrainSpec spec) : session_(session), spec_(std::move(spec)) {
  if (!spec_.features || !spec_.labels || !spec_.loss) {
    throw invalid_argument("a trainer needs features, labels and a loss");
  }
  Fetches measured = {spec_.loss};
  for (const auto& [name, output] : spec_.metrics) measured.emplace_back(output);
  evaluate_ = session_.make_callable(measured, feed_list(spec_));
  if (!spec_.train_op) return;
  measured.insert(measured.begin(), Fetch(spec_.train_op));
  train_ = session_.make_callable(measured, feed_list(spec_));
}

std::vector<Tensor> Trainer::feeds_of(const data::Batch& batch, bool training) const {
  std::vector<Tensor> feeds = {batch.features, batch.labels};
  if (spec_.training) feeds.emplace_back(training);
  return feeds;
}

NamedValues Trainer::means(const std::vector<double>& sums, std::int64_t examples, const std::string& prefix) const {
  NamedValues values;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::string& name = i == 0 ? std::string("loss") : spec_.metrics[i - 1].first;
    values.emplace_back(prefix + name, sums[i] / static_cast<double>(examples));
  }
  return values;
}

void Trainer::notify(const FitOptions& options, void (Callback::*hook)(Trainer&, const TrainStatus&),
                     const TrainStatus& status) {
  for (const auto& callback : options.callbacks) (*callback.*hook)(*this, status);
}

void Trainer::require_finite(double loss, const data::Batch& batch, const TrainStatus& status) const {
  if (std::isfinite(loss)) return;
  std::string where;
  try {
    evaluate_(feeds_of(batch, true), {.check_numerics = true});
  } catch (const Error& first) {
    where = "; after this update: " + first.message();
  }
  throw invalid_argument("the loss is ", loss, " at step ", position_.step, " (epoch ", position_.epoch + 1, ", batch ",
                         status.batch + 1, ")", where)
      .hint(
          "Lower the learning rate, check the data for NaN, or clip gradients; FitOptions::check_numerics names the "
          "op before an update spreads it.");
}

void Trainer::validate(const FitOptions& options, TrainStatus& status) {
  status.validation.clear();
  if (options.validation.size() == 0) return;
  for (auto& [name, value] : evaluate(options.validation)) status.validation.emplace_back("val_" + name, value);
}

void Trainer::check(const FitOptions& options, TrainStatus& status) {
  validate(options, status);
  notify(options, &Callback::on_check, status);
}

void Trainer::run_batch(const data::Batch& batch, const FitOptions& options, TrainStatus& status) {
  const RunOptions run_options{.check_numerics = options.check_numerics};
  const std::vector<double> values = numbers(train_(feeds_of(batch, true), run_options), 1);
  const std::int64_t examples = batch.features.dim(0);
  ++position_.step;
  if (options.stop_on_nan) require_finite(values[0], batch, status);
  position_.examples += examples;
  add_weighted(position_.sums, values, examples);
  status.step = position_.step;
  ++status.batch;
  status.examples = position_.examples;
  status.batch_loss = values[0];
  status.means = means(position_.sums, position_.examples, "");
  status.seconds = static_cast<double>(static_cast<std::int64_t>(default_env().now_micros()) - start_micros_) * 1e-6;
}

// True if the epoch is complete.
bool Trainer::run_epoch(data::BatchStream& stream, const FitOptions& options, TrainStatus& status) {
  data::Batch batch;
  while (stream.next(batch)) {
    position_.row = stream.position().row;
    run_batch(batch, options, status);
    if (options.check_every > 0 && position_.step % options.check_every == 0) check(options, status);
    notify(options, &Callback::on_batch_end, status);
    if (stop_requested_) return false;
  }
  return true;
}

History Trainer::fit(const data::DataSet& rows, const FitOptions& options) {
  if (!spec_.train_op) throw invalid_argument("fit() needs a train_op");
  data::BatchOptions batches = options.batches;
  if (position_.step > 0) batches.seed = position_.seed;
  position_.seed = batches.seed;
  data::BatchStream stream = rows.stream(options.batch_size, batches);
  stream.restore({position_.seed, position_.epoch, position_.row});
  stop_requested_ = false;
  start_micros_ = static_cast<std::int64_t>(default_env().now_micros());

  callbacks_ = options.callbacks;
  if (!restored_.empty()) {
    for (const auto& callback : callbacks_) callback->restore_state(restored_);
    restored_.clear();
  }

  History history;
  TrainStatus status;
  status.epoch = position_.epoch;
  status.epochs = options.epochs;
  status.step = position_.step;
  status.batches_per_epoch = stream.batches_per_epoch();
  notify(options, &Callback::on_train_begin, status);
  while (position_.epoch < options.epochs && !stop_requested_) {
    status.epoch = position_.epoch;
    status.batch = (position_.row + options.batch_size - 1) / options.batch_size;
    status.examples = position_.examples;
    status.means = means(position_.sums, position_.examples, "");  // of the part before an interruption
    status.validation.clear();
    notify(options, &Callback::on_epoch_begin, status);
    if (!run_epoch(stream, options, status)) break;
    if (options.check_every > 0) {
      validate(options, status);
    } else {
      check(options, status);
    }
    EpochRecord record{position_.epoch, status.means};
    record.values.insert(record.values.end(), status.validation.begin(), status.validation.end());
    history.epochs.push_back(std::move(record));
    // The epoch counts as complete before its callbacks save it.
    ++position_.epoch;
    position_.row = 0;
    position_.examples = 0;
    position_.sums.clear();
    notify(options, &Callback::on_epoch_end, status);
  }
  status.finished = position_.epoch >= options.epochs;
  history.stopped = !status.finished;
  notify(options, &Callback::on_train_end, status);
  return history;
}

NamedValues Trainer::evaluate(const data::DataSet& rows, std::int64_t batch_size) {
  std::vector<double> sums;
  for (const data::Batch& batch : rows.batches(batch_size, {.shuffle = false})) {
    add_weighted(sums, numbers(evaluate_(feeds_of(batch, false)), 0), batch.features.dim(0));
  }
  return means(sums, rows.size(), "");
}

Tensor Trainer::predict(const Output& output, const data::DataSet& rows, std::int64_t batch_size) {
  std::vector<Output> feeds = {spec_.features};
  if (spec_.training) feeds.push_back(spec_.training);
  const auto run = session_.make_callable({output}, feeds);
  Tensor all;
  std::size_t filled = 0;
  for (const data::Batch& batch : rows.batches(batch_size, {.shuffle = false})) {
    std::vector<Tensor> values = {batch.features};
    if (spec_.training) values.emplace_back(false);
    const Tensor part = run(values)[0];
    if (part.rank() < 1 || part.dim(0) != batch.features.dim(0) || !is_plain(part.dtype())) {
      throw invalid_argument("predict(): '", output.name(), "' gives ", part.describe(), " for ", batch.features.dim(0),
                             " rows");
    }
    if (!all.valid()) all = Tensor(part.dtype(), part.shape().with_dim(0, rows.size()));
    std::memcpy(all.raw() + filled, part.raw(), part.byte_size());
    filled += part.byte_size();
  }
  return all;
}

StateMap Trainer::position() const {
  std::string bytes;
  put_fixed(&bytes, kPositionVersion);
  put_fixed(&bytes, position_.step);
  put_fixed(&bytes, position_.epoch);
  put_fixed(&bytes, position_.row);
  put_fixed(&bytes, position_.seed);
  put_fixed(&bytes, position_.examples);
  for (const double sum : position_.sums) put_fixed(&bytes, sum);
  StateMap state = {{kPositionKey, bytes}};
  for (const auto& callback : callbacks_) callback->save_state(state);
  return state;
}

void Trainer::restore(const StateMap& state) {
  const auto found = state.find(kPositionKey);
  if (found == state.end()) {
    throw data_loss("the checkpoint does not say where training was")
        .hint("It was not written by a trainer, or its .caudal-state file is missing.");
  }
  ByteReader reader(found->second);
  std::uint32_t version = 0;
  Position position;
  const bool complete = reader.fixed(&version) && version == kPositionVersion && reader.fixed(&position.step) &&
                        reader.fixed(&position.epoch) && reader.fixed(&position.row) && reader.fixed(&position.seed) &&
                        reader.fixed(&position.examples);
  while (complete && !reader.empty()) {
    double sum = 0;
    if (!reader.fixed(&sum)) throw data_loss("the training position in the checkpoint is damaged");
    position.sums.push_back(sum);
  }
  if (!complete) throw data_loss("the training position in the checkpoint is damaged");
  position_ = std::move(position);
  restored_ = state;
}

}  // namespace caudal::inline v0::train
