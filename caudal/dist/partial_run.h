// A partial run: one step whose feeds arrive and whose fetches leave in several calls.
//
// The step runs in a thread of its own on a graph with receiving and sending nodes in place of feeds and fetches; the
// calls meet it in a rendezvous. Thread-safe; the destructor cancels the step and waits for it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/core/cancellation.h"
#include "caudal/core/rendezvous.h"
#include "caudal/graph/graph.h"
#include "caudal/proto/master_messages.h"

namespace caudal::inline v0 {

class CAUDAL_API PartialRun {
 public:
  // `run` runs the step and throws what it throws. `device` is the name in the keys of the rendezvous. The outputs are
  // those of the graph that the client sees; `graph` keeps them alive.
  PartialRun(std::shared_ptr<const void> graph, std::vector<Output> feeds, std::vector<Output> fetches,
             std::string device, std::function<void(CancellationToken&, Rendezvous&)> run);
  ~PartialRun();
  PartialRun(const PartialRun&) = delete;
  PartialRun& operator=(const PartialRun&) = delete;

  // Feeds some, then waits for some. Throws INVALID_ARGUMENT for what was not named at the beginning, comes a second
  // time, or cannot be computed from what was fed; what the step throws; `cancellation`'s reason.
  std::vector<NamedTensor> step(const std::vector<NamedTensor>& feeds, const std::vector<std::string>& fetches,
                                CancellationToken& cancellation);
  // Everything was fed and fetched: after this call the run is over. Waits for the step's end and throws what it threw.
  bool is_complete() const;
  void finish();
  void cancel(const Error& reason);

 private:
  struct Endpoint {
    Output output;
    bool done = false;
  };
  void check(const std::vector<NamedTensor>& feeds, const std::vector<std::string>& fetches);
  void check_computable(const Output& fetch) const;
  std::string key(const Endpoint& endpoint) const;

  const std::shared_ptr<const void> graph_;
  const std::string device_;
  LocalRendezvous rendezvous_;
  CancellationToken cancellation_;
  mutable std::mutex mutex_;
  std::map<std::string, Endpoint> feeds_, fetches_;  // by "name:index"
  std::optional<Error> failure_;                     // of the step
  std::thread thread_;
};

}  // namespace caudal::inline v0
