#include "caudal/dist/master_session.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/core/step_context.h"
#include "caudal/dist/endpoints.h"

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kMostSignatures = 1000;
constexpr std::size_t kMostPartialRuns = 1000;  // each has a thread

Error closed_error() { return failed_precondition("Session is closed."); }

// Collects the nodes' times on the clock of the calendar.
class StepTracer final : public Tracer {
 public:
  void record(std::string_view node, std::string_view op, std::int64_t start, std::int64_t end) override {
    std::lock_guard lock(mutex_);
    times_.push_back({std::string(node), std::string(op), start + offset_, end + offset_});
  }
  std::vector<NodeTime> take() { return std::move(times_); }

 private:
  template <class Clock>
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  }
  const std::int64_t offset_ = now<std::chrono::system_clock>() - now<std::chrono::steady_clock>();
  std::mutex mutex_;
  std::vector<NodeTime> times_;
};

// Names with their lengths: different requests give different keys.
std::string key_of(const GraphRequest& request) {
  std::string key;
  for (const auto* list : {&request.feeds, &request.fetches, &request.targets}) {
    key += internal::concat(list->size(), ';');
    for (const std::string& name : *list) key += internal::concat(name.size(), ':', name);
  }
  return key;
}

// What a fetched tensor takes once more as bytes, and again in the message.
std::size_t message_bytes(const std::vector<NamedTensor>& tensors) {
  std::size_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += 2 * tensor.tensor.byte_size();
  return bytes;
}

std::optional<std::int64_t> timeout_of(const StepSettings& settings, const SessionConfig& config) {
  if (settings.timeout_ms > 0) return settings.timeout_ms;
  if (config.operation_timeout_ms > 0) return config.operation_timeout_ms;
  return std::nullopt;
}

}  // namespace

// A request that the worker knows; it forgets when the last user goes.
struct MasterSession::Signature {
  Signature(WorkerInterface& worker, const std::string& session, std::shared_ptr<const ServedGraph> graph,
            GraphRequest request)
      : worker(worker),
        session(session),
        request(std::move(request)),
        graph_handle(worker.register_graph(session, std::move(graph), this->request)) {}
  ~Signature() { worker.deregister_graph(session, graph_handle); }
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;

  WorkerInterface& worker;
  const std::string session;
  const GraphRequest request;
  const std::string graph_handle;
  std::atomic<std::int64_t> steps{0};  // that have begun
};

struct MasterSession::Callable {
  std::shared_ptr<Signature> signature;
  StepSettings settings;
};

// Counts a step in progress; refuses one in a closed session.
class MasterSession::Running {
 public:
  explicit Running(MasterSession& session) : session_(session) {
    std::lock_guard lock(session_.mutex_);
    if (session_.closed_) throw closed_error();
    ++session_.running_;
  }
  ~Running() {
    std::lock_guard lock(session_.mutex_);
    if (--session_.running_ == 0) session_.quiet_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  MasterSession& session_;
};

MasterSession::MasterSession(std::string handle, WorkerInterface& worker, const GraphLimits& limits,
                             const CreateSessionCall& call)
    : handle_(std::move(handle)),
      worker_(worker),
      limits_(limits),
      config_(call.config),
      device_(worker.devices().front().name) {
  if (config_.use_per_session_threads) {
    throw invalid_argument("Distributed session does not support session thread pool options.")
        .hint("Leave use_per_session_threads out.");
  }
  graph_ = ServedGraph::make(call.graph_def, limits_);
  worker_.create_session(handle_, config_);
  allocator_ = worker_.session_allocator(handle_);
}

MasterSession::~MasterSession() { close(); }

std::int64_t MasterSession::graph_version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

std::shared_ptr<const ServedGraph> MasterSession::graph() const {
  std::lock_guard lock(mutex_);
  return graph_;
}

std::int64_t MasterSession::extend(const ExtendSessionCall& call) {
  const Running running(*this);
  std::lock_guard one_at_a_time(extending_);
  const auto before = graph();
  if (const std::int64_t version = graph_version(); call.current_version != version) {
    throw aborted("Current version is ", version, " but caller expected ", call.current_version, ".");
  }
  auto after = before->extended(call.graph_def, limits_);
  std::map<std::string, std::shared_ptr<Signature>> outdated;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  graph_ = std::move(after);
  outdated.swap(signatures_);
  return ++version_;
}

std::shared_ptr<MasterSession::Signature> MasterSession::signature_for(const GraphRequest& request) {
  const std::string key = key_of(request);
  std::shared_ptr<const ServedGraph> graph;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = signatures_.find(key); found != signatures_.end()) return found->second;
    graph = graph_;
  }
  auto made = std::make_shared<Signature>(worker_, handle_, graph, request);
  std::map<std::string, std::shared_ptr<Signature>> dropped;
  std::lock_guard lock(mutex_);
  if (graph != graph_) return made;  // extended meanwhile: good for this step
  if (signatures_.size() >= kMostSignatures) dropped.swap(signatures_);
  return signatures_.emplace(key, made).first->second;
}

std::vector<Tensor> MasterSession::decoded(const std::vector<std::string>& tensors) const {
  std::vector<Tensor> values;
  for (const std::string& bytes : tensors) values.push_back(decode_tensor(bytes, *allocator_));
  return values;
}

// True for the steps of a request that are to tell what its nodes cost.
bool MasterSession::tells_costs(Signature& signature) const {
  const std::int64_t number = signature.steps.fetch_add(1) + 1;
  return config_.cost_every > 0 && number > config_.cost_after &&
         (number - config_.cost_after) % config_.cost_every == 0;
}

StepOutcome MasterSession::run(Signature& signature, std::vector<Tensor> feeds, const StepSettings& settings,
                               CancellationToken& cancellation) {
  StepTracer tracer;
  StepArguments arguments;
  arguments.feeds = std::move(feeds);
  arguments.cancellation = &cancellation;
  arguments.timeout_ms = timeout_of(settings, config_);
  const bool costs = tells_costs(signature);
  if (settings.trace || costs) arguments.tracer = &tracer;
  const std::vector<Tensor> values = worker_.run_graph(handle_, signature.graph_handle, arguments);
  StepOutcome outcome;
  for (std::size_t i = 0; i < signature.request.fetches.size(); ++i) {
    outcome.tensors.push_back({signature.request.fetches[i], values[i]});
  }
  outcome.reservation = worker_.reserve(handle_, message_bytes(outcome.tensors));
  if (settings.trace || costs || settings.output_partition_graphs) {
    outcome.metadata = std::make_unique<StepMetadata>();
    outcome.metadata->device = device_;
    outcome.metadata->nodes = tracer.take();
    outcome.metadata->has_times = settings.trace;
    outcome.metadata->has_costs = costs;
    if (settings.output_partition_graphs) {
      outcome.metadata->partition_graphs.push_back(worker_.partition_graph(handle_, signature.graph_handle));
    }
  }
  return outcome;
}

StepOutcome MasterSession::run_step(const RunStepCall& call, CancellationToken& cancellation) {
  const Running running(*this);
  if (!call.partial_run.empty()) return run_partial(call, cancellation);
  GraphRequest request{{}, call.fetches, call.targets};
  std::vector<Tensor> feeds;
  for (const NamedBytes& feed : call.feeds) {
    request.feeds.push_back(feed.name);
    feeds.push_back(decode_tensor(feed.tensor, *allocator_));
  }
  const auto signature = signature_for(request);
  return run(*signature, std::move(feeds), call.settings, cancellation);
}

std::string MasterSession::set_up_partial_run(const PartialRunSetupCall& call) {
  const Running running(*this);
  const auto seen = graph();
  ResolvedRequest resolved = resolve(*seen, {call.feeds, call.fetches, call.targets});
  const auto waiting = seen->with_rendezvous(resolved.feeds, resolved.fetches, device_);
  GraphRequest request{{}, {}, call.targets};
  request.targets.insert(request.targets.end(), waiting.senders.begin(), waiting.senders.end());
  auto signature = std::make_shared<Signature>(worker_, handle_, waiting.graph, std::move(request));
  const auto timeout = timeout_of({}, config_);
  auto run = std::make_shared<PartialRun>(
      seen, std::move(resolved.feeds), std::move(resolved.fetches), device_,
      [this, signature, timeout](CancellationToken& cancellation, Rendezvous& rendezvous) {
        worker_.run_graph(handle_, signature->graph_handle, {{}, &cancellation, &rendezvous, timeout, nullptr});
      });
  std::lock_guard lock(mutex_);
  if (closed_) throw closed_error();
  if (partial_runs_.size() >= kMostPartialRuns) {
    throw resource_exhausted("the session has ", partial_runs_.size(), " partial runs that are not finished");
  }
  std::string handle = internal::concat("partial_run_", next_++);
  partial_runs_.emplace(handle, std::move(run));
  return handle;
}

StepOutcome MasterSession::run_partial(const RunStepCall& call, CancellationToken& cancellation) {
  if (!call.targets.empty())
    throw invalid_argument("a step of a partial run has no targets: they are told at its setup");
  std::shared_ptr<PartialRun> run;
  {
    std::lock_guard lock(mutex_);
    const auto found = partial_runs_.find(call.partial_run);
    if (found == partial_runs_.end()) {
      throw invalid_argument("Must run PartialRunSetup before performing partial runs")
          .hint(internal::concat("There is no partial run '", call.partial_run, "' in this session, or it is over."));
    }
    run = found->second;
  }
  std::vector<NamedTensor> feeds;
  for (const NamedBytes& feed : call.feeds) feeds.push_back({feed.name, decode_tensor(feed.tensor, *allocator_)});
  StepOutcome outcome;
  outcome.tensors = run->step(feeds, call.fetches, cancellation);
  if (run->is_complete()) {
    {
      std::lock_guard lock(mutex_);
      if (partial_runs_.erase(call.partial_run) == 0) return outcome;  // another call ends it
    }
    run->finish();
  }
  return outcome;
}

std::int64_t MasterSession::make_callable(const MakeCallableCall& call) {
  const Running running(*this);
  auto graph = this->graph();
  if (!call.connections.empty()) {
    std::vector<std::pair<Output, Output>> pairs;
    for (const auto& [from, to] : call.connections) {
      const auto ends = resolve(*graph, {{to}, {from}, {}});  // from stands for to: one is read, the other replaced
      pairs.emplace_back(ends.fetches[0], ends.feeds[0]);
    }
    graph = graph->with_connections(pairs);
  }
  auto callable = std::make_shared<Callable>();
  callable->signature =
      std::make_shared<Signature>(worker_, handle_, graph, GraphRequest{call.feeds, call.fetches, call.targets});
  callable->settings = call.settings;
  std::lock_guard lock(mutex_);
  callables_.emplace(next_, std::move(callable));
  return next_++;
}

StepOutcome MasterSession::run_callable(const RunCallableCall& call, CancellationToken& cancellation) {
  const Running running(*this);
  std::shared_ptr<Callable> callable;
  {
    std::lock_guard lock(mutex_);
    const auto found = callables_.find(call.handle);
    if (found == callables_.end()) {
      throw invalid_argument("Attempted to run callable after handle was released: ", call.handle);
    }
    callable = found->second;
  }
  if (const std::size_t wanted = callable->signature->request.feeds.size(); call.feeds.size() != wanted) {
    throw invalid_argument(call.feeds.size(), " feeds for a callable that takes ", wanted);
  }
  return run(*callable->signature, decoded(call.feeds), callable->settings, cancellation);
}

void MasterSession::release_callable(std::int64_t handle) {
  std::shared_ptr<Callable> dropped;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  if (const auto found = callables_.find(handle); found != callables_.end()) {
    dropped = std::move(found->second);
    callables_.erase(found);
  }
}

void MasterSession::close() {
  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    partial_runs.swap(partial_runs_);
  }
  for (const auto& [handle, run] : partial_runs) {
    run->cancel(cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  }
  worker_.delete_session(handle_);
  std::map<std::string, std::shared_ptr<Signature>> signatures;
  std::map<std::int64_t, std::shared_ptr<Callable>> callables;
  std::unique_lock lock(mutex_);
  quiet_.wait(lock, [this] { return running_.load() == 0; });
  signatures.swap(signatures_);
  callables.swap(callables_);
  lock.unlock();
}

}  // namespace caudal::inline v0
