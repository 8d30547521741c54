// The worker in this process: sessions of runtime/ over shared containers.
//
// Variables, queues and tables live in the worker and survive sessions, unless a session asks for isolation. Each
// session has an account of memory; all together have another. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "caudal/base/export.h"
#include "caudal/dist/worker.h"

namespace caudal::inline v0 {

class Env;
class ResourceManager;

struct LocalWorkerOptions {
  std::string job = "localhost";
  int task = 0;
  std::size_t session_memory = 0;  // bytes of tensors that one session may hold; 0: no limit
  std::size_t total_memory = 0;    // and all together
  Env* env = nullptr;              // files that steps see; default: the process's
};

class CAUDAL_API LocalWorker final : public WorkerInterface {
 public:
  explicit LocalWorker(const LocalWorkerOptions& options);
  ~LocalWorker() override;

  std::vector<DeviceFacts> devices() const override;
  void create_session(const std::string& session, const SessionConfig& config) override;
  void delete_session(const std::string& session) override;
  std::shared_ptr<Allocator> session_allocator(const std::string& session) override;
  std::shared_ptr<void> reserve(const std::string& session, std::size_t bytes) override;
  std::string register_graph(const std::string& session, std::shared_ptr<const ServedGraph> graph,
                             const GraphRequest& request) override;
  void deregister_graph(const std::string& session, const std::string& graph_handle) override;
  std::vector<Tensor> run_graph(const std::string& session, const std::string& graph_handle,
                                const StepArguments& arguments) override;
  std::string partition_graph(const std::string& session, const std::string& graph_handle) override;
  void cleanup_all(const std::vector<std::string>& containers) override;

  // Bytes of tensors that all sessions hold.
  std::size_t memory_in_use() const;

 private:
  class WorkerSession;
  std::shared_ptr<WorkerSession> find(const std::string& session) const;

  const LocalWorkerOptions options_;
  const std::string device_name_;
  const std::uint64_t incarnation_;
  const std::shared_ptr<ResourceManager> resources_;
  const std::shared_ptr<MemoryAccount> common_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<WorkerSession>> sessions_;
};

}  // namespace caudal::inline v0
