// The seam to the file system and the clock. Everything that touches files goes through an Env, so that tests can count
// calls, make them fail and cut the power (caudal/base/fault_env.h).
//
// Errors: every failure is an Error that names the file and gives the system's text, with the code that fits the cause:
// NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (no space, too many files), ALREADY_EXISTS, FAILED_PRECONDITION (is
// a directory, not empty), UNKNOWN (input/output error) and so on. Ownership: files may not outlive their Env. Thread
// safety: an Env may be shared; RandomAccessFile too; the other files belong to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Read from front to back.
class CAUDAL_API SequentialFile {
 public:
  virtual ~SequentialFile();
  // Reads up to `size` bytes; fewer only at the end of the file.
  virtual size_t read(char* out, size_t size) = 0;
};

// Read anywhere.
class CAUDAL_API RandomAccessFile {
 public:
  virtual ~RandomAccessFile();
  // Size when the file was opened.
  virtual uint64_t size() const = 0;
  // Reads up to `size` bytes; fewer only at the end of the file.
  virtual size_t read(uint64_t offset, char* out, size_t size) const = 0;
  // The whole file in memory, valid as long as this object, if the Env can map it. Whoever truncates the file meanwhile
  // kills the process: only for files that nobody else writes.
  virtual std::optional<std::string_view> map() = 0;
  virtual const std::string& path() const = 0;
};

// Written from front to back, buffered.
class CAUDAL_API WritableFile {
 public:
  // Closes; a failure then goes unnoticed, so call close() first.
  virtual ~WritableFile();
  virtual void append(std::string_view data) = 0;
  // Hands the buffer to the operating system: survives the process.
  virtual void flush() = 0;
  // Flushes and waits for the disk: survives a power cut (the name needs Env::sync_dir).
  virtual void sync() = 0;
  // Flushes and closes. Further calls do nothing.
  virtual void close() = 0;
};

class CAUDAL_API Env {
 public:
  virtual ~Env();

  virtual std::unique_ptr<SequentialFile> open_sequential(const std::string& path) = 0;
  virtual std::unique_ptr<RandomAccessFile> open_random_access(const std::string& path) = 0;
  // An empty file; one of that name is emptied.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  // Goes on at the end of the file, which is made if it does not exist.
  virtual std::unique_ptr<WritableFile> open_append(const std::string& path) = 0;

  virtual bool exists(const std::string& path) = 0;
  virtual bool is_directory(const std::string& path) = 0;
  virtual uint64_t file_size(const std::string& path) = 0;
  // Names in a directory, sorted, without "." and "..".
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  // With all parents; fine if it exists already.
  virtual void mkdirs(const std::string& directory) = 0;
  // A file or an empty directory.
  virtual void remove(const std::string& path) = 0;
  // Replaces `to` in one step.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Makes creations, renames and removals in the directory survive a power cut.
  virtual void sync_dir(const std::string& directory) = 0;
  // A new, empty directory for scratch files; the caller removes it.
  virtual std::string make_temp_dir(const std::string& prefix) = 0;

  // Microseconds since 1970.
  virtual int64_t now_micros() = 0;
  virtual void sleep_micros(int64_t micros) = 0;
};

// The real one. Never destroyed.
CAUDAL_API Env& default_env();

// The Error for a failed system call: errno `number` of doing `what` ("open", "rename") with `path`.
CAUDAL_API Error file_error(int number, std::string_view what, std::string_view path);

// "dir" of "dir/file", "." of "file", "/" of "/file".
CAUDAL_API std::string directory_of(std::string_view path);
// "file" of "dir/file".
CAUDAL_API std::string base_name(std::string_view path);
// Joins with one slash; `name` itself if it is absolute or `directory` is empty.
CAUDAL_API std::string join_path(std::string_view directory, std::string_view name);

// The bytes of a file. RESOURCE_EXHAUSTED if there are more than `limit`.
CAUDAL_API std::string read_file(Env& env, const std::string& path, uint64_t limit = uint64_t{1} << 31);
// Reads exactly `size` bytes. DATA_LOSS naming the offset if the file ends before.
CAUDAL_API void read_exactly(const RandomAccessFile& file, uint64_t offset, char* out, size_t size);

// Writes so that a crash at any moment leaves either the old content or the new one: a temporary name beside it, sync,
// rename, sync of the directory. Removes the temporary file on failure.
CAUDAL_API void write_file_atomically(Env& env, const std::string& path, std::string_view bytes);

// Removes a file, or a directory with everything below it; nothing if there is none.
CAUDAL_API void remove_tree(Env& env, const std::string& path);

// A temporary directory that is removed with the object.
class CAUDAL_API TempDir {
 public:
  explicit TempDir(Env& env = default_env(), const std::string& prefix = "caudal");
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return join_path(path_, name); }

 private:
  Env& env_;
  std::string path_;
};

}  // namespace caudal::inline v0
