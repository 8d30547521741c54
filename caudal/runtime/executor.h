// Runs the steps of a program in order.
#pragma once

#include "caudal/base/export.h"
#include "caudal/core/step_context.h"
#include "caudal/runtime/run_instance.h"

namespace caudal::inline v0 {

// Runs all steps of `instance`, whose feed slots are filled. Throws caudal::Error that names the node; with
// RESOURCE_EXHAUSTED it lists the largest live tensors. The step's cancellation and deadline are looked at before every
// node.
void execute(RunInstance& instance, StepContext& step);

}  // namespace caudal::inline v0
