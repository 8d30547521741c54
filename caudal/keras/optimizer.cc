// What all optimizers share; the rules are in optimizers.cc.
#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/optimizers.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/training_ops.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0::keras {
namespace {

Config or_null(const std::optional<double>& value) { return value ? Config(*value) : Config(); }

Operation assign(const Weight& weight, const Output& value) {
  return raw_ops::assign_variable_op(weight.variable().handle(), value, weight.dtype());
}

std::string underscored(std::string path) {
  for (char& c : path) {
    if (c == '/') c = '_';
  }
  return path;
}

}  // namespace

Optimizer::Optimizer(std::string class_name, Common common)
    : class_name_(std::move(class_name)), common_(std::move(common)) {
  if (common_.name.empty()) common_.name = snake_case(class_name_);
  const int clippings =
      int{common_.clipnorm.has_value()} + int{common_.clipvalue.has_value()} + int{common_.global_clipnorm.has_value()};
  if (clippings > 1) {
    throw invalid_argument(class_name_, ": only one of clipnorm, clipvalue and global_clipnorm can be given");
  }
}

Optimizer::~Optimizer() = default;

WeightRef Optimizer::add_variable(const std::string& name, double initial) {
  const WeightRef variable =
      backend_->add_weight({.name = name, .path = common_.name + "/" + name, .shape = {}, .trainable = false},
                           Tensor(static_cast<float>(initial)));
  variables_.push_back(variable);
  return variable;
}

void Optimizer::add_slots(const std::vector<WeightRef>& weights, const std::string& name, double initial) {
  for (const WeightRef& weight : weights) {
    const std::string slot_name = underscored(weight->path()) + "_" + name;
    const WeightRef slot = backend_->add_weight({.name = slot_name,
                                                 .path = common_.name + "/" + slot_name,
                                                 .shape = weight->shape(),
                                                 .dtype = weight->dtype(),
                                                 .trainable = false},
                                                initializers::Constant(initial).function()(weight->shape(), float32));
    variables_.push_back(slot);
    slots_[name][weight.get()] = slot;
  }
}

const Weight& Optimizer::slot(const std::string& name, const Weight& weight) const {
  return *slots_.at(name).at(&weight);
}

void Optimizer::build(Backend& backend, const std::vector<WeightRef>& weights) {
  if (built_) return;
  built_ = true;
  backend_ = &backend;
  iteration_ = backend.add_weight(
      {.name = "iteration", .path = common_.name + "/iteration", .shape = {}, .dtype = int64, .trainable = false},
      Tensor(std::int64_t{0}));
  variables_.push_back(iteration_);
  if (!common_.learning_rate.is_schedule()) {
    learning_rate_ = add_variable("learning_rate", common_.learning_rate.value());
  }
  create_slots(weights);
}

std::vector<Gradient> Optimizer::clipped(std::vector<Gradient> gradients) const {
  if (common_.global_clipnorm) return clip_by_global_norm(gradients, *common_.global_clipnorm).first;
  for (Gradient& gradient : gradients) {
    if (gradient.is_none()) continue;
    if (common_.clipnorm) {
      const Output g = gradient.dense();
      const Output norm = sqrt(reduce_sum(square(g)));
      // g * clip / max(norm, clip), as Keras's clip_by_norm.
      gradient = g * (*common_.clipnorm / maximum(norm, *common_.clipnorm));
    } else if (common_.clipvalue) {
      gradient = clip_by_value(gradient.dense(), -*common_.clipvalue, *common_.clipvalue);
    }
  }
  return gradients;
}

Operation Optimizer::apply(const std::vector<Gradient>& gradients, const std::vector<WeightRef>& weights) {
  const NameScope scope(common_.name);
  const Output step = iteration_->variable();
  step_ = cast(step, float32) + 1.0F;
  rate_ = common_.learning_rate.is_schedule() ? common_.learning_rate.function()(cast(step, float32))
                                              : Output(learning_rate_->variable());
  scheduled_rate_ = rate_;
  prepare();
  const std::vector<Gradient> ready = clipped(gradients);
  std::vector<Operation> done;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (ready[i].is_none()) continue;
    const Weight& weight = *weights[i];
    const NameScope update_scope("update_" + underscored(weight.path()));
    std::vector<Operation> before;
    if (common_.weight_decay && *common_.weight_decay != 0) {
      const Output value = weight.variable();
      // After everything that needs the value as it was: the gradient does.
      const ControlDependencies after({Operation(ready[i].is_sparse() ? ready[i].slices().values : ready[i].dense())});
      before.push_back(assign(weight, value - value * *common_.weight_decay * rate_));
    }
    std::vector<Operation> updates;
    {
      const ControlDependencies after(before);
      sparse_ = ready[i].is_sparse();
      if (sparse_) {
        const IndexedSlices& rows = ready[i].slices();
        sparse_square_ = Gradient(IndexedSlices{square(rows.values), rows.indices, rows.dense_shape}).dense();
      }
      updates = update(ready[i].dense(), weight);
    }
    if (weight.constraint()) {
      const ControlDependencies after(updates);
      updates.push_back(assign(weight, weight.constraint().function()(weight.variable().read_value())));
    }
    done.insert(done.end(), updates.begin(), updates.end());
  }
  const ControlDependencies after(done);
  return raw_ops::assign_add_variable_op(iteration_->variable().handle(), constant(std::int64_t{1}), int64);
}

Output Optimizer::squared(const Output& gradient) const { return sparse_ ? sparse_square_ : square(gradient); }

double Optimizer::learning_rate() const {
  if (learning_rate_) return learning_rate_->value().to_double();
  if (scheduled_rate_) {
    backend_->flush();
    return backend_->session().run(scheduled_rate_).to_double();
  }
  return common_.learning_rate.value();
}

void Optimizer::set_learning_rate(double value) {
  if (common_.learning_rate.is_schedule()) {
    throw invalid_argument(common_.name, ": the learning rate is a schedule and cannot be set")
        .hint("Give the optimizer a number as learning rate.");
  }
  if (learning_rate_) {
    learning_rate_->assign(Tensor(static_cast<float>(value)));
  } else {
    common_.learning_rate = value;
  }
}

std::int64_t Optimizer::iterations() const { return iteration_ ? iteration_->value().to_int64s()[0] : 0; }

Config Optimizer::get_config() const {
  Config config;
  config.set("name", common_.name).set("learning_rate", common_.learning_rate.to_config());
  config.set("weight_decay", or_null(common_.weight_decay)).set("clipnorm", or_null(common_.clipnorm));
  config.set("global_clipnorm", or_null(common_.global_clipnorm)).set("clipvalue", or_null(common_.clipvalue));
  config.set("use_ema", false).set("ema_momentum", 0.99).set("ema_overwrite_frequency", {});
  config.set("loss_scale_factor", {}).set("gradient_accumulation_steps", {});
  describe(config);
  return config;
}

Config Optimizer::to_config() const { return object_config("keras.optimizers", class_name_, get_config()); }

}  // namespace caudal::inline v0::keras
