#include "caudal/train/early_stopping.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"
#include "caudal/graph/scope.h"

namespace caudal::inline v0::train {
namespace {

constexpr std::uint32_t kStateVersion = 1;

}  // namespace

bool greater_is_better(MonitorMode mode, const std::string& monitor) {
  if (mode != MonitorMode::kAuto) return mode == MonitorMode::kMax;
  const auto contains = [&](const char* part) { return monitor.find(part) != std::string::npos; };
  const bool is_score = contains("acc") || contains("auc") || contains("precision") || contains("recall");
  return is_score || contains("fmeasure") || contains("f1");
}

void WeightsSnapshot::take(Session& session) {
  const GraphScope graph(session.graph());
  Fetches initialized;
  const std::vector<Variable> variables = global_variables();
  values_.clear();
  if (variables.empty()) return;
  for (const Variable& variable : variables) initialized.emplace_back(variable);
  const std::vector<Tensor> values = session.run(initialized);
  for (std::size_t i = 0; i < variables.size(); ++i) values_.emplace_back(variables[i], values[i]);
}

void WeightsSnapshot::restore(Session& session) const {
  // Through the initialisers, fed with the values in place of what they would compute: no new nodes. Variables that
  // share an initial value take turns.
  std::vector<std::pair<Variable, Tensor>> left = values_;
  while (!left.empty()) {
    std::set<std::string> fed;
    Fetches initializers;
    Feeds feeds;
    std::erase_if(left, [&](const auto& entry) {
      const auto& [variable, value] = entry;
      const Output source = variable.initializer().node()->input(1);
      if (!fed.insert(source.name()).second) return false;
      initializers.emplace_back(variable.initializer());
      feeds.emplace_back(source, value);
      return true;
    });
    session.run(initializers, feeds);
  }
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), greater_(greater_is_better(options_.mode, options_.monitor)) {
  if ((options_.saver == nullptr) != options_.best_prefix.empty()) {
    throw invalid_argument("early stopping needs both a saver and best_prefix, or neither");
  }
  if (options_.patience < 0) throw invalid_argument("early stopping: the patience is ", options_.patience);
}

bool EarlyStopping::improves(double value, const std::optional<double>& reference) const {
  if (std::isnan(value)) return false;
  if (!reference) return true;
  return greater_ ? value > *reference + options_.min_delta : value < *reference - options_.min_delta;
}

void EarlyStopping::keep_weights(Trainer& trainer) {
  weights_kept_ = true;
  if (!options_.restore_best_weights) return;
  if (options_.saver == nullptr) {
    snapshot_.take(trainer.session());
  } else {
    options_.saver->save(trainer.session(), options_.best_prefix, {.write_meta_graph = false, .write_state = false});
  }
}

void EarlyStopping::restore_weights(Trainer& trainer) const {
  if (!options_.restore_best_weights || !weights_kept_) return;
  if (options_.saver != nullptr) {
    options_.saver->restore(trainer.session(), options_.best_prefix);
  } else if (!snapshot_.empty()) {
    snapshot_.restore(trainer.session());
  }
}

void EarlyStopping::on_train_begin(Trainer& trainer, const TrainStatus&) {
  if (stopped_) trainer.stop();
}

void EarlyStopping::on_check(Trainer& trainer, const TrainStatus& status) {
  const std::optional<double> value = find_value(status, options_.monitor);
  if (!value) {
    std::vector<std::string> names;
    for (const NamedValues* values : {&status.means, &status.validation}) {
      for (const auto& entry : *values) names.push_back(entry.first);
    }
    throw invalid_argument("early stopping: there is no value '", options_.monitor, "'")
        .hint("There are: " + join(names, ", ") + ". Those of the validation need FitOptions::validation.");
  }
  ++checks_;
  diverged_ = std::isnan(*value) || (greater_ ? -*value : *value) > options_.divergence;
  stopped_ = diverged_;
  if (checks_ > options_.start_from_check) {
    ++wait_;
    if (improves(*value, best_)) {
      best_ = value;
      best_step_ = status.step;
      keep_weights(trainer);
      if (improves(*value, options_.baseline)) wait_ = 0;
    } else if (wait_ >= options_.patience) {
      stopped_ = true;
    }
  }
  if (stopped_) trainer.stop();
}

void EarlyStopping::on_train_end(Trainer& trainer, const TrainStatus& status) {
  if (stopped_ || status.finished) restore_weights(trainer);
}

void EarlyStopping::save_state(StateMap& state) const {
  std::string bytes;
  put_fixed(&bytes, kStateVersion);
  put_fixed(&bytes, static_cast<std::uint8_t>(best_.has_value()));
  put_fixed(&bytes, best_.value_or(0));
  put_fixed(&bytes, best_step_);
  put_fixed(&bytes, wait_);
  put_fixed(&bytes, checks_);
  for (const bool flag : {stopped_, diverged_, weights_kept_}) put_fixed(&bytes, static_cast<std::uint8_t>(flag));
  state[state_key()] = std::move(bytes);
}

void EarlyStopping::restore_state(const StateMap& state) {
  const auto found = state.find(state_key());
  if (found == state.end()) return;
  ByteReader reader(found->second);
  std::uint32_t version = 0;
  std::uint8_t has_best = 0, stopped = 0, diverged = 0, kept = 0;
  double best = 0;
  std::int64_t best_step = 0;
  int wait = 0, checks = 0;
  const bool complete = reader.fixed(&version) && version == kStateVersion && reader.fixed(&has_best) &&
                        reader.fixed(&best) && reader.fixed(&best_step) && reader.fixed(&wait) &&
                        reader.fixed(&checks) && reader.fixed(&stopped) && reader.fixed(&diverged) &&
                        reader.fixed(&kept) && reader.empty();
  if (!complete) throw data_loss("the state of early stopping in the checkpoint is damaged");
  best_ = has_best != 0 ? std::optional(best) : std::nullopt;
  best_step_ = best_step;
  wait_ = wait;
  checks_ = checks;
  stopped_ = stopped != 0;
  diverged_ = diverged != 0;
  weights_kept_ = kept != 0;
}

}  // namespace caudal::inline v0::train
