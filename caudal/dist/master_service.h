// The master service: calls by name, messages as bytes, answered by a Master.
//
//   Worker -- Master -- MasterService -- module of remote calls
//
// Errors of RunStep go into the answer's body where the request asks for it, others become the call's status. A call
// whose client has gone cancels its step. Thread-safe. Ownership: borrows the master.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "caudal/base/export.h"
#include "caudal/core/cancellation.h"
#include "caudal/dist/call_threads.h"
#include "caudal/dist/rpc_module.h"

namespace caudal::inline v0 {

class Master;

class CAUDAL_API MasterService final : public RpcHandler {
 public:
  // At most `max_calls` are in progress.
  MasterService(Master& master, std::size_t max_calls);
  // Waits for the calls in progress.
  ~MasterService() override;

  void handle(std::shared_ptr<RpcCall> call) override;
  void cancelled(const RpcCall& call) override;

 private:
  void serve(RpcCall& call);
  void answer(RpcCall& call, CancellationToken& cancellation);

  Master& master_;
  std::mutex mutex_;
  std::map<const RpcCall*, std::shared_ptr<CancellationToken>> tokens_;  // of calls in progress
  CallThreads threads_;  // last: its end waits for calls, which use the rest
};

// The message as clients of TensorFlow read it: the node that failed is named at its end, where they look for it.
std::string client_message(const Error& error);

}  // namespace caudal::inline v0
