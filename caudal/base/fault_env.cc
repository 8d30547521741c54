#include "caudal/base/fault_env.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <utility>

namespace caudal::inline v0 {
namespace {

class HookedSequentialFile final : public SequentialFile {
 public:
  HookedSequentialFile(EnvWrapper& env, std::string path, std::unique_ptr<SequentialFile> base)
      : env_(env), path_(std::move(path)), base_(std::move(base)) {}
  size_t read(char* out, size_t size) override {
    int failure = 0;
    env_.before(FileOp::kRead, path_, {}, &failure);
    if (failure != 0) throw file_error(failure, "read", path_);
    return base_->read(out, size);
  }

 private:
  EnvWrapper& env_;
  std::string path_;
  std::unique_ptr<SequentialFile> base_;
};

class HookedRandomAccessFile final : public RandomAccessFile {
 public:
  HookedRandomAccessFile(EnvWrapper& env, std::unique_ptr<RandomAccessFile> base) : env_(env), base_(std::move(base)) {}
  uint64_t size() const override { return base_->size(); }
  const std::string& path() const override { return base_->path(); }
  size_t read(uint64_t offset, char* out, size_t size) const override {
    int failure = 0;
    env_.before(FileOp::kRead, path(), {}, &failure);
    if (failure != 0) throw file_error(failure, "read", path());
    return base_->read(offset, out, size);
  }
  // Reads of mapped memory could not be counted.
  std::optional<std::string_view> map() override { return std::nullopt; }

 private:
  EnvWrapper& env_;
  std::unique_ptr<RandomAccessFile> base_;
};

class HookedWritableFile final : public WritableFile {
 public:
  HookedWritableFile(EnvWrapper& env, std::string path, std::unique_ptr<WritableFile> base,
                     std::shared_ptr<EnvWrapper::FileObserver> observer)
      : env_(env), path_(std::move(path)), base_(std::move(base)), observer_(std::move(observer)) {}
  void append(std::string_view data) override {
    int failure = 0;
    const std::string_view allowed = data.substr(0, before(FileOp::kAppend, data, &failure));
    base_->append(allowed);
    if (observer_) observer_->appended(allowed);
    if (failure != 0) throw file_error(failure, "write", path_);
  }
  void flush() override {
    check(FileOp::kFlush);
    base_->flush();
  }
  void sync() override {
    check(FileOp::kSync);
    if (observer_ == nullptr) return base_->sync();
    base_->flush();  // the observer plays the disk: no need to wait for the real one
    observer_->synced();
  }
  void close() override {
    if (std::exchange(closed_, true)) return;
    check(FileOp::kClose);
    base_->close();
  }

 private:
  size_t before(FileOp op, std::string_view data, int* failure) {
    if (observer_ && !observer_->usable()) {
      *failure = EIO;
      return 0;
    }
    return env_.before(op, path_, data, failure);
  }
  void check(FileOp op) {
    int failure = 0;
    before(op, {}, &failure);
    if (failure != 0) throw file_error(failure, file_op_name(op), path_);
  }

  EnvWrapper& env_;
  std::string path_;
  std::unique_ptr<WritableFile> base_;
  std::shared_ptr<EnvWrapper::FileObserver> observer_;
  bool closed_ = false;
};

}  // namespace

std::string_view file_op_name(FileOp op) {
  static constexpr std::string_view kNames[kFileOps] = {"create",   "append",         "flush",  "sync",
                                                        "close",    "make directory", "remove", "rename",
                                                        "sync_dir", "open",           "read",   "stat"};
  return kNames[static_cast<int>(op)];
}

void EnvWrapper::check(FileOp op, const std::string& path) {
  int failure = 0;
  before(op, path, {}, &failure);
  if (failure != 0) throw file_error(failure, file_op_name(op), path);
}

std::unique_ptr<SequentialFile> EnvWrapper::open_sequential(const std::string& path) {
  check(FileOp::kOpen, path);
  return std::make_unique<HookedSequentialFile>(*this, path, base_.open_sequential(path));
}
std::unique_ptr<RandomAccessFile> EnvWrapper::open_random_access(const std::string& path) {
  check(FileOp::kOpen, path);
  return std::make_unique<HookedRandomAccessFile>(*this, base_.open_random_access(path));
}
std::unique_ptr<WritableFile> EnvWrapper::create(const std::string& path) {
  check(FileOp::kCreate, path);
  auto file = base_.create(path);
  return std::make_unique<HookedWritableFile>(*this, path, std::move(file), observe(path, true));
}
std::unique_ptr<WritableFile> EnvWrapper::open_append(const std::string& path) {
  check(FileOp::kCreate, path);
  auto file = base_.open_append(path);
  return std::make_unique<HookedWritableFile>(*this, path, std::move(file), observe(path, false));
}
bool EnvWrapper::exists(const std::string& path) {
  check(FileOp::kStat, path);
  return base_.exists(path);
}
bool EnvWrapper::is_directory(const std::string& path) {
  check(FileOp::kStat, path);
  return base_.is_directory(path);
}
uint64_t EnvWrapper::file_size(const std::string& path) {
  check(FileOp::kStat, path);
  return base_.file_size(path);
}
std::vector<std::string> EnvWrapper::list(const std::string& directory) {
  check(FileOp::kStat, directory);
  return base_.list(directory);
}
void EnvWrapper::mkdirs(const std::string& directory) {
  check(FileOp::kMkdirs, directory);
  base_.mkdirs(directory);
}
void EnvWrapper::remove(const std::string& path) {
  check(FileOp::kRemove, path);
  base_.remove(path);
}
void EnvWrapper::rename(const std::string& from, const std::string& to) {
  check(FileOp::kRename, from);
  base_.rename(from, to);
}
void EnvWrapper::sync_dir(const std::string& directory) {
  check(FileOp::kSyncDir, directory);
  base_.sync_dir(directory);
}

int64_t CountingEnv::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

size_t CountingEnv::before(FileOp op, const std::string& path, std::string_view data, int* /*failure*/) {
  if (!is_mutating(op)) return data.size();
  int64_t index;
  {
    const std::lock_guard lock(mutex_);
    index = count_++;
  }
  if (callback_) callback_(index, op, path);
  return data.size();
}

// What a name stands for; survives renames, as on a disk.
struct FaultEnv::Inode final : FileObserver {
  bool usable() override { return alive; }
  void appended(std::string_view data) override { content += data; }
  void synced() override { on_disk = content; }

  std::atomic<bool> alive = true;  // until the power is cut
  std::string content;             // as the program sees it
  std::string on_disk;             // as of the last sync
};

void FaultEnv::fail_at(int64_t n, Fault fault) {
  const std::lock_guard lock(mutex_);
  planned_ = plan_any_ = true;
  happened_ = false;
  plan_left_ = n;
  plan_fault_ = fault;
}

void FaultEnv::fail_at(FileOp op, int64_t n, Fault fault) {
  fail_at(n, fault);
  const std::lock_guard lock(mutex_);
  plan_any_ = false;
  plan_op_ = op;
}

bool FaultEnv::fault_happened() {
  const std::lock_guard lock(mutex_);
  planned_ = false;
  return happened_;
}

int64_t FaultEnv::calls(FileOp op) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<int>(op)];
}

int64_t FaultEnv::mutating_calls() const {
  const std::lock_guard lock(mutex_);
  return mutating_;
}

size_t FaultEnv::before(FileOp op, const std::string& /*path*/, std::string_view data, int* failure) {
  const std::lock_guard lock(mutex_);
  ++calls_[static_cast<int>(op)];
  if (is_mutating(op)) ++mutating_;
  const bool counts = planned_ && (plan_any_ ? is_mutating(op) : op == plan_op_);
  if (!counts || plan_left_-- > 0) return data.size();
  planned_ = false;
  happened_ = true;
  *failure = plan_fault_ == Fault::kIo ? EIO : ENOSPC;
  return plan_fault_ == Fault::kShortWrite ? data.size() / 2 : 0;
}

// Notes the state of a file that was there before: it is durable.
void FaultEnv::meet(const std::string& path) {
  if (!met_.insert(path).second || !base().exists(path) || base().is_directory(path)) return;
  auto inode = std::make_shared<Inode>();
  inode->content = inode->on_disk = read_file(base(), path);
  current_[path] = durable_[path] = std::move(inode);
}

void FaultEnv::apply(const Change& change, Names* names) {
  if (!change.gone.empty()) names->erase(change.gone);
  if (!change.name.empty()) (*names)[change.name] = change.inode;
}

void FaultEnv::change_names(Change change) {
  apply(change, &current_);
  unsynced_.push_back(std::move(change));
}

std::unique_ptr<WritableFile> FaultEnv::create(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    meet(path);
  }
  return EnvWrapper::create(path);
}

std::unique_ptr<WritableFile> FaultEnv::open_append(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    meet(path);
  }
  return EnvWrapper::open_append(path);
}

std::shared_ptr<EnvWrapper::FileObserver> FaultEnv::observe(const std::string& path, bool truncated) {
  const std::lock_guard lock(mutex_);
  if (!current_.contains(path)) change_names({path, std::make_shared<Inode>(), ""});
  if (truncated) current_[path]->content.clear();
  return current_[path];
}

void FaultEnv::remove(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    meet(path);
  }
  EnvWrapper::remove(path);
  const std::lock_guard lock(mutex_);
  if (current_.contains(path)) change_names({"", nullptr, path});
}

void FaultEnv::rename(const std::string& from, const std::string& to) {
  {
    const std::lock_guard lock(mutex_);
    meet(from);
    meet(to);
  }
  EnvWrapper::rename(from, to);
  const std::lock_guard lock(mutex_);
  if (const auto found = current_.find(from); found != current_.end()) change_names({to, found->second, from});
}

void FaultEnv::sync_dir(const std::string& directory) {
  check(FileOp::kSyncDir, directory);
  const std::lock_guard lock(mutex_);
  std::erase_if(unsynced_, [&](const Change& change) {
    if (directory_of(change.name.empty() ? change.gone : change.name) != directory) return false;
    apply(change, &durable_);
    return true;
  });
}

void FaultEnv::crash(Survivors survivors, uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 coin(seed);
  for (const Change& change : unsynced_)
    if (survivors == Survivors::kAll || (survivors == Survivors::kSome && coin() % 2 == 0)) apply(change, &durable_);
  for (const auto& [path, inode] : current_) inode->alive = false;
  for (const std::string& path : met_)
    if (base().exists(path) && !base().is_directory(path)) base().remove(path);
  for (const auto& [path, inode] : durable_) {
    const auto file = base().create(path);
    file->append(inode->on_disk);
    file->close();
  }
  met_.clear();
  current_.clear();
  durable_.clear();
  unsynced_.clear();
}

}  // namespace caudal::inline v0
