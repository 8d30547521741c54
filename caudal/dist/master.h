// The master: sessions by handle, and what concerns all of them.
//
// Thread-safe. Ownership: borrows the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/dist/master_session.h"
#include "caudal/dist/request_memory.h"

namespace caudal::inline v0 {

struct MasterLimits {
  GraphLimits graph;
  int max_sessions = 10'000;
  int max_steps = 1'000;  // in progress, of all sessions
};

class CAUDAL_API Master {
 public:
  Master(WorkerInterface& worker, const MasterLimits& limits);
  // Closes all sessions.
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // The calls of the master service. Unknown sessions are ABORTED 'Session X is not found.', requests that come twice
  // ABORTED, too many sessions or steps RESOURCE_EXHAUSTED. `peer` is who asks.
  std::shared_ptr<MasterSession> create_session(const CreateSessionCall& call, const std::string& peer);
  std::int64_t extend_session(const ExtendSessionCall& call, const std::string& peer);
  StepOutcome run_step(const RunStepCall& call, const std::string& peer, CancellationToken& cancellation);
  std::string set_up_partial_run(const PartialRunSetupCall& call, const std::string& peer);
  std::int64_t make_callable(const MakeCallableCall& call, const std::string& peer);
  StepOutcome run_callable(const RunCallableCall& call, const std::string& peer, CancellationToken& cancellation);
  void release_callable(const ReleaseCallableCall& call, const std::string& peer);
  void close_session(const std::string& handle);
  // Of the session's worker; of all workers if `handle` is empty.
  std::vector<DeviceFacts> list_devices(const std::string& handle, const std::string& peer);
  // Closes every session and clears the containers.
  void reset(const std::vector<std::string>& containers);
  void close_all();

  // Closes idle sessions that only callers have used whose `is_gone(peer)` has been true, call after call, for at least
  // `patience_ms` of the clock `now_ms`. Returns how many.
  template <class IsGone>
  int close_abandoned(const IsGone& is_gone, std::int64_t now_ms, std::int64_t patience_ms);
  std::size_t num_sessions() const;

 private:
  struct Entry {
    std::shared_ptr<MasterSession> session;
    std::string peer;                 // who used it last
    std::int64_t gone_since_ms = -1;  // -1: is there
  };
  class StepCount;

  std::shared_ptr<MasterSession> find(const std::string& handle, const std::string& peer);

  WorkerInterface& worker_;
  const MasterLimits limits_;
  RequestMemory requests_;
  std::atomic<int> steps_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Entry> sessions_;
};

template <class IsGone>
int Master::close_abandoned(const IsGone& is_gone, std::int64_t now_ms, std::int64_t patience_ms) {
  std::vector<std::shared_ptr<MasterSession>> closing;
  {
    std::lock_guard lock(mutex_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      Entry& entry = it->second;
      if (!entry.session->is_idle() || !is_gone(entry.peer)) {
        entry.gone_since_ms = -1;
      } else if (entry.gone_since_ms < 0) {
        entry.gone_since_ms = now_ms;
      }
      if (entry.gone_since_ms >= 0 && now_ms - entry.gone_since_ms >= patience_ms) {
        closing.push_back(std::move(entry.session));
        it = sessions_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const auto& session : closing) session->close();
  return static_cast<int>(closing.size());
}

}  // namespace caudal::inline v0
