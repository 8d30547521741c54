// Runs programs.
#pragma once

#include <functional>

#include "caudal/base/export.h"
#include "caudal/core/step_context.h"
#include "caudal/runtime/run_instance.h"

namespace caudal::inline v0 {

// Runs all of `instance`, whose feed slots are filled, in this thread, which also works for the step while something
// waits. Throws caudal::Error that names the node. The step's cancellation and deadline end it early.
void execute(RunInstance& instance, StepContext& step);

// The same without blocking, for programs that may wait: calls `done` once, maybe before it returns, in a thread that
// works for step.queue. REQUIRES: program().can_wait; the instance and what `step` points to live until then.
void execute_async(RunInstance& instance, const StepContext& step, std::function<void(const Error* error)> done);

}  // namespace caudal::inline v0
