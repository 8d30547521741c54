// Session: runs parts of a graph and holds its state.
//
//   Session sess;
//   sess.run(global_variables_initializer());
//   Tensor loss_value = sess.run(loss, {{X, images}, {y, labels}});
//   auto values = sess.run({train, loss}, {{X, images}, {y, labels}});   // values[1] is the loss
//
// A session owns variables, resources and node states, not the graph. Thread safety: run() may be called from several
// threads at once; each run is one step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/cancellation.h"
#include "caudal/core/step_context.h"
#include "caudal/graph/graph.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

class Env;
class Rendezvous;

struct SessionOptions {
  int intra_op_threads = 0;      // for the work inside one op; 0: the process's pool, one thread per core
  std::size_t memory_limit = 0;  // bytes of tensors that the session may hold; 0: no limit
  PlanOptions plan;
  Env* env = nullptr;  // file system seen by the session's ops; default: the process's
  // What sessions of one server share; null: the session has its own. An account stands for memory_limit.
  std::shared_ptr<ResourceManager> resources;
  std::shared_ptr<NodeStates> states;
  std::shared_ptr<MemoryAccount> account;
  std::shared_ptr<MemoryAccount> common_account;  // charged too; null: none
};

struct RunOptions {
  std::optional<std::int64_t> timeout_ms;
  CancellationToken* cancellation = nullptr;
  Tracer* tracer = nullptr;
  bool check_numerics = false;       // end with the name of the first op that makes a NaN or an infinity
  Rendezvous* rendezvous = nullptr;  // where the step's sends and receives meet others; null: only one another
};

// What to feed: an output, or its name ("X:0", ":0" may be left out), and the value.
struct CAUDAL_API Feed {
  Feed(const Output& output, Tensor value) : output(output), value(std::move(value)) {}
  Feed(std::string name, Tensor value) : name(std::move(name)), value(std::move(value)) {}
  Feed(const char* name, Tensor value) : name(name), value(std::move(value)) {}
  Output output;
  std::string name;
  Tensor value;
};
using Feeds = std::vector<Feed>;

// What to fetch or run: an output, an operation, or the name of either ("loss:0" fetches, "train" runs).
struct CAUDAL_API Fetch {
  Fetch(const Output& output) : output(output) {}              // NOLINT
  Fetch(const Operation& operation) : operation(operation) {}  // NOLINT
  Fetch(std::string name) : name(std::move(name)) {}           // NOLINT
  Fetch(const char* name) : name(name) {}                      // NOLINT
  // Anything that converts to an output: a variable.
  template <class T>
    requires std::is_convertible_v<T, Output> && (!std::is_same_v<T, Output>)
  Fetch(const T& value) : output(value) {}  // NOLINT
  Output output;
  Operation operation;
  std::string name;
};
using Fetches = std::vector<Fetch>;

class CAUDAL_API Session {
 public:
  // Uses the thread's default graph. REQUIRES: the graph outlives the session.
  explicit Session(const SessionOptions& options = {});
  explicit Session(Graph& graph, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Graph& graph() const;

  // Throws caudal::Error: NOT_FOUND for unknown names, INVALID_ARGUMENT for a feed of the wrong type or shape, for a
  // placeholder that is not fed; whatever the ops report. The session stays usable.
  Tensor run(const Output& fetch, const Feeds& feeds = {}, const RunOptions& options = {});
  void run(const Operation& target, const Feeds& feeds = {}, const RunOptions& options = {});
  // One tensor per fetch, in order; no value for operations.
  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {});

  // The same run many times without looking anything up: feeds by position.
  class CAUDAL_API Callable {
   public:
    std::vector<Tensor> operator()(const std::vector<Tensor>& feeds, const RunOptions& options = {}) const;

   private:
    friend class Session;
    struct State;
    std::shared_ptr<State> state_;
  };
  Callable make_callable(const Fetches& fetches, const std::vector<Output>& feeds = {});

  // Ends every run in progress with CANCELLED; later ones fail with FAILED_PRECONDITION "Session is closed.".
  void close();

  // What the session holds, for savers and tools.
  ResourceManager& resources() const;
  NodeStates& node_states() const;
  MemoryAccount& memory() const;
  Device& device() const;
  FunctionRuntime& functions() const;
  // The file system that ops and savers use.
  Env& env() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace caudal::inline v0
