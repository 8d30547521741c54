#include "caudal/runtime/session.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/core/node_state.h"
#include "caudal/core/rendezvous.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"
#include "caudal/plan/plan.h"
#include "caudal/runtime/cpu_device.h"
#include "caudal/runtime/executor.h"
#include "caudal/runtime/function_runtime.h"

namespace caudal::inline v0 {
namespace {

// A plan and the idle instances of its programs.
struct PlannedRun {
  PlannedRun(PlanRequest request, const PlanOptions& options, Device& device, FunctionRuntime& functions)
      : plan(std::move(request), options, device, &functions) {}

  std::shared_ptr<InstancePool> pool_of(const std::shared_ptr<const Program>& program) {
    std::lock_guard lock(mutex);
    if (const auto found = pools.find(program.get()); found != pools.end()) return found->second;
    // What the plan has dropped goes with its arenas; runs in progress hold their own pool.
    std::erase_if(pools, [&](const auto& entry) { return !plan.holds(entry.first); });
    return pools[program.get()] = std::make_shared<InstancePool>(program);
  }

  Plan plan;
  std::mutex mutex;
  std::unordered_map<const Program*, std::shared_ptr<InstancePool>> pools;
};

// Gives an instance back to its pool at the end of a run, however it ends.
class InstanceLease {
 public:
  InstanceLease(std::shared_ptr<InstancePool> pool, Allocator& allocator)
      : pool_(std::move(pool)), instance_(pool_->take(allocator)) {}
  ~InstanceLease() { pool_->give_back(std::move(instance_), finished_); }
  InstanceLease(const InstanceLease&) = delete;
  InstanceLease& operator=(const InstanceLease&) = delete;
  RunInstance& operator*() const { return *instance_; }
  // The run went through.
  void finish() { finished_ = true; }

 private:
  std::shared_ptr<InstancePool> pool_;
  std::unique_ptr<RunInstance> instance_;
  bool finished_ = false;
};

std::string request_key(const PlanRequest& request) {
  std::string key;
  for (const Output& feed : request.feeds) key += internal::concat('<', feed.node()->id(), ':', feed.index());
  for (const Output& fetch : request.fetches) key += internal::concat('>', fetch.node()->id(), ':', fetch.index());
  for (const Node* target : request.targets) key += internal::concat('!', target->id());
  return key;
}

void check_feed(const Output& output, const Tensor& value) {
  if (!value.valid()) throw invalid_argument("the feed of '", output.name(), "' has no value");
  if (value.dtype() != output.dtype()) {
    throw invalid_argument("the feed of '", output.name(), "' is ", value.describe(), "; ", output.dtype(),
                           output.shape(), " is wanted")
        .made_at(output.node()->info().made_at)
        .hint(internal::concat("Feed a tensor of type ", output.dtype(), "."));
  }
  if (!output.shape().compatible(value.shape())) {
    throw invalid_argument("the feed of '", output.name(), "' has shape ", value.shape(), "; ", output.shape(),
                           " is wanted")
        .made_at(output.node()->info().made_at)
        .hint("Reshape the value, or give the placeholder another shape (-1 for a size that varies).");
  }
}

}  // namespace

struct Session::Impl {
  Impl(Graph& session_graph, const SessionOptions& session_options)
      : graph(session_graph),
        options(session_options),
        env(options.env != nullptr ? *options.env : default_env()),
        account(options.account ? options.account : std::make_shared<MemoryAccount>(options.memory_limit)),
        device(make_cpu_device(options.intra_op_threads, account, options.common_account)),
        resources(options.resources ? options.resources : std::make_shared<ResourceManager>()),
        states(options.states ? options.states : std::make_shared<NodeStates>()),
        functions(make_function_runtime(graph.shared_functions(), *device, options.plan, *states)) {}

  // What is the session's own ends before the functions that it may call.
  ~Impl() {
    if (options.resources == nullptr) resources->clear_all();
  }

  std::shared_ptr<PlannedRun> plan_for(PlanRequest request) {
    const std::string key = request_key(request);
    std::lock_guard lock(mutex);
    if (const std::int64_t version = graph.version(); version != plans_version) {
      plans.clear();  // they are of a graph that is no more; callables keep theirs
      plans_version = version;
    }
    auto& planned = plans[key];
    if (planned == nullptr) {
      try {
        planned = std::make_shared<PlannedRun>(std::move(request), options.plan, *device, *functions);
      } catch (...) {
        plans.erase(key);
        throw;
      }
    }
    return planned;
  }

  std::vector<Tensor> run(PlannedRun& planned, std::span<const Tensor> feeds, const RunOptions& run_options);

  Graph& graph;
  const SessionOptions options;
  Env& env;
  std::shared_ptr<MemoryAccount> account;
  std::unique_ptr<Device> device;
  const std::shared_ptr<ResourceManager> resources;
  const std::shared_ptr<NodeStates> states;
  std::unique_ptr<FunctionRuntime> functions;
  CancellationToken cancellation;
  std::atomic<std::int64_t> next_step{1};
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<PlannedRun>> plans;  // of the graph's version below
  std::int64_t plans_version = 0;
};

namespace {

// The value of a fetch, as the caller's own: step memory is copied, a reference is read.
Tensor take_fetch(const Slot& slot, const Value& value) {
  if (value.ref != nullptr) return value.ref->read();
  if (value.dead || !value.tensor.valid()) {
    throw invalid_argument("'", slot.source.name(), "' does not have a value: it lies in a branch that was not taken")
        .hint("Fetch the Merge that joins the branches.")
        .at_node(slot.source.node()->type(), slot.source.node()->name(), slot.source.node()->info().made_at);
  }
  return value.tensor.keep();
}

}  // namespace

std::vector<Tensor> Session::Impl::run(PlannedRun& planned, std::span<const Tensor> feeds,
                                       const RunOptions& run_options) {
  if (cancellation.is_cancelled()) throw failed_precondition("Session is closed.").hint("Make a new Session.");
  const PlanRequest& request = planned.plan.request();
  for (std::size_t i = 0; i < feeds.size(); ++i) check_feed(request.feeds[i], feeds[i]);
  // Who looks for the first op that makes a NaN wants to see every op's values.
  const auto program = run_options.check_numerics ? planned.plan.generic() : planned.plan.program_for(feeds);
  InstanceLease lease(planned.pool_of(program), device->allocator());
  RunInstance& instance = *lease;

  CancellationToken token(&cancellation);
  std::optional<CancellationToken::CallbackId> linked;
  if (run_options.cancellation != nullptr) {
    linked = run_options.cancellation->on_cancel([&token] { token.cancel(cancelled("the run was cancelled")); });
    if (!linked) run_options.cancellation->check();
  }
  LocalRendezvous rendezvous;
  ResourceManager step_resources;
  StepContext step;
  step.step_id = next_step.fetch_add(1);
  step.cancellation = &token;
  if (run_options.timeout_ms) {
    step.deadline_micros = static_cast<std::int64_t>(env.now_micros()) + *run_options.timeout_ms * 1000;
  }
  step.resources = resources.get();
  step.step_resources = &step_resources;
  step.rendezvous = run_options.rendezvous != nullptr ? run_options.rendezvous : &rendezvous;
  step.device = device.get();
  step.env = &env;
  step.memory = account.get();
  step.states = states.get();
  step.functions = functions.get();
  step.tracer = run_options.tracer;
  step.check_numerics = run_options.check_numerics;

  for (std::size_t i = 0; i < feeds.size(); ++i) instance.slot(program->feed_slots[i]).tensor = feeds[i];
  struct Unlink {
    CancellationToken* token;
    std::optional<CancellationToken::CallbackId> id;
    ~Unlink() {
      if (id) token->forget(*id);
    }
  } unlink{run_options.cancellation, linked};
  execute(instance, step);
  if (!program->can_wait) lease.finish();  // else some units may not have run

  std::vector<Tensor> results;
  results.reserve(program->fetch_slots.size());
  for (const int s : program->fetch_slots) results.push_back(take_fetch(program->slots[s], instance.slot(s)));
  return results;
}

Session::Session(const SessionOptions& options) : Session(default_graph(), options) {}
Session::Session(Graph& graph, const SessionOptions& options) : impl_(std::make_shared<Impl>(graph, options)) {}
Session::~Session() = default;

Graph& Session::graph() const { return impl_->graph; }
ResourceManager& Session::resources() const { return *impl_->resources; }
NodeStates& Session::node_states() const { return *impl_->states; }
MemoryAccount& Session::memory() const { return *impl_->account; }
Device& Session::device() const { return *impl_->device; }
FunctionRuntime& Session::functions() const { return *impl_->functions; }
Env& Session::env() const { return impl_->env; }
void Session::close() {
  impl_->cancellation.cancel(cancelled("Session::Close: the session was closed during the run"));
}

namespace {

void check_graph(const Graph& graph, const Node* node) {
  if (node != nullptr && &node->graph() != &graph) {
    throw invalid_argument("'", node->name(), "' belongs to another graph than the session's");
  }
}

// Sorts fetches into outputs and targets; position[i] is the index among the outputs, -1 for a target.
struct ResolvedFetches {
  PlanRequest request;
  std::vector<int> position;
};

ResolvedFetches resolve(const Graph& graph, const Fetches& fetches) {
  ResolvedFetches resolved;
  for (const Fetch& fetch : fetches) {
    Output output = fetch.output;
    Operation operation = fetch.operation;
    if (!fetch.name.empty()) {
      if (fetch.name.find(':') != std::string::npos) {
        output = graph.tensor(fetch.name);
      } else {
        operation = graph.operation(fetch.name);
      }
    }
    if (!output && !operation) throw invalid_argument("a fetch is empty: it names no output and no operation");
    check_graph(graph, output ? output.node() : operation.node());
    if (output) {
      const auto known = std::ranges::find(resolved.request.fetches, output);
      resolved.position.push_back(static_cast<int>(known - resolved.request.fetches.begin()));
      if (known == resolved.request.fetches.end()) resolved.request.fetches.push_back(output);
    } else {
      resolved.position.push_back(-1);
      resolved.request.targets.push_back(operation.node());
    }
  }
  return resolved;
}

// Memory that ran out outside of a node, while a run is planned or set up.
template <class Action>
std::vector<Tensor> guarded(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    throw resource_exhausted("out of memory while a run was set up");
  }
}

std::vector<Tensor> in_order(const std::vector<int>& position, const std::vector<Tensor>& results) {
  std::vector<Tensor> ordered;
  ordered.reserve(position.size());
  for (const int p : position) ordered.push_back(p < 0 ? Tensor() : results[p]);
  return ordered;
}

}  // namespace

std::vector<Tensor> Session::run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options) {
  ResolvedFetches resolved = resolve(impl_->graph, fetches);
  std::vector<Tensor> values;
  for (const Feed& feed : feeds) {
    const Output output = feed.output ? feed.output : impl_->graph.tensor(feed.name);
    check_graph(impl_->graph, output.node());
    resolved.request.feeds.push_back(output);
    values.push_back(feed.value);
  }
  return guarded([&] {
    const auto planned = impl_->plan_for(std::move(resolved.request));
    return in_order(resolved.position, impl_->run(*planned, values, options));
  });
}

Tensor Session::run(const Output& fetch, const Feeds& feeds, const RunOptions& options) {
  return run(Fetches{fetch}, feeds, options)[0];
}

void Session::run(const Operation& target, const Feeds& feeds, const RunOptions& options) {
  run(Fetches{target}, feeds, options);
}

struct Session::Callable::State {
  std::shared_ptr<Impl> session;
  std::shared_ptr<PlannedRun> planned;
  std::vector<int> position;
};

Session::Callable Session::make_callable(const Fetches& fetches, const std::vector<Output>& feeds) {
  ResolvedFetches resolved = resolve(impl_->graph, fetches);
  for (const Output& feed : feeds) check_graph(impl_->graph, feed.node());
  resolved.request.feeds = feeds;
  Callable callable;
  callable.state_ = std::make_shared<Callable::State>(
      Callable::State{impl_, impl_->plan_for(std::move(resolved.request)), std::move(resolved.position)});
  return callable;
}

std::vector<Tensor> Session::Callable::operator()(const std::vector<Tensor>& feeds, const RunOptions& options) const {
  const std::size_t wanted = state_->planned->plan.request().feeds.size();
  if (feeds.size() != wanted) throw invalid_argument(feeds.size(), " feeds for a callable that takes ", wanted);
  return guarded([&] { return in_order(state_->position, state_->session->run(*state_->planned, feeds, options)); });
}

}  // namespace caudal::inline v0
