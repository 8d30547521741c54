// The update rules, as in keras/src/optimizers/. Where TensorFlow's fused op computes the same, it does.
#include "caudal/keras/optimizers.h"

#include <map>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/fields.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/training_ops.h"
#include "caudal/ops/variable_ops.h"

namespace caudal::inline v0::keras {
namespace {

using optimizers::AdadeltaOptions;
using optimizers::AdagradOptions;
using optimizers::AdamaxOptions;
using optimizers::AdamOptions;
using optimizers::FtrlOptions;
using optimizers::RMSpropOptions;
using optimizers::SGDOptions;
using Operations = std::vector<Operation>;

template <class Options>
Optimizer::Common common(const Options& o) {
  return {o.learning_rate, o.weight_decay, o.clipnorm, o.clipvalue, o.global_clipnorm, o.name};
}

Output value(const Weight& weight) { return weight.variable(); }

Operation assign(const Weight& weight, const Output& to) {
  return raw_ops::assign_variable_op(weight.variable().handle(), to, weight.dtype());
}

// weight -= delta, with its value at that time (after weight decay).
Operation subtract_from(const Weight& weight, const Output& delta) {
  return raw_ops::assign_sub_variable_op(weight.variable().handle(), delta, weight.dtype());
}

// A decaying mean: m + (x - m) * (1 - beta).
Output moved(const Output& mean, const Output& x, double beta) { return mean + (x - mean) * (1 - beta); }

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SGDOptions& o) : Optimizer("SGD", common(o)), o_(o) {
    if (!(o.momentum >= 0 && o.momentum <= 1)) {
      throw invalid_argument("SGD: the momentum must lie between 0 and 1, not ", o.momentum);
    }
  }

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    if (o_.momentum != 0) add_slots(weights, "momentum");
  }
  Operations update(const Output& g, const Weight& w) override {
    if (o_.momentum == 0) return {raw_ops::apply_gradient_descent(w.variable(), rate_, g)};
    const Weight& m = slot("momentum", w);
    const Output next = value(m) * o_.momentum - g * rate_;
    const Output delta = o_.nesterov ? g * rate_ - next * o_.momentum : -next;
    return {assign(m, next), subtract_from(w, delta)};
  }
  void describe(Config& config) const override { config.set("momentum", o_.momentum).set("nesterov", o_.nesterov); }

 private:
  SGDOptions o_;
};

class AdamRule final : public Optimizer {
 public:
  AdamRule(const char* class_name, const AdamOptions& o) : Optimizer(class_name, common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "momentum");
    add_slots(weights, "velocity");
    if (o_.amsgrad) add_slots(weights, "velocity_hat");
  }
  void prepare() override {
    beta1_power_ = pow(static_cast<float>(o_.beta_1), step_);
    beta2_power_ = pow(static_cast<float>(o_.beta_2), step_);
    alpha_ = rate_ * sqrt(1.0F - beta2_power_) / (1.0F - beta1_power_);
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& m = slot("momentum", w);
    const Weight& v = slot("velocity", w);
    // TensorFlow's op squares the gradient itself.
    if (!o_.amsgrad && !sparse_) {
      return {raw_ops::apply_adam(w.variable(), m.variable(), v.variable(), beta1_power_, beta2_power_, rate_,
                                  o_.beta_1, o_.beta_2, o_.epsilon, g)};
    }
    const Output next_m = moved(value(m), g, o_.beta_1);
    const Output next_v = moved(value(v), squared(g), o_.beta_2);
    if (!o_.amsgrad) {
      return {assign(m, next_m), assign(v, next_v), subtract_from(w, next_m * alpha_ / (sqrt(next_v) + o_.epsilon))};
    }
    const Weight& greatest = slot("velocity_hat", w);
    const Output next_greatest = maximum(value(greatest), next_v);
    return {assign(m, next_m), assign(v, next_v), assign(greatest, next_greatest),
            subtract_from(w, next_m * alpha_ / (sqrt(next_greatest) + o_.epsilon))};
  }
  void describe(Config& config) const override {
    config.set("beta_1", o_.beta_1).set("beta_2", o_.beta_2).set("epsilon", o_.epsilon).set("amsgrad", o_.amsgrad);
  }

 private:
  AdamOptions o_;
  Output beta1_power_, beta2_power_, alpha_;
};

class RmsProp final : public Optimizer {
 public:
  explicit RmsProp(const RMSpropOptions& o) : Optimizer("RMSprop", common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "velocity");
    if (o_.momentum > 0) add_slots(weights, "momentum");
    if (o_.centered) add_slots(weights, "average_gradient");
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& v = slot("velocity", w);
    const Output next_v = value(v) * o_.rho + squared(g) * (1 - o_.rho);
    Operations done = {assign(v, next_v)};
    Output denominator = next_v + o_.epsilon;
    if (o_.centered) {
      const Weight& average = slot("average_gradient", w);
      const Output next_average = value(average) * o_.rho + g * (1 - o_.rho);
      done.push_back(assign(average, next_average));
      denominator = next_v - square(next_average) + o_.epsilon;
    }
    Output delta = rate_ * g / sqrt(denominator);
    if (o_.momentum > 0) {
      const Weight& m = slot("momentum", w);
      delta = value(m) * o_.momentum + delta;
      done.push_back(assign(m, delta));
    }
    done.push_back(subtract_from(w, delta));
    return done;
  }
  void describe(Config& config) const override {
    config.set("rho", o_.rho).set("momentum", o_.momentum).set("epsilon", o_.epsilon).set("centered", o_.centered);
  }

 private:
  RMSpropOptions o_;
};

class AdagradRule final : public Optimizer {
 public:
  explicit AdagradRule(const AdagradOptions& o) : Optimizer("Adagrad", common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "accumulator", o_.initial_accumulator_value);
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& sum = slot("accumulator", w);
    const Output next = value(sum) + squared(g);
    return {assign(sum, next), subtract_from(w, rate_ * g / sqrt(next + o_.epsilon))};
  }
  void describe(Config& config) const override {
    config.set("initial_accumulator_value", o_.initial_accumulator_value).set("epsilon", o_.epsilon);
  }

 private:
  AdagradOptions o_;
};

class AdadeltaRule final : public Optimizer {
 public:
  explicit AdadeltaRule(const AdadeltaOptions& o) : Optimizer("Adadelta", common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "accumulated_grad");
    add_slots(weights, "accumulated_delta_var");
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& grads = slot("accumulated_grad", w);
    const Weight& deltas = slot("accumulated_delta_var", w);
    const Output next_grads = value(grads) * o_.rho + squared(g) * (1 - o_.rho);
    const Output delta = sqrt(value(deltas) + o_.epsilon) * g / sqrt(next_grads + o_.epsilon);
    const Output next_deltas = value(deltas) * o_.rho + square(delta) * (1 - o_.rho);
    return {assign(grads, next_grads), assign(deltas, next_deltas), subtract_from(w, delta * rate_)};
  }
  void describe(Config& config) const override { config.set("rho", o_.rho).set("epsilon", o_.epsilon); }

 private:
  AdadeltaOptions o_;
};

class AdamaxRule final : public Optimizer {
 public:
  explicit AdamaxRule(const AdamaxOptions& o) : Optimizer("Adamax", common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "momentum");
    add_slots(weights, "norm");
  }
  void prepare() override { beta1_power_ = pow(static_cast<float>(o_.beta_1), step_); }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& m = slot("momentum", w);
    const Weight& u = slot("norm", w);
    const Output next_m = moved(value(m), g, o_.beta_1);
    const Output next_u = maximum(value(u) * o_.beta_2, abs(g));
    return {assign(m, next_m), assign(u, next_u),
            subtract_from(w, rate_ * next_m / ((1.0F - beta1_power_) * (next_u + o_.epsilon)))};
  }
  void describe(Config& config) const override {
    config.set("beta_1", o_.beta_1).set("beta_2", o_.beta_2).set("epsilon", o_.epsilon);
  }

 private:
  AdamaxOptions o_;
  Output beta1_power_;
};

class NadamRule final : public Optimizer {
 public:
  explicit NadamRule(const AdamaxOptions& o) : Optimizer("Nadam", common(o)), o_(o) {}

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "momentum");
    add_slots(weights, "velocity");
    product_ = add_variable("u_product", 1);
  }
  void prepare() override {
    const auto beta = static_cast<float>(o_.beta_1);
    u_ = (1.0F - pow(0.96F, step_) * 0.5F) * beta;
    next_u_ = (1.0F - pow(0.96F, step_ + 1.0F) * 0.5F) * beta;
    u_product_ = value(*product_) * u_;
    next_product_ = u_product_ * next_u_;
    beta2_power_ = pow(static_cast<float>(o_.beta_2), step_);
    keep_product_ = assign(*product_, u_product_);
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& m = slot("momentum", w);
    const Weight& v = slot("velocity", w);
    const Output next_m = moved(value(m), g, o_.beta_1);
    const Output next_v = moved(value(v), squared(g), o_.beta_2);
    const Output m_hat = next_u_ * next_m / (1.0F - next_product_) + (1.0F - u_) * g / (1.0F - u_product_);
    const Output v_hat = next_v / (1.0F - beta2_power_);
    return {assign(m, next_m), assign(v, next_v), subtract_from(w, m_hat * rate_ / (sqrt(v_hat) + o_.epsilon)),
            keep_product_};
  }
  void describe(Config& config) const override {
    config.set("beta_1", o_.beta_1).set("beta_2", o_.beta_2).set("epsilon", o_.epsilon);
  }

 private:
  AdamaxOptions o_;
  WeightRef product_;
  Output u_, next_u_, u_product_, next_product_, beta2_power_;
  Operation keep_product_;
};

class FtrlRule final : public Optimizer {
 public:
  explicit FtrlRule(const FtrlOptions& o) : Optimizer("Ftrl", common(o)), o_(o) {
    if (o.initial_accumulator_value < 0 || o.learning_rate_power > 0 || o.l1_regularization_strength < 0 ||
        o.l2_regularization_strength < 0 || o.l2_shrinkage_regularization_strength < 0) {
      throw invalid_argument(
          "Ftrl: strengths and the initial accumulator must not be negative, nor the power positive");
    }
  }

 protected:
  void create_slots(const std::vector<WeightRef>& weights) override {
    add_slots(weights, "accumulator", o_.initial_accumulator_value);
    add_slots(weights, "linear");
  }
  Operations update(const Output& g, const Weight& w) override {
    const Weight& accumulator = slot("accumulator", w);
    const Weight& linear = slot("linear", w);
    const Output now = w.variable().read_value();
    const double power = -o_.learning_rate_power;
    const Output shrunk = g + now * (2 * o_.l2_shrinkage_regularization_strength);
    const Output next = value(accumulator) + squared(g);
    const Output next_linear =
        value(linear) + shrunk - (pow(next, power) - pow(value(accumulator), power)) / rate_ * now;
    const Output l2 = o_.beta / (rate_ * 2.0F) + o_.l2_regularization_strength;
    const Output quadratic = pow(next, power) / rate_ + l2 * 2.0F;
    const double l1 = o_.l1_regularization_strength;
    const Output to = (clip_by_value(next_linear, -l1, l1) - next_linear) / quadratic;
    return {assign(linear, next_linear), assign(accumulator, next), assign(w, to)};
  }
  void describe(Config& config) const override {
    config.set("learning_rate_power", o_.learning_rate_power);
    config.set("initial_accumulator_value", o_.initial_accumulator_value);
    config.set("l1_regularization_strength", o_.l1_regularization_strength);
    config.set("l2_regularization_strength", o_.l2_regularization_strength);
    config.set("l2_shrinkage_regularization_strength", o_.l2_shrinkage_regularization_strength);
    config.set("beta", o_.beta);
  }

 private:
  FtrlOptions o_;
};

// --- From files ---

// Reads an optimizer's settings; what is unknown is an error, what would change the training and is not here too.
class Settings {
 public:
  Settings(const Config& config, std::string owner) : fields_(config, std::move(owner)), config_(config) {}
  template <class Options>
  void common(Options& o) {
    if (const Config* rate = config_.find("learning_rate")) o.learning_rate = LearningRate::from_config(*rate);
    for (const char* key :
         {"learning_rate", "ema_momentum", "ema_overwrite_frequency", "is_legacy_optimizer", "jit_compile", "decay"}) {
      fields_.ignored(key);
    }
    for (const char* key : {"use_ema", "loss_scale_factor", "gradient_accumulation_steps"}) {
      const Config* found = config_.find(key);
      fields_.ignored(key);
      const bool wanted = found != nullptr && !found->is_null() && !(found->is_bool() && !found->boolean());
      if (wanted) throw unimplemented("optimizer setting '", key, "'");
    }
    fields_("weight_decay", o.weight_decay);
    fields_("clipnorm", o.clipnorm);
    fields_("clipvalue", o.clipvalue);
    fields_("global_clipnorm", o.global_clipnorm);
    fields_("name", o.name);
  }
  Fields& operator*() { return fields_; }

 private:
  Fields fields_;
  const Config& config_;
};

using Maker = OptimizerRef (*)(Settings&);
const std::map<std::string, Maker, std::less<>>& table() {
  static const auto* const makers = new std::map<std::string, Maker, std::less<>>{
      {"sgd",
       [](Settings& s) {
         SGDOptions o;
         s.common(o);
         (*s)("momentum", o.momentum), (*s)("nesterov", o.nesterov);
         return optimizers::SGD(o);
       }},
      {"adam",
       [](Settings& s) {
         AdamOptions o;
         s.common(o);
         (*s)("beta_1", o.beta_1), (*s)("beta_2", o.beta_2), (*s)("epsilon", o.epsilon), (*s)("amsgrad", o.amsgrad);
         return optimizers::Adam(o);
       }},
      {"adamw",
       [](Settings& s) {
         AdamOptions o;
         s.common(o);
         (*s)("beta_1", o.beta_1), (*s)("beta_2", o.beta_2), (*s)("epsilon", o.epsilon), (*s)("amsgrad", o.amsgrad);
         return optimizers::AdamW(o);
       }},
      {"rmsprop",
       [](Settings& s) {
         RMSpropOptions o;
         s.common(o);
         (*s)("rho", o.rho), (*s)("momentum", o.momentum), (*s)("epsilon", o.epsilon), (*s)("centered", o.centered);
         return optimizers::RMSprop(o);
       }},
      {"adagrad",
       [](Settings& s) {
         AdagradOptions o;
         s.common(o);
         (*s)("initial_accumulator_value", o.initial_accumulator_value), (*s)("epsilon", o.epsilon);
         return optimizers::Adagrad(o);
       }},
      {"adadelta",
       [](Settings& s) {
         AdadeltaOptions o;
         s.common(o);
         (*s)("rho", o.rho), (*s)("epsilon", o.epsilon);
         return optimizers::Adadelta(o);
       }},
      {"adamax",
       [](Settings& s) {
         AdamaxOptions o;
         s.common(o);
         (*s)("beta_1", o.beta_1), (*s)("beta_2", o.beta_2), (*s)("epsilon", o.epsilon);
         return optimizers::Adamax(o);
       }},
      {"nadam",
       [](Settings& s) {
         AdamaxOptions o;
         s.common(o);
         (*s)("beta_1", o.beta_1), (*s)("beta_2", o.beta_2), (*s)("epsilon", o.epsilon);
         return optimizers::Nadam(o);
       }},
      {"ftrl",
       [](Settings& s) {
         FtrlOptions o;
         s.common(o);
         (*s)("learning_rate_power", o.learning_rate_power);
         (*s)("initial_accumulator_value", o.initial_accumulator_value);
         (*s)("l1_regularization_strength", o.l1_regularization_strength);
         (*s)("l2_regularization_strength", o.l2_regularization_strength);
         (*s)("l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength);
         (*s)("beta", o.beta);
         return optimizers::Ftrl(o);
       }},
  };
  return *makers;
}

std::string lower(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

OptimizerRef::OptimizerRef(const std::string& name) : OptimizerRef(from_config(name)) {}

OptimizerRef OptimizerRef::from_config(const Config& config) {
  const std::string name = config.is_string() ? config.text() : config["class_name"].text();
  const Config* given = config.find("config");
  static const Config nothing = Config::map();
  const auto found = table().find(lower(name));
  if (found == table().end()) {
    std::vector<std::string> known;
    for (const auto& [key, maker] : table()) known.push_back(key);
    throw_unknown("optimizer", name, known);
  }
  Settings settings(given == nullptr ? nothing : *given, "optimizer " + name);
  OptimizerRef optimizer = found->second(settings);
  (*settings).check_all_known();
  return optimizer;
}

namespace optimizers {
OptimizerRef SGD(const SGDOptions& options) { return {std::make_shared<Sgd>(options)}; }
OptimizerRef Adam(const AdamOptions& options) { return {std::make_shared<AdamRule>("Adam", options)}; }
OptimizerRef AdamW(const AdamOptions& options) {
  AdamOptions o = options;
  if (!o.weight_decay) o.weight_decay = 0.004;
  return {std::make_shared<AdamRule>("AdamW", o)};
}
OptimizerRef RMSprop(const RMSpropOptions& options) { return {std::make_shared<RmsProp>(options)}; }
OptimizerRef Adagrad(const AdagradOptions& options) { return {std::make_shared<AdagradRule>(options)}; }
OptimizerRef Adadelta(const AdadeltaOptions& options) { return {std::make_shared<AdadeltaRule>(options)}; }
OptimizerRef Adamax(const AdamaxOptions& options) { return {std::make_shared<AdamaxRule>(options)}; }
OptimizerRef Nadam(const AdamaxOptions& options) { return {std::make_shared<NadamRule>(options)}; }
OptimizerRef Ftrl(const FtrlOptions& options) { return {std::make_shared<FtrlRule>(options)}; }
}  // namespace optimizers

}  // namespace caudal::inline v0::keras
