#include "caudal/train/schedules.h"

#include <numbers>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/random.h"
#include "caudal/ops/selection.h"

namespace caudal::inline v0::train {
namespace {

// Opens a schedule: its name scope, the rate and other numbers as nodes of one type.
class Schedule {
 public:
  Schedule(const char* default_name, const std::string& name, const std::source_location& where,
           const Operand& learning_rate)
      : location_(where),
        scope_(name.empty() ? default_name : name),
        rate_(learning_rate.to_output(learning_rate.fixed_dtype() == DType::kInvalid ? float32 : DType::kInvalid,
                                      "initial_learning_rate")) {}

  const Output& rate() const { return rate_; }
  Output number(const Operand& value) const {
    if (const Tensor* tensor = value.value()) return constant(convert_number(*tensor, rate_.dtype()));
    return cast(value, rate_.dtype());
  }
  // The step as part of `steps`; at most 1 if `limited`.
  Output progress(const Operand& global_step, const Operand& steps, bool limited) const {
    const Output done = number(global_step), all = number(steps);
    return divide(limited ? minimum(done, all) : done, all);
  }

 private:
  LocationScope location_;
  NameScope scope_;
  Output rate_;
};

Output stairs(const Output& progress, bool staircase) { return staircase ? floor(progress) : progress; }

// (1 + cos(pi x)) / 2.
Output cosine(const Output& x) { return multiply(add(cos(multiply(x, std::numbers::pi)), 1), 0.5F); }

// from + (to - from) * part.
Output between(const Output& from, const Output& to, const Output& part) {
  return add(from, multiply(subtract(to, from), part));
}

void check_boundaries(const std::vector<Operand>& boundaries, std::size_t values, const std::source_location& where) {
  if (boundaries.empty() || boundaries.size() + 1 != values) {
    throw invalid_argument("piecewise_constant: ", boundaries.size(), " boundaries and ", values, " values")
        .made_at(short_location(where))
        .hint("There must be one value more than boundaries.");
  }
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    const Tensor *previous = boundaries[i - 1].value(), *next = boundaries[i].value();
    if (previous == nullptr || next == nullptr || previous->to_double() <= next->to_double()) continue;
    throw invalid_argument("piecewise_constant: boundary ", next->to_double(), " comes after ", previous->to_double())
        .made_at(short_location(where));
  }
}

// Where a cycle is: the parts of the way up, down again and to the end, each from 0 to 1.
struct Cycle {
  Output up, down, last;
};
Cycle cycle_of(const Schedule& schedule, const Operand& global_step, const Operand& total_steps,
               const Operand& last_part) {
  const Output done = schedule.progress(global_step, total_steps, true);
  const Output last = schedule.number(last_part), half = multiply(subtract(1, last), 0.5F);
  const auto part = [](const Output& way, const Output& length) {
    return minimum(maximum(div_no_nan(way, length), 0), 1);
  };
  return {.up = part(done, half),
          .down = part(subtract(done, half), half),
          .last = part(subtract(done, multiply(half, 2)), last)};
}

}  // namespace

Output exponential_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                         const Operand& decay_rate, const DecayOptions& options) {
  const Schedule schedule("ExponentialDecay", options.name, options.where, learning_rate);
  const Output p = stairs(schedule.progress(global_step, decay_steps, false), options.staircase);
  return multiply(schedule.rate(), pow(schedule.number(decay_rate), p));
}

Output natural_exp_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                         const Operand& decay_rate, const DecayOptions& options) {
  const Schedule schedule("ExponentialDecay", options.name, options.where, learning_rate);
  const Output p = stairs(schedule.progress(global_step, decay_steps, false), options.staircase);
  return multiply(schedule.rate(), pow(exp(negative(schedule.number(decay_rate))), p));
}

Output inverse_time_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                          const Operand& decay_rate, const DecayOptions& options) {
  const Schedule schedule("InverseTimeDecay", options.name, options.where, learning_rate);
  const Output p = stairs(schedule.progress(global_step, decay_steps, false), options.staircase);
  return divide(schedule.rate(), add(multiply(schedule.number(decay_rate), p), 1));
}

Output piecewise_constant(const Operand& x, const std::vector<Operand>& boundaries, const std::vector<Operand>& values,
                          const ScheduleOptions& options) {
  check_boundaries(boundaries, values.size(), options.where);
  const LocationScope location(options.where);
  const NameScope scope(options.name.empty() ? "PiecewiseConstant" : options.name);
  const Output at = x.to_output();
  DType type = float32;
  for (const Operand& value : values) {
    if (value.fixed_dtype() != DType::kInvalid) type = value.fixed_dtype();
  }
  Output result = values.back().to_output(type);
  for (std::size_t i = boundaries.size(); i-- > 0;) {
    result = where(less_equal(at, boundaries[i].to_output(at.dtype())), values[i].to_output(type), result);
  }
  return result;
}

Output piecewise_constant_decay(const Operand& x, const std::vector<Operand>& boundaries,
                                const std::vector<Operand>& values, const ScheduleOptions& options) {
  return piecewise_constant(x, boundaries, values, options);
}

Output polynomial_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                        const PolynomialDecayOptions& options) {
  const Schedule schedule("PolynomialDecay", options.name, options.where, learning_rate);
  const Output end = schedule.number(options.end_learning_rate);
  Output step = schedule.number(global_step), steps = schedule.number(decay_steps);
  if (options.cycle) {
    // At step 0 the first multiple, where rounding up would give none.
    const Output multiple = where(equal(step, 0), schedule.number(1), ceil(divide(step, steps)));
    steps = multiply(steps, multiple);
  } else {
    step = minimum(step, steps);
  }
  const Output left = subtract(1, divide(step, steps));
  return add(multiply(subtract(schedule.rate(), end), pow(left, schedule.number(options.power))), end);
}

Output cosine_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                    const CosineDecayOptions& options) {
  const Schedule schedule("CosineDecay", options.name, options.where, learning_rate);
  const Output alpha = schedule.number(options.alpha);
  const Output decayed = cosine(schedule.progress(global_step, decay_steps, true));
  return multiply(schedule.rate(), add(multiply(subtract(1, alpha), decayed), alpha));
}

Output cosine_decay_restarts(const Operand& learning_rate, const Operand& global_step, const Operand& first_decay_steps,
                             const CosineDecayRestartsOptions& options) {
  const Schedule schedule("SGDRDecay", options.name, options.where, learning_rate);
  const Output alpha = schedule.number(options.alpha), t_mul = schedule.number(options.t_mul);
  const Output done = schedule.progress(global_step, first_decay_steps, false);
  // The number of whole periods so far, and how far the present one is; a geometric series has no value at t_mul = 1.
  const Output equal_lengths = equal(t_mul, 1);
  const Output factor = where(equal_lengths, schedule.number(2), t_mul);
  const Output grown = floor(divide(log(subtract(1, multiply(done, subtract(1, factor)))), log(factor)));
  const Output length = pow(factor, grown);
  const Output begin = divide(subtract(1, length), subtract(1, factor));
  const Output restarts = where(equal_lengths, floor(done), grown);
  const Output part = where(equal_lengths, subtract(done, floor(done)), divide(subtract(done, begin), length));
  const Output decayed = multiply(pow(schedule.number(options.m_mul), restarts), cosine(part));
  return multiply(schedule.rate(), add(multiply(subtract(1, alpha), decayed), alpha));
}

Output linear_cosine_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                           const LinearCosineDecayOptions& options) {
  const Schedule schedule("LinearCosineDecay", options.name, options.where, learning_rate);
  const Output done = schedule.progress(global_step, decay_steps, true);
  const Output decayed = cosine(multiply(multiply(schedule.number(options.num_periods), 2), done));
  const Output linear = add(schedule.number(options.alpha), subtract(1, done));
  return multiply(schedule.rate(), add(multiply(linear, decayed), schedule.number(options.beta)));
}

Output noisy_linear_cosine_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                                 const NoisyLinearCosineDecayOptions& options) {
  const Schedule schedule("NoisyLinearCosineDecay", options.name, options.where, learning_rate);
  const Output done = schedule.progress(global_step, decay_steps, true);
  const Output step = minimum(schedule.number(global_step), schedule.number(decay_steps));
  const Output variance =
      divide(schedule.number(options.initial_variance), pow(add(step, 1), schedule.number(options.variance_decay)));
  const Output noise = random_normal(
      std::vector<int>{}, {.stddev = sqrt(variance), .dtype = schedule.rate().dtype(), .seed = options.seed});
  const Output decayed = cosine(multiply(multiply(schedule.number(options.num_periods), 2), done));
  const Output linear = add(schedule.number(options.alpha), add(subtract(1, done), noise));
  return multiply(schedule.rate(), add(multiply(linear, decayed), schedule.number(options.beta)));
}

Output linear_warmup(const Operand& learning_rate, const Operand& global_step, const Operand& warmup_steps,
                     const WarmupOptions& options) {
  const Schedule schedule("LinearWarmup", options.name, options.where, learning_rate);
  const Output done = schedule.progress(global_step, warmup_steps, true);
  return multiply(schedule.rate(), between(schedule.number(options.start_factor), schedule.number(1), done));
}

Output one_cycle(const Operand& max_learning_rate, const Operand& global_step, const Operand& total_steps,
                 const OneCycleOptions& options) {
  const Schedule schedule("OneCycle", options.name, options.where, max_learning_rate);
  const Cycle cycle = cycle_of(schedule, global_step, total_steps, options.last_part);
  const Output start = schedule.number(options.start_factor), end = schedule.number(options.end_factor);
  const Output triangle = between(start, schedule.number(1), subtract(cycle.up, cycle.down));
  return multiply(schedule.rate(), between(triangle, end, cycle.last));
}

Output one_cycle_momentum(const Operand& global_step, const Operand& total_steps,
                          const OneCycleMomentumOptions& options) {
  const Schedule schedule("OneCycleMomentum", options.name, options.where, options.high);
  const Cycle cycle = cycle_of(schedule, global_step, total_steps, options.last_part);
  return between(schedule.rate(), schedule.number(options.low), subtract(cycle.up, cycle.down));
}

}  // namespace caudal::inline v0::train
