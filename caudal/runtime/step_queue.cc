#include "caudal/runtime/step_queue.h"

#include <algorithm>
#include <chrono>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"

namespace caudal::inline v0 {

void StepQueue::push(std::function<void()> task) {
  // Told under the lock: the waiting thread may take the queue away as soon as the last task has run.
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  signal_.notify_one();
}

void StepQueue::work_until(const bool& finished, const StepContext& step) {
  bool timed = step.deadline_micros.has_value();
  while (!finished) {
    std::unique_lock lock(mutex_);
    if (tasks_.empty() && timed) {
      const std::int64_t left = *step.deadline_micros - static_cast<std::int64_t>(step.env->now_micros());
      signal_.wait_for(lock, std::chrono::microseconds(std::max<std::int64_t>(left, 0)));
      if (tasks_.empty() && static_cast<std::int64_t>(step.env->now_micros()) >= *step.deadline_micros) {
        timed = false;
        lock.unlock();
        step.cancellation->cancel(deadline_exceeded("the run's time is over"));
      }
      continue;
    }
    signal_.wait(lock, [this] { return !tasks_.empty(); });
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace caudal::inline v0
