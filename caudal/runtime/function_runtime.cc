#include "caudal/runtime/function_runtime.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/device.h"
#include "caudal/core/node_state.h"
#include "caudal/core/variable_storage.h"
#include "caudal/graph/function_body.h"
#include "caudal/ops/function_gradients.h"
#include "caudal/plan/plan.h"
#include "caudal/runtime/executor.h"

namespace caudal::inline v0 {
namespace {

// Bodies that are planned inside the planning of others, for graphs from outside: each takes some of the stack.
constexpr int kMaxNesting = 200;
// A call so deep starts on a stack of its own, by way of the step's queue.
constexpr int kDepthPerStack = 32;

constexpr std::string_view kSymbolicGradient = "SymbolicGradient";

Error in_function(const Error& error, const std::string& name) {
  return error.detail().starts_with("function '") ? error : error.in("function '" + name + "'");
}

// A function with its attributes, planned.
class Instantiation {
 public:
  Instantiation(AttrMap attrs, FunctionRuntime::Signature signature)
      : attrs_(std::move(attrs)), signature_(std::move(signature)) {
    signature_.can_wait = true;  // while it is being planned
  }

  const AttrMap& attrs() const { return attrs_; }
  const FunctionRuntime::Signature& signature() const { return signature_; }

  void plan(FunctionBody body, const PlanOptions& options, Device& device, FunctionRuntime& functions,
            NodeStates& states) {
    body_ = std::move(body);
    signature_.stateful = body_.stateful;
    for (const Output& result : body_.results) signature_.result_shapes.push_back(result.shape());
    plan_.emplace(PlanRequest{body_.arguments, body_.results, body_.targets}, options, device, &functions);
    states_ = &states;
    signature_.can_wait = plan_->generic()->can_wait;
  }

  // What the body's nodes see of the caller's step.
  StepContext step_for(const StepContext& caller, FunctionRuntime& functions) const {
    if (plan_ == std::nullopt) throw failed_precondition("function '", signature_.name, "' could not be planned");
    if (caller.call_depth >= FunctionRuntime::kMaxDepth) {
      throw resource_exhausted("function '", signature_.name, "' is called inside ", caller.call_depth,
                               " other calls; no more are allowed")
          .hint("End the recursion, or write it as a loop.");
    }
    StepContext step = caller;
    ++step.call_depth;
    step.functions = &functions;
    step.states = states_;
    return step;
  }

  // An instance of the program for these arguments, and its pool.
  struct Lease {
    std::shared_ptr<InstancePool> pool;
    std::unique_ptr<RunInstance> instance;
    Lease() = default;
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = default;
    ~Lease() { release(); }
    void release() {
      if (instance != nullptr) pool->give_back(std::move(instance));
    }
  };

  Lease lease(const std::vector<Tensor>& arguments, Device& device) {
    check(arguments);
    Lease lease;
    lease.pool = pool_of(plan_->program_for(arguments));
    lease.instance = lease.pool->take(device.allocator());
    return lease;
  }

  static void feed(RunInstance& instance, std::vector<Tensor> arguments) {
    const auto& slots = instance.program().feed_slots;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (slots[i] >= 0) instance.slot(slots[i]).tensor = std::move(arguments[i]);
    }
  }

  // The results, handed over where nothing else holds them.
  std::vector<Tensor> results(RunInstance& instance) const {
    const Program& program = instance.program();
    const auto& slots = program.fetch_slots;
    std::vector<Tensor> results;
    results.reserve(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Value& value = instance.slot(slots[i]);
      if (value.ref != nullptr) {
        results.push_back(value.ref->read());
        continue;
      }
      if (value.dead || !value.tensor.valid()) {
        throw invalid_argument("function '", signature_.name, "': result ", i, " has no value")
            .hint("It comes from a branch that was not taken.");
      }
      const bool again =
          std::find(slots.begin() + static_cast<std::ptrdiff_t>(i) + 1, slots.end(), slots[i]) != slots.end();
      if (value.tensor.is_lent()) {
        results.push_back(value.tensor.keep());
      } else if (again || program.slots[static_cast<std::size_t>(slots[i])].constant.valid()) {
        results.push_back(value.tensor);
      } else {
        results.push_back(std::move(value.tensor));
      }
    }
    return results;
  }

 private:
  void check(const std::vector<Tensor>& arguments) const {
    const auto& wanted = body_.arguments;
    if (arguments.size() != wanted.size()) {
      throw invalid_argument("function '", signature_.name, "' takes ", wanted.size(), " arguments, not ",
                             arguments.size());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tensor& argument = arguments[i];
      if (!argument.valid()) throw invalid_argument("function '", signature_.name, "': argument ", i, " has no value");
      if (argument.dtype() != wanted[i].dtype() || !wanted[i].shape().compatible(argument.shape())) {
        throw invalid_argument("function '", signature_.name, "': argument ", i, " is ", argument.describe(), "; ",
                               wanted[i].dtype(), wanted[i].shape(), " is wanted");
      }
    }
  }

  std::shared_ptr<InstancePool> pool_of(const std::shared_ptr<const Program>& program) {
    std::lock_guard lock(mutex_);
    if (last_program_ == program.get()) return last_pool_;
    auto& pool = pools_[program.get()];
    if (pool == nullptr) {
      pool = std::make_shared<InstancePool>(program);
      // What the plan has dropped goes with its arenas; runs in progress hold their own pool.
      std::erase_if(pools_,
                    [&](const auto& entry) { return !plan_->holds(entry.first) && entry.first != program.get(); });
    }
    last_program_ = program.get();
    last_pool_ = pools_.at(program.get());
    return last_pool_;
  }

  const AttrMap attrs_;
  FunctionRuntime::Signature signature_;
  FunctionBody body_;
  std::optional<Plan> plan_;
  NodeStates* states_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<const Program*, std::shared_ptr<InstancePool>> pools_;
  const Program* last_program_ = nullptr;
  std::shared_ptr<InstancePool> last_pool_;
};

class SessionFunctions final : public FunctionRuntime {
 public:
  SessionFunctions(std::shared_ptr<FunctionLibrary> library, Device& device, const PlanOptions& options,
                   NodeStates& states)
      : library_(std::move(library)), device_(device), options_(options), states_(states) {
    options_.owns_feeds = true;
  }
  ~SessionFunctions() override { end_users(); }

  Handle instantiate(const FunctionAttr& function) override {
    const std::lock_guard lock(planning_);
    const bool is_gradient = function.name == kSymbolicGradient;
    AttrMap attrs = is_gradient ? gradient_attrs(function) : known_attrs(function);
    auto& known = by_name_[function.name];
    for (Instantiation* made : known) {
      if (made->attrs() == attrs) return handle_of(*made);
    }
    if (nesting_ >= kMaxNesting) {
      throw resource_exhausted("function '", function.name, "' is planned inside of ", nesting_,
                               " others; graphs with deeper calls are refused");
    }
    Signature signature;
    signature.name = function.name;
    all_.push_back(std::make_unique<Instantiation>(attrs, types_of(function, attrs, std::move(signature))));
    Instantiation& made = *all_.back();
    known.push_back(&made);
    ++nesting_;
    try {
      plan(made, function, known.size());
      --nesting_;
    } catch (const Error& error) {
      --nesting_;
      // What was planned meanwhile may hold its handle, so it stays, but nobody finds it.
      std::erase(by_name_[function.name], &made);
      throw in_function(error, function.name);
    }
    return handle_of(made);
  }

  const Signature& signature(Handle handle) const override { return at(handle).signature(); }

  std::vector<Tensor> run(Handle handle, const StepContext& caller, std::vector<Tensor> arguments) override {
    return run_in(at(handle), at(handle).step_for(caller, *this), std::move(arguments));
  }

  std::vector<Tensor> run(Handle handle, const StepContext& caller, NodeStates& states,
                          std::vector<Tensor> arguments) override {
    StepContext step = at(handle).step_for(caller, *this);
    step.states = &states;
    return run_in(at(handle), step, std::move(arguments));
  }

  void run_async(Handle handle, const StepContext& caller, std::vector<Tensor> arguments, Done done) override {
    Instantiation& function = at(handle);
    if (!function.signature().can_wait) return run_at_once(handle, caller, std::move(arguments), done);
    auto call = std::make_unique<AsyncCall>(function, std::move(done));
    std::optional<Error> failure;
    try {
      call->step = function.step_for(caller, *this);
      call->lease = function.lease(arguments, device_);
      Instantiation::feed(*call->lease.instance, std::move(arguments));
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = resource_exhausted("out of memory");
    }
    if (failure) return call->done(&*failure, {});
    AsyncCall* started = call.release();  // deletes itself when it is over
    if (started->step.call_depth % kDepthPerStack == 0 && started->step.queue != nullptr) {
      started->step.queue->push([started] { started->start(); });
    } else {
      started->start();
    }
  }

 private:
  std::vector<Tensor> run_in(Instantiation& function, StepContext step, std::vector<Tensor> arguments) {
    const Instantiation::Lease lease = function.lease(arguments, device_);
    Instantiation::feed(*lease.instance, std::move(arguments));
    try {
      execute(*lease.instance, step);
    } catch (const Error& error) {
      throw in_function(error, function.signature().name);
    }
    return function.results(*lease.instance);
  }

  struct AsyncCall {
    AsyncCall(Instantiation& function, Done done) : function(function), done(std::move(done)) {}

    // A program for known shapes may have lost what could wait.
    void start() {
      if (lease.instance->program().can_wait) {
        execute_async(*lease.instance, step, [this](const Error* error) { end(error); });
        return;
      }
      std::optional<Error> error;
      try {
        execute(*lease.instance, step);
      } catch (const Error& thrown) {
        error = thrown;
      }
      end(error ? &*error : nullptr);
    }

    void end(const Error* error) {
      if (error != nullptr) failure = in_function(*error, function.signature().name);
      if (step.call_depth % kDepthPerStack == 0 && step.queue != nullptr) {
        step.queue->push([this] { finish(); });
      } else {
        finish();
      }
    }

    void finish() {
      std::vector<Tensor> values;
      if (!failure) {
        try {
          values = function.results(*lease.instance);
        } catch (const Error& error) {
          failure = error;
        }
      }
      const Done end = std::move(done);
      const std::optional<Error> error = std::move(failure);
      delete this;  // gives the instance back before the caller goes on and maybe calls again
      end(error ? &*error : nullptr, std::move(values));
    }

    Instantiation& function;
    StepContext step;
    Instantiation::Lease lease;
    Done done;
    std::optional<Error> failure;
  };

  void run_at_once(Handle handle, const StepContext& caller, std::vector<Tensor> arguments, const Done& done) {
    std::vector<Tensor> results;
    std::optional<Error> failure;
    try {
      results = run(handle, caller, std::move(arguments));
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = resource_exhausted("out of memory");
    }
    done(failure ? &*failure : nullptr, std::move(results));
  }

  static Handle handle_of(Instantiation& made) { return reinterpret_cast<Handle>(&made); }
  static Instantiation& at(Handle handle) { return *reinterpret_cast<Instantiation*>(handle); }

  std::shared_ptr<const Function> find(const std::string& name) const {
    if (auto function = library_->find(name)) return function;
    std::vector<std::string> names;
    for (const auto& [known, function] : library_->all()) names.push_back(known);
    throw not_found("function '", name, "' is not in the graph's library").hint(did_you_mean(name, names));
  }

  // The attributes that the function's signature names; what else a call carries makes no difference.
  AttrMap known_attrs(const FunctionAttr& function) const {
    AttrMap attrs;
    const auto found = find(function.name);
    for (const AttrDef& def : found->signature.attrs) {
      if (const AttrValue* value = find_attr(*function.attrs, def.name)) attrs.emplace(def.name, *value);
    }
    return attrs;
  }

  static AttrMap gradient_attrs(const FunctionAttr& gradient) {
    AttrMap attrs;
    for (const std::string_view name : {"f", "Tin", "Tout"}) {
      if (const AttrValue* value = find_attr(*gradient.attrs, name)) attrs.emplace(name, *value);
    }
    return attrs;
  }

  Signature types_of(const FunctionAttr& function, const AttrMap& attrs, Signature signature) const {
    if (function.name == kSymbolicGradient) {
      signature.argument_types = attr_as<std::vector<DType>>(attrs, "Tin");
      signature.result_types = attr_as<std::vector<DType>>(attrs, "Tout");
    } else {
      FunctionTypes types = function_types(*find(function.name), attrs);
      signature.argument_types = std::move(types.arguments);
      signature.result_types = std::move(types.results);
    }
    return signature;
  }

  void plan(Instantiation& made, const FunctionAttr& function, std::size_t number) {
    FunctionBody body = function.name == kSymbolicGradient
                            ? ops::symbolic_gradient_body(attr_as<FunctionAttr>(made.attrs(), "f"), library_)
                            : instantiate_function(*find(function.name), made.attrs(), library_);
    const std::string scope = number == 1 ? function.name : internal::concat(function.name, '#', number);
    made.plan(std::move(body), options_, device_, *this, states_.child(scope));
  }

  const std::shared_ptr<FunctionLibrary> library_;
  Device& device_;
  PlanOptions options_;
  NodeStates& states_;
  std::recursive_mutex planning_;
  int nesting_ = 0;
  std::map<std::string, std::vector<Instantiation*>, std::less<>> by_name_;
  std::vector<std::unique_ptr<Instantiation>> all_;
};

}  // namespace

std::unique_ptr<FunctionRuntime> make_function_runtime(std::shared_ptr<FunctionLibrary> library, Device& device,
                                                       const PlanOptions& options, NodeStates& states) {
  return std::make_unique<SessionFunctions>(std::move(library), device, options, states);
}

}  // namespace caudal::inline v0
