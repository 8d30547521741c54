// Saving on a file system that fails and on one that loses power: each call of a save fails once in each way; each may
// be the last one before the power goes. The checkpoint before stays readable, and the error names a file.
#include <cstdlib>

#include "caudal/base/env.h"
#include "caudal/base/fault_env.h"
#include "gate_checkpoint.h"

namespace caudal {
namespace {

// Sanitizers take every third call, of each way another third.
std::int64_t stride() { return std::getenv("CAUDAL_SANITIZED") != nullptr ? 3 : 1; }

constexpr Fault kFaults[] = {Fault::kNoSpace, Fault::kIo, Fault::kShortWrite};

// `numbered`: "model.ckpt-1", "model.ckpt-2"; else the second checkpoint overwrites the first.
class GateFault : public ::testing::TestWithParam<bool> {
 protected:
  // Calls that change the file system in the second save.
  static std::int64_t calls_of_a_save() {
    FaultEnv env(default_env());
    const TempDir directory;
    gate::SteppedModel model(&env);
    advance_and_save(model, directory);
    const std::int64_t before = env.mutating_calls();
    advance_and_save(model, directory);
    return env.mutating_calls() - before;
  }

  static void advance_and_save(gate::SteppedModel& model, const TempDir& directory) {
    model.advance();
    model.save(directory.file("model.ckpt"), GetParam());
  }

  // The newest checkpoint is complete and of step `least` or the one after; returns its step.
  static std::int64_t check_latest(const TempDir& directory, std::int64_t least) {
    gate::SteppedModel reader;
    const std::string latest = train::latest_checkpoint(directory.path());
    EXPECT_FALSE(latest.empty());
    if (latest.empty()) return -1;
    // An overwritten checkpoint may be without its sidecar for a moment, never with another's.
    const std::int64_t step = reader.restore(latest, /*state_needed=*/GetParam());
    EXPECT_GE(step, least);
    EXPECT_LE(step, least + 1);
    return step;
  }
};

TEST_P(GateFault, EachCallFailsOnceInEachWay) {
  const std::int64_t calls = calls_of_a_save();
  ASSERT_GE(calls, 20);
  int failed = 0;
  for (const Fault fault : kFaults) {
    for (std::int64_t n = static_cast<std::int64_t>(fault) % stride(); n < calls; n += stride()) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " at call " << n);
      FaultEnv env(default_env());
      const TempDir directory;
      gate::SteppedModel model(&env);
      advance_and_save(model, directory);
      env.fail_at(n, fault);
      bool saved = true;
      try {
        advance_and_save(model, directory);
      } catch (const Error& error) {
        saved = false;
        ++failed;
        EXPECT_EQ(error.code(), fault == Fault::kIo ? Code::kUnknown : Code::kResourceExhausted);
        EXPECT_NE(std::string(error.what()).find(directory.path()), std::string::npos) << error.what();
      }
      EXPECT_TRUE(env.fault_happened());
      const std::int64_t step = check_latest(directory, saved ? 2 : 1);
      EXPECT_LE(step, 2);
      // The process goes on: the disk has room again.
      advance_and_save(model, directory);
      EXPECT_EQ(check_latest(directory, 3), 3);
    }
  }
  EXPECT_GT(failed, static_cast<int>(calls / stride()));  // only a few calls may fail without harm
}

TEST_P(GateFault, ThePowerGoesAtEachCall) {
  const std::int64_t calls = calls_of_a_save();
  for (const Survivors survivors : {Survivors::kNone, Survivors::kSome, Survivors::kAll}) {
    for (std::int64_t n = static_cast<std::int64_t>(survivors) % stride(); n <= calls; n += stride()) {
      for (std::uint64_t seed = 0; seed < (survivors == Survivors::kSome ? 4U : 1U); ++seed) {
        SCOPED_TRACE(testing::Message() << "survivors " << static_cast<int>(survivors) << " at call " << n << ", seed "
                                        << seed);
        const TempDir directory;
        FaultEnv disk(default_env());
        std::int64_t dead_from = INT64_MAX;
        CountingEnv env(disk, [&](std::int64_t index, FileOp, const std::string& path) {
          if (index >= dead_from) throw file_error(EIO, "power", path);
        });
        gate::SteppedModel model(&env);
        advance_and_save(model, directory);
        dead_from = env.count() + n;
        bool saved = true;
        try {
          advance_and_save(model, directory);
        } catch (const Error&) {
          saved = false;
        }
        EXPECT_EQ(saved, n == calls);
        disk.crash(survivors, seed);
        check_latest(directory, saved ? 2 : 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Prefix, GateFault, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Fresh" : "Overwritten"; });

}  // namespace
}  // namespace caudal
