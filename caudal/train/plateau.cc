#include "caudal/train/plateau.h"

#include <limits>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0::train {
namespace {

template <class T>
Variable state(T initial, const char* name) {
  return Variable(Tensor(initial), {.trainable = false, .name = name});
}

}  // namespace

ReduceOnPlateau::ReduceOnPlateau(float learning_rate, const ReduceOnPlateauOptions& options) {
  if (!(options.factor < 1)) {
    throw invalid_argument("ReduceOnPlateau: the factor is ", options.factor, "; it must be below 1")
        .made_at(short_location(options.where));
  }
  const LocationScope location(options.where);
  const ControlDependencies none({}, /*clear=*/true);
  const NameScope scope(options.name);
  const bool greater_wins = options.mode == MonitorMode::kMax;
  const float worst = greater_wins ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  rate_ = state(learning_rate, "learning_rate");
  const Variable best = state(worst, "best"), wait = state(0, "wait"), cooldown = state(0, "cooldown");
  value_ = placeholder(float32, PartialShape::scalar(), {.name = "value"});

  const Output improved =
      greater_wins ? greater(value_, add(best, options.min_delta)) : less(value_, subtract(best, options.min_delta));
  const Output cooling = maximum(subtract(cooldown, 1), 0);
  const Output resting = greater(cooling, 0);
  const Output waited = where(greater(cooldown, 0), 0, wait);
  const Output next_wait = where(improved, 0, where(resting, waited, add(waited, 1)));
  const Output out_of_patience =
      logical_and(greater_equal(next_wait, options.patience), logical_and(logical_not(improved), logical_not(resting)));
  const Output reduces = logical_and(out_of_patience, greater(rate_, options.min_lr));
  const Output reduced = maximum(multiply(rate_, options.factor), options.min_lr);

  // All is read before anything is changed.
  const Output new_best = where(improved, value_, best), new_rate = where(reduces, reduced, rate_);
  const Output new_wait = where(reduces, 0, next_wait), new_cooldown = where(reduces, options.cooldown, cooling);
  const ControlDependencies after({new_best, new_rate, new_wait, new_cooldown});
  update_ = group({best.assign(new_best), rate_.assign(new_rate), wait.assign(new_wait), cooldown.assign(new_cooldown)},
                  {.name = "update"});
}

float ReduceOnPlateau::observe(Session& session, double value) const {
  session.run(update_, {{value_, Tensor(static_cast<float>(value))}});
  return session.run(rate_).item<float>();
}

void PlateauCallback::on_check(Trainer& trainer, const TrainStatus& status) {
  const std::optional<double> value = find_value(status, monitor_);
  if (!value) {
    throw invalid_argument("PlateauCallback: there is no value '", monitor_, "'")
        .hint("Those of the validation need FitOptions::validation.");
  }
  rate_.observe(trainer.session(), *value);
}

}  // namespace caudal::inline v0::train
