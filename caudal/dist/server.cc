#include "caudal/dist/server.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/log.h"
#include "caudal/base/module.h"
#include "caudal/dist/connections.h"
#include "caudal/dist/file_policy.h"
#include "caudal/dist/local_worker.h"
#include "caudal/dist/master.h"
#include "caudal/dist/master_service.h"
#include "caudal/dist/rpc_module.h"

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kShortCalls = 64;  // calls in progress that run no step

// Of the machine, or of the control group if that allows less.
std::size_t memory_of_machine() {
  std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::size_t limit_or_default(std::size_t limit) { return limit > 0 ? limit : memory_of_machine() / 4 * 3; }

LocalWorkerOptions worker_options(const ServerOptions& options, Env& env) {
  LocalWorkerOptions worker;
  worker.job = options.job;
  worker.task = options.task;
  worker.session_memory = limit_or_default(options.session_memory);
  worker.total_memory = limit_or_default(options.total_memory);
  worker.env = &env;
  return worker;
}

MasterLimits master_limits(const ServerOptions& options) {
  MasterLimits limits;
  limits.graph.max_nodes = options.max_nodes;
  limits.graph.max_depth = options.max_depth;
  limits.graph.max_constant_bytes = limit_or_default(options.session_memory);
  limits.max_steps = options.max_steps;
  limits.max_sessions = options.max_sessions;
  return limits;
}

std::int64_t steady_ms() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Server::Impl {
  explicit Impl(const ServerOptions& server_options)
      : options(server_options),
        env(default_env(), options.allowed_dirs),
        worker(worker_options(options, env)),
        master(worker, master_limits(options)) {
    service.emplace(master, static_cast<std::size_t>(options.max_steps) + kShortCalls);
    const auto open = module_function<OpenRpcServer>("rpc", kOpenRpcServer, "libgrpc++1.51");
    std::string error;
    rpc.reset(open({options.host, options.port, options.max_message_bytes}, *service, &error));
    if (rpc == nullptr) throw unavailable(error).hint("Is another server there? --port 0 takes any free port.");
    sweeper = std::thread([this] { sweep(); });
  }

  // Closes what dead clients have left, and gives memory back.
  void sweep() {
    constexpr std::chrono::seconds kPeriod(1);
    std::unique_lock lock(mutex);
    while (!stopping.wait_for(lock, kPeriod, [this] { return stopped; })) {
      lock.unlock();
      if (options.abandoned_after_s > 0 && master.num_sessions() > 0) close_abandoned();
      lock.lock();
    }
  }

  void close_abandoned() {
    const ConnectionTable table = ConnectionTable::of_system(rpc->port());
    const int closed = master.close_abandoned([&](const std::string& peer) { return !table.has(peer); }, steady_ms(),
                                              options.abandoned_after_s * 1000);
    if (closed == 0) return;
    log_info("closed ", closed, " sessions whose clients have gone");
    malloc_trim(0);
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      if (stopped) return;
      stopped = true;
      stopping.notify_all();
    }
    sweeper.join();
    // Steps may wait for ever: they are cancelled first, so that their calls end with an answer.
    master.close_all();
    constexpr std::int64_t kGraceMs = 2'000;
    rpc->stop(kGraceMs);
    master.close_all();  // sessions that came in between
    service.reset();
    rpc.reset();
  }

  const ServerOptions options;
  FilePolicyEnv env;
  LocalWorker worker;
  Master master;
  std::optional<MasterService> service;
  std::unique_ptr<RpcServer> rpc;
  std::mutex mutex;
  std::condition_variable stopping;
  bool stopped = false;
  std::thread sweeper;
};

Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Server::~Server() { stop(); }

int Server::port() const { return impl_->rpc->port(); }
std::string Server::target() const {
  const std::string& host = impl_->options.host;
  const bool v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return internal::concat("grpc://", v6 ? "[" + host + "]" : host, ':', port());
}
void Server::stop() { impl_->stop(); }
std::size_t Server::memory_in_use() const { return impl_->worker.memory_in_use(); }
std::size_t Server::num_sessions() const { return impl_->master.num_sessions(); }

}  // namespace caudal::inline v0
