#include "caudal/base/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0 {
namespace {

// About 20 to 60 microseconds, as `pause` takes 40 to 140 cycles: longer than the gap between two loops of one step,
// far shorter than a time slice.
constexpr int kSpinRounds = 2000;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

struct Grid {
  int64_t grain, chunks;
};

Grid grid_of(int64_t total, int64_t grain) {
  if (total <= 0) return {1, 0};
  grain = std::max({grain, int64_t{1}, (total - 1) / INT32_MAX + 1});
  return {grain, (total - 1) / grain + 1};
}

int threads_of_process() {
  if (const char* text = std::getenv("CAUDAL_NUM_THREADS"); text != nullptr && *text != '\0') {
    int number = 0;
    const auto [end, code] = std::from_chars(text, text + std::strlen(text), number);
    if (code != std::errc() || *end != '\0' || number < 1 || number > 1024)
      throw invalid_argument("CAUDAL_NUM_THREADS is '", text, "', not a number from 1 to 1024");
    return number;
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 1024);
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  if (num_threads < 1 || num_threads > 1024)
    throw invalid_argument("a thread pool needs 1 to 1024 threads, not ", num_threads);
  if (num_threads <= static_cast<int>(std::thread::hardware_concurrency())) spin_rounds_ = kSpinRounds;
  workers_.reserve(num_threads - 1);
  try {
    for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { worker_main(); });
  } catch (const std::system_error& failure) {
    const size_t started = workers_.size();
    stop_ = true;
    announce(INT_MAX);
    for (std::thread& worker : workers_) worker.join();
    throw resource_exhausted("could not start thread ", started + 1, " of ", num_threads - 1, ": ", failure.what());
  }
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  announce(INT_MAX);
  for (std::thread& worker : workers_) worker.join();
}

int64_t ThreadPool::num_chunks(int64_t total, int64_t grain) { return grid_of(total, grain).chunks; }

void ThreadPool::parallel_for(int64_t total, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  parallel_chunks(total, grain, [fn](int64_t, int64_t begin, int64_t end) { fn(begin, end); });
}

void ThreadPool::parallel_chunks(int64_t total, int64_t grain, ChunkFunction fn) {
  const Grid grid = grid_of(total, grain);
  const int index = grid.chunks > 1 && !workers_.empty() ? take_slot() : -1;
  if (index < 0) {
    for (int64_t chunk = 0; chunk < grid.chunks; ++chunk) {
      const int64_t begin = chunk * grid.grain;
      fn(chunk, begin, begin + std::min(grid.grain, total - begin));
    }
    return;
  }
  publish(index, total, grid.grain, grid.chunks, fn);
  run_chunks(slots_[index]);
  open_slots_.fetch_and(~(uint64_t{1} << index), std::memory_order_relaxed);
  wait_for_helpers(slots_[index]);
  finish(index);
}

// A free slot, or -1 if 64 loops are running already.
int ThreadPool::take_slot() {
  uint64_t used = used_slots_.load(std::memory_order_relaxed);
  while (~used != 0) {
    const int index = std::countr_one(used);
    if (used_slots_.compare_exchange_weak(used, used | (uint64_t{1} << index), std::memory_order_acquire)) return index;
  }
  return -1;
}

void ThreadPool::publish(int index, int64_t total, int64_t grain, int64_t chunks, const ChunkFunction& fn) {
  Slot& slot = slots_[index];
  slot.fn = &fn;
  slot.total = total;
  slot.grain = grain;
  slot.chunks = chunks;
  slot.pending.store(static_cast<uint32_t>(chunks), std::memory_order_relaxed);
  const uint64_t generation = (slot.claim.load(std::memory_order_relaxed) >> 32) + 1;
  slot.claim.store((generation << 32) | static_cast<uint64_t>(chunks), std::memory_order_release);
  open_slots_.fetch_or(uint64_t{1} << index, std::memory_order_release);
  announce(chunks - 1);
}

// Frees the slot and rethrows what a chunk threw.
void ThreadPool::finish(int index) {
  Slot& slot = slots_[index];
  std::exception_ptr failure;
  if (slot.failed_chunk >= 0) {
    failure = std::exchange(slot.failure, nullptr);
    slot.failed_chunk = -1;
  }
  used_slots_.fetch_and(~(uint64_t{1} << index), std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

void ThreadPool::run_chunks(Slot& slot) {
  uint64_t claim = slot.claim.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(claim) != 0) {
    if (!slot.claim.compare_exchange_weak(claim, claim - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    run_chunk(slot, slot.chunks - static_cast<uint32_t>(claim));
    claim = slot.claim.load(std::memory_order_acquire);
  }
}

void ThreadPool::run_chunk(Slot& slot, int64_t chunk) {
  uint32_t finished = 1;
  try {
    const int64_t begin = chunk * slot.grain;
    (*slot.fn)(chunk, begin, begin + std::min(slot.grain, slot.total - begin));
  } catch (...) {
    {
      const std::lock_guard lock(slot.failure_mutex);
      if (slot.failed_chunk < 0 || chunk < slot.failed_chunk) {
        slot.failed_chunk = chunk;
        slot.failure = std::current_exception();
      }
    }
    // Chunks are taken in order: all below this one are running or done, so that the lowest failure is still found.
    uint64_t claim = slot.claim.load(std::memory_order_relaxed);
    while (!slot.claim.compare_exchange_weak(claim, claim & ~uint64_t{UINT32_MAX}, std::memory_order_acq_rel)) {
    }
    finished += static_cast<uint32_t>(claim);
  }
  // Sequentially consistent, as is the caller's side: either it sees the 0 or we see that it sleeps.
  if (slot.pending.fetch_sub(finished) == finished && slot.caller_sleeps.load() != 0) futex_wake(slot.pending, INT_MAX);
}

void ThreadPool::wait_for_helpers(Slot& slot) {
  for (int round = 0; round < spin_rounds_; ++round) {
    if (slot.pending.load(std::memory_order_acquire) == 0) return;
    _mm_pause();
  }
  slot.caller_sleeps.store(1);
  for (uint32_t left = slot.pending.load(); left != 0; left = slot.pending.load()) futex_wait(slot.pending, left);
  slot.caller_sleeps.store(0, std::memory_order_relaxed);
}

// Tells the workers about `pieces` new pieces of work; wakes no more sleepers than that.
void ThreadPool::announce(int64_t pieces) {
  // Sequentially consistent, as is the worker's side: either it sees the new epoch or we see it sleep.
  epoch_.fetch_add(1);
  const int sleepers = sleepers_.load();
  if (sleepers > 0) futex_wake(epoch_, static_cast<int>(std::min<int64_t>(pieces, sleepers)));
}

void ThreadPool::schedule(std::function<void()> task) {
  if (workers_.empty()) {
    task();
    return;
  }
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks_.push_back(std::move(task));
  }
  queued_.fetch_add(1, std::memory_order_release);
  announce(1);
}

bool ThreadPool::run_task() {
  if (queued_.load(std::memory_order_acquire) <= 0) return false;
  std::function<void()> task;
  {
    const std::lock_guard lock(tasks_mutex_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  queued_.fetch_sub(1, std::memory_order_relaxed);
  task();
  return true;
}

bool ThreadPool::run_something() {
  bool found = false;
  for (uint64_t open = open_slots_.load(std::memory_order_acquire); open != 0; open &= open - 1) {
    Slot& slot = slots_[std::countr_zero(open)];
    if (static_cast<uint32_t>(slot.claim.load(std::memory_order_relaxed)) == 0) continue;
    run_chunks(slot);
    found = true;
  }
  return run_task() || found;
}

void ThreadPool::worker_main() {
  while (true) {
    const uint32_t epoch = epoch_.load();
    if (run_something()) continue;
    if (stop_.load()) return;
    for (int round = 0; round < spin_rounds_ && epoch_.load(std::memory_order_relaxed) == epoch; ++round) _mm_pause();
    if (epoch_.load() != epoch) continue;
    sleepers_.fetch_add(1);
    futex_wait(epoch_, epoch);
    sleepers_.fetch_sub(1);
  }
}

ThreadPool& default_pool() {
  static ThreadPool& pool = *new ThreadPool(threads_of_process());
  return pool;
}

}  // namespace caudal::inline v0
