// Envs for tests: counting calls, making them fail, cutting the power.
//
//   FaultEnv env(default_env());
//   env.fail_at(n, Fault::kNoSpace);       // the n-th mutating call from now on, counted from 0
//   EXPECT_THROW(save(env, prefix), Error);
//   env.crash(Survivors::kSome, seed);     // what was not synced may be gone
//   EXPECT_NO_THROW(load(env, prefix));
//
// Thread safety: as every Env; the controls are for one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Calls that change the file system, followed by those that do not.
enum class FileOp { kCreate, kAppend, kFlush, kSync, kClose, kMkdirs, kRemove, kRename, kSyncDir, kOpen, kRead, kStat };
inline constexpr int kFileOps = 12;
CAUDAL_API std::string_view file_op_name(FileOp op);
inline bool is_mutating(FileOp op) { return op < FileOp::kOpen; }

// Forwards to another Env and tells a hook about each call before it is made. The hook may throw instead.
// Ownership: the base must outlive the wrapper.
class CAUDAL_API EnvWrapper : public Env {
 public:
  explicit EnvWrapper(Env& base) : base_(base) {}

  std::unique_ptr<SequentialFile> open_sequential(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random_access(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> open_append(const std::string& path) override;
  bool exists(const std::string& path) override;
  bool is_directory(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void mkdirs(const std::string& directory) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_dir(const std::string& directory) override;
  std::string make_temp_dir(const std::string& prefix) override { return base_.make_temp_dir(prefix); }
  int64_t now_micros() override { return base_.now_micros(); }
  void sleep_micros(int64_t micros) override { base_.sleep_micros(micros); }

  // Called before each call. `data` is what append() was given, empty otherwise. If `*failure` is set to an errno, the
  // base still gets as much of the data as the return value says, and then the call fails with it.
  virtual size_t before(FileOp op, const std::string& path, std::string_view data, int* failure) = 0;

  // Follows one file that is being written, under whatever name.
  class FileObserver {
   public:
    virtual ~FileObserver() = default;
    virtual bool usable() = 0;  // false: further calls fail with EIO
    virtual void appended(std::string_view data) = 0;
    virtual void synced() = 0;
  };

 protected:
  Env& base() { return base_; }
  // Runs the hook for a call without data.
  void check(FileOp op, const std::string& path);
  // Called once the base has opened a file for writing.
  virtual std::shared_ptr<FileObserver> observe(const std::string& /*path*/, bool /*truncated*/) { return nullptr; }

 private:
  Env& base_;
};

// Counts mutating calls and runs a callback before each, for instance one that kills the process at the n-th.
class CAUDAL_API CountingEnv final : public EnvWrapper {
 public:
  using Callback = std::function<void(int64_t index, FileOp op, const std::string& path)>;
  explicit CountingEnv(Env& base, Callback callback = nullptr) : EnvWrapper(base), callback_(std::move(callback)) {}

  // Mutating calls so far.
  int64_t count() const;
  size_t before(FileOp op, const std::string& path, std::string_view data, int* failure) override;

 private:
  Callback callback_;
  mutable std::mutex mutex_;
  int64_t count_ = 0;
};

enum class Fault {
  kNoSpace,     // ENOSPC; nothing is written
  kIo,          // EIO; nothing is written
  kShortWrite,  // half of the data is written, then ENOSPC
};

// What a power cut leaves of creations, renames and removals that no sync_dir() followed.
enum class Survivors {
  kNone,  // all are undone
  kSome,  // each survives or not, by the seed: renames may overtake each other
  kAll,   // all took place
};

// Fails chosen calls and simulates power cuts. Keeps the content of every file it touched in memory and
// plays the disk itself: the base is never synced. New directories count as durable at once.
class CAUDAL_API FaultEnv final : public EnvWrapper {
 public:
  explicit FaultEnv(Env& base) : EnvWrapper(base) {}

  // The n-th mutating call from now (0 = the next) fails once.
  void fail_at(int64_t n, Fault fault);
  // The n-th call of this kind from now fails once.
  void fail_at(FileOp op, int64_t n, Fault fault);
  // True if the planned fault has happened; withdraws it otherwise.
  bool fault_happened();
  // Calls so far, of one kind or of all mutating kinds.
  int64_t calls(FileOp op) const;
  int64_t mutating_calls() const;

  // Puts the files below as they could be after a power cut: content as of the last sync(), names as of the last
  // sync_dir() and `survivors`. Files still open are dead: their calls fail with EIO.
  void crash(Survivors survivors, uint64_t seed = 0);

  size_t before(FileOp op, const std::string& path, std::string_view data, int* failure) override;

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> open_append(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void sync_dir(const std::string& directory) override;

 protected:
  std::shared_ptr<FileObserver> observe(const std::string& path, bool truncated) override;

 private:
  struct Inode;
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  // A change of names: `name` stands for `inode` from then on, and `gone` for nothing; either may be empty.
  struct Change {
    std::string name;
    std::shared_ptr<Inode> inode;
    std::string gone;
  };

  void meet(const std::string& path);
  void change_names(Change change);
  static void apply(const Change& change, Names* names);

  mutable std::mutex mutex_;
  int64_t calls_[kFileOps] = {};
  int64_t mutating_ = 0;
  bool planned_ = false, happened_ = false, plan_any_ = false;
  FileOp plan_op_ = FileOp::kCreate;
  int64_t plan_left_ = 0;
  Fault plan_fault_ = Fault::kIo;

  std::set<std::string> met_;  // names whose state is tracked
  Names current_, durable_;    // as the program sees them; as the disk has them
  std::vector<Change> unsynced_;
};

}  // namespace caudal::inline v0
