#include "caudal/runtime/executor.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"

namespace caudal::inline v0 {
namespace {

std::int64_t steady_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Runs a kernel that may wait and blocks this run's thread (not a pool thread) until it is done.
void run_waiting(const Kernel& kernel, RunContext& context) {
  std::mutex mutex;
  std::condition_variable signal;
  bool finished = false;
  std::optional<Error> failure;
  kernel.run_async(context, [&](const Error* error) {
    std::lock_guard lock(mutex);
    if (error != nullptr) failure = *error;
    finished = true;
    signal.notify_one();
  });
  std::unique_lock lock(mutex);
  signal.wait(lock, [&] { return finished; });
  if (failure) throw Error(*failure);
}

void run_step(const Step& step, RunContext& context) {
  if (step.has_ref_inputs) context.start();
  if (step.kernel->can_wait()) {
    run_waiting(*step.kernel, context);
  } else {
    step.kernel->run(context);
  }
  if (step.has_ref_inputs) context.finish();
}

void check_step(const StepContext& step) {
  if (step.cancellation != nullptr) step.cancellation->check();
  if (step.deadline_micros && static_cast<std::int64_t>(step.env->now_micros()) >= *step.deadline_micros) {
    throw deadline_exceeded("the run's time is over");
  }
}

// The error with its node and, where memory ran out, with what takes it. A full disk is RESOURCE_EXHAUSTED too.
Error placed(const Error& error, const Node& node, const RunInstance& instance) {
  const Error at_node = error.at_node(node.type(), node.name(), node.info().made_at);
  if (error.code() != Code::kResourceExhausted || !error.detail().starts_with("out of memory")) return at_node;
  const std::string live = instance.largest_live(5);
  return live.empty() ? at_node : at_node.hint("Largest live tensors: " + live + ".");
}

}  // namespace

void execute(RunInstance& instance, StepContext& step_context) {
  const Program& program = instance.program();
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    RunContext& context = instance.context(s);
    context.set_step(&step_context);
    try {
      check_step(step_context);
      const std::int64_t start = step_context.tracer != nullptr ? steady_nanos() : 0;
      run_step(step, context);
      if (step_context.tracer != nullptr) {
        step_context.tracer->record(step.node->name(), step.node->type(), start, steady_nanos());
      }
    } catch (const Error& error) {
      throw placed(error, *step.node, instance);
    } catch (const std::bad_alloc&) {
      throw placed(resource_exhausted("out of memory"), *step.node, instance);
    } catch (const std::length_error&) {  // a container that no memory could hold
      throw placed(resource_exhausted("out of memory"), *step.node, instance);
    } catch (const std::exception& error) {
      throw placed(internal_error(error.what()), *step.node, instance);
    }
    for (const int dead : step.release) instance.slot(dead) = Value{};
  }
}

}  // namespace caudal::inline v0
