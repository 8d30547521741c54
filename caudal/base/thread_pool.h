// Threads for data-parallel loops and independent tasks.
//
//   pool.parallel_for(n, 1024, [&](int64_t begin, int64_t end) { for (; begin < end; ++begin) y[begin] = f(x[begin]);
//   });
//
// A loop is cut on a grid that depends on (total, grain) only, never on the number of threads; chunks are taken in
// order by whichever thread is free, the caller included. A reduction that keeps one partial result per chunk and
// combines them in chunk order therefore gives the same bits with any number of threads:
//
//   std::vector<float> partial(ThreadPool::num_chunks(n, 4096));
//   pool.parallel_chunks(n, 4096, [&](int64_t chunk, int64_t begin, int64_t end) { partial[chunk] = sum(x, begin, end);
//   });
//
// Thread safety: all members may be called from any thread at any time, from inside a chunk or task too. Loops of
// several callers run side by side; a nested loop shares the idle threads, and its caller waits only for chunks that
// another thread is already running, so that nesting cannot deadlock. Cost: a loop allocates nothing and takes no lock.
// Idle threads spin for some microseconds after their last work and then sleep; they never spin where there are more
// threads than processors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/base/function_ref.h"

namespace caudal::inline v0 {

class CAUDAL_API ThreadPool {
 public:
  // num_threads counts the caller of a loop: 1 starts no thread and runs everything inline.
  // INVALID_ARGUMENT if it is below 1 or above 1024; RESOURCE_EXHAUSTED if the system refuses a thread.
  explicit ThreadPool(int num_threads);
  // Finishes the scheduled tasks. REQUIRES: no loop is running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Number of chunks of the grid: ceil(total / grain), at most 2^31 - 1 (beyond that the grain grows); 0 for an empty
  // range. A grain below 1 counts as 1.
  static int64_t num_chunks(int64_t total, int64_t grain);

  // Calls fn(begin, end) for every chunk of [0, total) and returns when all are done. If chunks throw, the exception of
  // the lowest one is rethrown here and chunks not yet begun are skipped.
  void parallel_for(int64_t total, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> fn);

  // The same with the chunk's index: fn(chunk, begin, end), 0 <= chunk < num_chunks(total, grain).
  void parallel_chunks(int64_t total, int64_t grain, FunctionRef<void(int64_t chunk, int64_t begin, int64_t end)> fn);

  // Runs `task` once on a thread of the pool; inline, before returning, if the pool has only the caller.
  // REQUIRES: the task does not throw.
  void schedule(std::function<void()> task);

 private:
  using ChunkFunction = FunctionRef<void(int64_t, int64_t, int64_t)>;

  // One running loop. Slots belong to the pool, so that a late look at a finished loop touches valid memory.
  struct alignas(64) Slot {
    // High half: generation of the slot; low half: chunks not yet taken. A chunk is taken by decrementing it, which
    // fails if the slot has been reused in between; only then may the plain members below be read.
    std::atomic<uint64_t> claim{0};
    std::atomic<uint32_t> pending{0};  // chunks not yet finished
    std::atomic<uint32_t> caller_sleeps{0};
    const ChunkFunction* fn = nullptr;
    int64_t total = 0, grain = 0, chunks = 0;
    std::mutex failure_mutex;
    int64_t failed_chunk = -1;
    std::exception_ptr failure;
  };
  static constexpr int kSlots = 64;

  int take_slot();
  void publish(int index, int64_t total, int64_t grain, int64_t chunks, const ChunkFunction& fn);
  void finish(int index);
  void run_chunks(Slot& slot);
  void run_chunk(Slot& slot, int64_t chunk);
  void wait_for_helpers(Slot& slot);
  void announce(int64_t pieces);
  bool run_something();
  bool run_task();
  void worker_main();

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<uint64_t> used_slots_{0};
  alignas(64) std::atomic<uint64_t> open_slots_{0};  // slots that may have chunks to take
  alignas(64) std::atomic<uint32_t> epoch_{0};       // changes whenever there is something new to do
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> queued_{0};
  std::mutex tasks_mutex_;
  std::deque<std::function<void()>> tasks_;
  int spin_rounds_ = 0;
  std::vector<std::thread> workers_;
};

// The pool of the process, made at first use and never destroyed: as many threads as processors that the process may
// use, or the number in the environment variable CAUDAL_NUM_THREADS.
CAUDAL_API ThreadPool& default_pool();

}  // namespace caudal::inline v0
