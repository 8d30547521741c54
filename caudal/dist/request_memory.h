// Which requests have been seen: a client that gets no answer asks again, and a step must not run twice.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

// Remembers the last kRemembered numbers. Thread-safe.
class RequestMemory {
 public:
  static constexpr std::size_t kRemembered = 10'000;

  // Throws ABORTED for a number that was seen before. 0 is never remembered: the client does not care.
  void note(std::int64_t request_id, std::string_view method) {
    if (request_id == 0) return;
    std::lock_guard lock(mutex_);
    if (!seen_.insert(request_id).second) {
      throw aborted("The same ", method, " request was received twice. Request id ", request_id, ".");
    }
    order_.push_back(request_id);
    if (order_.size() > kRemembered) {
      seen_.erase(order_.front());
      order_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::int64_t> seen_;
  std::deque<std::int64_t> order_;
};

}  // namespace caudal::inline v0
