#include "caudal/runtime/executor.h"

#include <optional>

#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"
#include "caudal/runtime/dataflow.h"
#include "caudal/runtime/step_queue.h"
#include "caudal/runtime/steps.h"

namespace caudal::inline v0 {

void execute(RunInstance& instance, StepContext& step) {
  const Program& program = instance.program();
  if (!program.can_wait) {
    run_steps(instance, step, 0, static_cast<int>(program.steps.size()), nullptr);
    return;
  }
  StepQueue queue;
  CancellationToken token(step.cancellation);
  StepContext with_queue = step;
  with_queue.queue = &queue;
  with_queue.cancellation = &token;
  bool finished = false;
  std::optional<Error> failure;
  execute_async(instance, with_queue, [&](const Error* error) {
    if (error != nullptr) failure = *error;
    finished = true;
  });
  queue.work_until(finished, with_queue);
  if (failure) throw Error(*failure);
}

void execute_async(RunInstance& instance, const StepContext& step, std::function<void(const Error* error)> done) {
  Dataflow::start(instance, step, std::move(done));
}

}  // namespace caudal::inline v0
