// Runs programs that may wait: unit by unit as their inputs come, loops value by value.
//
// All of it happens in the threads that work for the step's queue, one at a time; a waiting kernel that finishes
// elsewhere leaves a task there. Rules for dead values, frames and iterations are TensorFlow's ("Implementation of
// Control Flow in TensorFlow", 2017).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "caudal/core/cancellation.h"
#include "caudal/runtime/loop_run.h"
#include "caudal/runtime/run_instance.h"

namespace caudal::inline v0 {

// One run of one program that may wait. Keeps itself alive until it has called `done`.
class Dataflow {
 public:
  using Done = std::function<void(const Error* error)>;

  // REQUIRES: `instance`, whose feeds are filled, and what `step` points to live until done was called.
  static void start(RunInstance& instance, const StepContext& step, Done done);

  // For LoopRun.
  // Puts a value where a source unit stands for it, and lets go on what waits for it.
  void deliver(Activation& activation, int slot, int unit, Value value);
  void settle(Activation& activation);
  StepContext& step() { return step_; }

 private:
  struct Call;
  class Traffic;

  Dataflow(RunInstance& instance, const StepContext& step, Done done);

  void work();
  void run_unit(Activation& activation, int unit);
  void run_waiting(Activation& activation, int unit);
  void finish_call(Call& call);
  void finish_unit(Activation& activation, int unit);
  void complete(Activation& activation, int unit);
  void make_ready(Activation& activation, int unit);
  void fail(const Error& error);
  void end();

  StepContext step_;
  CancellationToken token_;
  Done done_;
  Activation top_;
  struct Ready {
    Activation* activation;
    int unit;
  };
  std::deque<Ready> ready_;
  std::optional<Error> failure_;
  int in_flight_ = 0;
  bool ended_ = false;
};

}  // namespace caudal::inline v0
