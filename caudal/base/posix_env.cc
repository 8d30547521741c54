#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "caudal/base/env.h"

namespace caudal::inline v0 {
namespace {

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : path_(path), number_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) throw file_error(errno, "open", path);
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  const std::string& path() const { return path_; }

  struct stat status() const {
    struct stat out {};
    if (fstat(number_, &out) != 0) throw file_error(errno, "stat", path_);
    return out;
  }
  // open() takes directories for reading; only read() fails, which would come late.
  void refuse_directory() const {
    if (S_ISDIR(status().st_mode)) throw file_error(EISDIR, "open", path_);
  }
  void close() {
    const int number = std::exchange(number_, -1);
    if (number >= 0 && ::close(number) != 0 && errno != EINTR) throw file_error(errno, "close", path_);
  }

 private:
  std::string path_;
  int number_;
};

class PosixSequentialFile final : public SequentialFile {
 public:
  explicit PosixSequentialFile(const std::string& path) : file_(path, O_RDONLY) { file_.refuse_directory(); }
  size_t read(char* out, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = ::read(file_.number(), out + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw file_error(errno, "read", file_.path());
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  Descriptor file_;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  explicit PosixRandomAccessFile(const std::string& path) : file_(path, O_RDONLY) {
    file_.refuse_directory();
    size_ = static_cast<uint64_t>(file_.status().st_size);
  }
  ~PosixRandomAccessFile() override {
    if (mapping_ != nullptr) munmap(mapping_, size_);
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_.path(); }
  size_t read(uint64_t offset, char* out, size_t size) const override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = pread(file_.number(), out + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw file_error(errno, "read", file_.path());
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }
  std::optional<std::string_view> map() override {
    const std::lock_guard lock(mutex_);
    if (size_ == 0) return std::string_view();
    if (mapping_ == nullptr) {
      void* at = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_.number(), 0);
      if (at == MAP_FAILED) return std::nullopt;
      mapping_ = at;
    }
    return std::string_view(static_cast<const char*>(mapping_), size_);
  }

 private:
  Descriptor file_;
  uint64_t size_ = 0;
  std::mutex mutex_;
  void* mapping_ = nullptr;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(const std::string& path, int flags) : file_(path, O_WRONLY | O_CREAT | flags) {}
  ~PosixWritableFile() override {
    try {
      close();
    } catch (const Error&) {
      // Documented: only close() reports.
    }
  }
  void append(std::string_view data) override {
    if (buffer_.size() + data.size() <= kBufferSize) {
      buffer_ += data;
      return;
    }
    flush();
    if (data.size() >= kBufferSize) {
      write_all(data);
    } else {
      buffer_ += data;
    }
  }
  void flush() override {
    // Dropped even if writing fails: a second attempt would repeat the part that was written.
    const std::string pending = std::move(buffer_);
    buffer_.clear();
    write_all(pending);
  }
  void sync() override {
    flush();
    if (fdatasync(file_.number()) != 0) throw file_error(errno, "sync", file_.path());
  }
  void close() override {
    if (closed_) return;
    closed_ = true;
    flush();
    file_.close();
  }

 private:
  static constexpr size_t kBufferSize = 1 << 16;
  static constexpr off_t kStartWriting = 8 << 20;

  void write_all(std::string_view data) {
    while (!data.empty()) {
      const ssize_t put = ::write(file_.number(), data.data(), data.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) throw file_error(errno, "write", file_.path());
      data.remove_prefix(static_cast<size_t>(put));
      written_ += put;
    }
    // The disk starts early on what it will have to hold anyway, while the next bytes are made.
    if (written_ - started_ >= kStartWriting) {
      (void)sync_file_range(file_.number(), started_, written_ - started_, SYNC_FILE_RANGE_WRITE);  // only a hint
      started_ = written_;
    }
  }

  Descriptor file_;
  std::string buffer_;
  off_t written_ = 0, started_ = 0;  // by this object, and what of it the disk was told to write
  bool closed_ = false;
};

class PosixEnv final : public Env {
 public:
  std::unique_ptr<SequentialFile> open_sequential(const std::string& path) override {
    return std::make_unique<PosixSequentialFile>(path);
  }
  std::unique_ptr<RandomAccessFile> open_random_access(const std::string& path) override {
    return std::make_unique<PosixRandomAccessFile>(path);
  }
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_TRUNC);
  }
  std::unique_ptr<WritableFile> open_append(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_APPEND);
  }

  bool exists(const std::string& path) override {
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error(errno, "stat", path);
  }
  bool is_directory(const std::string& path) override {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  }
  uint64_t file_size(const std::string& path) override {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) throw file_error(errno, "stat", path);
    return static_cast<uint64_t>(status.st_size);
  }
  std::vector<std::string> list(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(directory.c_str()), closedir);
    if (stream == nullptr) throw file_error(errno, "list", directory);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) throw file_error(errno, "list", directory);
    std::sort(names.begin(), names.end());
    return names;
  }
  void mkdirs(const std::string& directory) override {
    if (directory.empty() || mkdir(directory.c_str(), 0777) == 0) return;
    if (errno == ENOENT && directory_of(directory) != directory) {
      mkdirs(directory_of(directory));
      if (mkdir(directory.c_str(), 0777) == 0) return;
    }
    const int number = errno;
    struct stat status {};
    if (number == EEXIST && stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
    throw file_error(number == EEXIST ? ENOTDIR : number, "make directory", directory);
  }
  void remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) throw file_error(errno, "remove", path);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) throw file_error(errno, "rename to " + to, from);
  }
  void sync_dir(const std::string& directory) override {
    const Descriptor descriptor(directory, O_RDONLY | O_DIRECTORY);
    // Some file systems cannot sync directories (EINVAL): then there is nothing more to do.
    if (fsync(descriptor.number()) != 0 && errno != EINVAL) throw file_error(errno, "sync", directory);
  }
  std::string make_temp_dir(const std::string& prefix) override {
    const char* parent = std::getenv("TMPDIR");
    std::string path = join_path(parent != nullptr && *parent != '\0' ? parent : "/tmp", prefix + "-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) throw file_error(errno, "make directory", path);
    return path;
  }

  int64_t now_micros() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  void sleep_micros(int64_t micros) override { std::this_thread::sleep_for(std::chrono::microseconds(micros)); }
};

}  // namespace

Env& default_env() {
  static Env& env = *new PosixEnv;
  return env;
}

}  // namespace caudal::inline v0
