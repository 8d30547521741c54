// Learning-rate schedules: the rate as a node that depends on the global step.
//
//   auto step = train::get_or_create_global_step();
//   auto rate = train::exponential_decay(0.1, step, 1000, 0.96, {.staircase = true});
//   auto train_op = train::MomentumOptimizer({.learning_rate = rate}).minimize(loss, {.global_step = step});
//
// Names, arguments and values are those of tf.compat.v1.train; warm-up and one-cycle are ours. The rate has the type of
// learning_rate (a plain number: float32), in which all is computed; global_step and the numbers of steps are scalars
// of any number type. Steps count from 0. How a rate follows the validation loss: plateau.h. Thread safety: as building
// a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0::train {

struct DecayOptions {
  bool staircase = false;  // whole multiples of decay_steps only
  std::string name = {};
  std::source_location where = std::source_location::current();
};
struct ScheduleOptions {
  std::string name = {};
  std::source_location where = std::source_location::current();
};

// With p = global_step / decay_steps, rounded down if `staircase`:
// learning_rate * decay_rate^p.
CAUDAL_API Output exponential_decay(const Operand& learning_rate, const Operand& global_step,
                                    const Operand& decay_steps, const Operand& decay_rate,
                                    const DecayOptions& options = {});
// learning_rate * exp(-decay_rate)^p.
CAUDAL_API Output natural_exp_decay(const Operand& learning_rate, const Operand& global_step,
                                    const Operand& decay_steps, const Operand& decay_rate,
                                    const DecayOptions& options = {});
// learning_rate / (1 + decay_rate * p).
CAUDAL_API Output inverse_time_decay(const Operand& learning_rate, const Operand& global_step,
                                     const Operand& decay_steps, const Operand& decay_rate,
                                     const DecayOptions& options = {});

// values[0] while x <= boundaries[0], then values[1] while x <= boundaries[1], ...; at last values.back(). Boundaries
// have x's type, values one type. Throws INVALID_ARGUMENT unless there is one value more than boundaries, for other
// types, and for boundaries known to be out of order.
CAUDAL_API Output piecewise_constant(const Operand& x, const std::vector<Operand>& boundaries,
                                     const std::vector<Operand>& values, const ScheduleOptions& options = {});
CAUDAL_API Output piecewise_constant_decay(const Operand& x, const std::vector<Operand>& boundaries,
                                           const std::vector<Operand>& values, const ScheduleOptions& options = {});

struct PolynomialDecayOptions {
  Operand end_learning_rate = 0.0001F;
  Operand power = 1.0F;
  bool cycle = false;  // beyond decay_steps: go on with the next multiple of it
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// (learning_rate - end_learning_rate) * (1 - min(global_step, decay_steps) / decay_steps)^power + end_learning_rate.
CAUDAL_API Output polynomial_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                                   const PolynomialDecayOptions& options = {});

struct CosineDecayOptions {
  Operand alpha = 0.0F;  // the rate at the end, as part of learning_rate
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// learning_rate * ((1 - alpha) * (1 + cos(pi * min(global_step, decay_steps) / decay_steps)) / 2 + alpha).
CAUDAL_API Output cosine_decay(const Operand& learning_rate, const Operand& global_step, const Operand& decay_steps,
                               const CosineDecayOptions& options = {});

struct CosineDecayRestartsOptions {
  Operand t_mul = 2.0F;  // each period is longer by this factor
  Operand m_mul = 1.0F;  // and begins with the rate of the one before times this
  Operand alpha = 0.0F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Cosine decays one after another: Loshchilov and Hutter 2016, SGDR (arXiv:1608.03983).
CAUDAL_API Output cosine_decay_restarts(const Operand& learning_rate, const Operand& global_step,
                                        const Operand& first_decay_steps,
                                        const CosineDecayRestartsOptions& options = {});

struct LinearCosineDecayOptions {
  Operand num_periods = 0.5F;
  Operand alpha = 0.0F;
  Operand beta = 0.001F;
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// With d = 1 - min(global_step, decay_steps) / decay_steps: learning_rate * ((alpha + d) * (1 + cos(2 pi num_periods *
// (1 - d))) / 2 + beta). Bello et al. 2017 (arXiv:1709.07417).
CAUDAL_API Output linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                                      const Operand& decay_steps, const LinearCosineDecayOptions& options = {});

struct NoisyLinearCosineDecayOptions {
  Operand initial_variance = 1.0F;
  Operand variance_decay = 0.55F;
  Operand num_periods = 0.5F;
  Operand alpha = 0.0F;
  Operand beta = 0.001F;
  std::optional<std::int64_t> seed = {};  // of the noise
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The same with noise of the variance initial_variance / (1 + global_step)^variance_decay added to d.
CAUDAL_API Output noisy_linear_cosine_decay(const Operand& learning_rate, const Operand& global_step,
                                            const Operand& decay_steps,
                                            const NoisyLinearCosineDecayOptions& options = {});

struct WarmupOptions {
  Operand start_factor = 0.0F;  // of the rate at step 0
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// learning_rate, itself perhaps a schedule, times a factor that grows evenly from start_factor to 1 over warmup_steps.
CAUDAL_API Output linear_warmup(const Operand& learning_rate, const Operand& global_step, const Operand& warmup_steps,
                                const WarmupOptions& options = {});

struct OneCycleOptions {
  Operand start_factor = 0.1F;   // the first rate, as part of the highest
  Operand end_factor = 0.0001F;  // the last rate, likewise
  Operand last_part = 0.1F;      // of all steps: the fall to the last rate
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// Smith 2018 (arXiv:1803.09820): up evenly from the first rate to max_learning_rate, down again in the same time, and
// in the last part down to the last rate.
CAUDAL_API Output one_cycle(const Operand& max_learning_rate, const Operand& global_step, const Operand& total_steps,
                            const OneCycleOptions& options = {});

struct OneCycleMomentumOptions {
  Operand high = 0.95F;
  Operand low = 0.85F;
  Operand last_part = 0.1F;  // as of the rate
  std::string name = {};
  std::source_location where = std::source_location::current();
};
// The momentum that goes with it: down from `high` to `low` while the rate goes up, up again, then `high`.
CAUDAL_API Output one_cycle_momentum(const Operand& global_step, const Operand& total_steps,
                                     const OneCycleMomentumOptions& options = {});

}  // namespace caudal::inline v0::train
