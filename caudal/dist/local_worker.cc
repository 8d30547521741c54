#include "caudal/dist/local_worker.h"

#include <algorithm>
#include <random>

#include "caudal/base/cpu.h"
#include "caudal/base/error.h"
#include "caudal/base/log.h"
#include "caudal/core/device.h"
#include "caudal/core/node_state.h"
#include "caudal/core/resource_manager.h"
#include "caudal/dist/endpoints.h"
#include "caudal/plan/prune.h"
#include "caudal/runtime/cpu_device.h"
#include "caudal/runtime/session.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMostThreads = 256;  // that a session may ask for

std::uint64_t random_incarnation() {
  std::random_device device;
  const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
  return number == 0 ? 1 : number >> 1;  // positive in every reading
}

// Bytes that something holds of an account.
class Charge {
 public:
  Charge(std::shared_ptr<MemoryAccount> account, std::size_t bytes) : account_(std::move(account)), bytes_(bytes) {
    account_->charge(bytes_);  // throws before there is anything to give back
  }
  ~Charge() { account_->refund(bytes_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  std::shared_ptr<MemoryAccount> account_;
  std::size_t bytes_;
};

// The same for a session's account and that of all sessions.
struct Charges {
  Charges(const SessionOptions& options, std::size_t bytes)
      : own(options.account, bytes), common(options.common_account, bytes) {}
  Charge own, common;
};

// A session's runs on one version of its graph.
struct GraphRuns {
  GraphRuns(std::shared_ptr<const ServedGraph> served, const SessionOptions& options)
      : constants(options, served->constant_bytes()), graph(std::move(served)), session(graph->graph(), options) {}
  Charges constants;
  std::shared_ptr<const ServedGraph> graph;
  Session session;
};

struct RegisteredGraph {
  std::shared_ptr<GraphRuns> runs;
  std::vector<Node*> nodes;
  Session::Callable callable;
};

}  // namespace

class LocalWorker::WorkerSession {
 public:
  WorkerSession(const SessionConfig& config, SessionOptions options)
      : config_(config),
        options_(std::move(options)),
        device_(make_cpu_device(0, options_.account, options_.common_account)) {}

  std::string add(std::shared_ptr<const ServedGraph> graph, const GraphRequest& request, const std::string& device) {
    const auto runs = runs_on(std::move(graph));
    const ResolvedRequest resolved = resolve(*runs->graph, request);
    auto registered = std::make_shared<RegisteredGraph>();
    registered->runs = runs;
    registered->nodes = nodes_of(resolved);
    check_placement(registered->nodes, device, config_.allow_soft_placement);
    if (config_.log_device_placement) log_placement(registered->nodes, device);
    Fetches fetches(resolved.fetches.begin(), resolved.fetches.end());
    fetches.insert(fetches.end(), resolved.targets.begin(), resolved.targets.end());
    registered->callable = runs->session.make_callable(fetches, resolved.feeds);
    std::lock_guard lock(mutex_);
    std::string handle = internal::concat("graph_", next_++);
    graphs_.emplace(handle, std::move(registered));
    return handle;
  }

  std::shared_ptr<RegisteredGraph> find(const std::string& handle) const {
    std::lock_guard lock(mutex_);
    const auto found = graphs_.find(handle);
    if (found == graphs_.end()) throw aborted("Graph handle is not found: ", handle);
    return found->second;
  }

  void remove(const std::string& handle) {
    std::shared_ptr<RegisteredGraph> dropped;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    if (const auto found = graphs_.find(handle); found != graphs_.end()) {
      dropped = std::move(found->second);
      graphs_.erase(found);
    }
  }

  void close() {
    std::vector<std::shared_ptr<GraphRuns>> alive;
    std::map<std::string, std::shared_ptr<RegisteredGraph>> dropped;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      for (auto& [graph, runs] : runs_) {
        if (auto there = runs.lock()) alive.push_back(std::move(there));
      }
      dropped.swap(graphs_);
    }
    for (const auto& runs : alive) runs->session.close();
  }

  std::shared_ptr<GraphRuns> runs_on(std::shared_ptr<const ServedGraph> graph) {
    std::lock_guard lock(mutex_);
    if (closed_) throw failed_precondition("Session is closed.");
    std::erase_if(runs_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = runs_[graph.get()];
    if (auto runs = known.lock()) return runs;
    auto runs = std::make_shared<GraphRuns>(std::move(graph), options_);
    known = runs;
    return runs;
  }

  std::shared_ptr<void> reserve(std::size_t bytes) const { return std::make_shared<Charges>(options_, bytes); }
  // For tensors that come from outside; alive without the session.
  std::shared_ptr<Allocator> allocator() const { return {device_, &device_->allocator()}; }

 private:
  // Like a plan's; here for devices and for what a client wants to see.
  static std::vector<Node*> nodes_of(const ResolvedRequest& resolved) {
    PlanRequest request{.feeds = resolved.feeds, .fetches = resolved.fetches, .targets = {}};
    for (const Operation& target : resolved.targets) request.targets.push_back(target.node());
    return prune(request);
  }

  static void log_placement(const std::vector<Node*>& nodes, const std::string& device) {
    for (const Node* node : nodes) {
      log_line(LogLevel::kWarning, std::source_location::current(),
               internal::concat(node->name(), ": (", node->type(), "): ", device));
    }
  }

  const SessionConfig config_;
  const SessionOptions options_;
  const std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::int64_t next_ = 0;
  std::map<const ServedGraph*, std::weak_ptr<GraphRuns>> runs_;
  std::map<std::string, std::shared_ptr<RegisteredGraph>> graphs_;
};

WorkerInterface::~WorkerInterface() = default;

LocalWorker::LocalWorker(const LocalWorkerOptions& options)
    : options_(options),
      device_name_(internal::concat("/job:", options.job, "/replica:0/task:", options.task, "/device:CPU:0")),
      incarnation_(random_incarnation()),
      resources_(std::make_shared<ResourceManager>()),
      common_(std::make_shared<MemoryAccount>(options.total_memory)) {}

LocalWorker::~LocalWorker() = default;

std::vector<DeviceFacts> LocalWorker::devices() const {
  constexpr std::int64_t kUsual = std::int64_t{256} << 20;  // what TensorFlow says of a CPU
  const auto limit = static_cast<std::int64_t>(options_.session_memory);
  return {{device_name_, "CPU", cpu_name(), limit > 0 ? limit : kUsual, incarnation_}};
}

void LocalWorker::create_session(const std::string& session, const SessionConfig& config) {
  if (config.intra_op_threads > kMostThreads) {
    throw invalid_argument(config.intra_op_threads, " threads for one session; the limit is ", kMostThreads);
  }
  SessionOptions options;
  options.intra_op_threads = std::max(0, config.intra_op_threads);
  options.plan.fold_constants = options.plan.share_subexpressions = config.optimize;
  options.env = options_.env;
  options.resources = config.isolate_session_state ? std::make_shared<ResourceManager>() : resources_;
  options.states = std::make_shared<NodeStates>();
  options.account = std::make_shared<MemoryAccount>(options_.session_memory);
  options.common_account = common_;
  auto made = std::make_shared<WorkerSession>(config, std::move(options));
  std::lock_guard lock(mutex_);
  sessions_[session] = std::move(made);
}

void LocalWorker::delete_session(const std::string& session) {
  std::shared_ptr<WorkerSession> closing;
  {
    std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    closing = std::move(found->second);
    sessions_.erase(found);
  }
  closing->close();
}

std::shared_ptr<LocalWorker::WorkerSession> LocalWorker::find(const std::string& session) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) throw aborted("Session ", session, " is not found.");
  return found->second;
}

std::shared_ptr<Allocator> LocalWorker::session_allocator(const std::string& session) {
  return find(session)->allocator();
}

std::shared_ptr<void> LocalWorker::reserve(const std::string& session, std::size_t bytes) {
  return find(session)->reserve(bytes);
}

std::string LocalWorker::register_graph(const std::string& session, std::shared_ptr<const ServedGraph> graph,
                                        const GraphRequest& request) {
  return find(session)->add(std::move(graph), request, device_name_);
}

void LocalWorker::deregister_graph(const std::string& session, const std::string& graph_handle) {
  std::shared_ptr<WorkerSession> there;
  {
    std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    there = found->second;
  }
  there->remove(graph_handle);
}

std::vector<Tensor> LocalWorker::run_graph(const std::string& session, const std::string& graph_handle,
                                           const StepArguments& arguments) {
  const auto registered = find(session)->find(graph_handle);
  RunOptions options;
  options.timeout_ms = arguments.timeout_ms;
  options.cancellation = arguments.cancellation;
  options.tracer = arguments.tracer;
  options.rendezvous = arguments.rendezvous;
  return registered->callable(arguments.feeds, options);
}

std::string LocalWorker::partition_graph(const std::string& session, const std::string& graph_handle) {
  const auto registered = find(session)->find(graph_handle);
  return registered->runs->graph->bytes_of(registered->nodes, device_name_);
}

void LocalWorker::cleanup_all(const std::vector<std::string>& containers) {
  if (containers.empty()) resources_->clear("");
  for (const std::string& container : containers) resources_->clear(container == "localhost" ? "" : container);
}

std::size_t LocalWorker::memory_in_use() const { return common_->in_use(); }

}  // namespace caudal::inline v0
