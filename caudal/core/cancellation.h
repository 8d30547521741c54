// Cancellation: one token per step, seen by every kernel that can wait or run long.
//
// Ownership: the step owns its token; children (function calls, loop bodies) chain to the parent's. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "caudal/base/error.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

class CAUDAL_API CancellationToken {
 public:
  using CallbackId = std::int64_t;

  CancellationToken() = default;
  // Cancelled when the parent is. REQUIRES: parent outlives this.
  explicit CancellationToken(CancellationToken* parent);
  ~CancellationToken();
  CancellationToken(const CancellationToken&) = delete;
  CancellationToken& operator=(const CancellationToken&) = delete;

  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Cancels once, with the reason that waiting kernels report (CANCELLED, DEADLINE_EXCEEDED, ...); calls every
  // registered callback in this thread, without holding a lock. Later calls do nothing.
  void cancel(const Error& reason);
  // Throws the reason if cancelled. Long kernels call it between chunks.
  void check() const;

  // Runs `callback` when cancelled. Nothing if that has happened already: then the callback is not and will not be run.
  std::optional<CallbackId> on_cancel(std::function<void()> callback);
  // False if the callback has run or there is none of this id; waits while it is running, so that what it uses may go
  // afterwards. Must not be called from within the callback.
  bool forget(CallbackId id);
  // As forget(), but never waits, so that it may be called from anywhere: where it returns false the callback may be
  // running or still to run, and what it uses must live on by itself.
  bool try_forget(CallbackId id);

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
  bool finished_ = false;  // cancelled and all callbacks have returned
  std::condition_variable finished_signal_;
  std::optional<Error> reason_;
  CallbackId next_ = 0;
  std::map<CallbackId, std::function<void()>> callbacks_;
  CancellationToken* parent_ = nullptr;
  std::optional<CallbackId> parent_callback_;
};

}  // namespace caudal::inline v0
