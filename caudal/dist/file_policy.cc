#include "caudal/dist/file_policy.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

namespace fs = std::filesystem;

// Links of the existing part followed, "." and ".." resolved.
fs::path resolved(const std::string& path, std::error_code* error) {
  const fs::path absolute = fs::absolute(fs::path(path), *error);
  return *error ? absolute : fs::weakly_canonical(absolute, *error);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return at == folder.end();
}

// What remains of links after resolving leads nowhere.
bool has_link(const fs::path& path) {
  std::error_code error;
  for (fs::path part = path; part.has_relative_path(); part = part.parent_path()) {
    if (fs::is_symlink(fs::symlink_status(part, error))) return true;
  }
  return false;
}

}  // namespace

FilePolicyEnv::FilePolicyEnv(Env& base, const std::vector<std::string>& folders) : base_(base) {
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path path = fs::canonical(fs::path(folder), error);
    if (error || !fs::is_directory(path, error)) {
      throw not_found("the folder '", folder, "' that is to be allowed does not exist").hint("Make it first.");
    }
    folders_.push_back(path.string());
  }
}

std::string FilePolicyEnv::allowed(const std::string& given) const {
  constexpr std::string_view kScheme = "file://";
  const std::string path = given.starts_with(kScheme) ? given.substr(kScheme.size()) : given;
  std::error_code error;
  if (!path.empty() && path.find('\0') == std::string::npos) {
    const fs::path real = resolved(path, &error);
    const auto inside = [&](const std::string& folder) { return lies_in(real, folder); };
    if (!error && std::ranges::any_of(folders_, inside) && !has_link(real)) return real.string();
  }
  throw Error(Code::kPermissionDenied,
              internal::concat("'", escaped(path), "' is in no folder that this server may use"))
      .hint(folders_.empty() ? "Start the server with --allow-dir FOLDER."
                             : "Allowed: " + join(folders_, ", ") + "; --allow-dir adds another.");
}

std::unique_ptr<SequentialFile> FilePolicyEnv::open_sequential(const std::string& path) {
  return base_.open_sequential(allowed(path));
}
std::unique_ptr<RandomAccessFile> FilePolicyEnv::open_random_access(const std::string& path) {
  return base_.open_random_access(allowed(path));
}
std::unique_ptr<WritableFile> FilePolicyEnv::create(const std::string& path) { return base_.create(allowed(path)); }
std::unique_ptr<WritableFile> FilePolicyEnv::open_append(const std::string& path) {
  return base_.open_append(allowed(path));
}
bool FilePolicyEnv::exists(const std::string& path) { return base_.exists(allowed(path)); }
bool FilePolicyEnv::is_directory(const std::string& path) { return base_.is_directory(allowed(path)); }
uint64_t FilePolicyEnv::file_size(const std::string& path) { return base_.file_size(allowed(path)); }
std::vector<std::string> FilePolicyEnv::list(const std::string& directory) { return base_.list(allowed(directory)); }
void FilePolicyEnv::mkdirs(const std::string& directory) { base_.mkdirs(allowed(directory)); }
void FilePolicyEnv::remove(const std::string& path) { base_.remove(allowed(path)); }
void FilePolicyEnv::rename(const std::string& from, const std::string& to) { base_.rename(allowed(from), allowed(to)); }
void FilePolicyEnv::sync_dir(const std::string& directory) { base_.sync_dir(allowed(directory)); }

std::string FilePolicyEnv::make_temp_dir(const std::string& prefix) {
  static std::atomic<std::uint64_t> next{0};
  const std::string folder = folders_.empty() ? "." : folders_.front();
  while (true) {
    const std::string name = internal::concat(prefix, '-', base_.now_micros(), '-', next.fetch_add(1));
    const std::string path = allowed(join_path(folder, name));
    if (base_.exists(path)) continue;
    base_.mkdirs(path);
    return path;
  }
}

}  // namespace caudal::inline v0
