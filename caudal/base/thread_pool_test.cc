#include "caudal/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "caudal/base/error.h"

namespace caudal {
namespace {

TEST(FunctionRef, CallsLambdasAndFunctions) {
  int calls = 0;
  auto add = [&calls](int by) { return calls += by; };
  const FunctionRef<int(int)> ref = add;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(ref(3), 5);
  const FunctionRef<int(int)> plain = +[](int x) { return x * 2; };
  (void)plain;
  const FunctionRef<std::string(int)> to_string = static_cast<std::string (&)(int)>(std::to_string);
  EXPECT_EQ(to_string(7), "7");
}

TEST(ThreadPool, GridDependsOnRangeAndGrainOnly) {
  EXPECT_EQ(ThreadPool::num_chunks(0, 8), 0);
  EXPECT_EQ(ThreadPool::num_chunks(-5, 8), 0);
  EXPECT_EQ(ThreadPool::num_chunks(16, 8), 2);
  EXPECT_EQ(ThreadPool::num_chunks(17, 8), 3);
  EXPECT_EQ(ThreadPool::num_chunks(17, 0), 17);
  EXPECT_LE(ThreadPool::num_chunks(INT64_MAX, 1), INT32_MAX);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<int64_t> begins(3, -1), ends(3, -1);
    pool.parallel_chunks(17, 8, [&](int64_t chunk, int64_t begin, int64_t end) {
      begins[chunk] = begin;
      ends[chunk] = end;
    });
    EXPECT_EQ(begins, (std::vector<int64_t>{0, 8, 16}));
    EXPECT_EQ(ends, (std::vector<int64_t>{8, 16, 17}));
  }
}

TEST(ThreadPool, RunsEveryElementOnce) {
  ThreadPool pool(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::atomic<int>> seen(1 + round * 7 % 300);
    pool.parallel_for(static_cast<int64_t>(seen.size()), 1 + round % 9, [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) seen[begin].fetch_add(1, std::memory_order_relaxed);
    });
    for (auto& count : seen) ASSERT_EQ(count.load(), 1) << "round " << round;
  }
}

TEST(ThreadPool, RethrowsTheLowestFailure) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 100; ++round) {
      try {
        pool.parallel_for(64, 1, [](int64_t begin, int64_t) {
          if (begin % 10 == 7) throw std::runtime_error(std::to_string(begin));
        });
        FAIL() << "nothing thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "7");
      }
      std::atomic<int> count = 0;
      pool.parallel_for(64, 1, [&](int64_t, int64_t) { ++count; });
      ASSERT_EQ(count, 64) << "the pool must stay usable";
    }
  }
}

TEST(ThreadPool, NestedLoopsAndManyCallers) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        pool.parallel_for(8, 1, [&](int64_t outer, int64_t) {
          pool.parallel_for(10, 3, [&](int64_t begin, int64_t end) {
            for (; begin < end; ++begin) sum.fetch_add(outer * 10 + begin, std::memory_order_relaxed);
          });
        });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, int64_t{4 * 50} * (79 * 80 / 2));
}

TEST(ThreadPool, MoreLoopsThanSlotsRunInline) {
  ThreadPool pool(2);
  // Each level holds one slot: 100 levels exceed the 64 slots.
  std::function<int(int)> deep = [&](int level) -> int {
    if (level == 0) return 1;
    std::atomic<int> sum = 0;
    pool.parallel_for(2, 1, [&](int64_t begin, int64_t) { sum += begin == 0 ? deep(level - 1) : 1; });
    return sum;
  };
  EXPECT_EQ(deep(100), 101);
}

TEST(ThreadPool, ChunkedSumIsTheSameForAnyThreadCount) {
  std::vector<float> x(100'000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
  const auto sum = [&](ThreadPool& pool) {
    const int64_t n = static_cast<int64_t>(x.size());
    std::vector<float> partial(ThreadPool::num_chunks(n, 1000));
    pool.parallel_chunks(n, 1000, [&](int64_t chunk, int64_t begin, int64_t end) {
      partial[chunk] = std::accumulate(x.begin() + begin, x.begin() + end, 0.0f);
    });
    return std::accumulate(partial.begin(), partial.end(), 0.0f);
  };
  ThreadPool one(1), two(2), seven(7);
  const float expected = sum(one);
  EXPECT_EQ(sum(two), expected);
  EXPECT_EQ(sum(seven), expected);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // beyond the spinning
    // The chunks wait for each other: only another thread that woke up can end this.
    std::atomic<int> arrived = 0;
    pool.parallel_for(2, 1, [&](int64_t, int64_t) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 2);
  }
}

TEST(ThreadPool, ScheduledTasksAllRun) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 200; ++i) pool.schedule([&] { pool.parallel_for(4, 1, [&](int64_t, int64_t) { ++done; }); });
  }
  EXPECT_EQ(done, 800);
  ThreadPool alone(1);
  alone.schedule([&] { done = -1; });
  EXPECT_EQ(done, -1) << "a pool of one runs the task at once";
}

TEST(ThreadPool, RefusesImpossibleSizes) {
  for (const int threads : {0, -1, 1025}) {
    try {
      ThreadPool pool(threads);
      FAIL() << threads;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace caudal
