#include "caudal/rl/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0::rl {
namespace {

constexpr int kChildSocket = 3, kChildMemory = 4;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A copy of a descriptor out of the way of those that the child gets.
int moved_up(int descriptor) {
  const int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
  close(descriptor);
  return higher;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by signal ") + std::to_string(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ChildProcess::ChildProcess(const std::string& python, const char* program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw file_error(errno, "make a socket for", python);
  socket_ = moved_up(ends[0]);
  const int child_end = moved_up(ends[1]);
  memory_file_ = moved_up(memfd_create("caudal-bridge", MFD_CLOEXEC));
  if (socket_ < 0 || child_end < 0 || memory_file_ < 0) {
    const int number = errno;
    if (child_end >= 0) close(child_end);
    close_all();
    throw file_error(number, "open descriptors for", python);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_end, kChildSocket);
  posix_spawn_file_actions_adddup2(&actions, memory_file_, kChildMemory);
  const std::string socket_text = std::to_string(kChildSocket), memory_text = std::to_string(kChildMemory);
  const char* arguments[] = {python.c_str(), "-c", program, socket_text.c_str(), memory_text.c_str(), nullptr};
  const int failed = posix_spawnp(&pid_, python.c_str(), &actions, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(child_end);
  if (failed == 0) return;
  pid_ = -1;
  close_all();
  throw file_error(failed, "run", python).hint("Name a Python with gymnasium by the option python.");
}

ChildProcess::~ChildProcess() {
  kill_and_wait();
  close_all();
}

void ChildProcess::close_all() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
  memory_ = {};
  for (int* descriptor : {&socket_, &memory_file_}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

void ChildProcess::kill_and_wait() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::span<std::byte> ChildProcess::share(std::size_t size) {
  if (ftruncate(memory_file_, static_cast<off_t>(size)) != 0) throw file_error(errno, "enlarge", "shared memory");
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file_, 0);
  if (at == MAP_FAILED) throw file_error(errno, "map", "shared memory");
  memory_ = {static_cast<std::byte*>(at), size};
  return memory_;
}

std::string ChildProcess::ask(std::uint8_t kind, std::string_view payload, double seconds, std::size_t most) {
  if (pid_ < 0) throw unavailable("the Python process has ended");
  const double deadline = now_seconds() + seconds;
  std::string request;
  put_fixed(&request, kind);
  put_fixed(&request, static_cast<std::uint32_t>(payload.size()));
  request += payload;
  send_all(request, deadline);
  char head[5];
  receive_all(head, sizeof head, deadline);
  const auto size = get_fixed<std::uint32_t>(head + 1);
  if (size > most || static_cast<unsigned char>(head[0]) > 1) {
    kill_and_wait();
    throw data_loss("the Python process gave an answer of ", size, " bytes, at most ", most, " make sense");
  }
  std::string answer(size, '\0');
  receive_all(answer.data(), size, deadline);
  if (head[0] != 0) throw unknown_error("the Python process says ", escaped(answer, 2000));
  return answer;
}

void ChildProcess::wait_until_ready(short events, double deadline) {
  for (;;) {
    pollfd waiting{socket_, events, 0};
    const double left = deadline - now_seconds();
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min(left * 1000 + 1, 1e9)));
    if (ready > 0) return;
    if (ready < 0 && errno == EINTR) continue;
    kill_and_wait();
    throw deadline_exceeded("the Python process did not answer in time and was killed");
  }
}

void ChildProcess::send_all(std::string_view bytes, double deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_until_ready(POLLOUT, deadline);
    } else if (errno != EINTR) {
      fail_ended();
    }
  }
}

void ChildProcess::receive_all(char* out, std::size_t size, double deadline) {
  while (size > 0) {
    wait_until_ready(POLLIN, deadline);
    const ssize_t received = recv(socket_, out, size, MSG_DONTWAIT);
    if (received > 0) {
      out += received;
      size -= static_cast<std::size_t>(received);
    } else if (received == 0 || (errno != EINTR && errno != EAGAIN)) {
      fail_ended();
    }
  }
}

void ChildProcess::fail_ended() {
  int status = 0;
  kill(pid_, SIGKILL);  // it closed the socket: whatever is left of it is of no use
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  throw unavailable("the Python process ", how_it_ended(status));
}

}  // namespace caudal::inline v0::rl
