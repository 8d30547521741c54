// Threads for calls that wait: one per call in progress, kept for a while and used again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Thread-safe. The destructor waits for all tasks.
class CAUDAL_API CallThreads {
 public:
  explicit CallThreads(std::size_t most) : most_(most) {}
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Runs `task`, which throws nothing, on a thread of its own. False, and nothing is run, if there are `most` already
  // and all are busy, or the system gives no thread.
  bool run(std::function<void()> task);

 private:
  void serve();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::queue<std::function<void()>> tasks_;
  std::size_t threads_ = 0, idle_ = 0;
  bool stopping_ = false;
};

}  // namespace caudal::inline v0
