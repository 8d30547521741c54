// Everything that one run of a program needs for itself: values of slots, contexts of nodes, arena, scratch.
//
// Instances are kept and used again, so that a steady step allocates nothing. Used by one run at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {

class InstancePool;

class RunInstance {
 public:
  // Throws RESOURCE_EXHAUSTED if the arena cannot be had.
  RunInstance(std::shared_ptr<const Program> program, Allocator& allocator);
  ~RunInstance();

  const Program& program() const { return *program_; }
  Value& slot(int i) { return values_[i]; }
  RunContext& context(std::size_t step) { return contexts_[step]; }
  // By step: whether it came from a branch that was not taken. Kept for steps that check it.
  std::uint8_t& dead(int step) { return dead_[step]; }
  // The body of a loop of this program: an instance that is kept, and as many more as wanted.
  RunInstance& loop_body(int loop, Allocator& allocator);
  InstancePool& loop_pool(int loop);
  // Back to the state before a run. After one that went through only what a run does not forget by itself is looked at.
  void reset(bool whole);

  // The largest tensors alive, for messages: "conv1/Relu:0 float32[32,28,28,6] 0.6 MB, ...".
  std::string largest_live(std::size_t count) const;

 private:
  class ArenaSlice;
  void reset_slot(int s);

  std::shared_ptr<const Program> program_;
  BufferRef arena_;
  std::vector<Value> values_;
  std::vector<Value*> inputs_;  // of all steps, one after another
  std::vector<RunContext::PlannedOutput> planned_;
  std::vector<std::byte> scratch_;
  std::vector<std::vector<std::byte>> own_scratch_;  // of steps that may wait
  std::vector<RunContext> contexts_;
  std::vector<std::uint8_t> dead_;
  std::vector<std::unique_ptr<RunInstance>> loop_bodies_;
  std::vector<std::unique_ptr<InstancePool>> loop_pools_;
  std::vector<int> kept_;  // slots that no step forgets
};

// Instances of one program that wait for their next run. Thread-safe.
class InstancePool {
 public:
  explicit InstancePool(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::unique_ptr<RunInstance> take(Allocator& allocator);
  // `finished`: the run went through.
  void give_back(std::unique_ptr<RunInstance> instance, bool finished = false);

 private:
  static constexpr std::size_t kMaxIdle = 8;
  std::shared_ptr<const Program> program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunInstance>> idle_;
};

}  // namespace caudal::inline v0
