// WaitingRoom: the one way in which kernels wait for an object that runs share (queues, barriers, accumulators, staging
// areas, mutexes), without blocking a thread.
//
//   class Mailbox : public WaitingRoom {
//     void put(Tensor t) { change([&] { letter_ = std::move(t); }); }
//     void take(CancellationToken* token, Tensor* to, Done done) {
//       wait(0, {.attempt = [this, to] { return letter_.valid() ? (*to = std::move(letter_), Outcome::kDone)
//                                                               : Outcome::kWait; },
//                .done = std::move(done), .cancellation = token, .cancelled = "take was cancelled"});
//     }
//   };
//
// Who waits stands in a line and says how to try; every change of the object tries again, under the object's lock,
// until nothing more can happen. A wait ends exactly once: done, failed, or cancelled by the step's token, ended by the
// object. `done` is called outside the lock, by the thread that made the change.
//
// Ownership: objects live in shared_ptrs; a wait keeps its object alive. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/core/cancellation.h"

namespace caudal::inline v0 {

class CAUDAL_API WaitingRoom : public std::enable_shared_from_this<WaitingRoom> {
 public:
  enum class Outcome {
    kWait,      // nothing can be done now
    kProgress,  // the object changed, but the wait goes on
    kDone,      // the wait is over
  };
  enum class Order {
    kFirstOnly,  // only the first in a line may try: who comes first is served first
    kAny,        // everybody may try, in the order of arrival
  };
  // Null: all went well.
  using Done = std::function<void(const Error* error)>;

  struct Wait {
    // Called under the lock. What it throws ends the wait with that error.
    std::function<Outcome()> attempt;
    Done done;
    CancellationToken* cancellation = nullptr;  // null: nobody cancels. Must live until `done` is called.
    std::string cancelled;                      // what a cancelled wait says: "Dequeue operation was cancelled"
    // Called under the lock if the wait ends before its attempt was done: gives back what it had taken.
    std::function<void()> undo = {};
  };

  virtual ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

 protected:
  WaitingRoom(int lines, Order order);

  // Joins the end of `line` and tries at once; calls wait.done here and now if that was enough, or if the step is
  // cancelled already.
  void wait(int line, Wait wait);
  // Changes the object: `f` runs under the lock; then the lines are served.
  template <class F>
  void change(const F& f) {
    {
      const std::lock_guard lock(mutex_);
      f();
    }
    serve();
  }
  // Looks at the object: returns f(), called under the lock.
  template <class F>
  auto look(const F& f) const {
    const std::lock_guard lock(mutex_);
    return f();
  }
  // REQUIRES: under the lock.
  bool anyone_waits(int line) const { return !lines_[line].empty(); }
  // Changes the object, as change(), and in the same moment ends every wait of `line` with `error`.
  void change_and_end(const std::function<void()>& f, int line, const Error& error);
  // Tries again, line by line, until nothing changes. REQUIRES: the lock is not held.
  void serve();

 private:
  struct Waiter : Wait {
    std::optional<CancellationToken::CallbackId> callback;
    std::optional<Error> error;
    bool over = false;
  };
  using WaiterPtr = std::shared_ptr<Waiter>;

  bool serve_line(std::list<WaiterPtr>& line, std::vector<WaiterPtr>& finished);
  void cancel(int line, const WaiterPtr& waiter);
  static void finish(const std::vector<WaiterPtr>& finished);

  const Order order_;
  mutable std::mutex mutex_;
  std::vector<std::list<WaiterPtr>> lines_;
};

}  // namespace caudal::inline v0
