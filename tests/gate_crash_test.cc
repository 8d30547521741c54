// Checkpoints of a process that is killed with SIGKILL 200 times while it saves, over and over in one directory.
//
// The child is this test program itself, told by an environment variable: it restores the newest checkpoint and goes on
// saving. A CountingEnv kills it at a chosen call of a save; others are killed by the parent at a random time.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "caudal/base/env.h"
#include "caudal/base/fault_env.h"
#include "caudal/base/strings.h"
#include "gate_checkpoint.h"

extern char** environ;

namespace caudal {
namespace {

constexpr char kChildVariable[] = "CAUDAL_CRASH_CHILD";  // "<call to die at> <directory>"
constexpr char kSaved = 's', kDiesWhileWriting = 'w', kDiesElsewhere = 'e';

void tell(char what) {
  if (write(STDOUT_FILENO, &what, 1) != 1) _exit(3);
}

// From the first byte of a checkpoint until its index has its name.
class Window {
 public:
  void note(FileOp op, const std::string& path) {
    if (op == FileOp::kAppend && path.find(".data-") != std::string::npos) open_ = true;
    if (indexed_) open_ = indexed_ = false;
    if (op == FileOp::kRename && path.find(".index.") != std::string::npos) indexed_ = true;
  }
  bool is_open() const { return open_; }

 private:
  bool open_ = false, indexed_ = false;
};

// Saves until it is killed: before call number `die_at` within the window of a save if that is not negative, else
// before call number -die_at - 1 of all.
[[noreturn]] void run_child(std::int64_t die_at, const std::string& directory) {
  Window window;
  std::int64_t in_window = 0;
  CountingEnv env(default_env(), [&](std::int64_t index, FileOp op, const std::string& path) {
    window.note(op, path);
    const bool now = die_at >= 0 ? window.is_open() && in_window++ == die_at : index == -die_at - 1;
    if (!now) return;
    tell(window.is_open() ? kDiesWhileWriting : kDiesElsewhere);
    kill(getpid(), SIGKILL);
  });
  gate::SteppedModel model(&env);
  if (const std::string latest = train::latest_checkpoint(directory); !latest.empty()) model.restore(latest);
  while (true) {
    model.advance();
    model.save(directory + "/model.ckpt");
    tell(kSaved);
  }
}

// Turns this process into the child before any test runs, if it is told to be one.
class ChildMode final : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* task = std::getenv(kChildVariable);
    if (task == nullptr) return;
    char* directory = nullptr;
    const std::int64_t die_at = std::strtoll(task, &directory, 10);
    try {
      run_child(die_at, directory + 1);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(2);
  }
};
const auto* const child_mode = ::testing::AddGlobalTestEnvironment(new ChildMode);

struct Child {
  pid_t pid = -1;
  int output = -1;
};

Child start_child(std::int64_t die_at, const std::string& directory) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw internal_error("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::string task = internal::concat(kChildVariable, "=", die_at, " ", directory);
  std::vector<char*> environment = {const_cast<char*>(task.c_str())};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  // The quiet listener: standard output is ours.
  const char* const words[] = {"child", "--gtest_filter=GateCrash.*", "--gtest_brief=1", nullptr};
  Child child;
  const int failed =
      posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, const_cast<char* const*>(words), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) throw internal_error("posix_spawn");
  child.output = ends[0];
  return child;
}

// Reads what the child tells until it is dead. REQUIRES: somebody kills it.
std::string wait_for(const Child& child) {
  std::string told;
  char buffer[256];
  for (ssize_t got; (got = read(child.output, buffer, sizeof buffer)) > 0;) told.append(buffer, buffer + got);
  close(child.output);
  int status = 0;
  waitpid(child.pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  return told;
}

class GateCrash : public ::testing::Test {
 protected:
  // Runs a child to its death and checks what it left.
  void kill_at(std::int64_t die_at) { check(wait_for(start_child(die_at, directory_.path()))); }

  void kill_after(std::int64_t micros) {
    const Child child = start_child(-1'000'000'000, directory_.path());
    char first = 0;  // its first save is complete: from here on it only saves
    ASSERT_EQ(read(child.output, &first, 1), 1);
    ASSERT_EQ(first, kSaved);
    default_env().sleep_micros(micros);
    kill(child.pid, SIGKILL);
    check(first + wait_for(child));
  }

  void check(const std::string& told) {
    ++kills_;
    if (told.ends_with(kDiesWhileWriting)) ++kills_while_writing_;
    complete_ += std::ranges::count(told, kSaved);
    const std::string latest = train::latest_checkpoint(directory_.path());
    if (complete_ == 0 && latest.empty()) return;
    ASSERT_FALSE(latest.empty());
    const std::int64_t step = model_.restore(latest);
    // What was reported as saved is there; the one in progress may be.
    ASSERT_GE(step, complete_);
    ASSERT_LE(step, complete_ + 1);
    complete_ = step;
    // A reader never meets half a checkpoint: what has an index can be restored.
    for (const std::string& name : default_env().list(directory_.path())) {
      if (!name.ends_with(".index")) continue;
      model_.restore(directory_.file(name.substr(0, name.size() - 6)), /*state_needed=*/false);
    }
  }

  TempDir directory_;
  gate::SteppedModel model_;
  std::int64_t complete_ = 0;
  int kills_ = 0, kills_while_writing_ = 0;
};

TEST_F(GateCrash, TwoHundredKillsLeaveAReadableLatestCheckpoint) {
  // How many calls a save makes while its checkpoint has no name yet, and how many in all.
  Window window;
  std::int64_t in_window = 0;
  CountingEnv env(default_env(), [&](std::int64_t, FileOp op, const std::string& path) {
    window.note(op, path);
    if (window.is_open()) ++in_window;
  });
  {
    const TempDir other;
    gate::SteppedModel model(&env);
    model.save(other.file("model.ckpt"));
  }
  ASSERT_GE(in_window, 8);

  std::mt19937 random(5);
  for (int i = 0; i < 110; ++i) kill_at(i % (2 * in_window));  // in the first save and in the second
  for (int i = 0; i < 50; ++i) kill_at(-1 - static_cast<std::int64_t>(random() % (3 * env.count())));
  for (int i = 0; i < 40; ++i) kill_after(static_cast<std::int64_t>(random() % 20000));
  EXPECT_EQ(kills_, 200);
  EXPECT_GE(kills_while_writing_, 100);
  RecordProperty("kills_while_writing", kills_while_writing_);

  // The next save clears away what the killed ones left, and keeps no more than it should.
  model_.advance();
  model_.save(directory_.file("model.ckpt"));
  for (const std::string& name : default_env().list(directory_.path())) {
    EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
    EXPECT_EQ(name.find(".tempstate"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace caudal
