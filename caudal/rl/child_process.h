// A child process that answers requests over a socket and shares a piece of memory: the parent's end of the bridge.
//
// A child that dies, hangs or talks nonsense becomes an Error, never a wait without end. Ownership: the process is
// killed and awaited with the object. Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace caudal::inline v0::rl {

class ChildProcess {
 public:
  // Runs `python -c program SOCKET MEMORY`. NOT_FOUND if there is no such Python; RESOURCE_EXHAUSTED and others from
  // the system.
  ChildProcess(const std::string& python, const char* program);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a request and waits for its answer. UNAVAILABLE if the process has ended, DEADLINE_EXCEEDED (and it is
  // killed) if there is no answer within `seconds`, DATA_LOSS for an answer above `most` bytes, UNKNOWN with the
  // child's text for an error there.
  std::string ask(std::uint8_t kind, std::string_view payload, double seconds, std::size_t most);

  // Memory of this size that both see, cleared. Once.
  std::span<std::byte> share(std::size_t size);
  pid_t pid() const { return pid_; }

 private:
  void send_all(std::string_view bytes, double deadline);
  void receive_all(char* out, std::size_t size, double deadline);
  void wait_until_ready(short events, double deadline);
  [[noreturn]] void fail_ended();
  void kill_and_wait();
  void close_all();

  pid_t pid_ = -1;
  int socket_ = -1, memory_file_ = -1;
  std::span<std::byte> memory_;
};

}  // namespace caudal::inline v0::rl
