// Runs steps of a program that do not wait: kernels, v1 control flow, whole loops.
#pragma once

#include "caudal/base/error.h"
#include "caudal/core/step_context.h"
#include "caudal/runtime/run_instance.h"

namespace caudal::inline v0 {

// Where values go that cross the border of a loop whose values come one by one.
class LoopTraffic {
 public:
  virtual ~LoopTraffic() = default;
  virtual void enter(const Step& step, Value value) = 0;
  // A live value of a NextIteration or an Exit.
  virtual void forward(const Step& step, const Value& value) = 0;
};

// Runs steps [first, first + count) in order. Throws caudal::Error that names the node; with RESOURCE_EXHAUSTED it
// lists the largest live tensors. The step's cancellation and deadline are looked at before every node. `traffic` may
// be null where no step needs it.
void run_steps(RunInstance& instance, StepContext& step, int first, int count, LoopTraffic* traffic);

// True if an input or control input of a step that checks them is dead.
bool is_dead(RunInstance& instance, const Step& step);
// Marks a step and its outputs as dead, or as live.
void mark(RunInstance& instance, int step, bool dead);
// Carries out a Merge: true and its outputs once an input is live; false if none is.
bool merge(RunInstance& instance, const Step& step);
// Throws why the step must end now, if it must.
void check_step(const StepContext& step);
// The error with its node and, where memory ran out, with what takes it.
Error placed(const Error& error, const Step& step, const RunInstance& instance);
// After the step: forgets what nobody needs any more.
void release(RunInstance& instance, const Step& step);
// With check_numerics: throws INVALID_ARGUMENT if a value that the step made holds a NaN or an infinity.
void check_numerics(RunInstance& instance, const Step& step, const RunContext& context);

}  // namespace caudal::inline v0
