#include "caudal/dist/call_threads.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace caudal::inline v0 {

CallThreads::~CallThreads() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  work_.notify_all();
  finished_.wait(lock, [this] { return threads_ == 0; });
}

bool CallThreads::run(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (idle_ <= tasks_.size()) {
    if (threads_ >= most_) return false;
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    ++threads_;
  }
  tasks_.push(std::move(task));
  work_.notify_one();
  return true;
}

void CallThreads::serve() {
  constexpr std::chrono::seconds kPatience(10);  // then an idle thread goes
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_.wait_for(lock, kPatience, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) break;
    auto task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --threads_;
  // Under the lock: the destructor cannot go on before this thread is done with the object.
  finished_.notify_all();
}

}  // namespace caudal::inline v0
