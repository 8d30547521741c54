// The task queue of a step whose thread waits for its end.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "caudal/core/step_context.h"

namespace caudal::inline v0 {

// push() may be called by any thread, as long as the queue lives: until nothing of the step is in flight.
class StepQueue final : public TaskQueue {
 public:
  void push(std::function<void()> task) override;
  // Runs tasks in this thread until one of them has set `finished`. At the step's deadline it cancels the step with
  // DEADLINE_EXCEEDED and goes on until that has ended it.
  void work_until(const bool& finished, const StepContext& step);

 private:
  std::mutex mutex_;
  std::condition_variable signal_;
  std::deque<std::function<void()>> tasks_;
};

}  // namespace caudal::inline v0
