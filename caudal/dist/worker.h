// WorkerInterface: who runs graphs for a master. Named as the worker service's calls, so that a worker behind a wire
// can stand for the one in this process.
//
// A worker holds sessions, and in them registered graphs: (graph, feeds, fetches, targets) -> a handle to run. Handles
// are strings. Errors: caudal::Error. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/proto/master_messages.h"
#include "caudal/proto/served_graph.h"

namespace caudal::inline v0 {

class CancellationToken;
class Rendezvous;
class Tracer;

// What to run, by the names that a client uses: tensors "a:0", nodes "a".
struct GraphRequest {
  std::vector<std::string> feeds, fetches, targets;
};

struct StepArguments {
  std::vector<Tensor> feeds;  // by position in the request
  CancellationToken* cancellation = nullptr;
  Rendezvous* rendezvous = nullptr;  // null: the step meets nobody
  std::optional<std::int64_t> timeout_ms;
  Tracer* tracer = nullptr;
};

class CAUDAL_API WorkerInterface {
 public:
  virtual ~WorkerInterface();

  virtual std::vector<DeviceFacts> devices() const = 0;

  // `session` is the master's handle, new to this worker.
  virtual void create_session(const std::string& session, const SessionConfig& config) = 0;
  // Ends its steps with CANCELLED, forgets its graphs. Nothing if there is none.
  virtual void delete_session(const std::string& session) = 0;
  // Where the session's tensors are charged. ABORTED if there is no such session.
  virtual std::shared_ptr<Allocator> session_allocator(const std::string& session) = 0;

  // Charges `bytes` of messages to the session as long as the result lives. RESOURCE_EXHAUSTED; ABORTED as above.
  virtual std::shared_ptr<void> reserve(const std::string& session, std::size_t bytes) = 0;

  // Throws ABORTED for an unknown session; NOT_FOUND, INVALID_ARGUMENT or UNIMPLEMENTED for a request that the graph
  // does not fit.
  virtual std::string register_graph(const std::string& session, std::shared_ptr<const ServedGraph> graph,
                                     const GraphRequest& request) = 0;
  // Steps in progress go on. Nothing if there is none.
  virtual void deregister_graph(const std::string& session, const std::string& graph_handle) = 0;
  // One step; waits for its end. Fetched tensors by position.
  virtual std::vector<Tensor> run_graph(const std::string& session, const std::string& graph_handle,
                                        const StepArguments& arguments) = 0;
  // What the graph runs, as a serialized GraphDef.
  virtual std::string partition_graph(const std::string& session, const std::string& graph_handle) = 0;

  // Forgets the resources of containers; with none named, of the default one.
  virtual void cleanup_all(const std::vector<std::string>& containers) = 0;
};

}  // namespace caudal::inline v0
