#include "caudal/base/env.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

Code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EPERM:
    case EACCES:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOTEMPTY:
    case EISDIR:
    case ENOTDIR:
    case EBADF:
    case EBUSY:
    case ETXTBSY:
      return Code::kFailedPrecondition;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EMLINK:
      return Code::kResourceExhausted;
    case EFBIG:
    case EOVERFLOW:
      return Code::kOutOfRange;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      return Code::kInvalidArgument;
    case EAGAIN:
      return Code::kUnavailable;
    case ESTALE:
      return Code::kAborted;
    default:
      return Code::kUnknown;
  }
}

}  // namespace

SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Env::~Env() = default;

Error file_error(int number, std::string_view what, std::string_view path) {
  const Error error(code_of(number), internal::concat(path, ": ", what, ": ", std::strerror(number)));
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return error.hint("Free some space, or write to another place.");
    case EMFILE:
      return error.hint("Raise the limit of open files (ulimit -n).");
    case EACCES:
    case EPERM:
    case EROFS:
      return error.hint("Change the owner or mode of the path, or use another place.");
    default:
      return error;
  }
}

std::string directory_of(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string base_name(std::string_view path) { return std::string(path.substr(path.find_last_of('/') + 1)); }

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  std::string out(directory);
  if (out.back() != '/') out += '/';
  return out += name;
}

std::string read_file(Env& env, const std::string& path, uint64_t limit) {
  const auto file = env.open_sequential(path);
  std::string out;
  // Not by file_size(): pipes and files in /proc have none.
  size_t chunk = 1 << 16;
  while (true) {
    const size_t before = out.size();
    if (before > limit) throw resource_exhausted(path, ": has more than ", limit, " bytes");
    out.resize(before + chunk);
    const size_t got = file->read(out.data() + before, chunk);
    out.resize(before + got);
    if (got < chunk) break;
    chunk = std::min<size_t>(chunk * 2, 1 << 26);
  }
  if (out.size() > limit) throw resource_exhausted(path, ": has more than ", limit, " bytes");
  return out;
}

void read_exactly(const RandomAccessFile& file, uint64_t offset, char* out, size_t size) {
  const size_t got = file.read(offset, out, size);
  if (got < size)
    throw data_loss(file.path(), ": ends at byte ", offset + got, ", but ", size, " bytes are expected at ", offset);
}

void write_file_atomically(Env& env, const std::string& path, std::string_view bytes) {
  static std::atomic<uint64_t> counter = 0;
  const std::string temporary = internal::concat(path, ".tmp", getpid(), '-', counter++);
  try {
    const auto file = env.create(temporary);
    file->append(bytes);
    file->sync();
    file->close();
    env.rename(temporary, path);
  } catch (...) {
    try {
      env.remove(temporary);
    } catch (const Error&) {
      // The first failure tells more.
    }
    throw;
  }
  env.sync_dir(directory_of(path));
}

void remove_tree(Env& env, const std::string& path) {
  if (!env.exists(path)) return;
  if (env.is_directory(path))
    for (const std::string& name : env.list(path)) remove_tree(env, join_path(path, name));
  env.remove(path);
}

TempDir::TempDir(Env& env, const std::string& prefix) : env_(env), path_(env.make_temp_dir(prefix)) {}

TempDir::~TempDir() {
  try {
    remove_tree(env_, path_);
  } catch (const Error&) {
    // Left for the system's cleaning of its temporary folder.
  }
}

}  // namespace caudal::inline v0
