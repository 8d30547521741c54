// One run of a loop whose values come one by one (program.h, StepKind::kEnter).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "caudal/runtime/run_instance.h"

namespace caudal::inline v0 {

class Dataflow;
class LoopRun;

// One program in progress: the top of a run, or one iteration of a loop.
struct Activation {
  Activation(RunInstance& run_instance, LoopRun* loop, std::int64_t iteration_number);
  ~Activation();

  RunInstance* instance;
  LoopRun* loop;                                // null at the top
  std::int64_t iteration;                       // 0 at the top
  std::vector<int> pending;                     // by unit; -1: has started
  int outstanding = 0;                          // units that are ready or running, and loops inside that have not ended
  std::vector<std::unique_ptr<LoopRun>> loops;  // by loop of the program; null: nothing has entered yet
};

// A frame: its iterations, what waits to enter them, what has left.
class LoopRun {
 public:
  LoopRun(Dataflow& dataflow, Activation& around, int loop_index);
  ~LoopRun();

  void enter(int entry, Value value);
  void next(std::int64_t iteration, int head, const Value& value);
  void exit(int exit, const Value& value);
  // An iteration has nothing left to do. Ends it, those after it, and the loop, where all that could still come has
  // come. True if the loop has ended.
  bool settle();
  Activation* around() const { return &around_; }
  int index() const { return index_; }

 private:
  Activation& iteration(std::int64_t number);
  void deliver_constants(Activation& activation);
  bool all_entered() const { return entered_ == static_cast<int>(loop_.entries.size()); }
  void end_iteration();
  void end();

  Dataflow& dataflow_;
  Activation& around_;
  const int index_;
  const Loop& loop_;
  int entered_ = 0;
  std::vector<std::optional<Value>> constants_;  // by entry
  std::vector<bool> left_;                       // by exit
  struct Iteration {
    std::unique_ptr<RunInstance> instance;
    std::unique_ptr<Activation> activation;
  };
  std::map<std::int64_t, Iteration> iterations_;
  std::map<std::int64_t, std::vector<std::pair<int, Value>>> parked_;  // too far ahead: (head, value) by iteration
};

}  // namespace caudal::inline v0
