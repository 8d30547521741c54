// Learning-rate schedules: keras/src/optimizers/schedules/learning_rate_schedule.py.
#include <map>
#include <numbers>

#include "caudal/base/error.h"
#include "caudal/keras/class_names.h"
#include "caudal/keras/optimizers.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0::keras {
namespace {

using schedules::CosineDecayOptions;

double number(const Config& c, std::string_view key, double otherwise) {
  const Config* found = c.find(key);
  return found == nullptr || found->is_null() ? otherwise : found->number();
}

bool flag(const Config& c, std::string_view key) {
  const Config* found = c.find(key);
  return found != nullptr && !found->is_null() && found->boolean();
}

std::vector<double> numbers(const Config& c) {
  std::vector<double> out;
  for (const Config& item : c.list()) out.push_back(item.number());
  return out;
}

void check_steps(const char* name, std::int64_t steps) {
  if (steps <= 0) throw invalid_argument(name, ": decay_steps must be positive, not ", steps);
}

using Maker = LearningRate (*)(const Config&);
const std::map<std::string, Maker, std::less<>>& table() {
  static const auto* const makers = new std::map<std::string, Maker, std::less<>>{
      {"ExponentialDecay",
       [](const Config& c) {
         return schedules::ExponentialDecay(c["initial_learning_rate"].number(), c["decay_steps"].integer(),
                                            c["decay_rate"].number(), flag(c, "staircase"));
       }},
      {"PiecewiseConstantDecay",
       [](const Config& c) {
         return schedules::PiecewiseConstantDecay(numbers(c["boundaries"]), numbers(c["values"]));
       }},
      {"PolynomialDecay",
       [](const Config& c) {
         return schedules::PolynomialDecay(c["initial_learning_rate"].number(), c["decay_steps"].integer(),
                                           number(c, "end_learning_rate", 0.0001), number(c, "power", 1),
                                           flag(c, "cycle"));
       }},
      {"InverseTimeDecay",
       [](const Config& c) {
         return schedules::InverseTimeDecay(c["initial_learning_rate"].number(), c["decay_steps"].integer(),
                                            c["decay_rate"].number(), flag(c, "staircase"));
       }},
      {"CosineDecay",
       [](const Config& c) {
         CosineDecayOptions o{.alpha = number(c, "alpha", 0)};
         if (const Config* target = c.find("warmup_target"); target != nullptr && !target->is_null()) {
           o.warmup_target = target->number();
         }
         o.warmup_steps = static_cast<std::int64_t>(number(c, "warmup_steps", 0));
         return schedules::CosineDecay(c["initial_learning_rate"].number(), c["decay_steps"].integer(), o);
       }},
  };
  return *makers;
}

}  // namespace

Config LearningRate::to_config() const {
  return is_schedule() ? object_config("keras.optimizers.schedules", class_name(), config()) : Config(value_);
}

LearningRate LearningRate::from_config(const Config& config) {
  if (config.is_number()) return config.number();
  const std::string& name = config["class_name"].text();
  const auto found = table().find(name);
  if (found == table().end()) {
    std::vector<std::string> known;
    for (const auto& [key, maker] : table()) known.push_back(key);
    throw_unknown("learning-rate schedule", name, known);
  }
  return found->second(config["config"]);
}

namespace schedules {

LearningRate ExponentialDecay(double initial, std::int64_t decay_steps, double decay_rate, bool staircase) {
  check_steps("ExponentialDecay", decay_steps);
  Config c;
  c.set("initial_learning_rate", initial).set("decay_steps", decay_steps).set("decay_rate", decay_rate);
  c.set("staircase", staircase).set("name", "ExponentialDecay");
  return LearningRate("ExponentialDecay", std::move(c), [=](const Output& step) {
    Output p = step / static_cast<double>(decay_steps);
    if (staircase) p = floor(p);
    return pow(static_cast<float>(decay_rate), p) * initial;
  });
}

LearningRate PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values) {
  if (values.size() != boundaries.size() + 1) {
    throw invalid_argument("PiecewiseConstantDecay: ", boundaries.size(), " boundaries need one value more, not ",
                           values.size());
  }
  Config c;
  c.set("boundaries", Config::List(boundaries.begin(), boundaries.end()));
  c.set("values", Config::List(values.begin(), values.end())).set("name", "PiecewiseConstant");
  return LearningRate("PiecewiseConstantDecay", std::move(c), [=](const Output& step) {
    Output rate = constant(static_cast<float>(values.back()));
    for (std::size_t i = boundaries.size(); i-- > 0;) {
      rate = where(less_equal(step, boundaries[i]), static_cast<float>(values[i]), rate);
    }
    return rate;
  });
}

LearningRate PolynomialDecay(double initial, std::int64_t decay_steps, double end, double power, bool cycle) {
  check_steps("PolynomialDecay", decay_steps);
  Config c;
  c.set("initial_learning_rate", initial).set("decay_steps", decay_steps).set("end_learning_rate", end);
  c.set("power", power).set("cycle", cycle).set("name", "PolynomialDecay");
  return LearningRate("PolynomialDecay", std::move(c), [=](const Output& step) {
    const auto steps = static_cast<double>(decay_steps);
    const Output p = cycle ? step / (maximum(ceil(step / steps), 1.0F) * steps) : minimum(step, steps) / steps;
    return pow(1.0F - p, power) * (initial - end) + end;
  });
}

LearningRate InverseTimeDecay(double initial, std::int64_t decay_steps, double decay_rate, bool staircase) {
  check_steps("InverseTimeDecay", decay_steps);
  Config c;
  c.set("initial_learning_rate", initial).set("decay_steps", decay_steps).set("decay_rate", decay_rate);
  c.set("staircase", staircase).set("name", "InverseTimeDecay");
  return LearningRate("InverseTimeDecay", std::move(c), [=](const Output& step) {
    Output p = step / static_cast<double>(decay_steps);
    if (staircase) p = floor(p);
    return initial / (p * decay_rate + 1.0F);
  });
}

LearningRate CosineDecay(double initial, std::int64_t decay_steps, const CosineDecayOptions& o) {
  check_steps("CosineDecay", decay_steps);
  Config c;
  c.set("initial_learning_rate", initial).set("decay_steps", decay_steps).set("alpha", o.alpha);
  c.set("name", "CosineDecay").set("warmup_target", o.warmup_target ? Config(*o.warmup_target) : Config());
  c.set("warmup_steps", o.warmup_steps);
  return LearningRate("CosineDecay", std::move(c), [=](const Output& step) {
    const auto steps = static_cast<double>(decay_steps);
    const double top = o.warmup_target.value_or(initial);
    const auto warm = static_cast<double>(o.warmup_target ? o.warmup_steps : 0);
    const Output p = minimum(step - warm, steps) / steps;
    const Output cosine = (cos(p * std::numbers::pi) + 1.0F) * 0.5F;
    const Output decayed = (cosine * (1 - o.alpha) + o.alpha) * top;
    if (!o.warmup_target) return decayed;
    const Output rising = step / static_cast<double>(o.warmup_steps) * (top - initial) + initial;
    return where(less(step, warm), rising, decayed);
  });
}

}  // namespace schedules

}  // namespace caudal::inline v0::keras
