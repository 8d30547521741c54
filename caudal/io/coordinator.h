// Coordinator: threads of a program that stop together (tf.train.Coordinator).
//
//   tf::train::Coordinator coord;
//   auto runners = tf::train::start_queue_runners(session, coord);
//   while (!coord.should_stop()) session.run(train);
//   coord.request_stop();
//   coord.join();                 // throws what made the threads stop, if that was an error
//
// Ownership: the coordinator owns the threads that it starts; its destructor asks them to stop and waits for their end.
// Thread-safe, but for join() and the destructor: one thread's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "caudal/base/export.h"

namespace caudal::inline v0::train {

class CAUDAL_API Coordinator {
 public:
  Coordinator() = default;
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  bool should_stop() const;
  // Asks all threads to stop. The first call counts: with an error, join() will throw that. OUT_OF_RANGE, the end of
  // the input, is no error.
  void request_stop();
  void request_stop(std::exception_ptr error);
  // Forgets that a stop was asked for, and why.
  void clear_stop();
  // Waits until a stop is asked for, at most so long; whether it was.
  bool wait_for_stop(std::optional<std::int64_t> timeout_ms = {}) const;

  // Runs `body` in a thread. What it throws is a request to stop.
  void start(std::string name, std::function<void()> body);
  // Waits until all threads have ended or a stop is asked for; then, at most so long, until all have ended. Throws the
  // error that made them stop; DEADLINE_EXCEEDED, naming them, if some do not.
  void join(std::int64_t stop_grace_period_ms = 120'000);
  // What join() would throw, now.
  void raise_requested_exception();
  // True once join() has returned or thrown.
  bool joined() const;

 private:
  struct Thread {
    std::string name;
    std::thread thread;
    bool running = true;
  };
  bool anyone_runs() const;  // under the lock
  std::string who_runs() const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;  // a stop was asked for, or a thread has ended
  std::list<Thread> threads_;
  bool stop_ = false, joined_ = false;
  std::exception_ptr error_;
};

}  // namespace caudal::inline v0::train
