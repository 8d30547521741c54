#include "caudal/base/memory_env.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace caudal::inline v0 {

// Both kinds of reading. The content is copied at opening: a reader sees the file as it was then.
class MemoryEnv::Reader final : public SequentialFile, public RandomAccessFile {
 public:
  Reader(std::string path, std::string content) : path_(std::move(path)), content_(std::move(content)) {}
  size_t read(char* out, size_t size) override {
    const size_t got = read(at_, out, size);
    at_ += got;
    return got;
  }
  size_t read(uint64_t offset, char* out, size_t size) const override {
    if (offset >= content_.size()) return 0;
    const size_t got = std::min<size_t>(size, content_.size() - offset);
    std::memcpy(out, content_.data() + offset, got);
    return got;
  }
  uint64_t size() const override { return content_.size(); }
  std::optional<std::string_view> map() override { return content_; }
  const std::string& path() const override { return path_; }

 private:
  std::string path_, content_;
  size_t at_ = 0;
};

class MemoryEnv::Writer final : public WritableFile {
 public:
  Writer(MemoryEnv& env, Content content) : env_(env), content_(std::move(content)) {}
  void append(std::string_view data) override {
    const std::lock_guard lock(env_.mutex_);
    content_->append(data);
  }
  void flush() override {}
  void sync() override {}
  void close() override {}

 private:
  MemoryEnv& env_;
  Content content_;
};

// REQUIRES: the mutex is held.
MemoryEnv::Content MemoryEnv::find(const std::string& path, std::string_view what) {
  const auto found = files_.find(path);
  if (found == files_.end()) throw file_error(has_children(path) ? EISDIR : ENOENT, what, path);
  if (found->second == nullptr) throw file_error(EISDIR, what, path);
  return found->second;
}

bool MemoryEnv::has_children(const std::string& directory) const {
  const std::string start = join_path(directory, "");
  const auto next = files_.lower_bound(start);
  return next != files_.end() && next->first.starts_with(start);
}

// Makes the directory with all above it. REQUIRES: the mutex is held.
void MemoryEnv::add_directory(const std::string& directory) {
  const auto [found, fresh] = files_.try_emplace(directory, nullptr);
  if (found->second != nullptr) throw file_error(ENOTDIR, "make directory", directory);
  if (fresh && directory_of(directory) != directory) add_directory(directory_of(directory));
}

std::unique_ptr<SequentialFile> MemoryEnv::open_sequential(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return std::make_unique<Reader>(path, *find(path, "open"));
}

std::unique_ptr<RandomAccessFile> MemoryEnv::open_random_access(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return std::make_unique<Reader>(path, *find(path, "open"));
}

std::unique_ptr<WritableFile> MemoryEnv::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found != files_.end() && found->second == nullptr) throw file_error(EISDIR, "open", path);
  add_directory(directory_of(path));
  Content& content = files_[path];
  content = std::make_shared<std::string>();
  return std::make_unique<Writer>(*this, content);
}

std::unique_ptr<WritableFile> MemoryEnv::open_append(const std::string& path) {
  const std::lock_guard lock(mutex_);
  add_directory(directory_of(path));
  Content& content = files_[path];
  if (content == nullptr) content = std::make_shared<std::string>();
  return std::make_unique<Writer>(*this, content);
}

bool MemoryEnv::exists(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return files_.contains(path) || has_children(path);
}

bool MemoryEnv::is_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  return has_children(path) || (found != files_.end() && found->second == nullptr);
}

uint64_t MemoryEnv::file_size(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return find(path, "stat")->size();
}

std::vector<std::string> MemoryEnv::list(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (!files_.contains(directory) && !has_children(directory)) throw file_error(ENOENT, "list", directory);
  std::vector<std::string> names;
  const std::string start = join_path(directory, "");
  for (auto next = files_.lower_bound(start); next != files_.end() && next->first.starts_with(start); ++next) {
    const std::string name = next->first.substr(start.size(), next->first.find('/', start.size()) - start.size());
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void MemoryEnv::mkdirs(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  add_directory(directory);
}

void MemoryEnv::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (has_children(path)) throw file_error(ENOTEMPTY, "remove", path);
  if (files_.erase(path) == 0) throw file_error(ENOENT, "remove", path);
}

void MemoryEnv::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  Content content = find(from, "rename");
  add_directory(directory_of(to));
  files_.erase(from);
  files_[to] = std::move(content);
}

std::string MemoryEnv::make_temp_dir(const std::string& prefix) {
  const std::string path = internal::concat("/tmp/", prefix, '-', temp_dirs_++);
  mkdirs(path);
  return path;
}

int64_t MemoryEnv::now_micros() {
  const std::lock_guard lock(mutex_);
  return now_;
}

void MemoryEnv::sleep_micros(int64_t micros) {
  const std::lock_guard lock(mutex_);
  now_ += micros;
}

}  // namespace caudal::inline v0
