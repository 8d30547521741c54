#include "caudal/base/fault_env.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

namespace caudal {
namespace {

std::string content(Env& env, const std::string& path) { return env.exists(path) ? read_file(env, path) : "(none)"; }

TEST(FaultEnv, EveryCallOfAnAtomicWriteMayFail) {
  const TempDir dir;
  FaultEnv env(default_env());
  const std::string path = dir.file("f");
  write_file_atomically(env, path, "old");
  for (const Fault fault : {Fault::kNoSpace, Fault::kIo, Fault::kShortWrite}) {
    int failures = 0;
    while (true) {
      env.fail_at(failures, fault);
      bool thrown = false;
      try {
        write_file_atomically(env, path, "new content");
      } catch (const Error& error) {
        thrown = true;
        EXPECT_EQ(error.code(), fault == Fault::kIo ? Code::kUnknown : Code::kResourceExhausted) << error.what();
      }
      const bool happened = env.fault_happened();
      EXPECT_EQ(thrown, happened);
      const std::string now = content(env, path);
      EXPECT_TRUE(now == "old" || now == "new content") << now;
      if (!happened) break;
      ++failures;
    }
    EXPECT_EQ(failures, 6) << "create, append, sync, close, rename, sync_dir";
    EXPECT_EQ(default_env().list(dir.path()), (std::vector<std::string>{"f"})) << "no temporary file stays";
    write_file_atomically(env, path, "old");
  }
}

TEST(FaultEnv, CrashKeepsWhatWasSynced) {
  const TempDir dir;
  FaultEnv env(default_env());
  const auto file = env.create(dir.file("log"));
  file->append("synced");
  file->sync();
  file->append(" lost");
  file->flush();
  env.sync_dir(dir.path());
  env.crash(Survivors::kNone);
  EXPECT_EQ(content(env, dir.file("log")), "synced");
  EXPECT_THROW(file->append("more"), Error) << "the file died with the machine";
}

TEST(FaultEnv, UnsyncedNamesMayBeLost) {
  const TempDir dir;
  const std::string path = dir.file("f");
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    FaultEnv env(default_env());
    write_file_atomically(env, path, "old");
    // Neither synced data nor a synced directory: the classic mistake.
    const auto file = env.create(dir.file("tmp"));
    file->append("new");
    file->close();
    env.rename(dir.file("tmp"), path);
    EXPECT_EQ(content(env, path), "new");
    env.crash(Survivors::kSome, seed);
    outcomes.insert(content(env, path));
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"", "old"})) << "an empty file is what careless programs find";
}

TEST(FaultEnv, AtomicWriteSurvivesEveryCrash) {
  const TempDir dir;
  const std::string path = dir.file("f");
  for (int64_t at = 0; at < 7; ++at) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      for (const Survivors survivors : {Survivors::kNone, Survivors::kSome, Survivors::kAll}) {
        FaultEnv env(default_env());
        write_file_atomically(env, path, "old");
        env.fail_at(at, Fault::kShortWrite);
        try {
          write_file_atomically(env, path, "new");
        } catch (const Error&) {
        }
        const bool finished = !env.fault_happened();
        env.crash(survivors, seed);
        const std::string now = content(env, path);
        EXPECT_TRUE(now == "new" || (now == "old" && !finished)) << now << " after failure at call " << at;
      }
    }
  }
}

TEST(FaultEnv, FailsTheChosenKind) {
  const TempDir dir;
  FaultEnv env(default_env());
  write_file_atomically(env, dir.file("f"), "abc");
  env.fail_at(FileOp::kRead, 0, Fault::kIo);
  EXPECT_THROW(read_file(env, dir.file("f")), Error);
  EXPECT_TRUE(env.fault_happened());
  EXPECT_EQ(read_file(env, dir.file("f")), "abc");
  EXPECT_EQ(env.calls(FileOp::kRename), 1);
}

TEST(CountingEnv, CanKillTheProcessAtACall) {
  const TempDir dir;
  const std::string path = dir.file("f");
  write_file_atomically(default_env(), path, "old");
  CountingEnv counting(default_env());
  write_file_atomically(counting, path, "old");
  for (int64_t at = 0; at < counting.count(); ++at) {
    const pid_t child = fork();
    if (child == 0) {
      CountingEnv env(default_env(), [at](int64_t index, FileOp, const std::string&) {
        if (index == at) kill(getpid(), SIGKILL);
      });
      write_file_atomically(env, path, "new");
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const bool renamed = at == counting.count() - 1;  // only sync_dir is left
    EXPECT_EQ(content(default_env(), path), renamed ? "new" : "old") << "killed before call " << at;
  }
}

}  // namespace
}  // namespace caudal
