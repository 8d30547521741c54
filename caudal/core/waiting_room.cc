#include "caudal/core/waiting_room.h"

namespace caudal::inline v0 {
namespace {

// Why a wait of the step of `token` ends: whoever cancels a step says CANCELLED, and the waiting op what it was about;
// another reason (a deadline) stands as it is.
Error reason_of(const CancellationToken& token, const std::string& what) {
  try {
    token.check();
  } catch (const Error& reason) {
    if (reason.code() != Code::kCancelled) return reason;
  }
  return cancelled(what);
}

}  // namespace

WaitingRoom::WaitingRoom(int lines, Order order) : order_(order), lines_(lines) {}
WaitingRoom::~WaitingRoom() = default;

void WaitingRoom::wait(int line, Wait wait) {
  const auto waiter = std::make_shared<Waiter>();
  static_cast<Wait&>(*waiter) = std::move(wait);
  bool too_late = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiter->cancellation != nullptr) {
      waiter->callback =
          waiter->cancellation->on_cancel([room = shared_from_this(), line, waiter = std::weak_ptr<Waiter>(waiter)] {
            if (const auto alive = waiter.lock()) room->cancel(line, alive);
          });
      too_late = !waiter->callback;
    }
    if (!too_late) lines_[line].push_back(waiter);
  }
  if (too_late) {
    waiter->error = reason_of(*waiter->cancellation, waiter->cancelled);
    finish({waiter});
  } else {
    serve();
  }
}

void WaitingRoom::change_and_end(const std::function<void()>& f, int line, const Error& error) {
  const auto self = shared_from_this();
  std::vector<WaiterPtr> finished;
  {
    const std::lock_guard lock(mutex_);
    f();
    for (const WaiterPtr& waiter : lines_[line]) {
      waiter->over = true;
      waiter->error = error;
      if (waiter->undo) waiter->undo();
      finished.push_back(waiter);
    }
    lines_[line].clear();
  }
  finish(finished);
  serve();
}

void WaitingRoom::cancel(int line, const WaiterPtr& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (waiter->over) return;
    waiter->over = true;
    waiter->error = reason_of(*waiter->cancellation, waiter->cancelled);
    if (waiter->undo) waiter->undo();
    lines_[line].remove(waiter);
  }
  finish({waiter});
  serve();
}

void WaitingRoom::serve() {
  const auto self = shared_from_this();  // what `done` lets go of may be the last other owner
  std::vector<WaiterPtr> finished;
  {
    const std::lock_guard lock(mutex_);
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto& line : lines_) changed |= serve_line(line, finished);
    }
  }
  finish(finished);
}

bool WaitingRoom::serve_line(std::list<WaiterPtr>& line, std::vector<WaiterPtr>& finished) {
  bool changed = false;
  for (auto it = line.begin(); it != line.end();) {
    Waiter& waiter = **it;
    Outcome outcome = Outcome::kDone;
    try {
      outcome = waiter.attempt();
    } catch (const Error& error) {
      waiter.error = error;
    } catch (const std::exception& error) {  // no memory
      waiter.error = resource_exhausted(error.what());
    }
    changed |= outcome != Outcome::kWait;
    if (outcome == Outcome::kDone) {
      waiter.over = true;
      finished.push_back(std::move(*it));
      it = line.erase(it);
    } else if (order_ == Order::kFirstOnly) {
      break;
    } else {
      ++it;
    }
  }
  return changed;
}

void WaitingRoom::finish(const std::vector<WaiterPtr>& finished) {
  for (const WaiterPtr& waiter : finished) {
    // Not forget(): this may be a callback of that very token.
    if (waiter->callback) waiter->cancellation->try_forget(*waiter->callback);
    const Done done = std::move(waiter->done);
    done(waiter->error ? &*waiter->error : nullptr);
  }
}

}  // namespace caudal::inline v0
