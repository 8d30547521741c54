// A server of sessions: worker, master and service behind a port.
//
//   Server server({.port = 2222});
//   ...                                  // clients: tf.compat.v1.Session("grpc://localhost:2222")
//   server.stop();
//
// Needs the module of remote calls (modules/rpc), without which the constructor throws UNIMPLEMENTED. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

struct ServerOptions {
  std::string host = "127.0.0.1";  // whoever can reach it may run graphs: there are no passwords
  int port = 2222;                 // 0: any that is free
  std::string job = "localhost";   // of the device's name
  int task = 0;
  std::size_t session_memory = 0;         // bytes of tensors per session; 0: three quarters of the machine's memory
  std::size_t total_memory = 0;           // of all sessions; 0: likewise
  std::vector<std::string> allowed_dirs;  // folders that steps may read and write; none: no files
  std::int64_t max_nodes = 500'000;       // per graph, functions included
  int max_depth = 100;                    // of functions that call one another
  int max_steps = 1'000;                  // in progress
  int max_sessions = 10'000;
  std::int64_t max_message_bytes = INT32_MAX;
  std::int64_t abandoned_after_s = 7'200;  // an idle session whose client has gone is closed then; 0: never
};

class CAUDAL_API Server {
 public:
  // Listens. Throws UNAVAILABLE if the port cannot be had, INVALID_ARGUMENT or NOT_FOUND for options that cannot be.
  explicit Server(const ServerOptions& options);
  // Stops.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  // "grpc://127.0.0.1:2222"
  std::string target() const;
  // Takes no more calls, cancels the steps in progress, closes all sessions. Once.
  void stop();

  // Bytes of tensors that sessions hold, and how many there are; for tools.
  std::size_t memory_in_use() const;
  std::size_t num_sessions() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace caudal::inline v0
