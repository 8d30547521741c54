// Moving averages of variables, as tf.train.ExponentialMovingAverage keeps them.
//
//   train::ExponentialMovingAverage ema({.decay = 0.999, .num_updates = step});
//   auto averaged = ema.apply();                              // an operation: run it after each update
//   train::Saver evaluation({.variables = ema.variables_to_restore()});  // restores the averages into the variables
//
// Thread safety: as building a graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/ops/variable.h"

namespace caudal::inline v0::train {

struct AssignMovingAverageOptions {
  bool zero_debias = true;
  std::string name = "AssignMovingAvg";
  std::source_location where = std::source_location::current();
};
// variable -= (1 - decay) * (variable - value); its value afterwards. With zero_debias the variable is the average
// without the weight of its start at 0 (Kingma and Ba 2014, section 3): two more variables, "biased" and "local_step",
// are made under its name.
CAUDAL_API Output assign_moving_average(const Variable& variable, const Operand& value, const Operand& decay,
                                        const AssignMovingAverageOptions& options = {});

struct ExponentialMovingAverageOptions {
  Operand decay = 0.999F;                   // TensorFlow has no default
  std::optional<Operand> num_updates = {};  // then decay is at most (1 + num_updates) / (10 + num_updates)
  bool zero_debias = false;                 // of averages of tensors
  std::string name = "ExponentialMovingAverage";
};
class CAUDAL_API ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(const ExponentialMovingAverageOptions& options = {}) : options_(options) {}

  // The operation that brings the averages of the variables (default: all trainable ones) up to date. The first call
  // for a variable makes its average, "<variable>/ExponentialMovingAverage", which starts as the variable does. Throws
  // INVALID_ARGUMENT for types that are not floating.
  Operation apply(const std::vector<Variable>& var_list = {});
  // The same of tensors, whose averages start at 0. Their shapes must be known.
  Operation apply_to_tensors(const std::vector<Output>& tensors);

  const std::string& name() const { return options_.name; }
  // None (no handle) if apply() has not been called for it.
  Variable average(const Variable& variable) const;
  Variable average_of(const Output& tensor) const;
  // The name that the average has, or will have.
  std::string average_name(const Variable& variable) const;
  // For a Saver that restores averages in place of values: all global variables, those of `moving_avg_variables`
  // (default: the trainable ones and those with an average) under the names of their averages.
  std::map<std::string, Variable> variables_to_restore(const std::vector<Variable>& moving_avg_variables = {}) const;

 private:
  Output decay() const;

  ExponentialMovingAverageOptions options_;
  std::map<std::string, Variable> averages_;  // by the name of what is averaged
};

}  // namespace caudal::inline v0::train
