#include "caudal/core/cancellation.h"

#include <utility>

namespace caudal::inline v0 {

CancellationToken::CancellationToken(CancellationToken* parent) : parent_(parent) {
  if (parent == nullptr) return;
  parent_callback_ = parent->on_cancel([this] {
    std::optional<Error> reason;
    {
      std::lock_guard lock(parent_->mutex_);
      reason = parent_->reason_;
    }
    cancel(*reason);
  });
  if (!parent_callback_) {
    try {
      parent->check();
    } catch (const Error& reason) {
      cancel(reason);
    }
  }
}

CancellationToken::~CancellationToken() {
  if (parent_callback_) parent_->forget(*parent_callback_);
}

void CancellationToken::cancel(const Error& reason) {
  std::map<CallbackId, std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (reason_) return;
    reason_ = reason;
    cancelled_.store(true, std::memory_order_release);
    callbacks.swap(callbacks_);
  }
  for (auto& [id, callback] : callbacks) callback();
  std::lock_guard lock(mutex_);
  finished_ = true;
  finished_signal_.notify_all();
}

void CancellationToken::check() const {
  if (!is_cancelled()) return;
  std::lock_guard lock(mutex_);
  throw Error(*reason_);
}

std::optional<CancellationToken::CallbackId> CancellationToken::on_cancel(std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (reason_) return std::nullopt;
  callbacks_.emplace(next_, std::move(callback));
  return next_++;
}

bool CancellationToken::forget(CallbackId id) {
  std::unique_lock lock(mutex_);
  if (callbacks_.erase(id) > 0) return true;
  finished_signal_.wait(lock, [this] { return finished_ || !reason_; });
  return false;
}

bool CancellationToken::try_forget(CallbackId id) {
  std::lock_guard lock(mutex_);
  return callbacks_.erase(id) > 0;
}

}  // namespace caudal::inline v0
