// One client's session in the master: its graph and version, the signatures it has run, its callables and partial runs.
//
// Errors carry the codes and texts that TensorFlow's clients act on. Thread-safe; steps run concurrently.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/dist/partial_run.h"
#include "caudal/dist/worker.h"

namespace caudal::inline v0 {

struct StepOutcome {
  std::vector<NamedTensor> tensors;
  std::unique_ptr<StepMetadata> metadata;  // null unless asked for
  std::shared_ptr<void> reservation;       // of the memory that the answer will take; may be null
};

class CAUDAL_API MasterSession {
 public:
  // Makes the worker's session too. Throws for a graph that is none or too large, for options that a session over a
  // wire cannot have.
  MasterSession(std::string handle, WorkerInterface& worker, const GraphLimits& limits, const CreateSessionCall& call);
  // Closes.
  ~MasterSession();
  MasterSession(const MasterSession&) = delete;
  MasterSession& operator=(const MasterSession&) = delete;

  const std::string& handle() const { return handle_; }
  std::int64_t graph_version() const;

  // The new version. ABORTED if the client's is not the current one.
  std::int64_t extend(const ExtendSessionCall& call);
  StepOutcome run_step(const RunStepCall& call, CancellationToken& cancellation);
  std::string set_up_partial_run(const PartialRunSetupCall& call);
  std::int64_t make_callable(const MakeCallableCall& call);
  StepOutcome run_callable(const RunCallableCall& call, CancellationToken& cancellation);
  void release_callable(std::int64_t handle);

  // Ends all steps with CANCELLED and waits for them; later calls are FAILED_PRECONDITION.
  void close();

  // For those who close sessions that nobody uses any more.
  bool is_idle() const { return running_.load() == 0; }

 private:
  struct Signature;
  struct Callable;
  class Running;

  std::shared_ptr<Signature> signature_for(const GraphRequest& request);
  bool tells_costs(Signature& signature) const;
  StepOutcome run(Signature& signature, std::vector<Tensor> feeds, const StepSettings& settings,
                  CancellationToken& cancellation);
  StepOutcome run_partial(const RunStepCall& call, CancellationToken& cancellation);
  std::vector<Tensor> decoded(const std::vector<std::string>& tensors) const;
  void forget_signatures();
  std::shared_ptr<const ServedGraph> graph() const;

  const std::string handle_;
  WorkerInterface& worker_;
  const GraphLimits limits_;
  const SessionConfig config_;
  const std::string device_;
  std::shared_ptr<Allocator> allocator_;  // of the worker's session
  std::atomic<int> running_{0};
  mutable std::mutex mutex_;
  std::condition_variable quiet_;  // nothing runs
  std::mutex extending_;           // one extension at a time
  bool closed_ = false;
  std::shared_ptr<const ServedGraph> graph_;
  std::int64_t version_ = 0;
  std::map<std::string, std::shared_ptr<Signature>> signatures_;  // of the current version
  std::map<std::int64_t, std::shared_ptr<Callable>> callables_;
  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs_;
  std::int64_t next_ = 0;
};

}  // namespace caudal::inline v0
