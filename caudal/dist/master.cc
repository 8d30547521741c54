#include "caudal/dist/master.h"

#include <random>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

// 16 hexadecimal digits that nobody can guess.
std::string random_handle() {
  constexpr char kDigits[] = "0123456789abcdef";
  static std::random_device device;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::uint64_t number = (std::uint64_t{device()} << 32) | device();
  std::string handle(16, '0');
  for (char& digit : handle) {
    digit = kDigits[number & 15];
    number >>= 4;
  }
  return handle;
}

}  // namespace

// A step in progress, counted against the limit.
class Master::StepCount {
 public:
  explicit StepCount(Master& master) : master_(master) {
    if (master_.steps_.fetch_add(1) >= master_.limits_.max_steps) {
      master_.steps_.fetch_sub(1);
      throw resource_exhausted("there are ", master_.limits_.max_steps, " steps in progress, as many as are allowed")
          .hint("Try again later, or start the server with a larger --max-steps.");
    }
  }
  ~StepCount() { master_.steps_.fetch_sub(1); }
  StepCount(const StepCount&) = delete;
  StepCount& operator=(const StepCount&) = delete;

 private:
  Master& master_;
};

Master::Master(WorkerInterface& worker, const MasterLimits& limits) : worker_(worker), limits_(limits) {}
Master::~Master() { close_all(); }

std::shared_ptr<MasterSession> Master::create_session(const CreateSessionCall& call, const std::string& peer) {
  if (num_sessions() >= static_cast<std::size_t>(limits_.max_sessions)) {
    throw resource_exhausted("there are ", limits_.max_sessions, " sessions, as many as are allowed")
        .hint("Close some, or start the server with a larger --max-sessions.");
  }
  auto session = std::make_shared<MasterSession>(random_handle(), worker_, limits_.graph, call);
  std::lock_guard lock(mutex_);
  sessions_[session->handle()] = {session, peer};
  return session;
}

std::shared_ptr<MasterSession> Master::find(const std::string& handle, const std::string& peer) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) throw aborted("Session ", handle, " is not found.");
  found->second.peer = peer;
  found->second.gone_since_ms = -1;
  return found->second.session;
}

std::int64_t Master::extend_session(const ExtendSessionCall& call, const std::string& peer) {
  return find(call.session, peer)->extend(call);
}

StepOutcome Master::run_step(const RunStepCall& call, const std::string& peer, CancellationToken& cancellation) {
  requests_.note(call.request_id, "RunStep");
  const StepCount counted(*this);
  return find(call.session, peer)->run_step(call, cancellation);
}

std::string Master::set_up_partial_run(const PartialRunSetupCall& call, const std::string& peer) {
  requests_.note(call.request_id, "PartialRunSetup");
  return find(call.session, peer)->set_up_partial_run(call);
}

std::int64_t Master::make_callable(const MakeCallableCall& call, const std::string& peer) {
  requests_.note(call.request_id, "MakeCallable");
  return find(call.session, peer)->make_callable(call);
}

StepOutcome Master::run_callable(const RunCallableCall& call, const std::string& peer,
                                 CancellationToken& cancellation) {
  requests_.note(call.request_id, "RunCallable");
  const StepCount counted(*this);
  return find(call.session, peer)->run_callable(call, cancellation);
}

void Master::release_callable(const ReleaseCallableCall& call, const std::string& peer) {
  find(call.session, peer)->release_callable(call.handle);
}

void Master::close_session(const std::string& handle) {
  std::shared_ptr<MasterSession> session;
  {
    std::lock_guard lock(mutex_);
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) {
      throw aborted("Session ", handle, " is not found. Possibly, this master has restarted.");
    }
    session = std::move(found->second.session);
    sessions_.erase(found);
  }
  session->close();
}

std::vector<DeviceFacts> Master::list_devices(const std::string& handle, const std::string& peer) {
  if (!handle.empty()) {
    try {
      find(handle, peer);
    } catch (const Error&) {
      throw invalid_argument("Session ", handle, " is not found. Possibly, this master has restarted.");
    }
  }
  return worker_.devices();
}

void Master::close_all() {
  std::map<std::string, Entry> closing;
  {
    std::lock_guard lock(mutex_);
    closing.swap(sessions_);
  }
  for (auto& [handle, entry] : closing) entry.session->close();
}

void Master::reset(const std::vector<std::string>& containers) {
  close_all();
  worker_.cleanup_all(containers);
}

std::size_t Master::num_sessions() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace caudal::inline v0
