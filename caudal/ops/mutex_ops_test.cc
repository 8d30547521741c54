#include "caudal/ops/mutex_ops.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/variable.h"
#include "caudal/ops/variable_ops.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

class MutexOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

// Reading and writing back loses updates unless nobody comes between.
TEST_F(MutexOps, SectionsExcludeEachOther) {
  constexpr int kThreads = 4, kSteps = 50;
  const Variable v(0, {.use_resource = true});
  const Output lock = raw_ops::mutex_lock(raw_ops::mutex_v2({.shared_name = "m"}));
  Output read;
  {
    const ControlDependencies locked({Operation(lock)});
    read = v.read_value();
  }
  const Operation write = raw_ops::assign_variable_op(v.handle(), read + 1, int32);
  Operation unlock;
  {
    const ControlDependencies written({write});
    unlock = raw_ops::consume_mutex_lock(lock);
  }
  Session session;
  session.run(v.initializer());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kSteps; ++k) session.run(unlock);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(session.run(v).item<int>(), kThreads * kSteps);
}

// In one step.
TEST_F(MutexOps, SectionsOfOneStepTakeTurns) {
  const Variable v(0, {.use_resource = true});
  const Output mutex = raw_ops::mutex_v2({.shared_name = "m"});
  Fetches all;
  for (int i = 0; i < 20; ++i) {
    const Output lock = raw_ops::mutex_lock(mutex);
    Output read;
    {
      const ControlDependencies locked({Operation(lock)});
      read = v.read_value();
    }
    const ControlDependencies written({raw_ops::assign_variable_op(v.handle(), read + 1, int32)});
    all.emplace_back(raw_ops::consume_mutex_lock(lock));
  }
  Session session;
  session.run(v.initializer());
  RunOptions options;
  options.timeout_ms = 20000;
  session.run(all, {}, options);
  EXPECT_EQ(session.run(v).item<int>(), 20);
}

TEST_F(MutexOps, LocksEndWithTheirStep) {
  const Output mutex = raw_ops::mutex_v2();
  const Output lock = raw_ops::mutex_lock(mutex);
  Output failing;
  {
    const ControlDependencies locked({Operation(lock)});
    failing = OpBuilder("FloorDiv", {}).input(constant(1)).input(placeholder(int32, PartialShape::scalar())).build();
  }
  Session session;
  const Output divisor = failing.node()->input(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(session.run(failing, {{divisor, Tensor(0)}}), Error);
    session.run(Operation(lock));  // never consumed
  }
}

TEST_F(MutexOps, WaitersAreCancelled) {
  const Output mutex = raw_ops::mutex_v2({.shared_name = "m"});
  const Output first = raw_ops::mutex_lock(mutex);
  Output second;
  {
    const ControlDependencies locked({Operation(first)});
    second = raw_ops::mutex_lock(mutex);
  }
  const ControlDependencies both({Operation(second)});
  const Operation never = raw_ops::consume_mutex_lock(first);
  Session session;
  RunOptions options;
  options.timeout_ms = 50;
  try {
    session.run(Fetches{never}, {}, options);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
  }
}

TEST_F(MutexOps, OnlyLocksAreConsumed) {
  const Output other = placeholder(variant, PartialShape::scalar());
  const Operation consume = raw_ops::consume_mutex_lock(other);
  Session session;
  try {
    session.run(Fetches{consume}, {{other, Tensor::scalar(Variant())}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("SharedLockReleaser"), std::string::npos) << error.what();
  }
}

CAUDAL_OP_SAMPLES(MutexV2) { samples.covered_by("MutexOps.SectionsExcludeEachOther"); }
CAUDAL_OP_SAMPLES(MutexLock) { samples.covered_by("MutexOps.WaitersAreCancelled"); }
CAUDAL_OP_SAMPLES(ConsumeMutexLock) { samples.covered_by("MutexOps.SectionsExcludeEachOther"); }

}  // namespace
}  // namespace caudal
