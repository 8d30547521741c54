#include "caudal/core/rendezvous.h"

#include <utility>

namespace caudal::inline v0 {

Rendezvous::~Rendezvous() = default;

LocalRendezvous::~LocalRendezvous() { abort(cancelled("the step's rendezvous went away")); }

void LocalRendezvous::send(std::string_view key, Item item) {
  Done waiting;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) throw Error(*aborted_);
    Slot& slot = slots_[std::string(key)];
    if (slot.item) throw internal_error("a tensor was sent twice under '", key, "'");
    if (slot.waiting) {
      waiting = std::move(slot.waiting);
      slots_.erase(slots_.find(key));
    } else {
      slot.item = std::move(item);
    }
  }
  if (waiting) waiting(nullptr, std::move(item));
}

void LocalRendezvous::recv_async(std::string_view key, Done done) {
  std::optional<Item> item;
  std::optional<Error> error;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) {
      error = aborted_;
    } else {
      Slot& slot = slots_[std::string(key)];
      if (slot.waiting) {
        error = internal_error("two receivers wait under '", key, "'");
      } else if (slot.item) {
        item = std::move(slot.item);
        slots_.erase(slots_.find(key));
      } else {
        slot.waiting = std::move(done);
        return;
      }
    }
  }
  if (error) {
    done(&*error, {});
  } else {
    done(nullptr, std::move(*item));
  }
}

void LocalRendezvous::abort(const Error& reason) {
  std::map<std::string, Slot, std::less<>> slots;
  {
    std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = reason;
    slots.swap(slots_);
  }
  for (auto& [key, slot] : slots) {
    if (slot.waiting) slot.waiting(&reason, {});
  }
}

}  // namespace caudal::inline v0
