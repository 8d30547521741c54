// Optimizers with Keras 3's names, defaults and update rules (which differ from TensorFlow 1's in places: the epsilon
// of Adam is 1e-7, momentum carries the learning rate), and learning-rate schedules.
//
//   model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-3, .clipnorm = 1.0}), .loss = "mse"});
//   model.compile({.optimizer = optimizers::SGD({.learning_rate = schedules::CosineDecay(0.1, 10000)}), ...});
//
// An optimizer belongs to the model that it was compiled into. Ownership: shared handles. Thread safety: as building a
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/export.h"
#include "caudal/keras/backend.h"
#include "caudal/keras/config.h"
#include "caudal/keras/objects.h"

namespace caudal::inline v0::keras {

// A learning rate: a number, or a function of the updates made so far.
class CAUDAL_API LearningRate : public NamedFunction<std::function<Output(const Output& step)>> {
 public:
  LearningRate(double value) : value_(value) {}  // NOLINT
  using NamedFunction::NamedFunction;

  bool is_schedule() const { return static_cast<bool>(function()); }
  double value() const { return value_; }
  Config to_config() const;
  static LearningRate from_config(const Config& config);

 private:
  double value_ = 0;
};

namespace schedules {
CAUDAL_API LearningRate ExponentialDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                                         bool staircase = false);
CAUDAL_API LearningRate PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values);
CAUDAL_API LearningRate PolynomialDecay(double initial_learning_rate, std::int64_t decay_steps,
                                        double end_learning_rate = 0.0001, double power = 1.0, bool cycle = false);
CAUDAL_API LearningRate InverseTimeDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                                         bool staircase = false);
struct CosineDecayOptions {
  double alpha = 0.0;
  std::optional<double> warmup_target = {};
  std::int64_t warmup_steps = 0;
};
CAUDAL_API LearningRate CosineDecay(double initial_learning_rate, std::int64_t decay_steps,
                                    const CosineDecayOptions& options = {});
}  // namespace schedules

class CAUDAL_API Optimizer {
 public:
  // Of every optimizer. At most one of the three clippings.
  struct Common {
    LearningRate learning_rate = 0.001;
    std::optional<double> weight_decay = {};     // weights shrink by weight_decay * learning_rate before each update
    std::optional<double> clipnorm = {};         // each gradient to this norm
    std::optional<double> clipvalue = {};        // each element of a gradient
    std::optional<double> global_clipnorm = {};  // all gradients together
    std::string name = {};
  };

  virtual ~Optimizer();

  const std::string& name() const { return common_.name; }
  const std::string& class_name() const { return class_name_; }

  // Makes the slots, once. REQUIRES: a GraphScope of the weights' backend, for this and apply().
  void build(Backend& backend, const std::vector<WeightRef>& weights);
  // One update of all weights: clipping, decay, rule, constraints; counts the iteration.
  Operation apply(const std::vector<Gradient>& gradients, const std::vector<WeightRef>& weights);

  // Iteration, learning rate (unless it is a schedule), slots.
  const std::vector<WeightRef>& variables() const { return variables_; }
  bool built() const { return built_; }
  // The learning rate of the next update.
  double learning_rate() const;
  // Throws INVALID_ARGUMENT if it is a schedule.
  void set_learning_rate(double value);
  std::int64_t iterations() const;

  Config get_config() const;
  Config to_config() const;

 protected:
  Optimizer(std::string class_name, Common common);

  // Slots of all weights.
  virtual void create_slots(const std::vector<WeightRef>& weights) = 0;
  // Once per update, before the weights'.
  virtual void prepare() {}
  virtual std::vector<Operation> update(const Output& gradient, const Weight& weight) = 0;
  // The square of the gradient that update() was given. Of rows whose indices repeat (an embedding's) Keras sums the
  // squares, and does not square the sum.
  Output squared(const Output& gradient) const;
  virtual void describe(Config& config) const = 0;

  void add_slots(const std::vector<WeightRef>& weights, const std::string& name, double initial = 0);
  const Weight& slot(const std::string& name, const Weight& weight) const;
  WeightRef add_variable(const std::string& name, double initial);

  Output rate_;          // float scalar: learning rate of this update
  Output step_;          // float scalar: number of this update, from 1
  bool sparse_ = false;  // the gradient of the present update() came as rows

 private:
  std::vector<Gradient> clipped(std::vector<Gradient> gradients) const;

  std::string class_name_;
  Common common_;
  Backend* backend_ = nullptr;
  bool built_ = false;
  WeightRef iteration_, learning_rate_;
  Output scheduled_rate_;
  Output sparse_square_;
  std::vector<WeightRef> variables_;
  std::map<std::string, std::map<const Weight*, WeightRef>> slots_;
};

// A shared optimizer, by name ("adam") or made by a function below.
class CAUDAL_API OptimizerRef {
 public:
  OptimizerRef(const char* name) : OptimizerRef(std::string(name)) {}                       // NOLINT
  OptimizerRef(const std::string& name);                                                    // NOLINT
  OptimizerRef(std::shared_ptr<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {}  // NOLINT
  Optimizer* operator->() const { return optimizer_.get(); }
  Optimizer& operator*() const { return *optimizer_; }
  static OptimizerRef from_config(const Config& config);

 private:
  std::shared_ptr<Optimizer> optimizer_;
};

namespace optimizers {
struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9, momentum = 0.0, epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0, l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0, beta = 0.0;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  std::string name = {};
};
CAUDAL_API OptimizerRef SGD(const SGDOptions& options = {});
CAUDAL_API OptimizerRef Adam(const AdamOptions& options = {});
// Adam with weight_decay, 0.004 by default.
CAUDAL_API OptimizerRef AdamW(const AdamOptions& options = {});
CAUDAL_API OptimizerRef RMSprop(const RMSpropOptions& options = {});
CAUDAL_API OptimizerRef Adagrad(const AdagradOptions& options = {});
CAUDAL_API OptimizerRef Adadelta(const AdadeltaOptions& options = {});
CAUDAL_API OptimizerRef Adamax(const AdamaxOptions& options = {});
CAUDAL_API OptimizerRef Nadam(const AdamaxOptions& options = {});
CAUDAL_API OptimizerRef Ftrl(const FtrlOptions& options = {});
}  // namespace optimizers

}  // namespace caudal::inline v0::keras
