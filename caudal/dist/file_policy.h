// The file system as the steps of a server see it: some folders and what is below them.
#pragma once

#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/export.h"

namespace caudal::inline v0 {

// Passes calls on to another Env if the path, with symbolic links followed, lies in an allowed folder; else throws
// PERMISSION_DENIED naming the path. A link that leads nowhere is refused too: creating a file through it would.
// Temporary folders are made in the first allowed one. Ownership: borrows `base`. Thread safety: as every Env. Whoever
// can make links in an allowed folder while a step runs can lead it outside; ops cannot make links.
class CAUDAL_API FilePolicyEnv final : public Env {
 public:
  // Throws NOT_FOUND for a folder that does not exist.
  FilePolicyEnv(Env& base, const std::vector<std::string>& folders);

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
  std::string make_temp_dir(const std::string& prefix) override;
  int64_t now_micros() override { return base_.now_micros(); }
  void sleep_micros(int64_t micros) override { base_.sleep_micros(micros); }

 private:
  // The path without links, or PERMISSION_DENIED.
  std::string allowed(const std::string& given) const;

  Env& base_;
  std::vector<std::string> folders_;  // absolute, without links
};

}  // namespace caudal::inline v0
