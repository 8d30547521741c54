#include "caudal/base/interrupt.h"

#include <atomic>
#include <csignal>

namespace caudal::inline v0 {
namespace {

std::atomic<bool> interrupt_flag = false;  // lock-free, hence allowed in a handler
int open_scopes = 0;
struct sigaction former_int, former_term;

void on_signal(int signal) {
  if (interrupt_flag) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  interrupt_flag = true;
}

}  // namespace

InterruptScope::InterruptScope() {
  if (open_scopes++ > 0) return;
  interrupt_flag = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // no system call of a library in between fails with EINTR
  sigaction(SIGINT, &action, &former_int);
  sigaction(SIGTERM, &action, &former_term);
}

InterruptScope::~InterruptScope() {
  if (--open_scopes > 0) return;
  sigaction(SIGINT, &former_int, nullptr);
  sigaction(SIGTERM, &former_term, nullptr);
}

bool InterruptScope::interrupted() const { return interrupt_flag; }

}  // namespace caudal::inline v0
