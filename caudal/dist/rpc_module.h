// What the library and its module of remote calls (modules/rpc) say to each other: calls by name, bytes in, bytes out.
// The module knows gRPC and no messages; the library knows messages and no gRPC.
//
// The classes are interfaces without code, so that neither side links the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// One call that a client made. Thread-safe.
class RpcCall {
 public:
  virtual ~RpcCall() = default;
  virtual std::string_view method() const = 0;   // "/tensorflow.MasterService/RunStep"
  virtual std::string_view peer() const = 0;     // "ipv4:127.0.0.1:40000"
  virtual std::string_view request() const = 0;  // valid until finish()
  // The client has gone, or its deadline has passed; once true it stays so.
  virtual bool is_cancelled() const = 0;
  // Answers, once: `code` 0 with the response's bytes, or a canonical code with a message.
  virtual void finish(int code, std::string message, std::string response) = 0;
};

// Gets the calls.
class RpcHandler {
 public:
  virtual ~RpcHandler() = default;
  // Must not wait. The call may be finished later, from any thread.
  virtual void handle(std::shared_ptr<RpcCall> call) = 0;
  // An unfinished call has become cancelled, maybe before it was handed over. Must not wait.
  virtual void cancelled(const RpcCall& call) = 0;
};

struct RpcServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;                        // 0: any that is free
  std::int64_t max_message_bytes = 0;  // of a request
};

class RpcServer {
 public:
  virtual ~RpcServer() = default;  // after stop()
  virtual int port() const = 0;
  // Takes no more calls, waits up to `grace_ms` for those in progress, then cancels them. Returns when all are gone.
  virtual void stop(std::int64_t grace_ms) = 0;
};

// The module's only function: a running server, or null and why. `handler` must outlive it. Calls are taken from
// anybody who can reach host and port; nothing is encrypted.
inline constexpr const char* kOpenRpcServer = "caudal_open_rpc_server_1";
using OpenRpcServer = RpcServer*(const RpcServerOptions& options, RpcHandler& handler, std::string* error);

}  // namespace caudal::inline v0
