#include "caudal/io/coordinator.h"

#include <algorithm>
#include <chrono>

#include "caudal/base/error.h"

namespace caudal::inline v0::train {
namespace {

bool is_end_of_input(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == Code::kOutOfRange;
  } catch (...) {
    return false;
  }
}

}  // namespace

Coordinator::~Coordinator() {
  request_stop();
  for (Thread& thread : threads_) {
    if (thread.thread.joinable()) thread.thread.join();
  }
}

bool Coordinator::should_stop() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void Coordinator::request_stop() { request_stop(nullptr); }

void Coordinator::request_stop(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;
  if (error != nullptr && !is_end_of_input(error)) error_ = std::move(error);
  stop_ = true;
  changed_.notify_all();
}

void Coordinator::clear_stop() {
  const std::lock_guard lock(mutex_);
  stop_ = false;
  joined_ = false;
  error_ = nullptr;
}

bool Coordinator::wait_for_stop(std::optional<std::int64_t> timeout_ms) const {
  std::unique_lock lock(mutex_);
  const auto asked = [this] { return stop_; };
  if (timeout_ms) return changed_.wait_for(lock, std::chrono::milliseconds(*timeout_ms), asked);
  changed_.wait(lock, asked);
  return true;
}

void Coordinator::start(std::string name, std::function<void()> body) {
  const std::lock_guard lock(mutex_);
  Thread& thread = threads_.emplace_back();
  thread.name = std::move(name);
  try {
    thread.thread = std::thread([this, &thread, body = std::move(body)] {
      try {
        body();
      } catch (...) {
        request_stop(std::current_exception());
      }
      const std::lock_guard done(mutex_);
      thread.running = false;
      changed_.notify_all();
    });
  } catch (const std::exception& error) {
    threads_.pop_back();
    throw resource_exhausted("the system refuses a thread: ", error.what());
  }
}

bool Coordinator::anyone_runs() const { return std::ranges::any_of(threads_, &Thread::running); }

std::string Coordinator::who_runs() const {
  std::string names;
  for (const Thread& thread : threads_) {
    if (thread.running) names += " " + thread.name;
  }
  return names;
}

void Coordinator::join(std::int64_t stop_grace_period_ms) {
  std::list<Thread> ended;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || !anyone_runs(); });
    changed_.wait_for(lock, std::chrono::milliseconds(stop_grace_period_ms), [this] { return !anyone_runs(); });
    joined_ = true;
    if (anyone_runs()) {
      if (error_ != nullptr) std::rethrow_exception(error_);
      throw deadline_exceeded("Coordinator stopped with threads still running:", who_runs());
    }
    ended.swap(threads_);
  }
  for (Thread& thread : ended) thread.thread.join();
  raise_requested_exception();
}

void Coordinator::raise_requested_exception() {
  const std::lock_guard lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

bool Coordinator::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_;
}

}  // namespace caudal::inline v0::train
